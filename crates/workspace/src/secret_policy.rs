//! Which files hold secrets: one policy that every reader asks.
//!
//! A policy is a text of one glob a line, as in `.gitignore`: the last line that matches wins, `!` takes a file out
//! again, `#` begins a comment. A glob without `/` is matched against every single name of a path, so `secret.*`
//! covers `a/secret.json` and everything under a folder of that name, and never `a/secretary.ts`. A glob with `/`
//! is matched against whole runs of names, beginning anywhere. Letters match in either case.

use std::borrow::Cow;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{RelPath, WorkspaceError};

/// What is secret unless the user says otherwise.
const DEFAULT: &str = "\
# Environment files; the samples that projects check in are no secrets.
.env
.env.*
*.env
.envrc
!.env.example
!.env.sample
!.env.template
!.env.dist
# Credentials and keys.
credentials
credentials.*
secret
secret.*
secrets
secrets.*
*.pem
*.key
*.p12
*.pfx
*.jks
*.keystore
*.kdbx
id_rsa
id_dsa
id_ecdsa
id_ed25519
.netrc
_netrc
.pgpass
.git-credentials
.htpasswd
.ssh
.aws
.gnupg
# Under a config folder also what only names a secret or a key as a word of its own.
config/**/secret[-_.]*
config/**/*[-_.]secret
config/**/*[-_.]secret[-_.]*
config/**/*[-_.]secrets
config/**/*[-_.]secrets[-_.]*
config/**/key
config/**/key[-_.]*
config/**/keys
config/**/keys[-_.]*
config/**/*[-_.]key
config/**/*[-_.]key[-_.]*
config/**/*[-_.]keys
config/**/*[-_.]keys[-_.]*
";

/// The rules, in order.
#[derive(Clone, Debug)]
pub struct SecretPolicy {
    rules: Vec<Rule>,
    /// The globs without `/`, and which rules they are.
    names: GlobSet,
    name_rules: Vec<usize>,
    /// The globs with `/`, and which rules they are.
    runs: GlobSet,
    run_rules: Vec<usize>,
    /// With what runs that match can begin, in lower case; none if with anything.
    run_starts: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
struct Rule {
    written: String,
    hides: bool,
}

impl Default for SecretPolicy {
    /// # Panics
    /// Never: the text is a constant, and a test reads it.
    fn default() -> Self {
        Self::parse(DEFAULT).unwrap_or_else(|error| unreachable!("{error}"))
    }
}

impl SecretPolicy {
    /// The text of the policy that holds unless the user writes another: where an editor starts from.
    pub fn default_text() -> &'static str {
        DEFAULT
    }

