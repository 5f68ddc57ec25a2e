//! Which file a question means.

use super::QueryError;
use crate::graph::{Graph, NodeIndex, NodeType};
use crate::language::file_name;

/// How many candidates an ambiguous name lists.
const CANDIDATES: usize = 20;

/// The file that a name means: a path below the root, an absolute path, or the end of exactly one path. `\` is `/`.
pub(super) fn file(graph: &Graph, name: &str) -> Result<NodeIndex, QueryError> {
    let wanted = name.replace('\\', "/");
    let root = graph.root.replace('\\', "/");
    let root_name = graph.nodes.first().map_or("", |_| graph.name(0));
    let relative = wanted
        .strip_prefix(root.trim_end_matches('/'))
        .map_or(wanted.as_str(), |rest| rest.trim_start_matches('/'));
    let relative = relative.trim_start_matches("./").trim_end_matches('/');
    let paths = graph.paths();
    let files = || {
        graph
            .nodes_of(NodeType::File)
            .map(|node| (node, paths[node as usize].as_str()))
    };
    let below_root = relative
        .strip_prefix(root_name)
        .and_then(|rest| rest.strip_prefix('/'));
    for exact in [Some(relative), below_root].into_iter().flatten() {
        if let Some((node, _)) = files().find(|(_, path)| *path == exact) {
            return Ok(node);
        }
    }
    let ends = |path: &str| {
        path.strip_suffix(relative)
            .is_some_and(|before| before.ends_with('/'))
    };
    let mut fitting: Vec<(NodeIndex, &str)> = files()
        .filter(|(_, path)| !relative.is_empty() && ends(path))
        .collect();
    match fitting.len() {
        0 => Err(QueryError::NoFile(name.to_owned())),
        1 => Ok(fitting[0].0),
        _ => {
            fitting.truncate(CANDIDATES);
            let candidates = fitting
                .into_iter()
                .map(|(_, path)| path.to_owned())
                .collect();
            Err(QueryError::Ambiguous {
                name: name.to_owned(),
                candidates,
            })
        }
    }
}

/// Two files in one argument; names may hold spaces, so every place between words is tried.
pub(super) fn pair(
    graph: &Graph,
    argument: &str,
) -> Option<Result<(NodeIndex, NodeIndex), QueryError>> {
    let mut first_error = None;
    for (at, _) in argument.match_indices(char::is_whitespace) {
        let (left, right) = (argument[..at].trim(), argument[at..].trim());
        match (file(graph, left), file(graph, right)) {
            (Ok(left), Ok(right)) => return Some(Ok((left, right))),
            (Err(error), _) | (_, Err(error)) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map(Err)
}

/// Whether a path is that of a test, by the names that test runners look for.
#[must_use]
pub fn is_test(path: &str) -> bool {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or_default();
    let in_directory = path.split('/').rev().skip(1).any(|part| {
        matches!(
            part,
            "test" | "tests" | "__tests__" | "spec" | "e2e" | "testing"
        ) || part.ends_with(".Tests")
    });
    in_directory
        || name.contains(".test.")
        || name.contains(".spec.")
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_spec")
        || stem == "conftest"
        || is_test_class(stem)
}

/// `UserTest`, `UserTests`: how runners for Java, C# and PHP find them.
fn is_test_class(stem: &str) -> bool {
    ["Test", "Tests"].iter().any(|end| {
        stem.strip_suffix(end)
            .is_some_and(|name| name.ends_with(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "a/test_b.py",
            "a/b_test.py",
            "x/b.spec.ts",
            "b.test.tsx",
            "tests/h.py",
            "a/__tests__/q.js",
            "src/UserTest.java",
            "App.Tests/Fixture.cs",
            "x/user_spec.rb",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["a/contest.py", "latest/x.ts", "attest.ts"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
