//! What the project may depend on: the parts of `deny.toml` that can be judged from the dependency graph alone.
//!
//! The file is cargo-deny's, read here because that tool takes minutes to build. Where both know a rule they agree;
//! the keys that only cargo-deny knows are left to it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, anyhow};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::cargo::Package;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    package: String,
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Level,
    #[serde(default)]
    skip: Vec<Skip>,
}

#[derive(Debug, Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    package: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Allow,
    Warn,
    Deny,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    #[serde(default)]
    allow_registry: Vec<String>,
    #[serde(default)]
    allow_git: Vec<String>,
}

/// The rules, ready to be applied.
#[derive(Debug)]
pub(crate) struct Policy {
    allowed: Vec<Licensee>,
    /// By package: what it may be licensed under besides.
    exceptions: BTreeMap<String, Vec<Licensee>>,
    duplicates: Level,
    /// Names, or `name@version`, whose presence in several versions is accepted.
    skipped: BTreeSet<String>,
    sources: BTreeSet<String>,
}

/// What a dependency graph did against the rules, one sentence each.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) violations: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl Policy {
    /// Reads the text of a `deny.toml`. Fails on a licence that SPDX does not know, so that a misspelt one cannot
    /// sit there without effect.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        let mut exceptions = BTreeMap::<String, Vec<Licensee>>::new();
        for exception in &file.licenses.exceptions {
            exceptions
                .entry(exception.package.clone())
                .or_default()
                .extend(licensees(&exception.allow)?);
        }
        let registries = file
            .sources
            .allow_registry
            .iter()
            .map(|url| format!("registry+{url}"));
        let repositories = file
            .sources
            .allow_git
            .iter()
            .map(|url| format!("git+{url}"));
        Ok(Self {
            allowed: licensees(&file.licenses.allow)?,
            exceptions,
            duplicates: file.bans.multiple_versions,
            skipped: file
                .bans
                .skip
                .into_iter()
                .map(|skip| skip.package)
                .collect(),
            sources: registries.chain(repositories).collect(),
        })
    }

    /// Judges the packages of a dependency graph, the workspace's own left out.
    pub(crate) fn check(&self, packages: &[Package]) -> Report {
        let mut report = Report::default();
        for package in packages {
            if let Err(error) = self.check_license(package) {
                report
                    .violations
                    .push(format!("{} {}: {error:#}", package.name, package.version));
            }
            if let Err(error) = self.check_source(package) {
                report
                    .violations
                    .push(format!("{} {}: {error:#}", package.name, package.version));
            }
        }
        self.check_duplicates(packages, &mut report);
        report
    }

    fn check_license(&self, package: &Package) -> Result<()> {
        let license = package.license.as_deref().context("states no licence")?;
        let expression = Expression::parse_mode(license, ParseMode::LAX).map_err(|error| {
            anyhow!(
                "its licence `{license}` is not an SPDX expression: {}",
                error.reason
            )
        })?;
        let own = self
            .exceptions
            .get(&package.name)
            .map_or(&[][..], Vec::as_slice);
        let accepted = expression.evaluate(|requirement| {
            self.allowed
                .iter()
                .chain(own)
                .any(|licensee| licensee.satisfies(requirement))
        });
        if accepted {
            Ok(())
        } else {
            Err(anyhow!("its licence `{license}` is not allowed"))
        }
    }

    fn check_source(&self, package: &Package) -> Result<()> {
        let source = package
            .source
            .as_deref()
            .context("is a path outside the workspace")?;
        let place = source.split(['?', '#']).next().unwrap_or(source);
        if self.sources.contains(place) {
            Ok(())
        } else {
            Err(anyhow!("its source `{source}` is not allowed"))
        }
    }

    fn check_duplicates(&self, packages: &[Package], report: &mut Report) {
        if self.duplicates == Level::Allow {
            return;
        }
        let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
        for package in packages {
            versions
                .entry(&package.name)
                .or_default()
                .insert(&package.version);
        }
        for (name, versions) in &versions {
            let counted: Vec<&str> = versions
                .iter()
                .copied()
                .filter(|version| !self.skipped.contains(&format!("{name}@{version}")))
                .collect();
            if counted.len() > 1 && !self.skipped.contains(*name) {
                let sentence = format!(
                    "{name} is there in versions {}; bring them together, or say why not in deny.toml under bans.skip",
                    counted.join(", ")
                );
                let list = if self.duplicates == Level::Deny {
                    &mut report.violations
                } else {
                    &mut report.warnings
                };
                list.push(sentence);
            }
        }
        for skipped in &self.skipped {
            let name = skipped.split('@').next().unwrap_or(skipped);
            if versions.get(name).is_none_or(|versions| versions.len() < 2) {
                report.warnings.push(format!(
                    "{skipped} is under bans.skip and no longer there in several versions"
                ));
            }
        }
    }
}

