//! The public conformance suite, where a copy of it is at hand.
//!
//! `TEST262=DIR cargo test --release -p codemode --test test262 -- --nocapture` runs the suite under `DIR` (the folder that
//! holds `harness` and `test`) and prints a line for each chapter. `TEST262_ONLY=TEXT` runs the paths that contain a text,
//! `TEST262_REPORT=FILE` lists each failure, `TEST262_EAGER=1` collects garbage at every safe point. Without `TEST262` the runner is tested alone. What the language leaves out by
//! design is skipped and counted: the list is [`scope::out_of_scope`].

#[path = "test262/metadata.rs"]
mod metadata;
#[path = "test262/scope.rs"]
mod scope;

use codemode::{
    Call, CancelFlag, DiagnosticKind, Limits, Outcome, Output, Reply, Runtime, ToolHost, ToolSet,
    compile_with_prelude,
};
use futures_util::future::{BoxFuture, FutureExt};
use metadata::{Flag, Metadata, Phase};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The share of the runnable tests that has to pass, in percent.
const TARGET: f64 = 97.0;

/// What every test finds: where an asynchronous test reports its end, and the one host function that needs no second realm.
const HOST: &str = "
let $DONE; const $ended = new Promise((resolve, reject) => { $DONE = e => e === undefined ? resolve() : reject(e); });
var $262 = { gc() {}, detachArrayBuffer(buffer) { buffer.transfer(); return null; } };
var globalThis = { $DONE };
";

struct NoTools;

impl ToolHost for NoTools {
    fn call(&self, _: Call) -> BoxFuture<'static, Reply> {
        async { Ok(Output::Json(serde_json::Value::Null)) }.boxed()
    }
}

/// How one test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed(String),
    Skipped(&'static str),
}

/// The suite's shared scripts by file name.
type Harness = BTreeMap<String, String>;

fn read_harness(folder: &Path) -> Harness {
    let mut harness = Harness::new();
    for path in scripts(folder) {
        let name = path.strip_prefix(folder).unwrap_or(&path);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        harness.insert(name.to_string_lossy().into_owned(), text);
    }
    harness
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "js") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn judge(runtime: &Runtime, harness: &Harness, path: &str, source: &str) -> Verdict {
    let Some(metadata) = Metadata::parse(source) else {
        return Verdict::Skipped("no metadata");
    };
    if let Some(reason) = scope::out_of_scope(path, &metadata, source) {
        return Verdict::Skipped(reason);
    }
    let prelude = match prelude(harness, &metadata) {
        Ok(prelude) => prelude,
        Err(name) => return Verdict::Failed(format!("no such include: {name}")),
    };
    let end = if metadata.has(Flag::Async) {
        "\nawait $ended;"
    } else {
        ""
    };
    // A test that fails to parse must be alone in its file: what follows it could be what fails.
    let parse_only = metadata
        .negative
        .as_ref()
        .is_some_and(|n| n.phase == Phase::Parse);
    let code = if parse_only {
        source.to_owned()
    } else {
        format!("{source}\n;{end}undefined;")
    };
    let compiled = match compile_with_prelude(&prelude, &code) {
        Ok(compiled) => compiled,
        Err(_) if parse_only => return Verdict::Passed,
        Err(problems) if problems[0].message.starts_with("Cannot use `await`") => {
            return Verdict::Skipped("await as a name");
        }
        Err(problems) => return Verdict::Failed(problems[0].message.clone()),
    };
    if parse_only {
        return Verdict::Failed("was accepted".to_owned());
    }
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let outcome = tokio
        .block_on(runtime.run(&compiled, &NoTools, &CancelFlag::default()))
        .unwrap();
    verdict(&metadata, &outcome)
}

fn verdict(metadata: &Metadata, outcome: &Outcome) -> Verdict {
    match (&outcome.result, &metadata.negative) {
        (Ok(_), None) => Verdict::Passed,
        (Ok(_), Some(negative)) => Verdict::Failed(format!("no {}", negative.kind)),
        (Err(error), Some(negative)) if is_announced(&error.message, &negative.kind) => {
            Verdict::Passed
        }
        (Err(error), _) if error.kind == DiagnosticKind::ExecutionFailure => {
            Verdict::Failed(error.message.clone())
        }
        (Err(error), _) => Verdict::Failed(format!("{:?}: {}", error.kind, error.message)),
    }
}

