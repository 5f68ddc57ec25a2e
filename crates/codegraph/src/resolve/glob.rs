//! The globs of tsconfig `include` lists and of workspace lists: `*`, `?`, `**`.

/// Whether a root-relative path matches a pattern, component by component.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    components(&pattern, &path)
}

fn components(pattern: &[&str], path: &[&str]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((&"**", rest)) => (0..=path.len()).any(|skip| components(rest, &path[skip..])),
        Some((first, rest)) => path.split_first().is_some_and(|(name, path)| {
            component(first.as_bytes(), name.as_bytes()) && components(rest, path)
        }),
    }
}

fn component(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| component(rest, &name[skip..])),
        Some((b'?', rest)) => !name.is_empty() && component(rest, &name[1..]),
        Some((byte, rest)) => name.first() == Some(byte) && component(rest, &name[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_in_their_component_and_double_stars_do_not() {
        assert!(matches("packages/*", "packages/a"));
        assert!(!matches("packages/*", "packages/a/b"));
        assert!(matches("packages/**", "packages/a/b"));
        assert!(matches("./src/**/*", "src/a.ts"));
        assert!(matches("**/*.spec.?s", "a/b/c.spec.ts"));
        assert!(!matches("src", "srcs"));
    }
}
