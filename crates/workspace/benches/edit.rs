//! An edit in a file of 10 MB against reading and writing it.

#[path = "support/measure.rs"]
mod measure;

use std::fs::{self, File};
use std::io::Write;

use workspace::{EditRequest, ReadLedger, ReadRequest, Workspace};

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    for (name, end) in [
        ("an edit in 10 MB", "\n"),
        ("an edit in 10 MB with carriage returns", "\r\n"),
    ] {
        let line = format!("{}{end}", "let value = index + length; ".repeat(3));
        let half = line.repeat(4_900_000 / line.len());
        let text = format!("{half}MARK 0{end}{half}");
        fs::write(&path, &text).unwrap();
        let workspace = Workspace::open(&[folder.path()]).unwrap();
        let ledger = ReadLedger::default();
        workspace
            .read_file(
                &ReadRequest {
                    path: "f".into(),
                    ..Default::default()
                },
                &ledger,
            )
            .unwrap();
        let mut round = 0;
        let ours = measure::best_of(9, || {
            let request = EditRequest {
                path: "f".into(),
                old_string: format!("MARK {round}"),
                new_string: format!("MARK {}", round + 1),
                replace_all: false,
            };
            round += 1;
            workspace.edit_file(&request, &ledger).unwrap();
        });
        let other = folder.path().join("other");
        let reference = measure::best_of(9, || {
            let bytes = fs::read(&path).unwrap();
            let mut file = File::create(&other).unwrap();
            file.write_all(&bytes).unwrap();
            file.sync_all().unwrap();
            fs::rename(&other, folder.path().join("copy")).unwrap();
        });
        measure::report(name, ours, reference, "reading and writing it, synced", 2.0);
    }
}
