use super::*;

fn limits() -> GroupLimits {
    GroupLimits { memory_bytes: 64 << 20, tasks: 50, cpu_millis: Some(500) }
}

/// Groups of a made-up home, where this process may make groups.
fn cgroups() -> Option<(tempfile::TempDir, Cgroups)> {
    let folder = tempfile::tempdir().unwrap();
    let cgroups = Cgroups::find(&Home::at(folder.path()).unwrap(), 1 << 30);
    if !cgroups.missing().is_empty() {
        println!("skipped: no control groups for {}", cgroups.missing().join(", "));
        return None;
    }
    Some((folder, cgroups))
}

#[tokio::test]
async fn a_group_holds_what_runs_in_it_and_goes_with_it() {
    let Some((_folder, cgroups)) = cgroups() else { return };
    let group = cgroups.make("a", &limits()).unwrap();
    assert_eq!(cgroups.ids(), HashSet::from(["a".to_owned()]));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "sleep 4242 & sleep 4242"]);
    group.enter(&mut command).unwrap();
    let mut child = command.spawn().unwrap();
    while group.pids().len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(group.memory_bytes().unwrap() < 64 << 20);
    assert_eq!(group.memory_kills(), Some(0));
    // A member of the group that has ended but was not waited for would keep it.
    let waited = std::thread::spawn(move || child.wait());
    cgroups.remove("a").await.unwrap();
    waited.join().unwrap().unwrap();
    assert!(cgroups.ids().is_empty());
    cgroups.remove("a").await.unwrap();
    assert!(cgroups.hierarchies.iter().all(|hierarchy| !hierarchy.root().join(&cgroups.parent).exists()));
}

#[tokio::test]
async fn an_engine_that_may_use_more_or_less_than_the_one_before_changes_the_limit() {
    let Some((folder, cgroups)) = cgroups() else { return };
    cgroups.make("a", &limits()).unwrap();
    for most in [2 << 30, 512 << 20] {
        let next = Cgroups::find(&Home::at(folder.path()).unwrap(), most);
        next.make("b", &limits()).unwrap();
        next.remove("b").await.unwrap();
        let folders = next.all().folders();
        let set = |file: &str| folders.iter().find_map(|folder| fs::read_to_string(folder.join(file)).ok());
        let found = set("memory.limit_in_bytes").or_else(|| set("memory.max")).unwrap();
        assert_eq!(found.trim(), most.to_string());
    }
    cgroups.remove("a").await.unwrap();
}

#[tokio::test]
async fn too_much_memory_and_too_many_processes_are_noticed() {
    let Some((_folder, cgroups)) = cgroups() else { return };
    let group = cgroups.make("b", &limits()).unwrap();
    let run = |script: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]).stderr(std::process::Stdio::null());
        group.enter(&mut command).unwrap();
        command.status().unwrap()
    };
    assert!(!run("head -c 200000000 /dev/zero | tail").success() || group.memory_kills() > Some(0));
    assert!(group.memory_kills() > Some(0));
    assert!(!group.tasks_refused());
    run("for i in $(seq 100); do sleep 1 & done; wait");
    assert!(group.tasks_refused());
    cgroups.remove("b").await.unwrap();
}

#[test]
fn nowhere_to_make_groups_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = Hierarchy::new(folder.path().join("nowhere"), Controller::ALL.to_vec(), true);
    let cgroups = Cgroups::within(vec![vec![nowhere]], &Home::at(folder.path()).unwrap(), 1);
    assert_eq!(cgroups.missing(), ["memory", "pids", "cpu"]);
    let group = cgroups.make("a", &limits()).unwrap();
    assert_eq!((group.memory_bytes(), group.memory_kills(), group.pids().len()), (None, None, 0));
}

#[test]
fn files_of_version_2_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["memory.max", "memory.swap.max", "pids.max", "cpu.max"];
    for file in files {
        fs::write(folder.path().join(file), "").unwrap();
    }
    fs::write(folder.path().join("memory.current"), "1000\n").unwrap();
    fs::write(folder.path().join("memory.stat"), "anon 1\nactive_file 100\ninactive_file 200\n").unwrap();
    fs::write(folder.path().join("memory.events"), "low 0\noom 3\noom_kill 2\n").unwrap();
    let place = Hierarchy::new(folder.path().to_owned(), Controller::ALL.to_vec(), true).at(Path::new(""));
    place.set(&limits()).unwrap();
    let written = files.map(|file| fs::read_to_string(folder.path().join(file)).unwrap());
    assert_eq!(written, ["67108864", "0", "50", "50000 100000"]);
    let group = Group::at(vec![place]);
    assert_eq!((group.memory_bytes(), group.memory_kills()), (Some(700), Some(2)));
}
