//! Judging a command: every part of it by the rules, and the strictest judgement is that of the whole.

use std::path::Path;

use serde::Serialize;

use crate::parse::parse_nested;
use crate::rules::{Decision, RuleSet};
use crate::word::{Redirect, SimpleCommand, Word};
use crate::wrappers::{Inner, inner, is_interpreter, is_shell, raises_rights};

/// Deeper nesting of wrappers is asked about.
const DEEPEST: usize = 12;

/// Where a command runs, as far as judging needs to know.
pub struct Place<'a> {
    /// The folder of the workspace.
    pub workspace: &'a Path,
    /// Whether a path, relative to the workspace, is one of a secret.
    pub is_secret: &'a dyn Fn(&str) -> bool,
}

/// A judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// What may be done.
    pub decision: Decision,
    /// The parts, in the order in which they were found.
    pub parts: Vec<Part>,
}

/// The judgement of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The part, its words joined by blanks.
    pub command: String,
    /// What may be done.
    pub decision: Decision,
    /// Why.
    pub why: String,
    /// Whether a rule says so, rather than that nothing is known about the part.
    pub by_rule: bool,
}

impl Judgement {
    /// Whether a rule wants the person to be asked, so that no sandbox takes the place of the question.
    pub fn asks_by_rule(&self) -> bool {
        let asks = |part: &Part| part.by_rule && part.decision == Decision::Ask;
        self.parts.iter().any(asks)
    }

    /// The parts that are as strict as the whole: what the person is to look at.
    pub fn reasons(&self) -> impl Iterator<Item = &Part> {
        self.parts
            .iter()
            .filter(|part| part.decision == self.decision)
    }
}

/// Judges a command.
pub fn judge(command: &str, rules: &RuleSet, place: &Place<'_>) -> Judgement {
    let mut judge = Judge {
        rules,
        place,
        parts: Vec::new(),
    };
    judge.script(command, 0);
    let decision = judge.parts.iter().map(|part| part.decision).max();
    Judgement {
        // A command without any part does nothing, or isn't what it seems.
        decision: decision.unwrap_or(Decision::Ask),
        parts: judge.parts,
    }
}

/// Variables that change how things look or which tests run, and never which program.
pub(crate) fn is_harmless_variable(name: &str) -> bool {
    let exact = [
        "LANG",
        "LANGUAGE",
        "TZ",
        "CI",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "TERM",
        "COLUMNS",
        "LINES",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "DEBUG",
        "VERBOSE",
        "NODE_ENV",
        "CARGO_TERM_COLOR",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "GOOS",
        "GOARCH",
    ];
    exact.contains(&name) || name.starts_with("LC_")
}

struct Judge<'a> {
    rules: &'a RuleSet,
    place: &'a Place<'a>,
    parts: Vec<Part>,
}

