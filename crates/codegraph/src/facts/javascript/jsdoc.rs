//! Names that comments use: JSDoc links and types, and the JSX pragma.
//!
//! The compiler counts `{@link Name}` as a use everywhere, and JSDoc types as uses in JavaScript files.

use std::collections::HashSet;

use oxc_ast::ast::Program;

/// The names that the file's JSDoc comments refer to.
pub(super) fn mentioned_names<'t>(
    program: &Program<'_>,
    text: &'t str,
    is_javascript: bool,
) -> HashSet<&'t str> {
    let mut names = HashSet::new();
    for comment in &program.comments {
        let Some(body) = text.get(comment.span.start as usize..comment.span.end as usize) else {
            continue;
        };
        if !body.starts_with("/**") {
            continue;
        }
        links(body, &mut names);
        if is_javascript {
            types(body, &mut names);
        }
    }
    names
}

fn links<'t>(comment: &'t str, names: &mut HashSet<&'t str>) {
    for (at, _) in comment.match_indices("{@link") {
        let rest = &comment[at + "{@link".len()..];
        let rest = rest
            .strip_prefix("code")
            .or_else(|| rest.strip_prefix("plain"))
            .unwrap_or(rest);
        if rest.starts_with(char::is_whitespace) {
            names.extend(identifiers(rest.trim_start()).next());
        }
    }
}

fn types<'t>(comment: &'t str, names: &mut HashSet<&'t str>) {
    let mut rest = comment;
    while let Some(at) = rest.find('@') {
        rest = &rest[at + 1..];
        let tag = identifiers(rest).next().unwrap_or_default();
        let after = rest[tag.len()..].trim_start();
        if let Some(braced) = after.strip_prefix('{') {
            names.extend(identifiers(&braced[..brace_end(braced)]));
        } else if tag == "see" {
            names.extend(identifiers(after).next());
        }
    }
}

/// The types that top-level JSDoc comments define, with their offsets: `@typedef {T} Name`, `@typedef Name`,
/// `@callback Name`. The compiler exports them from every JavaScript module.
pub(super) fn defined_types<'t>(program: &Program<'_>, text: &'t str) -> Vec<(&'t str, u32)> {
    let mut found = Vec::new();
    for comment in &program.comments {
        let start = comment.span.start as usize;
        let Some(body) = text.get(start..comment.span.end as usize) else {
            continue;
        };
        let is_top_level = start == 0 || text.as_bytes()[start - 1] == b'\n';
        if !is_top_level || !body.starts_with("/**") {
            continue;
        }
        for tag in ["@typedef", "@callback"] {
            for (at, _) in body.match_indices(tag) {
                let after = body[at + tag.len()..].trim_start();
                let after = after.strip_prefix('{').map_or(after, |braced| {
                    braced.get(brace_end(braced) + 1..).unwrap_or_default()
                });
                let name = after.trim_start_matches(|c: char| c.is_whitespace() || c == '*');
                if name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') {
                    found.extend(
                        identifiers(name)
                            .next()
                            .map(|name| (name, offset_in(comment.span.start, at))),
                    );
                }
            }
        }
    }
    found
}

/// Where the brace that was opened before a text is closed.
fn brace_end(braced: &str) -> usize {
    let mut depth = 1_u32;
    let end = braced.char_indices().find(|(_, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(braced.len(), |(at, _)| at)
}

/// The modules that JSDoc comments of a JavaScript file take types from: `import("./a").T` and `@import { T } from
/// "./a"`. Each with the taken name, if there is one, and its offset.
pub(super) fn imported_modules<'t>(
    program: &Program<'_>,
    text: &'t str,
) -> Vec<(&'t str, Option<&'t str>, u32)> {
    let mut found = Vec::new();
    for comment in &program.comments {
        let Some(body) = text.get(comment.span.start as usize..comment.span.end as usize) else {
            continue;
        };
        if !body.starts_with("/**") {
            continue;
        }
        for (at, _) in body.match_indices("import(") {
            let rest = &body[at + "import(".len()..];
            if let Some((module, rest)) = quoted(rest) {
                let member = rest
                    .strip_prefix(").")
                    .and_then(|rest| identifiers(rest).next());
                found.push((module, member, offset_in(comment.span.start, at)));
            }
        }
        for (at, _) in body.match_indices("@import ") {
            let line = body[at..].lines().next().unwrap_or_default();
            if let Some((module, _)) = line
                .rsplit_once("from ")
                .and_then(|(_, module)| quoted(module.trim_start()))
            {
                found.push((module, None, offset_in(comment.span.start, at)));
            }
        }
    }
    found
}

fn offset_in(start: u32, at: usize) -> u32 {
    start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX))
}

/// A quoted string at the start of a text, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    text[1..].split_once(quote)
}

/// The factory of an `@jsx name` pragma.
pub(super) fn jsx_pragma(program: &Program<'_>, text: &str) -> Option<String> {
    program.comments.iter().find_map(|comment| {
        let body = text.get(comment.span.start as usize..comment.span.end as usize)?;
        let (_, rest) = body.split_once("@jsx ")?;
        identifiers(rest.trim_start()).next().map(str::to_owned)
    })
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .filter(|word| !word.is_empty())
}
