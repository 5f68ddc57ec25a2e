//! Taking a command of a POSIX shell, or of bash, apart into the simple commands that would run.
//!
//! Follows the grammar of POSIX.1-2024, chapter 2 of Shell & Utilities, and of the bash manual where that goes further.
//! What runs is found wherever it hides: behind `&&`, `;`, `|`, `&` and line ends, in subshells, groups, loops,
//! functions, substitutions of every kind, also those in double quotes and here-documents. What isn't understood is
//! an error: whoever judges a command asks then.

use crate::heredoc::Pending;
use crate::word::{NotUnderstood, Redirect, SimpleCommand, Word};

/// Deeper nesting is refused.
const DEEPEST: usize = 40;
/// Longer commands are refused.
const LONGEST: usize = 64 * 1024;

/// Takes a command apart.
///
/// # Errors
/// Something in it isn't understood.
pub fn parse(command: &str) -> Result<Vec<SimpleCommand>, NotUnderstood> {
    parse_nested(command, 0)
}

pub(crate) fn parse_nested(
    command: &str,
    depth: usize,
) -> Result<Vec<SimpleCommand>, NotUnderstood> {
    let mut parser = Parser {
        chars: command.chars().collect(),
        at: 0,
        depth,
        found: Vec::new(),
        pending: Vec::new(),
    };
    if command.len() > LONGEST {
        return Err(parser.error("the command is too long"));
    }
    if command.contains('\0') {
        return Err(parser.error("a NUL character"));
    }
    parser.list(&Until::End)?;
    if !parser.pending.is_empty() {
        return Err(parser.error("a here-document that is not ended"));
    }
    Ok(parser.found)
}

/// What ends a list of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    End,
    /// `)`.
    Paren,
    /// One of these words where a command may begin.
    Words(&'static [&'static str]),
    /// `;;`, `;&`, `;;&` or `esac`.
    CaseItem,
}

pub(crate) struct Parser {
    pub(crate) chars: Vec<char>,
    pub(crate) at: usize,
    pub(crate) depth: usize,
    pub(crate) found: Vec<SimpleCommand>,
    pub(crate) pending: Vec<Pending>,
}