impl Judge<'_> {
    fn put(&mut self, command: &str, decision: Decision, why: impl Into<String>) {
        self.parts.push(Part {
            command: command.into(),
            decision,
            why: why.into(),
            by_rule: false,
        });
    }

    fn put_by_rule(&mut self, command: &str, decision: Decision, why: String) {
        self.put(command, decision, why);
        if let Some(part) = self.parts.last_mut() {
            part.by_rule = true;
        }
    }

    fn script(&mut self, script: &str, depth: usize) {
        match parse_nested(script, depth) {
            Ok(commands) if depth <= DEEPEST => {
                for command in &commands {
                    self.command(command, depth);
                }
            }
            Ok(_) => self.put(script, Decision::Ask, "commands in commands, too deep"),
            Err(error) => self.put(script, Decision::Ask, error.to_string()),
        }
    }

    fn command(&mut self, command: &SimpleCommand, depth: usize) {
        let shown = shown(&command.words);
        for (name, value) in &command.assignments {
            if !command.words.is_empty() && !is_harmless_variable(name) {
                let text = format!("{name}={} {shown}", value.text);
                self.put(
                    &text,
                    Decision::Ask,
                    format!("the variable {name} may change what runs"),
                );
            } else if command.words.is_empty() && is_search_path(name) {
                let why = format!("{name} changes what later commands are");
                self.put(&format!("{name}={}", value.text), Decision::Ask, why);
            } else if command.words.is_empty() {
                self.put(
                    &format!("{name}={}", value.text),
                    Decision::Allow,
                    "a variable is set",
                );
            }
        }
        for redirect in &command.redirects {
            self.redirect(redirect, &shown);
        }
        if !command.words.is_empty() {
            self.words(&command.words, false, command, depth);
        }
    }

    fn redirect(&mut self, redirect: &Redirect, command: &str) {
        let text = format!("{command} {} {}", redirect.operator, redirect.target.text);
        let target = redirect.target.text.as_str();
        match redirect.operator.as_str() {
            "<<" | "<<-" | "<<<" => {}
            "<" => self.path_argument(&redirect.target, &text),
            "<&" | ">&" if target == "-" || target.bytes().all(|byte| byte.is_ascii_digit()) => {}
            _ if ["/dev/null", "/dev/stdout", "/dev/stderr"].contains(&target) => {}
            _ if target.starts_with("/dev/")
                && !target.starts_with("/dev/fd/")
                && !target.starts_with("/dev/shm/") =>
            {
                self.put(
                    &text,
                    Decision::Deny,
                    "it writes to a device, or to the network",
                );
            }
            _ => self.put(&text, Decision::Ask, format!("it writes to {target}")),
        }
    }

    /// A program with its arguments.
    fn words(&mut self, words: &[Word], more: bool, around: &SimpleCommand, depth: usize) {
        let text = shown(words);
        let (first, arguments) = (&words[0], &words[1..]);
        let Some(name) = first.fixed() else {
            self.put(
                &text,
                Decision::Ask,
                "which program runs is only known when it does",
            );
            // What the rest would be is judged as far as it is known: `$(echo rm) -rf /` is no less than `rm -rf /`.
            if let Some(rule) = self
                .rules
                .strictest("rm", true, arguments, more)
                .filter(|rule| rule.decision == Decision::Deny)
            {
                let why = rule.why.clone();
                self.put_by_rule(&text, Decision::Deny, why);
            }
            return;
        };
        if depth > DEEPEST {
            return self.put(&text, Decision::Ask, "wrappers in wrappers, too deep");
        }
        let (program, by_path) = program_of(name);
        let fed = around.fed_by_pipe
            || around
                .redirects
                .iter()
                .any(|redirect| redirect.operator.starts_with('<'));
        if raises_rights(program) {
            self.put(
                &text,
                Decision::Ask,
                format!("{program} gives it other rights"),
            );
        }
        match inner(program, arguments) {
            Some(Inner::Words {
                words,
                more: unknown,
            }) => {
                if by_path {
                    self.put(&text, Decision::Ask, "a program of the folder's own");
                }
                self.words(&words, more || unknown, around, depth + 1);
            }
            Some(Inner::Script(script)) => {
                if by_path {
                    self.put(&text, Decision::Ask, "a program of the folder's own");
                }
                self.script(&script, depth + 1);
            }
            Some(Inner::Several(several)) => {
                for words in several {
                    if words.is_empty() {
                        self.put(
                            &text,
                            Decision::Ask,
                            "it would run nothing that can be told",
                        );
                    } else {
                        self.words(&words, true, around, depth + 1);
                    }
                }
                self.by_rules(program, by_path, arguments, more, &text, true);
            }
            Some(Inner::Nothing) if !by_path => {
                self.put(&text, Decision::Allow, "it only tells something");
            }
            Some(Inner::Unknown(what)) => self.put(&text, Decision::Ask, what),
            _ => {
                if is_interpreter(program) && fed {
                    self.fed(program, around, &text, depth);
                } else {
                    self.by_rules(program, by_path, arguments, more, &text, false);
                }
            }
        }
    }

    /// A program that runs what it reads.
    fn fed(&mut self, program: &str, around: &SimpleCommand, text: &str, depth: usize) {
        for redirect in around.redirects.iter().filter(|_| is_shell(program)) {
            let script = match redirect.operator.as_str() {
                "<<<" => redirect.target.fixed(),
                "<<" | "<<-" => redirect.body.as_deref(),
                _ => None,
            };
            if let Some(script) = script {
                self.script(script, depth + 1);
            }
        }
        self.put(text, Decision::Ask, "it runs what it is fed");
    }

    fn by_rules(
        &mut self,
        program: &str,
        by_path: bool,
        arguments: &[Word],
        more: bool,
        text: &str,
        only_deny: bool,
    ) {
        match self.rules.strictest(program, by_path, arguments, more) {
            Some(rule) if !(only_deny && rule.decision != Decision::Deny) => {
                let (decision, why) = (rule.decision, rule.why.clone());
                let why = if why.is_empty() {
                    format!("a rule about {program}")
                } else {
                    why
                };
                self.put_by_rule(text, decision, why);
                if decision == Decision::Allow {
                    for argument in arguments {
                        self.path_argument(argument, text);
                    }
                }
            }
            _ if by_path => self.put(text, Decision::Ask, "a program of the folder's own"),
            _ => self.put(
                text,
                Decision::Ask,
                format!("no rule speaks about {program}"),
            ),
        }
    }

    /// An argument of a command that would be let through: it must not name a secret, nor lead out of the folder.
    fn path_argument(&mut self, argument: &Word, command: &str) {
        let text = argument.text.as_str();
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        for path in [text, value] {
            if self.leads_out(path) {
                return self.put(
                    command,
                    Decision::Ask,
                    format!("{path} is outside of the folder"),
                );
            }
            let inside = path
                .strip_prefix(self.place.workspace.to_str().unwrap_or("\0"))
                .unwrap_or(path);
            let named: String = inside
                .replace(['*', '?'], "x")
                .trim_start_matches(['/', '.'])
                .to_owned();
            let as_given = inside.trim_start_matches("./");
            let dotted = argument.glob
                && path
                    .split('/')
                    .any(|name| name.starts_with('.') && name.len() > 1);
            let open_end = argument.glob && !path.contains('.') && !path.starts_with('-');
            if (self.place.is_secret)(as_given)
                || (self.place.is_secret)(&named)
                || dotted
                || open_end
            {
                return self.put(command, Decision::Ask, format!("{path} may be a secret"));
            }
        }
    }

    fn leads_out(&self, path: &str) -> bool {
        if path == "/dev/null" || path.starts_with("/dev/std") {
            return false;
        }
        if path.starts_with('~') || path.split('/').any(|name| name == "..") {
            return true;
        }
        path.starts_with('/') && !Path::new(path).starts_with(self.place.workspace)
    }
}

fn is_search_path(name: &str) -> bool {
    let exact = [
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PS4",
        "PROMPT_COMMAND",
        "CDPATH",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "BROWSER",
        "HOME",
        "SHELL",
    ];
    exact.contains(&name)
        || name.starts_with("LD_")
        || name.starts_with("GIT_")
        || name.starts_with("DYLD_")
}

/// The name of a program, and whether it lies anywhere else than where the system keeps programs.
fn program_of(name: &str) -> (&str, bool) {
    let Some((folder, last)) = name.rsplit_once('/') else {
        return (name, false);
    };
    let system = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"];
    (last, !system.contains(&folder))
}

fn shown(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}
