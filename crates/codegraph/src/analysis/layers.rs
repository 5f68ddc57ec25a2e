//! Rules about which parts of a folder may import which, in a small TOML file, and what breaks them.
//!
//! ```toml
//! [[layers]]                      # from the top down: a layer may import the ones below it
//! name = "views"
//! paths = ["src/views/**"]
//! [[layers]]
//! name = "store"
//! paths = ["src/store/**"]
//!
//! [[forbidden]]                   # never, whatever the layers say
//! from = ["src/**"]
//! to = ["tests/**"]
//! ```

use serde::Deserialize;
use thiserror::Error;

use super::FileGraph;
use crate::resolve::glob_matches;

/// Rules that don't read.
#[derive(Debug, Error)]
#[error("the layer rules don't read: {0}")]
pub struct LayerError(#[from] toml::de::Error);

/// The rules of a folder.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LayerRules {
    /// Layers from the top down.
    #[serde(default)]
    layers: Vec<Layer>,
    /// Imports that are never allowed.
    #[serde(default)]
    forbidden: Vec<Forbidden>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Layer {
    name: String,
    paths: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Forbidden {
    from: Vec<String>,
    to: Vec<String>,
}

/// An import that a rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The importing file.
    pub from: u32,
    /// The imported file.
    pub to: u32,
    /// The rule, in words.
    pub rule: String,
}

impl LayerRules {
    /// Reads rules.
    ///
    /// # Errors
    /// Says where the TOML doesn't read.
    pub fn parse(text: &str) -> Result<Self, LayerError> {
        Ok(toml::from_str(text)?)
    }

    /// All imports that break a rule, by importing and imported file.
    #[must_use]
    pub fn violations(&self, files: &FileGraph) -> Vec<Violation> {
        let layers: Vec<Option<usize>> =
            files.paths.iter().map(|path| self.layer_of(path)).collect();
        let mut violations = Vec::new();
        for from in (0..).take(files.len()) {
            for to in files.imports(from) {
                if let Some(rule) = self.broken_by(files, &layers, from, *to) {
                    violations.push(Violation {
                        from,
                        to: *to,
                        rule,
                    });
                }
            }
        }
        violations
    }

    fn layer_of(&self, path: &str) -> Option<usize> {
        self.layers
            .iter()
            .position(|layer| any_matches(&layer.paths, path))
    }

    fn broken_by(
        &self,
        files: &FileGraph,
        layers: &[Option<usize>],
        from: u32,
        to: u32,
    ) -> Option<String> {
        if let (Some(upper), Some(lower)) = (layers[to as usize], layers[from as usize])
            && upper < lower
        {
            return Some(format!(
                "{} may not import {}",
                self.layers[lower].name, self.layers[upper].name
            ));
        }
        let (from, to) = (&files.paths[from as usize], &files.paths[to as usize]);
        let rule = self
            .forbidden
            .iter()
            .find(|rule| any_matches(&rule.from, from) && any_matches(&rule.to, to))?;
        Some(format!(
            "forbidden: {} to {}",
            rule.from.join(", "),
            rule.to.join(", ")
        ))
    }
}

fn any_matches(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| glob_matches(pattern, path))
}