impl Parser {
    pub(crate) fn error(&self, what: &str) -> NotUnderstood {
        NotUnderstood {
            what: what.into(),
            at: self.at,
        }
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(crate) fn starts_with(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(offset, wanted)| self.chars.get(self.at + offset) == Some(&wanted))
    }

    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let there = self.starts_with(text);
        if there {
            self.at += text.chars().count();
        }
        there
    }

    pub(crate) fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, NotUnderstood>,
    ) -> Result<T, NotUnderstood> {
        if self.depth >= DEEPEST {
            return Err(self.error("nested too deep"));
        }
        self.depth += 1;
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    /// Blanks, line continuations and comments.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.starts_with("\\\n") => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|next| next != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// A `)` that ends a substitution or subshell.
    pub(crate) fn list_until_paren(&mut self) -> Result<(), NotUnderstood> {
        self.deeper(|parser| parser.list(&Until::Paren))
    }

    fn list(&mut self, until: &Until) -> Result<(), NotUnderstood> {
        let mut fed_by_pipe = false;
        loop {
            self.skip_blanks();
            let Some(next) = self.peek() else {
                return match until {
                    Until::End => Ok(()),
                    _ => Err(self.error("something is not closed")),
                };
            };
            match next {
                '\n' => {
                    self.at += 1;
                    self.heredoc_bodies()?;
                }
                ')' if *until == Until::Paren => {
                    self.at += 1;
                    return Ok(());
                }
                ';' if *until == Until::CaseItem && self.starts_with(";;") => return Ok(()),
                ';' if *until == Until::CaseItem && self.starts_with(";&") => return Ok(()),
                ';' | '&' | '|' => fed_by_pipe = self.separator()?,
                _ => {
                    if self.closes(until) {
                        return Ok(());
                    }
                    self.command(fed_by_pipe)?;
                    fed_by_pipe = false;
                }
            }
        }
    }

    /// Steps over a separator; whether it is a pipe.
    fn separator(&mut self) -> Result<bool, NotUnderstood> {
        for (text, pipe) in [
            ("&&", false),
            ("||", false),
            ("|&", true),
            ("|", true),
            ("&", false),
        ] {
            if self.starts_with("&>") {
                return Err(self.error("a redirection without a command"));
            }
            if self.eat(text) {
                return Ok(pipe);
            }
        }
        if self.starts_with(";;") || !self.eat(";") {
            return Err(self.error("`;;` outside of a case"));
        }
        Ok(false)
    }

    /// Whether one of the words that end the list stands here; it is stepped over.
    fn closes(&mut self, until: &Until) -> bool {
        let words: &[&str] = match until {
            Until::Words(words) => words,
            Until::CaseItem => &["esac"],
            Until::End | Until::Paren => return false,
        };
        let word = self.bare_word();
        if !words.contains(&word.as_str()) {
            return false;
        }
        if *until != Until::CaseItem {
            self.at += word.chars().count();
        }
        true
    }

    /// The unquoted letters that stand here, up to where a word may end.
    fn bare_word(&self) -> String {
        let rest = self.chars[self.at..].iter();
        rest.take_while(|next| !" \t\n;&|<>()'\"\\$`".contains(**next))
            .collect()
    }

    fn command(&mut self, fed_by_pipe: bool) -> Result<(), NotUnderstood> {
        if self.starts_with("((") {
            return Err(self.error("arithmetic as a command"));
        }
        if self.eat("(") {
            self.list_until_paren()?;
            return self.after_compound();
        }
        match self.bare_word().as_str() {
            "!" => {
                self.at += 1;
                Ok(())
            }
            "{" => self.compound("{", &["}"]),
            "if" => {
                self.at += 2;
                self.deeper(|parser| {
                    parser.list(&Until::Words(&["then"]))?;
                    parser.branches()
                })?;
                self.after_compound()
            }
            "while" | "until" => {
                self.at += 5;
                self.deeper(|parser| {
                    parser.list(&Until::Words(&["do"]))?;
                    parser.list(&Until::Words(&["done"]))
                })?;
                self.after_compound()
            }
            "for" | "select" => self.for_loop(),
            "case" => self.case(),
            "function" => {
                self.at += 8;
                self.skip_blanks();
                let name = self.bare_word();
                self.at += name.chars().count();
                self.skip_blanks();
                let _ = self.eat("()");
                self.function_body()
            }
            "[[" => self.test(),
            word @ ("coproc" | "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}") => {
                let what = format!("`{word}` where a command should be");
                Err(self.error(&what))
            }
            _ => self.simple(fed_by_pipe),
        }
    }

    fn compound(
        &mut self,
        open: &str,
        close: &'static [&'static str],
    ) -> Result<(), NotUnderstood> {
        self.at += open.chars().count();
        self.deeper(|parser| parser.list(&Until::Words(close)))?;
        self.after_compound()
    }

    fn branches(&mut self) -> Result<(), NotUnderstood> {
        loop {
            // The word that ended the list stands just before.
            self.list(&Until::Words(&["elif", "else", "fi"]))?;
            let before: String = self.chars[self.at.saturating_sub(4)..self.at]
                .iter()
                .collect();
            if before.ends_with("fi") && before != "elif" {
                return Ok(());
            }
            if before == "elif" {
                self.list(&Until::Words(&["then"]))?;
            }
        }
    }

    fn for_loop(&mut self) -> Result<(), NotUnderstood> {
        self.at += self.bare_word().chars().count();
        self.skip_blanks();
        if self.starts_with("((") {
            return Err(self.error("an arithmetic loop"));
        }
        let name = self.bare_word();
        self.at += name.chars().count();
        self.skip_separating();
        if self.bare_word() == "in" {
            self.at += 2;
            loop {
                self.skip_blanks();
                if self.word()?.is_none() {
                    break;
                }
            }
            self.skip_separating();
        }
        if self.bare_word() != "do" {
            return Err(self.error("a loop without `do`"));
        }
        self.at += 2;
        self.deeper(|parser| parser.list(&Until::Words(&["done"])))?;
        self.after_compound()
    }

    /// Blanks, line ends and a semicolon.
    fn skip_separating(&mut self) {
        loop {
            self.skip_blanks();
            if !matches!(self.peek(), Some('\n' | ';')) {
                return;
            }
            self.at += 1;
        }
    }

    fn case(&mut self) -> Result<(), NotUnderstood> {
        self.at += 4;
        self.skip_blanks();
        self.word()?
            .ok_or_else(|| self.error("a case without a word"))?;
        self.skip_separating();
        if self.bare_word() != "in" {
            return Err(self.error("a case without `in`"));
        }
        self.at += 2;
        loop {
            self.skip_separating();
            if self.bare_word() == "esac" {
                self.at += 4;
                return self.after_compound();
            }
            let _ = self.eat("(");
            loop {
                self.skip_blanks();
                self.word()?
                    .ok_or_else(|| self.error("a case without a pattern"))?;
                self.skip_blanks();
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                return Err(self.error("a pattern of a case without `)`"));
            }
            self.deeper(|parser| parser.list(&Until::CaseItem))?;
            let _ = self.eat(";;&") || self.eat(";;") || self.eat(";&");
        }
    }

    fn function_body(&mut self) -> Result<(), NotUnderstood> {
        self.skip_separating();
        if self.bare_word() == "{" {
            return self.compound("{", &["}"]);
        }
        if self.starts_with("(") && !self.starts_with("((") {
            self.at += 1;
            self.list_until_paren()?;
            return self.after_compound();
        }
        Err(self.error("a function without a body in braces"))
    }

    /// `[[ ... ]]`: nothing runs but what is substituted.
    fn test(&mut self) -> Result<(), NotUnderstood> {
        self.at += 2;
        loop {
            self.skip_blanks();
            if self.bare_word() == "]]" {
                self.at += 2;
                self.found.push(SimpleCommand {
                    words: vec![Word::plain("[[")],
                    ..SimpleCommand::default()
                });
                return self.after_compound();
            }
            match self.peek() {
                None => return Err(self.error("`[[` that is not closed")),
                // Operators of the test; a pattern may have parentheses and bars.
                Some('<' | '>' | '&' | '|' | '(' | ')' | '\n') => self.at += 1,
                Some(_) => {
                    self.word()?;
                }
            }
        }
    }

    /// Redirections after a group; they belong to a command of no name.
    fn after_compound(&mut self) -> Result<(), NotUnderstood> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        if !redirects.is_empty() {
            self.found.push(SimpleCommand {
                redirects,
                ..SimpleCommand::default()
            });
        }
        match self.peek() {
            None | Some('\n' | ';' | '&' | '|' | ')') => Ok(()),
            Some(_) => Err(self.error("words after a group")),
        }
    }

    fn simple(&mut self, fed_by_pipe: bool) -> Result<(), NotUnderstood> {
        let mut command = SimpleCommand {
            fed_by_pipe,
            ..SimpleCommand::default()
        };
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
                continue;
            }
            let from = self.at;
            let Some(word) = self.word()? else {
                break;
            };
            if command.words.is_empty()
                && let Some((name, value)) = assignment(&word, &self.chars[from..self.at])
            {
                command.assignments.push((name, value));
                continue;
            }
            let first = command.words.is_empty() && command.assignments.is_empty();
            command.words.push(word);
            self.skip_blanks();
            if first && self.eat("()") {
                return self.function_body();
            }
        }
        if self.peek() == Some('(') {
            return Err(self.error("`(` in the middle of a command"));
        }
        if command.words.is_empty()
            && command.assignments.is_empty()
            && command.redirects.is_empty()
        {
            return Err(self.error("a command should be here"));
        }
        self.found.push(command);
        Ok(())
    }

    fn redirect(&mut self) -> Result<Option<Redirect>, NotUnderstood> {
        let start = self.at;
        if self.starts_with("<(") || self.starts_with(">(") {
            return Ok(None);
        }
        if self.peek() == Some('{') {
            let name: String = self.bare_word();
            let after = self.chars.get(self.at + name.chars().count());
            if name.ends_with('}') && matches!(after, Some('<' | '>')) {
                return Err(self.error("a redirection that picks its own number"));
            }
        }
        while self.peek().is_some_and(|next| next.is_ascii_digit()) {
            self.at += 1;
        }
        let operators = [
            "<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">&", ">|", ">",
        ];
        let operator = operators
            .into_iter()
            .find(|operator| self.starts_with(operator));
        let Some(operator) =
            operator.filter(|operator| !operator.starts_with('&') || self.at == start)
        else {
            self.at = start;
            return Ok(None);
        };
        self.at += operator.chars().count();
        if (self.starts_with("(")) && !operator.ends_with('&') {
            self.at = start;
            return Ok(None);
        }
        self.skip_blanks();
        let target = self
            .word()?
            .ok_or_else(|| self.error("a redirection without a target"))?;
        let mut redirect = Redirect {
            operator: operator.into(),
            target,
            body: None,
        };
        if operator == "<<" || operator == "<<-" {
            let body = self.heredoc_ahead(&redirect.target, operator == "<<-")?;
            redirect.body = Some(body);
        }
        Ok(Some(redirect))
    }
}

/// `NAME=value`, `NAME+=value`; the name unquoted and fixed.
fn assignment(word: &Word, written: &[char]) -> Option<(String, Word)> {
    let written: String = written.iter().collect();
    let (name, _) = written.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut letters = name.chars();
    let is_name = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|next| next.is_ascii_alphanumeric() || next == '_');
    if !is_name {
        return None;
    }
    let (_, value) = word.text.split_once('=')?;
    let value = Word {
        text: value.into(),
        ..word.clone()
    };
    Some((name.to_owned(), value))
}