fn licensees(names: &[String]) -> Result<Vec<Licensee>> {
    names
        .iter()
        .map(|name| {
            Licensee::parse(name)
                .map_err(|error| anyhow!("`{name}` is no SPDX licence: {}", error.reason))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]
        exceptions = [{ crate = "colored", allow = ["MPL-2.0"] }]
        [bans]
        multiple-versions = "deny"
        skip = [{ crate = "syn", reason = "moving" }, { crate = "rand@0.8.5" }]
        [sources]
        unknown-registry = "deny"
        allow-registry = ["https://github.com/rust-lang/crates.io-index"]
    "#;

    fn package(name: &str, version: &str, license: Option<&str>) -> Package {
        Package {
            id: format!("{CRATES_IO}#{name}@{version}"),
            name: name.to_owned(),
            version: version.to_owned(),
            license: license.map(str::to_owned),
            source: Some(CRATES_IO.to_owned()),
            manifest_path: format!("/registry/{name}/Cargo.toml").into(),
            targets: Vec::new(),
        }
    }

    fn violations(packages: &[Package]) -> Vec<String> {
        Policy::parse(RULES).unwrap().check(packages).violations
    }

    fn accepts(name: &str, license: &str) -> bool {
        violations(&[package(name, "1.0.0", Some(license))]).is_empty()
    }

    #[test]
    fn an_unlicensed_package_fails() {
        assert_eq!(
            violations(&[package("mystery", "0.1.0", None)]),
            ["mystery 0.1.0: states no licence"]
        );
    }

    #[test]
    fn one_allowed_branch_of_a_choice_suffices_and_every_part_of_a_sum_counts() {
        assert!(accepts("a", "MIT OR GPL-3.0-only"));
        assert!(accepts("a", "(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!accepts("a", "MIT AND GPL-3.0-only"));
        assert!(!accepts("a", "GPL-3.0-only"));
    }

    #[test]
    fn the_older_form_with_a_slash_is_a_choice() {
        assert!(accepts("a", "MIT/Apache-2.0"));
        assert!(accepts("a", "Apache-2.0 / MIT"));
    }

    #[test]
    fn an_exception_to_a_licence_is_allowed_only_where_it_is_listed() {
        assert!(accepts("a", "Apache-2.0 WITH LLVM-exception"));
        assert!(!accepts("a", "Apache-2.0 WITH Swift-exception"));
    }

    #[test]
    fn what_one_package_may_another_may_not() {
        assert!(accepts("colored", "MPL-2.0"));
        assert!(!accepts("other", "MPL-2.0"));
    }

    #[test]
    fn a_licence_that_is_not_spdx_fails() {
        assert!(!accepts("a", "see the file"));
        assert!(!accepts("a", ""));
    }

    #[test]
    fn a_misspelt_licence_in_the_rules_is_an_error() {
        let error = Policy::parse(&RULES.replace("\"MIT\"", "\"MITT\"")).unwrap_err();
        assert!(error.to_string().contains("MITT"), "{error}");
    }

    #[test]
    fn sources_other_than_the_listed_ones_fail() {
        for source in [
            Some("git+https://github.com/someone/fork?branch=main#0123456"),
            Some("registry+https://example.com/index"),
            None,
        ] {
            let mut foreign = package("a", "1.0.0", Some("MIT"));
            foreign.source = source.map(str::to_owned);
            assert_eq!(violations(&[foreign]).len(), 1, "{source:?}");
        }
    }

    #[test]
    fn a_second_version_fails_unless_it_is_skipped() {
        let two = |name: &str, first: &str, second: &str| {
            violations(&[
                package(name, first, Some("MIT")),
                package(name, second, Some("MIT")),
            ])
        };
        assert_eq!(two("bytes", "1.0.0", "2.0.0").len(), 1);
        assert!(two("syn", "1.0.0", "2.0.0").is_empty(), "skipped by name");
        assert!(
            two("rand", "0.8.5", "0.9.0").is_empty(),
            "skipped by version"
        );
        assert_eq!(
            two("rand", "0.9.0", "0.10.0").len(),
            1,
            "other versions than the skipped one"
        );
    }

    #[test]
    fn a_skip_that_no_longer_applies_is_pointed_out() {
        let report = Policy::parse(RULES)
            .unwrap()
            .check(&[package("syn", "2.0.0", Some("MIT"))]);
        assert!(report.violations.is_empty());
        assert!(
            report
                .warnings
                .iter()
                .any(|warning| warning.starts_with("syn ")),
            "{:?}",
            report.warnings
        );
    }
}
