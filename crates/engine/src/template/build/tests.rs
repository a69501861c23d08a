use super::*;
use crate::runsc::fake::write_script;
use crate::runsc::{GuestStdio, Version};

struct AtOnce;

impl WarmUp for AtOnce {
    async fn warm_up(&self, _: &GuestStdio) -> Result<(), String> {
        Ok(())
    }
}

struct Never;

impl WarmUp for Never {
    async fn warm_up(&self, _: &GuestStdio) -> Result<(), String> {
        Err("no warm kernel".to_owned())
    }
}

/// A home, a `runsc` that writes empty checkpoints, and an image that says it is EROFS.
fn setting() -> (tempfile::TempDir, Home, FoundRunsc, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home")).unwrap();
    let path = folder.path().join("runsc");
    write_script(
        &path,
        "while [ $# -gt 0 ]; do [ $1 = --image-path ] && image=$2; shift; done\n[ -z \"$image\" ] || for name in checkpoint pages pages_meta; do echo x > $image/$name.img; done",
    );
    let image = folder.path().join("image.erofs");
    fs::write(&image, [vec![0; 1024], 0xE0F5_E1E2_u32.to_le_bytes().to_vec()].concat()).unwrap();
    (folder, home, FoundRunsc { path, version: Version::parse("runsc version 20260905.0").unwrap() }, image)
}

#[tokio::test]
async fn an_imported_image_becomes_the_default_template_once() {
    let (_folder, home, runsc, image) = setting();
    let template = import(&home, &runsc, &image, &AtOnce, &|_| {}).await.unwrap();
    assert_eq!(super::super::find(&home, "ubuntu-24.04").unwrap(), template);
    template.verify().unwrap();
    assert!(template.environment.contains_key("SSL_CERT_FILE"));

    let steps = std::sync::Mutex::new(Vec::new());
    let again =
        import(&home, &runsc, &image, &Never, &|line| steps.lock().unwrap().push(line.to_owned())).await.unwrap();
    assert_eq!((again, steps.into_inner().unwrap()), (template, vec!["checking the image".to_owned()]));
}

#[tokio::test]
async fn a_program_that_is_just_being_started_does_not_keep_the_lock() {
    let (_folder, home, runsc, _) = setting();
    let lock = begin(&home, &runsc, &|_| {}).await.unwrap();
    // Until it has replaced its image, a new process has all files of its parent.
    let inherited = lock.try_clone().unwrap();
    drop(lock);
    begin(&home, &runsc, &|line| panic!("{line}")).await.unwrap();
    drop(inherited);
}

#[tokio::test]
async fn what_is_no_image_is_refused() {
    let (folder, home, runsc, _) = setting();
    let path = folder.path().join("tarball");
    fs::write(&path, vec![1; 5000]).unwrap();
    let error = import(&home, &runsc, &path, &AtOnce, &|_| {}).await.unwrap_err().to_string();
    assert!(error.contains("not an EROFS image") && error.contains("tarball"), "{error}");
}

#[tokio::test]
async fn an_image_that_does_not_get_warm_leaves_nothing() {
    let (_folder, home, runsc, image) = setting();
    import(&home, &runsc, &image, &Never, &|_| {}).await.unwrap_err();
    let left: Vec<_> = fs::read_dir(home.templates()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".lock"]);
}

#[tokio::test]
async fn two_imports_at_once_wait_for_each_other() {
    let (_folder, home, runsc, image) = setting();
    let (first, second) =
        tokio::join!(import(&home, &runsc, &image, &AtOnce, &|_| {}), import(&home, &runsc, &image, &AtOnce, &|_| {}));
    assert_eq!(first.unwrap(), second.unwrap());
}

#[tokio::test]
async fn a_missing_agent_is_named() {
    let (_folder, home, runsc, _) = setting();
    let definition = Definition::code_interpreter();
    let options =
        BuildOptions { home: &home, runsc: &runsc, definition: &definition, guest: Path::new("/nowhere/guest") };
    let error = build(&options, &AtOnce, &|_| {}).await.unwrap_err().to_string();
    assert!(error.contains("/nowhere/guest") && error.contains("PANDASTACK_GUEST"), "{error}");
}

#[test]
fn the_id_changes_with_agent_runsc_and_home() {
    let (folder, home, runsc, image) = setting();
    let definition = Definition::code_interpreter();
    let other_guest = folder.path().join("guest");
    fs::write(&other_guest, "another").unwrap();
    let other_runsc = FoundRunsc { version: Version::parse("runsc version 20270101.0").unwrap(), ..runsc.clone() };
    let other_home = Home::at(folder.path().join("other")).unwrap();
    let id = |home: &Home, runsc: &FoundRunsc, guest: &Path| {
        let additions = Additions { guest: guest.to_owned(), certificates: Vec::new() };
        template_id(&BuildOptions { home, runsc, definition: &definition, guest }, &additions).unwrap()
    };
    let first = id(&home, &runsc, &image);
    assert_eq!(first, id(&home, &runsc, &image));
    for other in [id(&home, &runsc, &other_guest), id(&home, &other_runsc, &image), id(&other_home, &runsc, &image)] {
        assert_ne!(first, other);
    }
}
