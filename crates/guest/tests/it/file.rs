//! Files.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use hyper::Method;
use pandastack_guest_protocol::file::{FileEntry, FileList, FileWritten};
use pandastack_guest_protocol::route::{FILE_LIST, FILE_STAT, FILES};

use crate::harness::{Agent, Engine, read_all, read_json, until};

/// A route with its path, percent-encoded.
fn at(route: &str, path: impl AsRef<Path>) -> String {
    let path = path.as_ref().as_os_str().as_encoded_bytes();
    format!("{route}?path={}", path.iter().map(|byte| format!("%{byte:02X}")).collect::<String>())
}

async fn write(engine: &Engine, path: &Path, bytes: &[u8]) {
    let response = engine.request(Method::PUT, &at(FILES, path), bytes.to_vec()).await;
    assert_eq!(response.status(), 200);
    let written: FileWritten = read_json(response).await;
    assert_eq!((Path::new(&written.path), written.bytes), (path, bytes.len() as u64));
}

async fn read(engine: &Engine, path: &Path) -> Vec<u8> {
    let response = engine.request(Method::GET, &at(FILES, path), "").await;
    assert_eq!(response.status(), 200);
    read_all(response).await.to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_survive_both_ways() {
    let (agent, engine) = Agent::greeted().await;
    let all: Vec<u8> = (0..=255).collect();
    for bytes in [&b""[..], &all, &all.repeat(4096), &all.repeat(40_000)] {
        let path = agent.folder().join("new/folder/with space, 'quote'\n and é🎉%2F+&.bin");
        write(&engine, &path, bytes).await;
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(read(&engine, &path).await, bytes);
    }
    assert_eq!(std::fs::read_dir(agent.folder().join("new/folder")).unwrap().count(), 1, "a temporary file was left");
}

#[tokio::test(flavor = "multi_thread")]
async fn writing_keeps_mode_and_follows_links() {
    let (agent, engine) = Agent::greeted().await;
    let (file, link, dangling) =
        (agent.folder().join("file"), agent.folder().join("link"), agent.folder().join("dangling"));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4751)).unwrap();
    symlink("file", &link).unwrap();
    symlink("target", &dangling).unwrap();
    write(&engine, &link, b"new").await;
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&file).unwrap(), b"new");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o4751);
    write(&engine, &dangling, b"there").await;
    assert_eq!(std::fs::read(agent.folder().join("target")).unwrap(), b"there");
    assert_eq!(std::fs::metadata(agent.folder().join("target")).unwrap().permissions().mode() & 0o7777, 0o644);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_is_recursive_and_may_be_repeated() {
    let (agent, engine) = Agent::greeted().await;
    let (folder, outside) = (agent.folder().join("folder"), agent.folder().join("outside"));
    std::fs::create_dir_all(folder.join("a/b")).unwrap();
    std::fs::write(&outside, "kept").unwrap();
    symlink(&outside, folder.join("a/link")).unwrap();
    for _ in 0..2 {
        assert_eq!(engine.request(Method::DELETE, &at(FILES, &folder), "").await.status(), 204);
        assert!(!folder.exists());
    }
    assert_eq!(engine.request(Method::DELETE, &at(FILES, outside.join("below/a/file")), "").await.status(), 204);
    assert_eq!(std::fs::read(&outside).unwrap(), b"kept");
    for root in ["/", "//", "/.", "/./"] {
        assert_eq!(engine.refusal(Method::DELETE, &at(FILES, root), "").await.0, 400);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_tell_what_is_there() {
    let (agent, engine) = Agent::greeted().await;
    let folder = agent.folder().join("folder");
    std::fs::create_dir_all(folder.join("dir")).unwrap();
    std::fs::write(folder.join("file"), "12345").unwrap();
    symlink("dir", folder.join("link")).unwrap();
    nix::unistd::mkfifo(&folder.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let list: FileList = engine.get(&at(FILE_LIST, &folder)).await;
    let shown: Vec<_> =
        list.entries.iter().map(|entry| (entry.name.as_str(), entry.mode.as_str(), entry.is_dir)).collect();
    assert_eq!(shown, [("dir", "d", true), ("file", "f", false), ("link", "l", false), ("pipe", "p", false)]);
    let entry: FileEntry = engine.get(&at(FILE_STAT, folder.join("file"))).await;
    assert_eq!((entry.name.as_str(), entry.size, entry.permissions), ("file", 5, 0o644));
    assert!(entry.mtime > 1_600_000_000);
    let root: FileEntry = engine.get(&at(FILE_STAT, "/")).await;
    assert_eq!((root.name.as_str(), root.is_dir), ("/", true));
    assert_eq!(engine.get::<FileEntry>(&at(FILE_STAT, "/dev/null")).await.mode, "c");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused() {
    let (agent, engine) = Agent::greeted().await;
    let folder = agent.folder();
    let (file, pipe) = (folder.join("file"), folder.join("pipe"));
    std::fs::write(&file, "x").unwrap();
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let missing = folder.join("missing");
    let below = file.join("below");
    let cases = [
        (Method::GET, FILES, Path::new("relative"), 400),
        (Method::PUT, FILES, Path::new("relative"), 400),
        (Method::DELETE, FILES, Path::new("../x"), 400),
        (Method::GET, FILE_LIST, Path::new(""), 400),
        (Method::GET, FILE_STAT, Path::new("/a\0b"), 400),
        (Method::GET, FILES, &missing, 404),
        (Method::GET, FILE_LIST, &missing, 404),
        (Method::GET, FILE_STAT, &missing, 404),
        (Method::GET, FILES, folder, 409),
        (Method::GET, FILES, &pipe, 409),
        (Method::GET, FILES, Path::new("/dev/zero"), 409),
        (Method::PUT, FILES, folder, 409),
        (Method::PUT, FILES, &pipe, 409),
        (Method::PUT, FILES, Path::new("/dev/null"), 409),
        (Method::PUT, FILES, &below, 409),
        (Method::GET, FILE_LIST, &file, 409),
    ];
    for (method, route, path, expected) in cases {
        let (status, error) = engine.refusal(method.clone(), &at(route, path), "body").await;
        assert_eq!(status, expected, "{method} {route} {path:?}: {error}");
    }
    assert_eq!(engine.refusal(Method::GET, FILES, "").await.0, 400);
    assert_eq!(engine.refusal(Method::GET, &format!("{FILES}?path=%FF"), "").await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_programs_see_the_same_proc() {
    let (_agent, engine) = Agent::greeted().await;
    let name = read(&engine, Path::new("/proc/1/comm")).await;
    assert_eq!(name, engine.exec("cat /proc/1/comm").await.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_changes_nothing() {
    let (agent, engine) = Agent::greeted().await;
    let file = agent.folder().join("file");
    std::fs::write(&file, "old").unwrap();
    let (pieces, answer) = engine.upload(&at(FILES, &file));
    pieces.send(Ok("new".into())).unwrap();
    until(async || std::fs::read_dir(agent.folder()).unwrap().count() == 2).await;
    pieces.send(Err(std::io::ErrorKind::Other.into())).unwrap();
    assert!(answer.await.unwrap().is_err());
    until(async || std::fs::read_dir(agent.folder()).unwrap().count() == 1).await;
    assert_eq!(std::fs::read(&file).unwrap(), b"old");
    let (pieces, answer) = engine.upload(&at(FILES, &file));
    for piece in ["a", "b", "c"] {
        pieces.send(Ok(piece.into())).unwrap();
    }
    drop(pieces);
    assert_eq!(answer.await.unwrap().unwrap().status(), 200);
    assert_eq!(std::fs::read(&file).unwrap(), b"abc");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_and_the_old_file_stays() {
    let (agent, engine) = Agent::greeted().await;
    if !agent.is_sandboxed() {
        return;
    }
    let file = Path::new("/small/file");
    write(&engine, file, b"old").await;
    let (status, error) = engine.refusal(Method::PUT, &at(FILES, file), vec![1; 20 << 20]).await;
    assert_eq!((status, error.as_str()), (507, "the sandbox's disk is full: `/small/file`"));
    assert_eq!(read(&engine, file).await, b"old");
    assert_eq!(engine.get::<FileList>(&at(FILE_LIST, "/small")).await.entries.len(), 1, "a temporary file was left");
}
