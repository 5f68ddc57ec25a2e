//! What of the conformance suite the language leaves out by design.

use super::metadata::{Flag, Metadata, Phase};

/// Folders, and why no test in them counts.
const FOLDERS: &[(&str, &str)] = &[
    ("annexB/", "annex B"),
    ("intl402/", "Intl"),
    ("staging/", "staging"),
    ("harness/", "the suite's own harness"),
    ("language/module-code/", "modules"),
    ("language/import/", "modules"),
    ("language/export/", "modules"),
    ("language/expressions/dynamic-import/", "modules"),
    ("language/expressions/import.meta/", "modules"),
    ("language/eval-code/", "eval"),
    ("language/global-code/", "the global object"),
    ("built-ins/eval/", "eval"),
    ("built-ins/global/", "the global object"),
    ("built-ins/Atomics/", "shared memory"),
    ("built-ins/SharedArrayBuffer/", "shared memory"),
    ("built-ins/Proxy/", "Proxy"),
    ("built-ins/ShadowRealm/", "not in ECMAScript 2025"),
    ("built-ins/Temporal/", "not in ECMAScript 2025"),
];

/// Features, and why no test that uses them counts.
const FEATURES: &[(&str, &str)] = &[
    ("Atomics", "shared memory"),
    ("Atomics.pause", "shared memory"),
    ("Atomics.waitAsync", "shared memory"),
    ("SharedArrayBuffer", "shared memory"),
    ("Proxy", "Proxy"),
    ("proxy-missing-checks", "Proxy"),
    ("ShadowRealm", "not in ECMAScript 2025"),
    ("Temporal", "not in ECMAScript 2025"),
    ("decorators", "not in ECMAScript 2025"),
    ("explicit-resource-management", "not in ECMAScript 2025"),
    ("json-parse-with-source", "not in ECMAScript 2025"),
    ("IsHTMLDDA", "annex B"),
    ("legacy-regexp", "annex B"),
    ("caller", "annex B"),
    ("__proto__", "annex B"),
    ("__getter__", "annex B"),
    ("__setter__", "annex B"),
    ("cross-realm", "a second realm"),
    ("tail-call-optimization", "tail calls"),
    ("host-gc-required", "the host's collector"),
    ("hashbang", "modules and scripts"),
    ("globalThis", "the global object"),
    ("dynamic-import", "modules"),
    ("import.meta", "modules"),
    ("import-assertions", "modules"),
    ("import-attributes", "modules"),
    ("import-defer", "modules"),
    ("source-phase-imports", "modules"),
    ("top-level-await", "modules"),
    ("json-modules", "modules"),
];

/// Words of a source, and why a test that has one doesn't count.
const WORDS: &[(&str, &str)] = &[
    ("eval", "eval"),
    ("Proxy", "Proxy"),
    ("globalThis", "the global object"),
    ("__proto__", "annex B"),
    ("$262.createRealm", "a second realm"),
    ("$262.evalScript", "eval"),
    ("$262.agent", "shared memory"),
    ("$262.global", "the global object"),
    ("$262.IsHTMLDDA", "annex B"),
    ("SharedArrayBuffer", "shared memory"),
    ("import", "modules"),
    ("fnGlobalObject", "the global object"),
    ("new Function", "code from text"),
    ("Function", "code from text"),
];

/// Why a test doesn't count, if it doesn't.
pub(crate) fn out_of_scope(path: &str, metadata: &Metadata, source: &str) -> Option<&'static str> {
    let folder = FOLDERS.iter().find(|(folder, _)| path.starts_with(folder));
    if let Some((_, reason)) = folder {
        return Some(reason);
    }
    if metadata.has(Flag::Module)
        || metadata
            .negative
            .as_ref()
            .is_some_and(|n| n.phase == Phase::Resolution)
    {
        return Some("modules");
    }
    if metadata.has(Flag::NoStrict) {
        return Some("sloppy mode");
    }
    let named = |feature: &String| feature == "Intl" || feature.starts_with("Intl.");
    if metadata.features.iter().any(named) {
        return Some("Intl");
    }
    for (feature, reason) in FEATURES {
        if metadata.features.iter().any(|f| f == feature) {
            return Some(reason);
        }
    }
    let code = without_comments(source.split_once("---*/").map_or(source, |(_, code)| code));
    if has_top_level_this(&code) {
        return Some("the global object");
    }
    let word = WORDS.iter().find(|(word, _)| has_word(&code, word));
    word.map(|(_, reason)| *reason)
}

/// Whether the code speaks of the script's own `this`, which is the global object: a `this` outside of all braces.
fn has_top_level_this(code: &str) -> bool {
    let mut depth = 0i32;
    let mut outside = String::new();
    for c in code.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            c if depth <= 0 => outside.push(c),
            _ => {}
        }
    }
    has_word(&outside, "this")
}

/// The code without its comments, roughly: a comment's start inside a string counts too.
fn without_comments(code: &str) -> String {
    let mut out = String::new();
    for line in code.lines() {
        out.push_str(line.split("//").next().unwrap_or_default());
        out.push('\n');
    }
    while let Some((start, end)) = out
        .find("/*")
        .and_then(|s| Some((s, out[s..].find("*/")? + s)))
    {
        out.replace_range(start..end + 2, " ");
    }
    out
}

/// Whether a name is called in the code (for functions that make code of text), or occurs as a word at all.
fn has_word(code: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        let whole = !before.is_some_and(|c| letter(c) || c == '.' || c == '\'' || c == '"')
            && !after.is_some_and(letter);
        whole && (word != "Function" || after == Some('('))
    })
}