/// The suite's own error is no error of the language: its message alone says nothing of it.
fn is_announced(message: &str, kind: &str) -> bool {
    message.starts_with(kind) || (kind == "Test262Error" && message.starts_with("Uncaught"))
}

fn prelude(harness: &Harness, metadata: &Metadata) -> Result<String, String> {
    // A directive counts at the start of a function, which is the prelude's.
    let strict = if metadata.has(Flag::OnlyStrict) {
        "'use strict';"
    } else {
        ""
    };
    let mut prelude = format!("{strict}{HOST}");
    if metadata.has(Flag::Raw) {
        return Ok(prelude);
    }
    let always = ["assert.js", "sta.js"].map(str::to_owned);
    for name in always.iter().chain(&metadata.includes) {
        // Its functions are `HOST`'s here.
        if matches!(name.as_str(), "doneprintHandle.js" | "detachArrayBuffer.js") {
            if name == "detachArrayBuffer.js" {
                prelude += "function $DETACHBUFFER(buffer) { buffer.transfer(); }\n";
            }
            continue;
        }
        prelude += harness.get(name).ok_or_else(|| name.clone())?;
        prelude.push('\n');
    }
    Ok(prelude)
}

#[derive(Default)]
struct Chapter {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// `built-ins/Array`, `language/statements` and so on.
fn chapter_of(path: &str) -> String {
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

fn table(verdicts: &[(String, Verdict)]) -> (String, f64) {
    let mut chapters: BTreeMap<String, Chapter> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut total = Chapter::default();
    for (path, verdict) in verdicts {
        let chapter = chapters.entry(chapter_of(path)).or_default();
        match verdict {
            Verdict::Passed => (chapter.passed += 1, total.passed += 1),
            Verdict::Failed(_) => (chapter.failed += 1, total.failed += 1),
            Verdict::Skipped(reason) => {
                *reasons.entry(reason).or_default() += 1;
                (chapter.skipped += 1, total.skipped += 1)
            }
        };
    }
    let mut text = String::new();
    let mut row = |name: &str, c: &Chapter| {
        let share = 100.0 * c.passed as f64 / (c.passed + c.failed).max(1) as f64;
        let mark = if c.failed == 0 {
            ""
        } else if share < TARGET {
            "  MISS"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{name:<44} {:>6} of {:>6}  {share:>6.2} %  skipped {:>6}{mark}",
            c.passed,
            c.passed + c.failed,
            c.skipped
        );
        share
    };
    for (name, chapter) in &chapters {
        row(name, chapter);
    }
    let share = row("all", &total);
    text += "skipped:\n";
    for (reason, count) in reasons {
        let _ = writeln!(text, "{count:>8}  {reason}");
    }
    (text, share)
}

fn run_suite(root: &Path) -> Vec<(String, Verdict)> {
    let harness = read_harness(&root.join("harness"));
    let folder = root.join("test");
    let only = std::env::var("TEST262_ONLY").unwrap_or_default();
    let paths: Vec<(String, PathBuf)> = scripts(&folder)
        .into_iter()
        .map(|path| {
            (
                path.strip_prefix(&folder)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .into_owned(),
                path,
            )
        })
        .filter(|(name, _)| name.contains(&only) && !name.contains("_FIXTURE"))
        .collect();
    let verdicts = Mutex::new(Vec::with_capacity(paths.len()));
    let next = AtomicUsize::new(0);
    let work = || {
        let limits = Limits {
            timeout_ms: Some(20_000),
            ..Limits::default()
        };
        let tools = ToolSet::new(Vec::new(), Default::default()).unwrap();
        let mut runtime = Runtime::new(tools, limits);
        if std::env::var_os("TEST262_EAGER").is_some() {
            runtime = runtime.with_eager_collection();
        }
        while let Some((name, path)) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Ok(source) = std::fs::read_to_string(path) else {
                verdicts
                    .lock()
                    .unwrap()
                    .push((name.clone(), Verdict::Skipped("not UTF-8")));
                continue;
            };
            let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                judge(&runtime, &harness, name, &source)
            }));
            let verdict = judged.unwrap_or_else(|_| Verdict::Failed("PANIC".to_owned()));
            verdicts.lock().unwrap().push((name.clone(), verdict));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut verdicts = verdicts.into_inner().unwrap();
    verdicts.sort_by(|a, b| a.0.cmp(&b.0));
    verdicts
}

