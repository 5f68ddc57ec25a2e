//! The corpus of edits: text files in `tests/corpus`, each case a tree, a call, and what must come of it.
//!
//! A case begins with `=== NAME`. `--- file PATH [ENCODING]` gives a file before the call, `--- call NAME [ARGUMENT]` the call, whose
//! body is its text, and `--- expect ...` the outcome: `file PATH`, `absent PATH`, `refused KIND`, `fallback NAME`. Files that
//! aren't named after the call must be as before. In the text of files `␍` is a carriage return, `→` a tab,
//! `␠` a space, `⌂` a no-break space, and a last line `⌀` takes away the line end before it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use encoding_rs::Encoding;
use workspace::{
    AnchorEdit, EditRequest, FilePatch, History, Patch, ReadLedger, ReadRequest, Workspace,
    WorkspaceError, WriteRequest, Written, anchored, parse_envelope, parse_search_replace,
};

#[derive(Default)]
struct Case {
    name: String,
    sections: Vec<(String, String)>,
}

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

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case {
                name: name.into(),
                ..Case::default()
            });
        } else if let Some(head) = line.strip_prefix("--- ") {
            cases
                .last_mut()
                .unwrap()
                .sections
                .push((head.into(), String::new()));
        } else if let Some(section) = cases.last_mut().and_then(|case| case.sections.last_mut()) {
            section.1.push_str(line);
            section.1.push('\n');
        }
    }
    cases
}

fn spelled_out(text: &str) -> String {
    let text = text
        .replace('␍', "\r")
        .replace('→', "\t")
        .replace('␠', " ")
        .replace('⌂', "\u{a0}");
    match text.strip_suffix("\n⌀\n") {
        Some(cut) => cut.to_owned(),
        None if text == "⌀\n" => String::new(),
        None => text,
    }
}

fn encoded(text: &str, encoding: Option<&str>) -> Vec<u8> {
    let text = spelled_out(text);
    match encoding {
        None => text.into_bytes(),
        Some("utf-8-bom") => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        Some("utf-16le") => {
            let units = format!("\u{feff}{text}");
            units.encode_utf16().flat_map(u16::to_le_bytes).collect()
        }
        Some(label) => {
            let (bytes, _, unmappable) =
                Encoding::for_label(label.as_bytes()).unwrap().encode(&text);
            assert!(!unmappable);
            bytes.into_owned()
        }
    }
}

struct Tree {
    workspace: Workspace,
    ledger: ReadLedger,
    history: History,
}

impl Tree {
    fn read(&self, path: &str) -> Result<workspace::ReadFile, WorkspaceError> {
        let request = ReadRequest {
            path: path.into(),
            ..Default::default()
        };
        self.workspace.read_file(&request, &self.ledger)
    }

    fn call(&self, name: &str, argument: &str, body: &str) -> Result<Vec<Written>, WorkspaceError> {
        let patched = |patch: Patch| {
            let patched = self
                .workspace
                .apply_patch(&patch, &self.ledger, &self.history)?;
            Ok(patched.written)
        };
        match name {
            "edit_file" => {
                let request: EditRequest = serde_json::from_str(body).unwrap();
                Ok(vec![self.workspace.edit_file(&request, &self.ledger)?])
            }
            "write_file" => {
                let request = WriteRequest {
                    path: argument.into(),
                    content: spelled_out(body),
                };
                Ok(vec![self.workspace.write_file(&request, &self.ledger)?])
            }
            "envelope" => patched(parse_envelope(&spelled_out(body))?),
            "blocks" => patched(parse_search_replace(&spelled_out(body))?),
            "anchors" => {
                // The body names lines by number alone; the anchors are those of the file.
                let view = self.read(argument)?;
                let shown = anchored(&view.text, 1);
                let anchor = |number: u64| {
                    let line = shown.lines().nth(usize::try_from(number).unwrap() - 1);
                    line.map_or(format!("{number}:0000"), |line| {
                        line.split('|').next().unwrap().to_owned()
                    })
                };
                let edits: Vec<serde_json::Value> = serde_json::from_str(body).unwrap();
                let edits = edits.into_iter().map(|mut edit| {
                    for key in ["from", "to", "line"] {
                        if let Some(number) = edit[key].as_u64() {
                            edit[key] = anchor(number).into();
                        }
                    }
                    serde_json::from_value::<AnchorEdit>(edit).unwrap()
                });
                patched(Patch {
                    files: vec![FilePatch::Anchored {
                        path: argument.into(),
                        edits: edits.collect(),
                    }],
                })
            }
            other => panic!("no call {other}"),
        }
    }
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(at).unwrap().flatten() {
            if entry.path().is_dir() {
                todo.push(entry.path());
            } else {
                let path = entry
                    .path()
                    .strip_prefix(folder)
                    .unwrap()
                    .display()
                    .to_string();
                all.insert(path, fs::read(entry.path()).unwrap());
            }
        }
    }
    all
}

