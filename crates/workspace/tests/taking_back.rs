//! Checkpoints: what tools and commands did is taken back, what the person did is not.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use tempfile::TempDir;
use workspace::{
    CheckpointKind, EditRequest, ErrorKind, History, ReadLedger, ReadRequest, RelPath, Suspects,
    Trash, TreeWatch, Workspace, WriteRequest,
};

struct Bench {
    folder: TempDir,
    workspace: Workspace,
    history: History,
    ledger: ReadLedger,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        Self {
            workspace: Workspace::open(&[folder.path().join("w")])
                .unwrap()
                .with_trash(Trash::at(folder.path().join("trash"))),
            history: History::open(&folder.path().join("data")).unwrap(),
            ledger: ReadLedger::default(),
            folder,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("w").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let at = self.at(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// As a tool would: kept before, recorded after.
    fn edit(&self, message: &str, path: &str, old: &str, new: &str) {
        let request = ReadRequest {
            path: path.into(),
            ..Default::default()
        };
        self.workspace.read_file(&request, &self.ledger).unwrap();
        let mut checkpoint = self.history.checkpoint(message, 1).unwrap();
        checkpoint.before(&self.workspace, path).unwrap();
        let request = EditRequest {
            path: path.into(),
            old_string: old.into(),
            new_string: new.into(),
            replace_all: false,
        };
        self.workspace.edit_file(&request, &self.ledger).unwrap();
        checkpoint.after(&self.workspace, path).unwrap();
    }

    fn create(&self, message: &str, path: &str, content: &str) {
        let mut checkpoint = self.history.checkpoint(message, 1).unwrap();
        checkpoint.before(&self.workspace, path).unwrap();
        let (path, content) = (path.to_owned(), content.to_owned());
        let request = WriteRequest {
            path: path.clone(),
            content,
        };
        self.workspace.write_file(&request, &self.ledger).unwrap();
        checkpoint.after(&self.workspace, &path).unwrap();
    }

    /// As a command would: anything may happen.
    fn command(&self, message: &str, suspects: &Suspects, what: impl FnOnce(&Self)) -> usize {
        let mut checkpoint = self.history.checkpoint(message, 1).unwrap();
        checkpoint
            .before_command(&self.workspace, suspects)
            .unwrap();
        what(self);
        checkpoint
            .after_command(&self.workspace, &Suspects::All)
            .unwrap()
    }

    fn restore(&self, id: &str) -> workspace::Restored {
        let plan = self.history.preview(&self.workspace, id).unwrap();
        self.history
            .restore(&self.workspace, &plan, &BTreeSet::new(), 2)
            .unwrap()
    }

    /// Every path with what is there.
    fn tree(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut todo = vec![self.at("")];
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let shown = path
                    .strip_prefix(self.at(""))
                    .unwrap()
                    .display()
                    .to_string();
                let about = path.symlink_metadata().unwrap();
                let mode = about.permissions().mode() & 0o777;
                if about.is_symlink() {
                    all.push(format!(
                        "{shown} -> {}",
                        fs::read_link(&path).unwrap().display()
                    ));
                } else if about.is_dir() {
                    all.push(format!("{shown}/ {mode:o}"));
                    todo.push(path);
                } else {
                    let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                    all.push(format!("{shown} {mode:o} {text:?}"));
                }
            }
        }
        all.sort();
        all
    }
}

#[test]
fn what_tools_did_since_a_message_is_taken_back_and_the_restore_too() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    let start = bench.tree();
    bench.edit("m1", "a", "one", "two");
    let after_first = bench.tree();
    bench.edit("m2", "a", "two", "three");
    bench.create("m2", "new/deep/b", "made\n");
    let end = bench.tree();

    let plan = bench.history.preview(&bench.workspace, "m2").unwrap();
    let paths: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a", "new", "new/deep", "new/deep/b"]);
    let diff = bench
        .history
        .preview_diff(&bench.workspace, &plan.files[0])
        .unwrap()
        .unwrap();
    assert!(diff.ends_with("@@ -1,1 +1,1 @@\n-three\n+two\n"), "{diff}");
    assert_eq!(bench.tree(), end, "a preview changes nothing");

    let second = bench.restore("m2");
    assert_eq!(bench.tree(), after_first);
    bench.restore(&second.undo);
    assert_eq!(bench.tree(), end);
    let first = bench.restore("m1");
    assert_eq!(bench.tree(), start);
    bench.restore(&first.undo);
    assert_eq!(bench.tree(), end);
    let kinds: Vec<CheckpointKind> = bench
        .history
        .checkpoints()
        .unwrap()
        .iter()
        .map(|summary| summary.head.kind)
        .collect();
    assert_eq!(
        kinds[..3],
        [
            CheckpointKind::Message,
            CheckpointKind::Message,
            CheckpointKind::Restore
        ]
    );
}