#[test]
fn the_public_suite_passes_in_its_share() {
    run_from_environment();
}

pub(crate) fn run_from_environment() {
    let Some(root) = std::env::var_os("TEST262") else {
        println!("TEST262 names no folder: nothing to run");
        return;
    };
    let verdicts = run_suite(Path::new(&root));
    let (text, share) = table(&verdicts);
    println!("{text}");
    if let Some(path) = std::env::var_os("TEST262_REPORT") {
        let mut report = String::new();
        for (path, verdict) in &verdicts {
            if let Verdict::Failed(why) = verdict {
                let _ = writeln!(report, "{path}\t{}", why.replace('\n', " "));
            }
        }
        std::fs::write(path, report).unwrap();
    }
    assert!(
        share >= TARGET,
        "{share:.2} % of the runnable tests pass, {TARGET} % should"
    );
}

fn judge_alone(path: &str, source: &str) -> Verdict {
    let runtime = Runtime::new(
        ToolSet::new(Vec::new(), Default::default()).unwrap(),
        Limits::default(),
    );
    let mut harness = Harness::new();
    harness.insert(
        "assert.js".into(),
        "function assert(x, m) { if (x !== true) throw new Error(m); }".into(),
    );
    harness.insert("sta.js".into(), String::new());
    judge(&runtime, &harness, path, source)
}

#[test]
fn a_test_passes_when_it_ends_without_a_throw() {
    let passes = "/*---\nflags: [onlyStrict]\n---*/\nassert([1, 2].includes(2), 'includes');";
    assert_eq!(judge_alone("built-ins/Array/a.js", passes), Verdict::Passed);
    let fails = "/*---\n---*/\nassert([1, 2].includes(3), 'not there');";
    let Verdict::Failed(why) = judge_alone("built-ins/Array/a.js", fails) else {
        panic!("should fail");
    };
    assert!(why.contains("not there"), "{why}");
}

#[test]
fn a_negative_test_passes_when_it_fails_as_announced() {
    let parse = "/*---\nnegative:\n  phase: parse\n  type: SyntaxError\n---*/\nlet a; let a;";
    assert_eq!(judge_alone("language/a.js", parse), Verdict::Passed);
    let accepted = "/*---\nnegative:\n  phase: parse\n  type: SyntaxError\n---*/\nlet a;";
    assert!(matches!(
        judge_alone("language/a.js", accepted),
        Verdict::Failed(_)
    ));
    let run = "/*---\nnegative:\n  phase: runtime\n  type: RangeError\n---*/\n'x'.repeat(-1);";
    assert_eq!(judge_alone("language/a.js", run), Verdict::Passed);
    let other = "/*---\nnegative:\n  phase: runtime\n  type: TypeError\n---*/\n'x'.repeat(-1);";
    assert!(matches!(
        judge_alone("language/a.js", other),
        Verdict::Failed(_)
    ));
}

#[test]
fn an_asynchronous_test_ends_when_it_says_so() {
    let done = "/*---\nflags: [async]\n---*/\nPromise.resolve().then(() => $DONE());";
    assert_eq!(judge_alone("built-ins/Promise/a.js", done), Verdict::Passed);
    let failed =
        "/*---\nflags: [async]\n---*/\nPromise.resolve().then(() => $DONE(new Error('late')));";
    assert!(matches!(
        judge_alone("built-ins/Promise/a.js", failed),
        Verdict::Failed(_)
    ));
}

#[test]
fn what_is_left_out_by_design_is_skipped_with_its_reason() {
    let module = "/*---\nflags: [module]\n---*/\nexport {};";
    assert_eq!(
        judge_alone("language/a.js", module),
        Verdict::Skipped("modules")
    );
    let proxy = "/*---\nfeatures: [Proxy, Symbol]\n---*/\nnew Proxy({}, {});";
    assert_eq!(
        judge_alone("built-ins/a.js", proxy),
        Verdict::Skipped("Proxy")
    );
}

/// The same runtime serves many runs, as [`run_suite`] has it.
#[test]
fn a_test_leaves_nothing_to_the_next() {
    let changes = "/*---\n---*/\nArray.prototype.left = true;";
    let looks = "/*---\n---*/\nassert([].left === undefined, 'left');";
    assert_eq!(judge_alone("built-ins/a.js", changes), Verdict::Passed);
    assert_eq!(judge_alone("built-ins/b.js", looks), Verdict::Passed);
}
