//! Edits made by mutating real files: whatever the noise, an edit lands where it belongs or is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use workspace::{
    EditRequest, History, ReadLedger, ReadRequest, Workspace, WorkspaceError, parse_envelope,
    parse_search_replace,
};

/// A small generator of numbers (xorshift64), so that a run is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

/// What is wrong with the text a model sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Noise {
    None,
    Crlf,
    TabsForSpaces,
    TrailingSpace,
    SmartQuotes,
    LostIndent,
    LessContext,
}

const NOISES: [Noise; 7] = [
    Noise::None,
    Noise::Crlf,
    Noise::TabsForSpaces,
    Noise::TrailingSpace,
    Noise::SmartQuotes,
    Noise::LostIndent,
    Noise::LessContext,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Dialect {
    Replace,
    Blocks,
    Envelope,
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

/// The change of one line: statement gone, operator flipped, arguments swapped, line doubled.
fn mutated(line: &str, dice: &mut Dice) -> Option<Vec<String>> {
    let flips = [
        (" + ", " - "),
        ("==", "!="),
        ("true", "false"),
        ("&&", "||"),
        (" < ", " >= "),
        ("let ", "let mut "),
    ];
    match dice.below(4) {
        0 => Some(vec![]),
        1 => {
            let (from, to) = flips.iter().find(|(from, _)| line.contains(from))?;
            Some(vec![line.replacen(from, to, 1)])
        }
        2 => {
            let open = line.find('(')?;
            let close = open + line[open..].find(')')?;
            let (first, second) = line[open + 1..close].split_once(", ")?;
            let swapped = format!("{}({second}, {first}){}", &line[..open], &line[close + 1..]);
            (swapped != line).then(|| vec![swapped])
        }
        _ => Some(vec![line.to_owned(), format!("{line} // again")]),
    }
}

fn noisy(line: &str, noise: Noise) -> String {
    match noise {
        Noise::TabsForSpaces => line.replace("    ", "\t"),
        Noise::TrailingSpace => format!("{line}  "),
        Noise::SmartQuotes => line.replacen('"', "“", 1).replacen('"', "”", 1),
        Noise::LostIndent => line.trim_start().to_owned(),
        Noise::None | Noise::Crlf | Noise::LessContext => line.to_owned(),
    }
}

struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
    history: History,
}

impl Bench {
    /// Makes one edit of the file and says how it went, with the bytes after it.
    fn apply(
        &self,
        text: &str,
        old: &[String],
        new: &[String],
        shared: (usize, usize),
        dialect: Dialect,
        noise: Noise,
    ) -> (Result<(), WorkspaceError>, String) {
        let path = self.folder.path().join("f");
        fs::write(&path, text).unwrap();
        let ledger = ReadLedger::default();
        let request = ReadRequest {
            path: "f".into(),
            ..Default::default()
        };
        self.workspace.read_file(&request, &ledger).unwrap();
        let end = if noise == Noise::Crlf { "\r\n" } else { "\n" };
        let outcome = match dialect {
            Dialect::Replace => {
                let request = EditRequest {
                    path: "f".into(),
                    // A whole line goes with its end.
                    old_string: old.join(end) + if new.is_empty() { end } else { "" },
                    new_string: new.join(end),
                    replace_all: false,
                };
                self.workspace.edit_file(&request, &ledger).map(drop)
            }
            Dialect::Blocks => {
                let lines = |lines: &[String]| -> String {
                    lines.iter().map(|line| format!("{line}{end}")).collect()
                };
                let (old, new) = (lines(old), lines(new));
                let body = format!("f\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n");
                parse_search_replace(&body)
                    .and_then(|patch| self.workspace.apply_patch(&patch, &ledger, &self.history))
                    .map(drop)
            }
            Dialect::Envelope => {
                let (before, after) = shared;
                let mut body = format!("*** Begin Patch{end}*** Update File: f{end}@@{end}");
                let mut put = |mark: char, lines: &[String]| {
                    for line in lines {
                        body.push_str(&format!("{mark}{line}{end}"));
                    }
                };
                put(' ', &old[..before]);
                put('-', &old[before..old.len() - after]);
                put('+', &new[before..new.len() - after]);
                put(' ', &old[old.len() - after..]);
                body.push_str("*** End Patch");
                parse_envelope(&body)
                    .and_then(|patch| self.workspace.apply_patch(&patch, &ledger, &self.history))
                    .map(drop)
            }
        };
        (outcome, fs::read_to_string(path).unwrap())
    }
}

#[test]
fn no_edit_of_a_real_file_lands_in_a_wrong_place() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<_> = fs::read_dir(sources)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let (folder, data) = (scratch(), scratch());
    let bench = Bench {
        workspace: Workspace::open(&[folder.path()]).unwrap(),
        history: History::open(data.path()).unwrap(),
        folder,
    };
    let mut dice = Dice(0x5eed_cafe_f00d);
    let mut tally: BTreeMap<(Dialect, Noise), (u32, u32)> = BTreeMap::new();
    let mut rounds = 0;
    while rounds < 420 {
        let text = fs::read_to_string(&files[dice.below(files.len())]).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let noise = NOISES[rounds % NOISES.len()];
        let context = if noise == Noise::LessContext { 0 } else { 3 };
        let at = dice.below(lines.len());
        let (from, to) = (
            at.saturating_sub(context),
            (at + context + 1).min(lines.len()),
        );
        let Some(changed) = (!lines[at].trim().is_empty())
            .then(|| mutated(&lines[at], &mut dice))
            .flatten()
        else {
            continue;
        };
        let dialect =
            [Dialect::Replace, Dialect::Blocks, Dialect::Envelope][rounds / NOISES.len() % 3];
        rounds += 1;
        let old: Vec<String> = lines[from..to]
            .iter()
            .map(|line| noisy(line, noise))
            .collect();
        let new: Vec<String> = [&old[..at - from], &changed[..], &old[at - from + 1..]].concat();
        let shared = (at - from, to - at - 1);
        let (outcome, after) = bench.apply(&text, &old, &new, shared, dialect, noise);
        let count = tally.entry((dialect, noise)).or_default();
        if let Err(error) = outcome {
            assert_eq!(after, text, "refused ({error}) and yet changed");
            count.1 += 1;
            continue;
        }
        count.0 += 1;
        // The one right outcome; where the sent text has another form than the file, only the lines that changed
        // may have it.
        let right = [&lines[..at], &changed[..], &lines[at + 1..]].concat();
        let got: Vec<&str> = after.lines().collect();
        let same =
            got.len() == right.len() && got.iter().zip(&right).all(|(got, right)| *got == right);
        assert!(
            same,
            "{dialect:?} with {noise:?} at line {} landed wrong:\n{}",
            at + 1,
            new.join("\n")
        );
    }
    for dialect in [Dialect::Replace, Dialect::Blocks, Dialect::Envelope] {
        for noise in [Noise::None, Noise::Crlf] {
            let (applied, refused) = tally[&(dialect, noise)];
            assert!(
                applied > refused * 5,
                "{dialect:?} with {noise:?}: {applied} applied, {refused} refused"
            );
        }
    }
    println!("applied and refused: {tally:?}");
}