fn run(case: &Case) {
    let folder = scratch();
    let data = scratch();
    let tree = Tree {
        workspace: Workspace::open(&[folder.path()]).unwrap(),
        ledger: ReadLedger::default(),
        history: History::open(data.path()).unwrap(),
    };
    let mut expected = BTreeMap::new();
    let mut outcome = None;
    let mut refused = None;
    let mut checked = 0;
    for (head, body) in &case.sections {
        let words: Vec<&str> = head.split_whitespace().collect();
        match words[..] {
            ["file", path, ref encoding @ ..] => {
                let bytes = encoded(body, encoding.first().copied());
                let at = folder.path().join(path);
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                fs::write(at, &bytes).unwrap();
                tree.read(path).unwrap();
                expected.insert(path.to_owned(), bytes);
            }
            ["changed", path, ref encoding @ ..] => {
                let bytes = encoded(body, encoding.first().copied());
                fs::write(folder.path().join(path), &bytes).unwrap();
                expected.insert(path.to_owned(), bytes);
            }
            ["call", name, ref argument @ ..] => {
                outcome = Some(tree.call(name, argument.first().copied().unwrap_or(""), body));
            }
            ["expect", "file", path, ref encoding @ ..] => {
                expected.insert(path.to_owned(), encoded(body, encoding.first().copied()));
                checked += 1;
            }
            ["expect", "absent", path] => {
                assert!(
                    expected.remove(path).is_some(),
                    "{}: {path} was never there",
                    case.name
                );
                checked += 1;
            }
            ["expect", "refused", kind] => refused = Some(kind.to_owned()),
            ["expect", "fallback", name] => {
                let written = outcome.as_ref().unwrap().as_ref().unwrap();
                assert!(
                    written.iter().any(|file| file.fallback == Some(name)),
                    "{}",
                    case.name
                );
            }
            _ => panic!("{}: what is `{head}`?", case.name),
        }
    }
    let outcome = outcome.unwrap_or_else(|| panic!("{}: no call", case.name));
    match (&outcome, &refused) {
        (Err(error), Some(kind)) => {
            let told = serde_json::to_value(error.kind()).unwrap();
            assert_eq!(told.as_str(), Some(kind.as_str()), "{}: {error}", case.name);
        }
        (Ok(_), None) => assert!(checked > 0, "{}: nothing is expected", case.name),
        (Ok(_), Some(kind)) => panic!("{}: not refused as {kind}", case.name),
        (Err(error), None) => panic!("{}: {error}", case.name),
    }
    let shown = |tree: &BTreeMap<String, Vec<u8>>| -> BTreeMap<String, String> {
        tree.iter()
            .map(|(path, bytes)| (path.clone(), bytes.escape_ascii().to_string()))
            .collect()
    };
    assert_eq!(
        shown(&contents(folder.path())),
        shown(&expected),
        "{}",
        case.name
    );
}

#[test]
fn every_case_of_the_corpus_comes_out_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for case in cases(&text) {
            run(&case);
            count += 1;
        }
    }
    assert!(count >= 60, "only {count} cases were found");
}
