//! The gate that every path passes: what leads out, what is protected, what is secret, what is no text.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use workspace::{EntryKind, ErrorKind, ReadRequest, Workspace, WorkspaceError};

use crate::bench::{Bench, kind};

#[test]
fn what_is_not_text_or_not_a_file_is_refused() {
    let bench = Bench::new();
    bench.put("image", b"\x89PNG\r\n\x1a\n0000");
    bench.put("nul", b"a\0b");
    assert_eq!(kind(bench.read("image")), ErrorKind::Binary);
    assert_eq!(kind(bench.edit("nul", "a", "b")), ErrorKind::Binary);
    fs::create_dir(bench.at("dir")).unwrap();
    assert_eq!(kind(bench.read("dir")), ErrorKind::InvalidInput);
    assert_eq!(kind(bench.read("nul/x")), ErrorKind::InvalidInput);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert_eq!(kind(bench.read("pipe")), ErrorKind::InvalidInput);
    let utf16: Vec<u8> = "text\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    bench.put("wide.txt", utf16);
    assert_eq!(bench.read("wide.txt").unwrap().text, "text\n");
}

#[test]
fn nothing_leads_out_of_the_folder() {
    let bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "private").unwrap();
    symlink("../outside", bench.at("up")).unwrap();
    symlink(&outside, bench.at("abs")).unwrap();
    symlink("../outside/f", bench.at("file")).unwrap();
    symlink("/proc/self/root", bench.at("proc")).unwrap();
    symlink("loop2", bench.at("loop1")).unwrap();
    symlink("loop1", bench.at("loop2")).unwrap();
    let absolute = outside.join("f").display().to_string();
    for path in [
        "../outside/f",
        "up/f",
        "abs/f",
        "file",
        "proc/etc/passwd",
        absolute.as_str(),
        "up",
    ] {
        assert_eq!(
            kind(bench.read(path)),
            ErrorKind::OutsideWorkspace,
            "read {path}"
        );
        assert_eq!(
            kind(bench.write(path, "x")),
            ErrorKind::OutsideWorkspace,
            "write {path}"
        );
        assert_eq!(
            kind(bench.workspace.list_files(path)),
            ErrorKind::OutsideWorkspace,
            "list {path}"
        );
        assert_eq!(
            kind(bench.workspace.create_directory(path)),
            ErrorKind::OutsideWorkspace,
            "make {path}"
        );
    }
    for path in ["up/f", "abs/f", "../outside/f"] {
        assert_eq!(
            kind(bench.delete(path)),
            ErrorKind::OutsideWorkspace,
            "delete {path}"
        );
        assert_eq!(
            kind(bench.rename(path, "x")),
            ErrorKind::OutsideWorkspace,
            "rename {path}"
        );
        assert_eq!(
            kind(bench.write(&format!("{path}/new"), "x")),
            ErrorKind::OutsideWorkspace
        );
    }
    assert_eq!(kind(bench.read("loop1")), ErrorKind::InvalidInput);
    // The link itself may go; what it leads to stays.
    assert_eq!(bench.delete("up").unwrap().kind, EntryKind::Link);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "private");
}

#[test]
fn links_inside_are_written_through_and_stay_links() {
    let bench = Bench::new();
    bench.put("d/real", "one\n");
    symlink("d/real", bench.at("link")).unwrap();
    symlink(bench.at("link"), bench.at("abs")).unwrap();
    symlink("d", bench.at("dir")).unwrap();
    for (path, old, new) in [
        ("link", "one", "two"),
        ("abs", "two", "three"),
        ("dir/real", "three", "four"),
    ] {
        bench.read(path).unwrap();
        bench.edit(path, old, new).unwrap();
        assert_eq!(bench.bytes("d/real"), format!("{new}\n").as_bytes());
    }
    assert!(bench.at("link").is_symlink() && bench.at("abs").is_symlink());
    symlink("d/later", bench.at("dangling")).unwrap();
    assert!(bench.write("dangling", "made").unwrap().created);
    assert_eq!(bench.bytes("d/later"), b"made");
}

#[test]
fn a_folder_swapped_for_a_link_under_our_feet_is_noticed() {
    let bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "private").unwrap();
    bench.put("a/f", "mine");
    let (from, aside, link) = (bench.at("a"), bench.at("b"), bench.at("l"));
    symlink(&outside, &link).unwrap();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let swapper = std::thread::spawn(move || {
        while !told.load(std::sync::atomic::Ordering::Relaxed) {
            fs::rename(&from, &aside).unwrap();
            fs::rename(&link, &from).unwrap();
            fs::rename(&from, &link).unwrap();
            fs::rename(&aside, &from).unwrap();
        }
    });
    let mut seen = 0;
    for _ in 0..3_000 {
        match bench.read("a/f") {
            Ok(read) => {
                assert_eq!(read.text, "mine");
                seen += 1;
            }
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    ErrorKind::OutsideWorkspace | ErrorKind::NotFound | ErrorKind::Io
                ),
                "{error}"
            ),
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(seen > 0);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "private");
}

