//! Reading one word: quotes, escapes, and everything that is substituted.

use crate::parse::{Parser, parse_nested};
use crate::word::{NotUnderstood, Word};

impl Parser {
    /// The word that begins here; none if something that ends words stands here.
    pub(crate) fn word(&mut self) -> Result<Option<Word>, NotUnderstood> {
        let mut word = Word::default();
        let start = self.at;
        let mut braces = false;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if self.chars.get(self.at + 1) == Some(&'(') => {
                    self.at += 2;
                    self.list_until_paren()?;
                    word.dynamic = true;
                    word.text
                        .push_str(if next == '<' { "<(...)" } else { ">(...)" });
                }
                '<' | '>' => break,
                '(' if self.at == start => break,
                '(' if self.starts_with("()") && self.at > start => break,
                '(' => return Err(self.error("`(` in a word")),
                '\'' => self.single_quotes(&mut word)?,
                '"' => self.double_quotes(&mut word)?,
                '\\' => self.escape(&mut word)?,
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backquote(&mut word)?,
                '*' | '?' | '[' => {
                    // Alone it may be the command of that name.
                    word.glob |= next != '[' || self.bare_bracket_is_pattern(start);
                    word.text.push(next);
                    self.at += 1;
                }
                '{' => {
                    braces = true;
                    word.text.push(next);
                    self.at += 1;
                }
                plain => {
                    word.text.push(plain);
                    self.at += 1;
                }
            }
        }
        if self.at == start {
            return Ok(None);
        }
        if braces && expands_braces(&self.chars[start..self.at]) {
            word.dynamic = true;
        }
        Ok(Some(word))
    }

    fn bare_bracket_is_pattern(&self, start: usize) -> bool {
        let ends = |at: usize| {
            self.chars
                .get(at)
                .is_none_or(|next| " \t\n;&|".contains(*next))
        };
        !(self.at == start && ends(self.at + 1))
    }

    fn single_quotes(&mut self, word: &mut Word) -> Result<(), NotUnderstood> {
        word.quoted = true;
        self.at += 1;
        while let Some(next) = self.peek() {
            self.at += 1;
            if next == '\'' {
                return Ok(());
            }
            word.text.push(next);
        }
        Err(self.error("a quote that is not closed"))
    }

    fn double_quotes(&mut self, word: &mut Word) -> Result<(), NotUnderstood> {
        word.quoted = true;
        self.at += 1;
        while let Some(next) = self.peek() {
            match next {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    let escaped = self.chars.get(self.at + 1).copied();
                    self.at += 2;
                    match escaped {
                        Some('\n') => {}
                        Some(plain @ ('$' | '`' | '"' | '\\')) => word.text.push(plain),
                        Some(other) => word.text.extend(['\\', other]),
                        None => return Err(self.error("a quote that is not closed")),
                    }
                }
                '$' => self.dollar(word, true)?,
                '`' => self.backquote(word)?,
                plain => {
                    word.text.push(plain);
                    self.at += 1;
                }
            }
        }
        Err(self.error("a quote that is not closed"))
    }

    fn escape(&mut self, word: &mut Word) -> Result<(), NotUnderstood> {
        let Some(escaped) = self.chars.get(self.at + 1).copied() else {
            return Err(self.error("a backslash at the end"));
        };
        self.at += 2;
        if escaped != '\n' {
            word.quoted = true;
            word.text.push(escaped);
        }
        Ok(())
    }

    /// What begins with `$`.
    pub(crate) fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), NotUnderstood> {
        let start = self.at;
        match self.chars.get(self.at + 1).copied() {
            Some('(') if self.starts_with("$((") && self.is_arithmetic() => {
                self.at += 3;
                self.balanced(')', 2)?;
                if looks_like_words(&self.chars[start..self.at]) {
                    return Err(self.error("arithmetic that looks like a command"));
                }
                word.dynamic = true;
            }
            Some('(') => {
                self.at += 2;
                self.list_until_paren()?;
                word.dynamic = true;
            }
            Some('{') => {
                self.at += 2;
                self.balanced('}', 1)?;
                word.dynamic = true;
            }
            Some('[') => return Err(self.error("arithmetic in brackets")),
            Some('\'') if !quoted => {
                self.at += 2;
                return self.ansi_quotes(word);
            }
            Some('"') if !quoted => {
                self.at += 1;
                return self.double_quotes(word);
            }
            Some(next) if next.is_ascii_alphabetic() || next == '_' => {
                self.at += 1;
                while self
                    .peek()
                    .is_some_and(|next| next.is_ascii_alphanumeric() || next == '_')
                {
                    self.at += 1;
                }
                word.dynamic = true;
            }
            Some(next) if next.is_ascii_digit() || "@*#?-$!".contains(next) => {
                self.at += 2;
                word.dynamic = true;
            }
            _ => self.at += 1,
        }
        word.text
            .extend(&self.chars[start..self.at.min(self.chars.len())]);
        Ok(())
    }

    /// `$((` may also begin a substitution of a subshell; it is arithmetic if its two parentheses close together.
    fn is_arithmetic(&self) -> bool {
        let mut depth = 2;
        let mut rest = self.chars[self.at + 3..].iter().peekable();
        while let Some(next) = rest.next() {
            match next {
                '(' => depth += 1,
                ')' => depth -= 1,
                // Nothing that could hide a parenthesis, and nothing that no arithmetic has.
                '\'' | '"' | '\\' | '#' | '`' | '\n' | ';' | '.' => return false,
                _ => {}
            }
            if depth == 1 {
                return rest.peek() == Some(&&')');
            }
        }
        false
    }

    /// Steps behind the closing sign, and finds what is substituted before it.
    fn balanced(&mut self, close: char, count: usize) -> Result<(), NotUnderstood> {
        self.deeper(|parser| {
            let mut inside = Word::default();
            let mut open = count;
            while let Some(next) = parser.peek() {
                match next {
                    '\\' => parser.at += 2,
                    // Whether it quotes depends on what is around it.
                    '\'' => return Err(parser.error("a single quote in an expansion")),
                    '"' => parser.double_quotes(&mut inside)?,
                    '$' => parser.dollar(&mut inside, true)?,
                    '`' => parser.backquote(&mut inside)?,
                    '<' | '>' if parser.chars.get(parser.at + 1) == Some(&'(') && close == '}' => {
                        parser.at += 2;
                        parser.list_until_paren()?;
                    }
                    '(' if close == ')' => {
                        open += 1;
                        parser.at += 1;
                    }
                    next if next == close => {
                        open -= 1;
                        parser.at += 1;
                        if open == 0 {
                            return Ok(());
                        }
                    }
                    _ => parser.at += 1,
                }
            }
            Err(parser.error("something is not closed"))
        })
    }

    /// `$'...'` with the escapes of C.
    fn ansi_quotes(&mut self, word: &mut Word) -> Result<(), NotUnderstood> {
        word.quoted = true;
        while let Some(next) = self.peek() {
            self.at += 1;
            match next {
                '\'' => return Ok(()),
                '\\' => {
                    let Some(escaped) = self.peek() else {
                        break;
                    };
                    self.at += 1;
                    let plain = match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'a' => '\x07',
                        'b' => '\x08',
                        'e' | 'E' => '\x1b',
                        'f' => '\x0c',
                        'v' => '\x0b',
                        'x' => self.number(16, 2)?,
                        'u' => self.number(16, 4)?,
                        'U' => self.number(16, 8)?,
                        '0'..='7' => {
                            self.at -= 1;
                            self.number(8, 3)?
                        }
                        'c' => return Err(self.error("a control character in quotes")),
                        other => other,
                    };
                    word.text.push(plain);
                }
                plain => word.text.push(plain),
            }
        }
        Err(self.error("a quote that is not closed"))
    }

    fn number(&mut self, base: u32, most: usize) -> Result<char, NotUnderstood> {
        let mut value = 0;
        let mut digits = 0;
        while digits < most
            && let Some(digit) = self.peek().and_then(|next| next.to_digit(base))
        {
            value = value * base + digit;
            self.at += 1;
            digits += 1;
        }
        let plain = char::from_u32(value).filter(|plain| *plain != '\0' && digits > 0);
        plain.ok_or_else(|| self.error("an escape that is no character"))
    }

    pub(crate) fn backquote(&mut self, word: &mut Word) -> Result<(), NotUnderstood> {
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.peek() {
                None => return Err(self.error("a backquote that is not closed")),
                Some('`') => {
                    self.at += 1;
                    break;
                }
                Some('\\') => {
                    let escaped = self.chars.get(self.at + 1).copied();
                    match escaped {
                        Some(plain @ ('$' | '`' | '\\')) => inside.push(plain),
                        Some(other) => inside.extend(['\\', other]),
                        None => return Err(self.error("a backquote that is not closed")),
                    }
                    self.at += 2;
                }
                Some(plain) => {
                    inside.push(plain);
                    self.at += 1;
                }
            }
        }
        let depth = self.depth + 1;
        let mut found = self.deeper(|_| parse_nested(&inside, depth))?;
        self.found.append(&mut found);
        word.dynamic = true;
        word.text.push_str(&format!("`{inside}`"));
        Ok(())
    }
}

/// Two words beside each other are no arithmetic, whatever a shell makes of them.
fn looks_like_words(written: &[char]) -> bool {
    let ends_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '}';
    written.windows(4).any(|four| {
        let [before, ' ', after, next] = *four else {
            return false;
        };
        let option_or_path = "-/.~".contains(after) && next.is_alphabetic();
        ends_word(before) && (after.is_alphabetic() || after == '_' || option_or_path)
    })
}

/// `{a,b}` and `{1..3}` become several words.
fn expands_braces(written: &[char]) -> bool {
    let text: String = written.iter().collect();
    let mut rest = text.as_str();
    while let Some(open) = rest.find('{') {
        let variable = open > 0 && rest.as_bytes()[open - 1] == b'$';
        rest = &rest[open + 1..];
        if !variable && rest.contains('}') && (rest.contains(',') || rest.contains("..")) {
            return true;
        }
    }
    false
}