    /// Reads a policy.
    ///
    /// # Errors
    /// A line isn't a glob; the line is named.
    pub fn parse(text: &str) -> Result<Self, WorkspaceError> {
        let mut rules = Vec::new();
        let (mut names, mut runs) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let (mut name_rules, mut run_rules) = (Vec::new(), Vec::new());
        let mut run_starts = Some(Vec::new());
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bare = line.strip_prefix('!');
            let glob = bare.unwrap_or(line).trim_matches('/');
            let built = glob_of(glob, line)?;
            if glob.contains('/') {
                runs.add(built);
                run_rules.push(rules.len());
                let start = glob.split('/').next().unwrap_or_default().to_lowercase();
                match &mut run_starts {
                    Some(starts) if !start.contains(['*', '?', '[', '{', '\\']) => {
                        starts.push(start);
                    }
                    _ => run_starts = None,
                }
            } else {
                names.add(built);
                name_rules.push(rules.len());
            }
            rules.push(Rule {
                written: line.to_owned(),
                hides: bare.is_none(),
            });
        }
        let build = |set: &GlobSetBuilder| {
            let built = set.build();
            built.map_err(|error| WorkspaceError::input("not rules for secrets", error.to_string()))
        };
        Ok(Self {
            rules,
            names: build(&names)?,
            name_rules,
            runs: build(&runs)?,
            run_rules,
            run_starts,
        })
    }

    /// The rule that hides the path, as written; none if it may be read.
    ///
    /// A folder that is hidden hides all that is in it.
    pub fn rule_for(&self, path: &RelPath) -> Option<&str> {
        let names: Vec<&str> = path.names().collect();
        (1..=names.len()).find_map(|depth| self.rule_for_exactly(&names[..depth]))
    }

    /// Whether the last name of the path is hidden; asked on a walk, which has asked for the folders above already.
    pub(crate) fn hides_last(&self, path: &RelPath) -> bool {
        let names: Vec<&str> = path.names().collect();
        self.rule_for_exactly(&names).is_some()
    }

    /// The verdict on the last of these names, its place in the tree given by those before it.
    fn rule_for_exactly(&self, names: &[&str]) -> Option<&str> {
        // The globs are in lower case, and so are the names for them: globs that ignore case are slow.
        let lower: Vec<Cow<'_, str>> = names.iter().map(|name| lower_case(name)).collect();
        let name = lower.last()?.as_ref();
        let last_of = |set: &GlobSet, rules: &[usize], text: &str| {
            // Nearly all names match nothing, which is told faster than which globs match.
            let some = set.is_match(text).then(|| set.matches(text));
            some.and_then(|matching| matching.last().map(|at| rules[*at]))
        };
        let by_name = last_of(&self.names, &self.name_rules, name);
        let may_start = |from: &usize| {
            let starts = self.run_starts.as_ref();
            starts.is_none_or(|starts| starts.iter().any(|start| *start == lower[*from]))
        };
        let by_run = (0..lower.len())
            .filter(may_start)
            .filter_map(|from| last_of(&self.runs, &self.run_rules, &lower[from..].join("/")));
        let rule = &self.rules[by_run.chain(by_name).max()?];
        rule.hides.then_some(rule.written.as_str())
    }
}

fn lower_case(name: &str) -> Cow<'_, str> {
    if name
        .bytes()
        .any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii())
    {
        Cow::Owned(name.to_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn glob_of(glob: &str, line: &str) -> Result<Glob, WorkspaceError> {
    let built = GlobBuilder::new(&glob.to_lowercase())
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    built.map_err(|error| WorkspaceError::input(format!("not a rule for secrets, {error}"), line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(policy: &SecretPolicy, path: &str) -> bool {
        policy.rule_for(&RelPath::parse(path).unwrap()).is_some()
    }

    #[test]
    fn the_default_hides_what_holds_secrets() {
        let policy = SecretPolicy::default();
        assert!(policy.rules.len() > 40);
        for path in [
            ".env",
            "a/.env",
            ".ENV",
            ".env.local",
            "prod.env",
            "credentials",
            "x/credentials.json",
            "secret.yaml",
            "server.pem",
            "a/b/tls.KEY",
            "cert.p12",
            "cert.pfx",
            ".ssh/known_hosts",
            "secrets/readme.txt",
            "config/master.key",
            "config/deep/api-key.json",
            "config/app_secrets.yml",
            "a/config/keys.toml",
        ] {
            assert!(hidden(&policy, path), "{path}");
        }
    }

    #[test]
    fn names_that_only_look_alike_stay_readable() {
        let policy = SecretPolicy::default();
        for path in [
            "secretary.ts",
            "config/keyboard.json",
            "config/monkey.rs",
            "keys.rs",
            "src/secret_policy.rs",
            "environment.ts",
            ".env.example",
            "credentialed.md",
            "turnkey.txt",
            "",
        ] {
            assert!(!hidden(&policy, path), "{path}");
        }
    }

    #[test]
    fn the_last_rule_that_matches_wins_and_the_rule_is_named() {
        let policy = SecretPolicy::parse("*.key\n!public.key\n").unwrap();
        let path = RelPath::parse("a/b.key").unwrap();
        assert_eq!(policy.rule_for(&path), Some("*.key"));
        assert!(!hidden(&policy, "public.key"));
        let error = SecretPolicy::parse("fine\n[z-").unwrap_err();
        assert!(error.to_string().ends_with(": [z-"), "{error}");
    }
}
