use std::fs;

use tempfile::TempDir;

use super::*;
use crate::runsc::PINNED_VERSION;
use crate::runsc::fake::write_script;

const FLAGS: &str = "  -leave-running\n  -compression value\n  -direct\n";

/// A script that answers like `runsc` of the given version and flags.
fn fake(folder: &Path, version: &str, flags: &str) -> PathBuf {
    let path = folder.join("runsc");
    let script = format!("case $1 in --version) echo 'runsc version {version}';; help) printf '%s' '{flags}';; esac");
    write_script(&path, &script);
    path
}

fn home() -> (TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home")).unwrap();
    (folder, home)
}

#[tokio::test]
async fn an_explicit_choice_is_taken_or_refused_but_never_replaced() {
    let (folder, home) = home();
    fake(&home.bin(), PINNED_VERSION, FLAGS);
    let old = fake(&folder.path().join("old"), "0.0~20221219", FLAGS);

    let error = find_in(Some(old.clone().into()), None, &home).await.unwrap_err().to_string();
    assert!(
        error.contains("PANDASTACK_RUNSC") && error.contains("0.0~20221219") && error.contains(&*old.to_string_lossy()),
        "{error}"
    );
    let error = find_in(Some("/nowhere/runsc".into()), None, &home).await.unwrap_err().to_string();
    assert!(error.contains("/nowhere/runsc") && error.contains("cannot run it"), "{error}");
}

#[tokio::test]
async fn a_binary_that_was_just_written_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = fake(folder.path(), PINNED_VERSION, FLAGS);
    let open = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut found = Box::pin(probe(&path));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut found).await.is_err());
    drop(open);
    found.await.unwrap();
}

#[tokio::test]
async fn an_unusable_one_on_the_path_is_passed_over_for_the_one_of_the_home() {
    let (folder, home) = home();
    let ours = fake(&home.bin(), PINNED_VERSION, FLAGS);
    let old = fake(&folder.path().join("old"), "0.0~20221219", FLAGS);
    let path = Some(old.parent().unwrap().into());

    assert_eq!(find_in(None, path.clone(), &home).await.unwrap().path, ours);
    fs::remove_file(ours).unwrap();
    let error = find_in(None, path, &home).await.unwrap_err().to_string();
    assert!(error.contains("0.0~20221219") && error.contains("engine setup"), "{error}");
}

#[tokio::test]
async fn the_path_comes_before_the_home() {
    let (folder, home) = home();
    fake(&home.bin(), PINNED_VERSION, FLAGS);
    let first = fake(&folder.path().join("first"), "release-20270101.0", FLAGS);
    let found = find_in(Some(OsString::new()), Some(first.parent().unwrap().into()), &home).await.unwrap();
    assert_eq!((found.path, found.version.as_str()), (first, "release-20270101.0"));
}

#[tokio::test]
async fn missing_abilities_are_named() {
    let (folder, _) = home();
    let path = fake(folder.path(), PINNED_VERSION, "  -leave-running\n");
    let reason = probe(&path).await.unwrap_err();
    assert!(reason.contains("lacks checkpoint -compression, -direct"), "{reason}");
}

#[tokio::test]
async fn another_program_of_that_name_is_refused() {
    let (folder, _) = home();
    let path = fake(folder.path(), PINNED_VERSION, FLAGS);
    write_script(&path, "echo hello");
    assert!(probe(&path).await.unwrap_err().contains("does not say that it is runsc"));
}