#[test]
fn whatever_a_command_did_is_taken_back() {
    let bench = Bench::new();
    for path in [
        "edited",
        "deleted",
        "folder/inner",
        "moved/x",
        "mode",
        "becomes/folder",
        "file",
    ] {
        bench.put(path, path);
    }
    symlink("edited", bench.at("link")).unwrap();
    fs::set_permissions(bench.at("mode"), fs::Permissions::from_mode(0o400)).unwrap();
    let start = bench.tree();
    let count = bench.command("m1", &Suspects::All, |bench| {
        bench.put("edited", "EDITED");
        fs::remove_file(bench.at("deleted")).unwrap();
        fs::remove_dir_all(bench.at("folder")).unwrap();
        fs::rename(bench.at("moved"), bench.at("away")).unwrap();
        fs::set_permissions(bench.at("mode"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(bench.at("link")).unwrap();
        symlink("elsewhere", bench.at("link")).unwrap();
        fs::remove_dir_all(bench.at("becomes")).unwrap();
        bench.put("becomes", "a file");
        fs::remove_file(bench.at("file")).unwrap();
        bench.put("file/is/folder/now", "x");
        bench.put("made/by/command", "new");
        fs::create_dir(bench.at("empty")).unwrap();
    });
    assert_eq!(count, 20);
    let end = bench.tree();
    let restored = bench.restore("m1");
    assert_eq!(bench.tree(), start);
    bench.restore(&restored.undo);
    assert_eq!(bench.tree(), end);
}

#[test]
fn what_the_person_did_stays() {
    let bench = Bench::new();
    bench.put("mine", "mine\n");
    bench.put("shared", "one\n");
    bench.put("data/untracked", "precious");
    bench.put(".gitignore", "ignored/\n");
    bench.put("ignored/build", "1");
    bench.edit("m1", "shared", "one", "two");
    bench.create("m1", "made/a", "x\n");
    // The person goes on working.
    bench.put("mine", "mine too\n");
    bench.put("shared", "two, and mine\n");
    bench.put("made/person", "keep me");
    let count = bench.command("m2", &Suspects::All, |bench| bench.put("by_command", "x"));
    assert_eq!(
        count, 1,
        "only what changed while the command ran is its doing"
    );
    let restored = bench.restore("m1");
    assert_eq!(restored.left, [RelPath::parse("shared").unwrap()]);
    assert_eq!(bench.text("mine"), "mine too\n");
    assert_eq!(bench.text("shared"), "two, and mine\n");
    assert_eq!(bench.text("made/person"), "keep me");
    assert_eq!(bench.text("data/untracked"), "precious");
    assert_eq!(bench.text("ignored/build"), "1");
    assert!(!bench.at("made/a").exists() && !bench.at("by_command").exists());
    // Asked for by name it goes back too, and the person's text is kept for the undo.
    let plan = bench.history.preview(&bench.workspace, "m1").unwrap();
    let also = BTreeSet::from([RelPath::parse("shared").unwrap()]);
    let forced = bench
        .history
        .restore(&bench.workspace, &plan, &also, 3)
        .unwrap();
    assert_eq!(bench.text("shared"), "one\n");
    bench.restore(&forced.undo);
    assert_eq!(bench.text("shared"), "two, and mine\n");
}

#[test]
fn a_file_that_was_deleted_to_the_trash_or_renamed_comes_back() {
    let bench = Bench::new();
    bench.put("d/a", "1");
    bench.put("d/b", "2");
    let start = bench.tree();
    let mut checkpoint = bench.history.checkpoint("m1", 1).unwrap();
    checkpoint.before(&bench.workspace, "d").unwrap();
    bench.workspace.delete_file("d", &bench.ledger).unwrap();
    checkpoint.after(&bench.workspace, "d").unwrap();
    assert!(bench.tree().is_empty());
    bench.restore("m1");
    assert_eq!(bench.tree(), start);
}

#[test]
fn a_plan_that_is_no_longer_true_does_nothing() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    bench.put("b", "one\n");
    bench.edit("m1", "a", "one", "two");
    bench.edit("m1", "b", "one", "two");
    let plan = bench.history.preview(&bench.workspace, "m1").unwrap();
    bench.put("b", "changed meanwhile");
    let error = bench
        .history
        .restore(&bench.workspace, &plan, &BTreeSet::new(), 2)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert_eq!(
        (bench.text("a"), bench.text("b")),
        ("two\n".into(), "changed meanwhile".into())
    );
    let missing = bench.history.preview(&bench.workspace, "m7").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert_eq!(
        bench.history.checkpoint("../x", 1).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn a_watch_finds_what_a_whole_look_finds() {
    let bench = Bench::new();
    bench.put("a/b/c", "1");
    bench.put("x", "1");
    bench.put(".gitignore", "target/\n*.o\n");
    let mut watch = TreeWatch::start(&bench.workspace, &bench.history).unwrap();
    let mut checkpoint = bench.history.checkpoint("m1", 1).unwrap();
    checkpoint
        .before_command(&bench.workspace, &Suspects::All)
        .unwrap();
    let _ = watch.suspects();
    bench.put("a/b/c", "22");
    bench.put("a/new/deep/f", "3");
    bench.put("a/b/skipped.o", "3");
    bench.put("target/debug/x", "3");
    fs::remove_file(bench.at("x")).unwrap();
    let suspects = watch.suspects();
    assert!(
        matches!(&suspects, Suspects::Paths(paths) if !paths.is_empty()),
        "{suspects:?}"
    );
    assert_eq!(
        checkpoint
            .after_command(&bench.workspace, &suspects)
            .unwrap(),
        5
    );
    // The whole look agrees: nothing was missed.
    assert_eq!(
        checkpoint
            .after_command(&bench.workspace, &Suspects::All)
            .unwrap(),
        0
    );
    assert!(matches!(watch.suspects(), Suspects::Paths(paths) if paths.is_empty()));
    let paths: Vec<String> = bench.history.checkpoints().unwrap()[0]
        .files
        .iter()
        .map(|file| file.path.to_string())
        .collect();
    assert_eq!(paths, ["a/b/c", "a/new", "a/new/deep", "a/new/deep/f", "x"]);
}

#[test]
fn two_changes_of_one_length_within_a_tick_of_the_clock_are_both_seen() {
    let bench = Bench::new();
    bench.put("f", "aaaa");
    for round in 0..20 {
        let text = format!("{round:04}");
        let count = bench.command("m1", &Suspects::All, |bench| bench.put("f", &text));
        assert_eq!(count, 1, "round {round}");
    }
}

#[test]
fn a_torn_line_is_dropped_and_the_next_survives() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    bench.put("b", "one\n");
    bench.edit("m1", "a", "one", "two");
    let folder = bench.folder.path().join("data/checkpoints");
    let file = fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&file).unwrap();
    bytes.extend_from_slice(b"{\"t\":\"before\",\"path\":\"b\",\"sta");
    fs::write(&file, bytes).unwrap();
    bench.edit("m1", "b", "one", "two");
    bench.restore("m1");
    assert_eq!(
        (bench.text("a"), bench.text("b")),
        ("one\n".into(), "one\n".into())
    );
}

#[test]
fn pruning_forgets_the_oldest_and_only_their_contents() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    for (message, old, new) in [
        ("m1", "one", "two"),
        ("m2", "two", "three"),
        ("m3", "three", "four"),
    ] {
        bench.edit(message, "a", old, new);
    }
    assert_eq!(bench.history.prune(1).unwrap(), 2);
    assert_eq!(bench.history.checkpoints().unwrap().len(), 1);
    bench.restore("m3");
    assert_eq!(bench.text("a"), "three\n");
    let objects = bench.folder.path().join("data/objects");
    let count: usize = fs::read_dir(objects)
        .unwrap()
        .map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(count, 2);
}

#[test]
fn what_cannot_be_kept_is_not_changed() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    let full = workspace::Disk::with_hook(|step| match step {
        "write the rest of object" => Err(std::io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    });
    let history = History::open_with(&bench.folder.path().join("full"), full).unwrap();
    let mut checkpoint = history.checkpoint("m1", 1).unwrap();
    assert_eq!(
        checkpoint.before(&bench.workspace, "a").unwrap_err().kind(),
        ErrorKind::Io
    );
    assert!(
        checkpoint
            .before_command(&bench.workspace, &Suspects::All)
            .is_err()
    );
    assert!(history.checkpoints().unwrap()[0].files.is_empty());
    let big = fs::File::create(bench.at("big")).unwrap();
    big.set_len(65 * 1024 * 1024).unwrap();
    let mut checkpoint = bench.history.checkpoint("m1", 1).unwrap();
    assert_eq!(
        checkpoint
            .before(&bench.workspace, "big")
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}
