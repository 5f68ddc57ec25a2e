//! Syntax colours, found on a thread of their own, line by line, so that code which is still being written costs only
//! its new lines.

mod classes;

use std::{
    collections::HashMap,
    sync::{OnceLock, mpsc},
    time::Duration,
};

use syntect::parsing::{ParseState, ScopeStack, SyntaxSet};

use crate::theme::SyntaxKind;

/// Lines longer than this many bytes get no colours: grammars take unbounded time on them.
const MAX_LINE_BYTES: usize = 1024;
/// Lines that one job may have.
const JOB_LINES: usize = 256;
/// Blocks whose colours are remembered; the least recently used ones go first.
const MAX_BLOCKS: usize = 512;

/// A run of one class in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its length in bytes.
    pub len: u32,
    /// Its class.
    pub kind: SyntaxKind,
}

/// The spans of one line, without its line break. Empty for a line without colours.
pub type LineSpans = Box<[Span]>;

/// Where a grammar stands between two lines.
#[derive(Clone)]
struct GrammarState {
    parse: ParseState,
    scopes: ScopeStack,
}

#[derive(Default)]
struct CodeBlock {
    lines: Vec<LineSpans>,
    state: Option<Box<GrammarState>>,
    /// A job is under way.
    pending: bool,
    /// No grammar knows the language.
    plain: bool,
    last_used: u64,
}

struct Job {
    key: u64,
    language: Box<str>,
    state: Option<Box<GrammarState>>,
    lines: Vec<String>,
}

struct Done {
    key: u64,
    /// `None` when no grammar knows the language.
    state: Option<Box<GrammarState>>,
    lines: Vec<LineSpans>,
}

/// Finds and remembers the colours of code blocks. Asking never waits; what isn't known yet is shown without colours.
pub struct Highlighter {
    blocks: HashMap<u64, CodeBlock>,
    jobs: Option<mpsc::Sender<Job>>,
    done_sender: mpsc::Sender<Done>,
    done: mpsc::Receiver<Done>,
    wake: egui::Context,
    pending: usize,
    tick: u64,
}

impl Highlighter {
    /// A highlighter that asks `ctx` for a repaint when colours have been found. Its thread starts with the first job.
    pub fn new(ctx: &egui::Context) -> Self {
        let (done_sender, done) = mpsc::channel();
        Self {
            blocks: HashMap::new(),
            jobs: None,
            done_sender,
            done,
            wake: ctx.clone(),
            pending: 0,
            tick: 0,
        }
    }

    /// Takes in what the thread has found. Call once a frame.
    pub fn poll(&mut self) {
        self.tick += 1;
        while let Ok(done) = self.done.try_recv() {
            self.take(done);
        }
    }

    /// Waits until everything asked for is known, at most `timeout`; for tests and pictures.
    pub fn wait(&mut self, timeout: Duration) {
        while self.pending > 0 {
            match self.done.recv_timeout(timeout) {
                Ok(done) => self.take(done),
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, done: Done) {
        self.pending = self.pending.saturating_sub(1);
        let block = self.blocks.entry(done.key).or_default();
        block.pending = false;
        block.plain = done.state.is_none();
        block.state = done.state;
        block.lines.extend(done.lines);
    }

    /// The spans of the lines of block `key` that are known, of those up to `end`, asking for the rest.
    ///
    /// `line` gives the text of a line; lines below `complete` will not change any more.
    pub fn lines<'t>(
        &mut self,
        key: u64,
        language: &str,
        end: usize,
        complete: usize,
        line: impl Fn(usize) -> &'t str,
    ) -> &[LineSpans] {
        if language.is_empty() {
            return &[];
        }
        let tick = self.tick;
        let block = self.blocks.entry(key).or_default();
        block.last_used = tick;
        let known = block.lines.len();
        if known < end.min(complete) && !block.pending && !block.plain {
            block.pending = true;
            let job = Job {
                key,
                language: language.into(),
                state: block.state.take(),
                lines: (known..complete.min(known + JOB_LINES))
                    .map(|at| format!("{}\n", line(at)))
                    .collect(),
            };
            self.send(job);
            self.forget_oldest();
        }
        self.blocks
            .get(&key)
            .map_or(&[], |block| &block.lines[..end.min(block.lines.len())])
    }

    fn send(&mut self, job: Job) {
        let jobs = self.jobs.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::channel();
            let (done, wake) = (self.done_sender.clone(), self.wake.clone());
            let worker = std::thread::Builder::new().name("highlight".to_owned());
            if let Err(error) = worker.spawn(move || work(&receiver, &done, &wake)) {
                log::warn!("code stays without colours: {error}");
            }
            sender
        });
        if jobs.send(job).is_ok() {
            self.pending += 1;
        }
    }

    fn forget_oldest(&mut self) {
        if self.blocks.len() <= MAX_BLOCKS {
            return;
        }
        let mut ages: Vec<u64> = self.blocks.values().map(|block| block.last_used).collect();
        ages.sort_unstable();
        let cut = ages[ages.len() / 4];
        self.blocks
            .retain(|_, block| block.last_used > cut || block.pending);
    }
}