#[test]
fn a_repository_of_git_is_read_and_never_written() {
    let bench = Bench::new();
    bench.put(".git/config", "[core]\n");
    bench.put("sub/.git/hooks/pre-commit", "#!/bin/sh\n");
    bench.put("worktree/.git", "gitdir: ../bare/worktrees/w\n");
    for name in ["bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/x"] {
        bench.put(name, "");
    }
    symlink(".git", bench.at("sneaky")).unwrap();
    assert_eq!(bench.read(".git/config").unwrap().text, "[core]\n");
    for path in [
        ".git/config",
        ".GIT/config",
        "git~1/config",
        ".g\u{200c}it/x",
        ".git ./x",
        "sub/.git/hooks/pre-commit",
        "worktree/.git",
        "bare/hooks/post-checkout",
        "bare/HEAD",
        "sneaky/config",
        "new/.git/hooks/x",
        ".folkmoot/settings.toml",
    ] {
        assert_eq!(
            kind(bench.write(path, "x")),
            ErrorKind::Protected,
            "write {path}"
        );
        assert_eq!(
            kind(bench.workspace.create_directory(path)),
            ErrorKind::Protected,
            "make {path}"
        );
        bench.put("plain", "x");
        assert_eq!(
            kind(bench.rename("plain", path)),
            ErrorKind::Protected,
            "rename to {path}"
        );
    }
    for path in [".git", "sub/.git", "sub", "worktree"] {
        assert_eq!(
            kind(bench.delete(path)),
            ErrorKind::Protected,
            "delete {path}"
        );
        assert_eq!(
            kind(bench.rename(path, "elsewhere")),
            ErrorKind::Protected,
            "rename {path}"
        );
    }
    let names: Vec<String> = bench
        .workspace
        .list_files("")
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["bare", "sub", "worktree", "plain", "sneaky"]);
}

#[test]
fn secrets_are_hidden_from_every_reader_and_the_refusal_says_so() {
    let bench = Bench::new();
    bench.put(".env", "TOKEN=1");
    bench.put("notes", "fine");
    bench.put("keys/id_rsa", "-----");
    symlink(".env", bench.at("innocent")).unwrap();
    for path in [".env", "innocent", "keys/id_rsa"] {
        let error = bench.read(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Secret);
        assert!(
            error.to_string().contains("only the user can change"),
            "{error}"
        );
        assert_eq!(kind(bench.edit(path, "1", "2")), ErrorKind::Secret);
        assert_eq!(kind(bench.write(path, "2")), ErrorKind::Secret);
    }
    assert_eq!(kind(bench.rename(".env", "visible")), ErrorKind::Secret);
    assert_eq!(
        kind(bench.rename("notes", "x/secret.txt")),
        ErrorKind::Secret
    );
    assert_eq!(kind(bench.rename("keys", "k")), ErrorKind::Secret);
    assert_eq!(kind(bench.delete("keys")), ErrorKind::Secret);
    let listing = bench.workspace.list_files(".").unwrap();
    assert_eq!(listing.hidden_secrets, 1);
    assert!(listing.entries.iter().all(|entry| entry.name != ".env"));
}

#[test]
fn a_missing_path_suggests_its_neighbours_but_no_secret() {
    let bench = Bench::new();
    bench.put("src/reader.rs", "");
    bench.put("src/secret.rs", "");
    match bench.read("src/raeder.rs").unwrap_err() {
        WorkspaceError::NotFound { nearest, .. } => assert_eq!(nearest, ["src/reader.rs"]),
        other => panic!("{other}"),
    }
    match bench.read("src/secrat.rs").unwrap_err() {
        WorkspaceError::NotFound { nearest, .. } => assert!(nearest.is_empty(), "{nearest:?}"),
        other => panic!("{other}"),
    }
}

#[test]
fn several_folders_appear_under_their_names() {
    let bench = Bench::new();
    bench.put("one/f", "1");
    bench.put("two/f", "2");
    symlink("../two/f", bench.at("one/cross")).unwrap();
    let both = Workspace::open(&[bench.at("one"), bench.at("two")]).unwrap();
    let read = |path: &str| {
        let request = ReadRequest {
            path: path.into(),
            ..Default::default()
        };
        both.read_file(&request, &bench.ledger)
    };
    assert_eq!(read("two/f").unwrap().text, "2");
    assert_eq!(kind(read("three/f")), ErrorKind::NotFound);
    assert_eq!(kind(read("one/cross")), ErrorKind::OutsideWorkspace);
    assert_eq!(both.list_files("").unwrap().entries.len(), 2);
    assert_eq!(
        kind(Workspace::open(&[bench.at("one"), bench.at(".")])),
        ErrorKind::InvalidInput
    );
}
