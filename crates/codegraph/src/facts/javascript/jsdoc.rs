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
            let mut depth = 1_u32;
            let end = braced.char_indices().find(|(_, c)| {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            names.extend(identifiers(
                &braced[..end.map_or(braced.len(), |(at, _)| at)],
            ));
        } else if tag == "see" {
            names.extend(identifiers(after).next());
        }
    }
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