fn work(jobs: &mpsc::Receiver<Job>, done: &mpsc::Sender<Done>, wake: &egui::Context) {
    while let Ok(job) = jobs.recv() {
        if done.send(highlight(syntaxes(), job)).is_err() {
            return;
        }
        wake.request_repaint();
    }
}

/// Every grammar the program knows. Unpacking them takes a moment, so only the highlighting thread asks first.
fn syntaxes() -> &'static SyntaxSet {
    static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines)
}

fn highlight(syntaxes: &SyntaxSet, job: Job) -> Done {
    let state = job.state.or_else(|| {
        let syntax = syntaxes.find_syntax_by_token(known_name(&job.language))?;
        Some(Box::new(GrammarState {
            parse: ParseState::new(syntax),
            scopes: ScopeStack::new(),
        }))
    });
    let Some(mut state) = state else {
        return Done {
            key: job.key,
            state: None,
            lines: Vec::new(),
        };
    };
    let lines = job
        .lines
        .iter()
        .map(|line| line_spans(syntaxes, &mut state, line))
        .collect();
    Done {
        key: job.key,
        state: Some(state),
        lines,
    }
}

/// Names that models give languages and grammars don't have.
fn known_name(language: &str) -> &str {
    match language.to_ascii_lowercase().as_str() {
        "golang" => "go",
        "c++" => "cpp",
        "c#" | "csharp" => "cs",
        "jsonc" | "json5" => "json",
        "shell" | "console" | "zsh" | "shell-session" => "sh",
        "jsx" => "js",
        "docker" => "dockerfile",
        "objective-c" | "objc" => "m",
        _ => language,
    }
}

fn line_spans(syntaxes: &SyntaxSet, state: &mut GrammarState, line: &str) -> LineSpans {
    let text_len = line.trim_end_matches('\n').len();
    if text_len > MAX_LINE_BYTES {
        return LineSpans::default();
    }
    let Ok(operations) = state.parse.parse_line(line, syntaxes) else {
        return LineSpans::default();
    };
    let mut spans: Vec<Span> = Vec::new();
    let mut start = 0;
    let mut add = |until: usize, scopes: &ScopeStack| {
        let until = until.min(text_len);
        if until <= start {
            return;
        }
        let len = (until - start) as u32;
        let kind = classes::class_of(scopes.as_slice());
        start = until;
        match spans.last_mut() {
            Some(last) if last.kind == kind => last.len += len,
            _ => spans.push(Span { len, kind }),
        }
    };
    for (at, operation) in &operations {
        add(*at, &state.scopes);
        if state.scopes.apply(operation).is_err() {
            return LineSpans::default();
        }
    }
    add(text_len, &state.scopes);
    spans.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours(language: &str, code: &str) -> Vec<Vec<(String, SyntaxKind)>> {
        let lines: Vec<&str> = code.lines().collect();
        let mut highlighter = Highlighter::new(&egui::Context::default());
        highlighter.lines(7, language, lines.len(), lines.len(), |at| lines[at]);
        highlighter.wait(Duration::from_secs(60));
        let known = highlighter.lines(7, language, lines.len(), lines.len(), |at| lines[at]);
        known
            .iter()
            .zip(&lines)
            .map(|(spans, line)| {
                let mut at = 0;
                let text = |span: &Span| {
                    let start = at;
                    at += span.len as usize;
                    (line[start..at].to_owned(), span.kind)
                };
                spans.iter().map(text).collect()
            })
            .collect()
    }

    #[test]
    fn rust_is_coloured_across_lines() {
        let lines = colours(
            "rust",
            "/* a\nb */ fn main() {\n    let x = \"s\\n\"; // c\n}",
        );
        assert_eq!(lines[0], [("/* a".to_owned(), SyntaxKind::Comment)]);
        let has = |line: usize, text: &str, kind| {
            lines[line]
                .iter()
                .any(|(found, found_kind)| found.contains(text) && *found_kind == kind)
        };
        assert!(has(1, "b */", SyntaxKind::Comment), "{:?}", lines[1]);
        assert!(has(1, "fn", SyntaxKind::Keyword), "{:?}", lines[1]);
        assert!(has(1, "main", SyntaxKind::Function), "{:?}", lines[1]);
        assert!(has(2, "\"s", SyntaxKind::String), "{:?}", lines[2]);
        assert!(has(2, "\\n", SyntaxKind::Escape), "{:?}", lines[2]);
        assert!(has(2, "// c", SyntaxKind::Comment), "{:?}", lines[2]);
    }

    #[test]
    fn spans_cover_their_line() {
        let code = "def f(x: int) -> str:\n\treturn f\"é{x}\"  # 漢";
        for (line, text) in colours("python", code).iter().zip(code.lines()) {
            let covered: String = line.iter().map(|(part, _)| part.as_str()).collect();
            assert_eq!(covered, text);
        }
    }

    #[test]
    fn an_unknown_language_has_no_colours_and_is_asked_for_once() {
        assert!(colours("no-such-language", "a\nb").is_empty());
    }

    #[test]
    fn typescript_and_toml_are_known() {
        assert!(!colours("typescript", "const a: number = 1;").is_empty());
        assert!(!colours("toml", "[a]\nb = 1").is_empty());
    }
}
