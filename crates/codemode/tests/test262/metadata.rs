//! The front matter of a conformance test: as much of YAML as the suite uses.

/// When a test that has to fail does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before anything runs.
    Parse,
    /// While modules are linked.
    Resolution,
    /// While it runs.
    Runtime,
}

/// How a test that has to fail does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Negative {
    /// When.
    pub(crate) phase: Phase,
    /// The name of the error.
    pub(crate) kind: String,
}

/// The flags that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Runs under `"use strict"` only.
    OnlyStrict,
    /// Runs without it only.
    NoStrict,
    /// Is a module.
    Module,
    /// Gets no harness.
    Raw,
    /// Ends when it calls `$DONE`.
    Async,
}

/// What a test says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// Scripts of the harness that it needs.
    pub(crate) includes: Vec<String>,
    /// Parts of the language that it uses.
    pub(crate) features: Vec<String>,
    /// How it has to fail, when it has to.
    pub(crate) negative: Option<Negative>,
    flags: Vec<Flag>,
}

impl Metadata {
    /// Reads the front matter of a test; none when the source has none.
    pub(crate) fn parse(source: &str) -> Option<Metadata> {
        let (_, rest) = source.split_once("/*---")?;
        let (text, _) = rest.split_once("---*/")?;
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let flags = list(&text, "flags");
        let flag = |name: &str| match name {
            "onlyStrict" => Some(Flag::OnlyStrict),
            "noStrict" => Some(Flag::NoStrict),
            "module" => Some(Flag::Module),
            "raw" => Some(Flag::Raw),
            "async" => Some(Flag::Async),
            _ => None,
        };
        Some(Metadata {
            includes: list(&text, "includes"),
            features: list(&text, "features"),
            negative: negative(&text),
            flags: flags.iter().filter_map(|name| flag(name)).collect(),
        })
    }

    /// Whether the test carries a flag.
    pub(crate) fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }
}

/// The lines of a top-level key: what follows its colon, then the lines indented under it.
fn entry<'t>(text: &'t str, key: &str) -> Option<(&'t str, Vec<&'t str>)> {
    let mut lines = text.lines().skip_while(|line| {
        !line
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(':'))
    });
    let first = lines.next()?;
    let under =
        lines.take_while(|line| line.starts_with([' ', '-', '\t']) || line.trim().is_empty());
    Some((
        first[key.len() + 1..].trim(),
        under.map(str::trim).collect(),
    ))
}

/// A list in either of YAML's forms.
fn list(text: &str, key: &str) -> Vec<String> {
    let Some((inline, under)) = entry(text, key) else {
        return Vec::new();
    };
    if inline.starts_with('[') {
        let whole = std::iter::once(inline)
            .chain(under)
            .collect::<Vec<_>>()
            .join(" ");
        let inside = whole
            .trim_start_matches('[')
            .split(']')
            .next()
            .unwrap_or_default();
        let names = inside.split(',').map(|name| name.trim().to_owned());
        return names.filter(|name| !name.is_empty()).collect();
    }
    let item = |line: &&str| line.strip_prefix('-').map(|name| name.trim().to_owned());
    under.iter().filter_map(item).collect()
}

fn negative(text: &str) -> Option<Negative> {
    let (_, under) = entry(text, "negative")?;
    let field = |name: &str| {
        under
            .iter()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    let phase = match field("phase:")? {
        "parse" | "early" => Phase::Parse,
        "resolution" => Phase::Resolution,
        _ => Phase::Runtime,
    };
    Some(Negative {
        phase,
        kind: field("type:")?.to_owned(),
    })
}

#[test]
fn lists_are_read_in_both_forms() {
    let text = "/*---\nincludes: [a.js, b.js]\nfeatures:\n  - BigInt\n  - Symbol.species\nflags: [async, raw]\n---*/";
    let metadata = Metadata::parse(text).unwrap();
    assert_eq!(metadata.includes, ["a.js", "b.js"]);
    assert_eq!(metadata.features, ["BigInt", "Symbol.species"]);
    assert!(metadata.has(Flag::Async) && metadata.has(Flag::Raw) && !metadata.has(Flag::Module));
}

#[test]
fn a_failure_announced_has_a_phase_and_a_kind() {
    let text =
        "/*---\nnegative:\n  phase: runtime\n  type: Test262Error\ninfo: |\n  negative: no\n---*/";
    let negative = Metadata::parse(text).unwrap().negative.unwrap();
    assert_eq!(
        negative,
        Negative {
            phase: Phase::Runtime,
            kind: "Test262Error".to_owned()
        }
    );
    assert_eq!(Metadata::parse("/*---\n---*/").unwrap().negative, None);
    assert_eq!(Metadata::parse("let a;"), None);
}
