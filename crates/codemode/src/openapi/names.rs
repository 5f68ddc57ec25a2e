//! Names of tools and of the fields of their inputs.

use super::body::Body;
use super::parameters::Parameter;
use rustc_hash::{FxHashMap, FxHashSet};

/// Names that are taken.
#[derive(Debug, Default)]
pub(super) struct Names {
    leaves: FxHashSet<String>,
    namespaces: FxHashSet<String>,
}

impl Names {
    /// A free path for an operation: its identifier, dots splitting it, or its method and path.
    pub(super) fn take(&mut self, id: Option<&str>, method: &str, path: &str) -> String {
        let mut segments: Vec<String> = id
            .unwrap_or_default()
            .split('.')
            .map(clean)
            .filter(|s| !s.is_empty())
            .collect();
        if segments.is_empty() {
            segments.push(from_path(method, path));
        }
        while let Some(at) = self.conflict(&segments) {
            let next = segments.remove(at + 1);
            segments[at] = format!("{}_{next}", segments[at]);
        }
        let mut name = segments.join(".");
        if self.is_taken(&name) {
            let base = segments.join("_");
            name.clone_from(&base);
            let mut number = 2;
            while self.is_taken(&name) {
                name = format!("{base}_{number}");
                number += 1;
            }
        }
        let mut prefix = String::new();
        for segment in name.split('.') {
            if !prefix.is_empty() {
                self.namespaces.insert(prefix.clone());
                prefix.push('.');
            }
            prefix.push_str(segment);
        }
        self.leaves.insert(name.clone());
        name
    }

    fn is_taken(&self, name: &str) -> bool {
        self.leaves.contains(name) || self.namespaces.contains(name)
    }

    /// The first of two neighbouring segments whose dot is in the way: a tool stands where a namespace would, or a
    /// namespace where the tool would.
    fn conflict(&self, segments: &[String]) -> Option<usize> {
        let prefix = |at: usize| segments[..=at].join(".");
        let last = segments.len() - 1;
        (0..last)
            .find(|&at| self.leaves.contains(&prefix(at)))
            .or_else(|| (last > 0 && self.namespaces.contains(&prefix(last))).then(|| last - 1))
    }
}

/// A segment with only letters, digits, `_` and `$`.
fn clean(segment: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let text: String = segment
        .chars()
        .map(|c| if is_fine(c) { c } else { '_' })
        .collect();
    let text = text.trim_matches('_');
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{text}")
    } else {
        text.to_owned()
    }
}

/// `getUsersById` of `GET /users/{id}`.
fn from_path(method: &str, path: &str) -> String {
    let mut name = method.to_lowercase();
    for part in path.split('/') {
        let is_parameter = part.starts_with('{');
        let words = part
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|w| !w.is_empty());
        let words = is_parameter.then_some("by").into_iter().chain(words);
        for word in words {
            let (first, rest) = word.split_at(1);
            name.push_str(&first.to_uppercase());
            name.push_str(rest);
        }
    }
    name
}

/// Gives fields of one name in different places of a request names of their own.
pub(super) fn separate(parameters: &mut [Parameter], body: &mut Option<Body>) {
    let mut fields: Vec<(&'static str, &mut String)> = parameters
        .iter_mut()
        .map(|p| (p.place.name(), &mut p.field))
        .collect();
    match body {
        Some(Body::Whole { field, .. }) => fields.push(("body", field)),
        Some(Body::Fields { fields: list, .. }) => {
            fields.extend(list.iter_mut().map(|f| ("body", &mut f.field)));
        }
        None => {}
    }
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    for (_, field) in &fields {
        *counts.entry((*field).clone()).or_default() += 1;
    }
    let mut taken: FxHashSet<String> = counts
        .iter()
        .filter(|(_, count)| **count == 1)
        .map(|(name, _)| name.clone())
        .collect();
    for (place, field) in fields {
        if counts.get(field.as_str()).is_some_and(|&count| count > 1) {
            let base = format!("{place}_{field}");
            let mut name = base.clone();
            let mut number = 2;
            while !taken.insert(name.clone()) {
                name = format!("{base}_{number}");
                number += 1;
            }
            *field = name;
        }
    }
}
