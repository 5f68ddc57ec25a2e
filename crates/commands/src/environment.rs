//! The environment of a command: what it is given by name, and nothing that looks like a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::rules::matches_star;

/// How much of the program's own environment a command sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    /// Everything that isn't excluded.
    All,
    /// What programs need to run: paths, language, the homes of tool chains.
    #[default]
    Core,
    /// Nothing.
    None,
}

/// What a command's environment is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentPolicy {
    /// What is taken over.
    pub inherit: Inherit,
    /// Names that are never taken over, in either case; `*` stands for anything.
    pub exclude: Vec<String>,
    /// If any are given, only these names are taken over.
    pub include_only: Vec<String>,
    /// What is set besides, after all of that.
    pub set: BTreeMap<String, String>,
}

impl Default for EnvironmentPolicy {
    fn default() -> Self {
        let names = [
            "*KEY*",
            "*SECRET*",
            "*TOKEN*",
            "*PASSWORD*",
            "*PASSWD*",
            "*CREDENTIAL*",
            "NPM_*",
            "*_PAT",
        ];
        Self {
            inherit: Inherit::Core,
            exclude: names.map(str::to_owned).to_vec(),
            include_only: Vec::new(),
            set: BTreeMap::new(),
        }
    }
}

/// What programs need, by name; a star at the end stands for anything.
const CORE: [&str; 36] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "COMSPEC",
    "PATHEXT",
    "WINDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "JAVA_HOME",
    "NVM_DIR",
    "NODE_PATH",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "GEM_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "PKG_CONFIG_PATH",
    "CC",
    "CXX",
    "LD_LIBRARY_PATH",
];

/// No pager, no editor, no prompt, no colours.
const QUIET: [(&str, &str); 14] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("LESS", "-FRX"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("CI", "1"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
];

impl EnvironmentPolicy {
    /// The environment of a command, made of the program's own.
    pub fn build(
        &self,
        own: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let in_any = |patterns: &[String], name: &str| {
            let upper = name.to_uppercase();
            patterns
                .iter()
                .any(|pattern| matches_star(&pattern.to_uppercase(), &upper))
        };
        let taken = own.into_iter().filter(|(name, _)| {
            let Some(name) = name.to_str() else {
                return false;
            };
            let inherited = match self.inherit {
                Inherit::All => true,
                Inherit::Core => CORE.iter().any(|core| matches_star(core, name)),
                Inherit::None => false,
            };
            inherited
                && !in_any(&self.exclude, name)
                && (self.include_only.is_empty() || in_any(&self.include_only, name))
        });
        let mut environment: BTreeMap<OsString, OsString> = taken.collect();
        let quiet = QUIET
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        environment.extend(quiet);
        environment.extend(
            self.set
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(policy: &EnvironmentPolicy) -> Vec<String> {
        let own = [
            "PATH",
            "HOME",
            "LC_ALL",
            "API_KEY",
            "github_token",
            "npm_config_x",
            "MY_PASSWORD",
            "CARGO_REGISTRY_TOKEN",
            "EDITOR",
            "OTHER",
        ];
        let built = policy.build(own.map(|name| (name.into(), "own".into())));
        let inherited = built.iter().filter(|(_, value)| *value == "own");
        inherited
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn only_what_is_needed_is_taken_over_and_never_a_secret() {
        assert_eq!(
            names(&EnvironmentPolicy::default()),
            ["HOME", "LC_ALL", "PATH"]
        );
        let all = EnvironmentPolicy {
            inherit: Inherit::All,
            ..Default::default()
        };
        assert_eq!(names(&all), ["HOME", "LC_ALL", "OTHER", "PATH"]);
        let only = EnvironmentPolicy {
            include_only: vec!["path".into()],
            ..Default::default()
        };
        assert_eq!(names(&only), ["PATH"]);
        let none = EnvironmentPolicy {
            inherit: Inherit::None,
            set: BTreeMap::from([("X".to_owned(), "own".to_owned())]),
            ..Default::default()
        };
        assert_eq!(names(&none), ["X"]);
        let built = none.build([]);
        assert_eq!(built[&OsString::from("GIT_PAGER")], "cat");
    }
}
