//! The process is killed at every single step of a change of several files, and the disk runs full at every step:
//! afterwards the files are all as before or all as after.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use workspace::{
    Disk, History, ReadLedger, ReadRequest, Suspects, Workspace, WorkspaceError, parse_envelope,
};

const PATCH: &str = "\
*** Begin Patch
*** Update File: a
@@
-one
+two
*** Add File: new/deep/b
+made
*** Delete File: gone
*** Update File: c
*** Move to: moved/c
@@
-three
+four
*** Update File: linked
@@
-hard
+link
*** End Patch";

/// A folder in memory where there is one: these tests sync a great deal, and no power is cut.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    tempfile::tempdir_in(folder).unwrap()
}

fn prepare(folder: &Path) {
    let work = folder.join("w");
    fs::create_dir(&work).unwrap();
    for (path, text) in [
        ("a", "one\n"),
        ("gone", "x\n"),
        ("c", "three\n"),
        ("linked", "hard\n"),
    ] {
        fs::write(work.join(path), text).unwrap();
    }
    fs::hard_link(work.join("linked"), work.join("other_name")).unwrap();
}

fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut todo = vec![folder.join("w")];
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(at).unwrap().flatten() {
            let path = entry
                .path()
                .strip_prefix(folder)
                .unwrap()
                .display()
                .to_string();
            if path.ends_with(".folkmoot-tmp") {
                continue;
            }
            if entry.path().is_dir() {
                todo.push(entry.path());
                all.insert(path, "folder".into());
            } else {
                all.insert(path, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    all
}

fn open(folder: &Path, disk: Disk) -> (Workspace, History) {
    let workspace = Workspace::open(&[folder.join("w")])
        .unwrap()
        .with_disk(disk.clone());
    (
        workspace,
        History::open_with(&folder.join("data"), disk).unwrap(),
    )
}

fn patch(folder: &Path, disk: Disk) -> Result<(), WorkspaceError> {
    let (workspace, history) = open(folder, disk);
    let ledger = ReadLedger::default();
    for path in ["a", "gone", "c", "linked"] {
        workspace.read_file(
            &ReadRequest {
                path: path.into(),
                ..Default::default()
            },
            &ledger,
        )?;
    }
    let patch = parse_envelope(PATCH)?;
    workspace.apply_patch(&patch, &ledger, &history).map(drop)
}

/// A command changes files, and then that is restored.
fn command(folder: &Path) {
    let (workspace, history) = open(folder, Disk::default());
    let mut checkpoint = history.checkpoint("m1", 1).unwrap();
    checkpoint
        .before_command(&workspace, &Suspects::All)
        .unwrap();
    let work = folder.join("w");
    fs::write(work.join("a"), "changed\n").unwrap();
    fs::remove_file(work.join("gone")).unwrap();
    fs::create_dir_all(work.join("dir/sub")).unwrap();
    fs::write(work.join("dir/sub/f"), "made\n").unwrap();
    fs::write(work.join("linked"), "both names\n").unwrap();
    checkpoint
        .after_command(&workspace, &Suspects::All)
        .unwrap();
}

fn restore(folder: &Path, disk: Disk) -> Result<(), WorkspaceError> {
    let (workspace, history) = open(folder, disk);
    let plan = history.preview(&workspace, "m1")?;
    history
        .restore(&workspace, &plan, &BTreeSet::new(), 2)
        .map(drop)
}

fn do_it(what: &str, folder: &Path, disk: Disk) -> Result<(), WorkspaceError> {
    match what {
        "patch" => patch(folder, disk),
        _ => restore(folder, disk),
    }
}

/// A disk on which something happens at one step.
fn at_step(step: usize, then: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Disk {
    let count = Arc::new(AtomicUsize::new(0));
    Disk::with_hook(move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == step {
            then()
        } else {
            Ok(())
        }
    })
}

/// Not a test of its own: what the child process does.
#[test]
fn the_child_that_is_killed() {
    let Ok(folder) = std::env::var("KILLED_IN") else {
        return;
    };
    let step = std::env::var("KILLED_AT").unwrap().parse().unwrap();
    let what = std::env::var("KILLED_DOING").unwrap();
    let disk = at_step(step, || {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
        Ok(())
    });
    do_it(&what, Path::new(&folder), disk).unwrap();
}

fn child(what: &str, folder: &Path, step: usize) -> std::process::ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_child_that_is_killed"])
        .env("KILLED_IN", folder)
        .env("KILLED_AT", step.to_string())
        .env("KILLED_DOING", what)
        .output()
        .unwrap()
        .status
}

fn start(what: &str, folder: &Path) {
    prepare(folder);
    if what == "restore" {
        command(folder);
    }
}

fn kill_at_every_step(what: &str) {
    let reference = scratch();
    start(what, reference.path());
    let before = tree(reference.path());
    do_it(what, reference.path(), Disk::default()).unwrap();
    let after = tree(reference.path());
    assert_ne!(before, after);
    let (mut whole, mut none) = (0, 0);
    for step in 0.. {
        let folder = scratch();
        start(what, folder.path());
        let status = child(what, folder.path(), step);
        if status.success() {
            assert_eq!(tree(folder.path()), after);
            break;
        }
        assert_eq!(status.signal(), Some(9), "step {step}");
        let (workspace, history) = open(folder.path(), Disk::default());
        let recovery = history.recover(&workspace).unwrap();
        assert!(
            recovery.conflicts.is_empty(),
            "{what} killed at step {step}: {recovery:?}"
        );
        let now = tree(folder.path());
        assert!(
            now == before || now == after,
            "{what} killed at step {step}: {now:?}"
        );
        if now == before {
            none += 1;
        } else {
            whole += 1;
        }
        // It works again, and nothing is left to recover.
        assert_eq!(history.recover(&workspace).unwrap().undone, 0);
        assert!(history.checkpoints().is_ok());
        if now == before {
            do_it(what, folder.path(), Disk::default()).unwrap();
            assert_eq!(tree(folder.path()), after, "{what} again after step {step}");
        }
    }
    assert!(none > 20, "{what}: only {none} steps before, {whole} after");
}

fn refuse_at_every_step(what: &str) {
    for step in 0.. {
        let folder = scratch();
        start(what, folder.path());
        let before = tree(folder.path());
        let disk = at_step(step, || Err(io::ErrorKind::StorageFull.into()));
        let outcome = do_it(what, folder.path(), disk);
        let now = tree(folder.path());
        let Err(error) = outcome else {
            // The last steps only tidy up; or the step was never reached.
            assert_ne!(now, before);
            break;
        };
        assert_eq!(now, before, "{what} refused at step {step}: {error}");
    }
}

#[test]
fn a_patch_that_is_killed_is_whole_or_not_there() {
    kill_at_every_step("patch");
}

#[test]
fn a_restore_that_is_killed_is_whole_or_not_there() {
    kill_at_every_step("restore");
}

#[test]
fn a_patch_on_a_full_disk_changes_nothing() {
    refuse_at_every_step("patch");
}

#[test]
fn a_restore_on_a_full_disk_changes_nothing() {
    refuse_at_every_step("restore");
}

/// Not a test of its own: what runs on a small disk of its own.
#[test]
fn the_child_on_a_full_disk() {
    let Ok(folder) = std::env::var("FULL_DISK") else {
        return;
    };
    let folder = Path::new(&folder);
    prepare(folder);
    fs::write(folder.join("w/filler"), vec![b'x'; 600 * 1024]).unwrap();
    let before = tree(folder);
    let (workspace, history) = open(folder, Disk::default());
    let mut checkpoint = history.checkpoint("m1", 1).unwrap();
    let error = checkpoint.before(&workspace, "filler").unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert_eq!(tree(folder), before);
    let big = format!(
        "*** Begin Patch\n*** Add File: big\n+{}\n*** End Patch",
        "y".repeat(700 * 1024)
    );
    let patch = parse_envelope(&big).unwrap();
    assert!(
        workspace
            .apply_patch(&patch, &ReadLedger::default(), &history)
            .is_err()
    );
    assert_eq!(tree(folder), before);
    println!("FULL DISK HELD");
}

#[test]
fn a_disk_that_is_really_full_changes_nothing() {
    let folder = scratch();
    let script = format!(
        "mount -t tmpfs -o size=1m tmpfs {0} && exec {1} --exact the_child_on_a_full_disk --nocapture",
        folder.path().display(),
        std::env::current_exe().unwrap().display()
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .env("FULL_DISK", folder.path())
        .output();
    let told = match &output {
        Ok(output) => {
            String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr)
        }
        Err(error) => error.to_string(),
    };
    if !told.contains("running 1 test") {
        eprintln!("no small disk can be mounted here, so a really full one is not tried: {told}");
        return;
    }
    assert!(told.contains("FULL DISK HELD"), "{told}");
}
