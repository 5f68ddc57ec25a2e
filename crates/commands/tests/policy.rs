//! The table of commands and judgements, and what must hold of every command.

use std::path::Path;

use commands::{Decision, Judgement, Place, RuleSet, judge};
use proptest::prelude::*;

fn is_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == ".env"
        || name.starts_with(".env.")
        || name.ends_with(".pem")
        || name == "id_rsa"
        || name.ends_with(":.env")
}

fn judged(command: &str, rules: &RuleSet) -> Judgement {
    let place = Place {
        workspace: Path::new("/home/me/project"),
        is_secret: &is_secret,
    };
    judge(command, rules, &place)
}

/// What the signs of the table stand for.
fn spelled_out(written: &str) -> String {
    let mut out = String::new();
    let mut rest = written.chars();
    while let Some(next) = rest.next() {
        if next != '\\' {
            out.push(next);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('u') => {
                let digits: String = rest.by_ref().take_while(|digit| *digit != ';').collect();
                out.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
            }
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

#[test]
fn every_row_of_the_table_is_judged_as_written() {
    let table = include_str!("policy.txt");
    let rules = RuleSet::default();
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let (wanted, written) = line
            .split_once('\t')
            .unwrap_or_else(|| panic!("no row: {line}"));
        let command = spelled_out(written);
        let judgement = judged(&command, &rules);
        let got = format!("{:?}", judgement.decision).to_lowercase();
        rows += 1;
        if got != wanted {
            let reasons: Vec<String> = judgement
                .parts
                .iter()
                .map(|part| format!("{}: {:?}, {}", part.command, part.decision, part.why))
                .collect();
            wrong.push(format!(
                "{written}\n    {got} and not {wanted}: {reasons:?}"
            ));
        }
    }
    assert!(rows >= 400, "only {rows} rows");
    assert!(
        wrong.is_empty(),
        "{} of {rows} rows are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_users_rules_add_and_the_strictest_wins() {
    let own = "[[rule]]\nprogram = ['git']\nsubcommand = [['add']]\nunless_flags = ['-c']\ndecision = 'allow'\nmatch = ['git add x']\n\
        [[rule]]\nprogram = ['git']\nsubcommand = [['log']]\ndecision = 'deny'\nwhy = 'no history'\n";
    let rules = RuleSet::default().and(RuleSet::parse(own).unwrap());
    assert_eq!(judged("git add x", &rules).decision, Decision::Allow);
    assert_eq!(
        judged("git add x && git push", &rules).decision,
        Decision::Ask
    );
    assert_eq!(
        judged("git add $(git push)", &rules).decision,
        Decision::Ask
    );
    let denied = judged("git status; git log", &rules);
    assert_eq!(denied.decision, Decision::Deny);
    let reasons: Vec<&str> = denied.reasons().map(|part| part.why.as_str()).collect();
    assert_eq!(reasons, ["no history"]);
}

/// Ways to put a command beside or into another; `@` is where it goes.
const PLACES: [&str; 24] = [
    "@",
    "ls; @",
    "ls && @",
    "ls || @",
    "ls | @",
    "ls & @",
    "ls\n@",
    "@ ; ls",
    "(@)",
    "{ @; }",
    "! @",
    "if @; then ls; fi",
    "if true; then @; fi",
    "for x in a; do @; done",
    "while @; do ls; done",
    "case a in a) @;; esac",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo <(@)",
    "x=$(@)",
    "timeout 5 @",
    "nice -n 5 @",
    "env LANG=C @",
    "f() { @; }",
];

proptest! {
    #[test]
    fn a_command_is_never_judged_milder_for_where_it_stands(
        places in prop::collection::vec(0..PLACES.len(), 1..4),
        inner in prop::sample::select(vec!["rm -rf /", "git push", "LD_PRELOAD=x ls", "cat .env", "echo x > f", "./run"]),
    ) {
        let rules = RuleSet::default();
        let alone = judged(inner, &rules).decision;
        let command = places.iter().fold(inner.to_owned(), |command, place| PLACES[*place].replace('@', &command));
        let within = judged(&command, &rules).decision;
        // What can't be understood, a group behind a wrapper say, is asked about at least.
        prop_assert!(within >= alone.min(Decision::Ask), "{command}: {within:?}");
        let clear = places.iter().all(|place| *place < 20) && !command.contains("((");
        if clear && alone == Decision::Deny {
            prop_assert_eq!(within, Decision::Deny, "{}", command);
        }
    }

    #[test]
    fn no_letters_make_the_judge_fail(command in "[a-z \\n'\"`$(){};&|<>\\\\#*!=\\-]{0,60}") {
        judged(&command, &RuleSet::default());
    }
}
