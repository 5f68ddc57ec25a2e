//! What follows a backslash.

use super::charset::{self, CharSet};
use super::parser::{NAMED, Node, Parse, Parser};

impl Parser<'_> {
    pub(super) fn atom_escape(&mut self) -> Parse<(Node, bool)> {
        let fold = self.modes.fold;
        match self.peek() {
            Some('b') => {
                self.at += 1;
                return Ok((Node::WordEdge { negative: false }, false));
            }
            Some('B') => {
                self.at += 1;
                return Ok((Node::WordEdge { negative: true }, false));
            }
            Some('1'..='9') => {
                let start = self.at;
                let number = self.decimal().unwrap_or(0) as usize;
                if number < self.total_groups {
                    return Ok((
                        Node::BackRef {
                            groups: vec![number],
                            fold,
                        },
                        true,
                    ));
                }
                if self.unicode {
                    return Err("Invalid escape".to_owned());
                }
                self.at = start;
            }
            Some('k') if self.unicode || self.has_names => {
                self.at += 1;
                if !self.eat('<') {
                    return Err("Invalid named reference".to_owned());
                }
                let name = self.group_name()?;
                self.named_refs.push(name);
                let number = NAMED + self.named_refs.len() - 1;
                return Ok((
                    Node::BackRef {
                        groups: vec![number],
                        fold,
                    },
                    true,
                ));
            }
            _ => {}
        }
        if let Some(set) = self.class_escape()? {
            return Ok((Node::Set { set, fold }, true));
        }
        let c = self.character_escape(false)?;
        Ok((Node::Char { c, fold }, true))
    }

    /// `\d`, `\w`, `\s`, `\p{..}` and their complements.
    pub(super) fn class_escape(&mut self) -> Parse<Option<CharSet>> {
        let Some(c) = self.peek() else {
            return Ok(None);
        };
        let set = match c {
            'd' => charset::digits(),
            'D' => charset::digits().negate(),
            'w' => charset::word(),
            'W' => charset::word().negate(),
            's' => charset::space(),
            'S' => charset::space().negate(),
            'p' | 'P' if self.unicode => {
                self.at += 1;
                let mut expression = String::new();
                if !self.eat('{') {
                    return Err("Invalid property name".to_owned());
                }
                loop {
                    match self.peek() {
                        Some('}') => break,
                        Some(c) => expression.push(c),
                        None => return Err("Invalid property name".to_owned()),
                    }
                    self.at += 1;
                }
                self.at += 1;
                let set = charset::property(&expression).ok_or("Invalid property name")?;
                return Ok(Some(if c == 'P' { set.negate() } else { set }));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(set))
    }

    pub(super) fn character_escape(&mut self, in_class: bool) -> Parse<u32> {
        let c = self.next()?;
        let ch = char::from_u32(c).unwrap_or('\u{FFFD}');
        Ok(match ch {
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            'b' if in_class => 8,
            '-' if in_class && self.unicode => 45,
            'c' => match self.peek() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    self.at += 1;
                    letter as u32 % 32
                }
                Some(other)
                    if in_class && !self.unicode && (other.is_ascii_digit() || other == '_') =>
                {
                    self.at += 1;
                    other as u32 % 32
                }
                _ if self.unicode => return Err("Invalid Unicode escape".to_owned()),
                _ => {
                    self.at -= 1;
                    0x5C
                }
            },
            '0'..='7' if !self.unicode => self.octal(c - 48),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => 0,
            'x' => match self.hex(2) {
                Some(value) => value,
                None if self.unicode => return Err("Invalid escape".to_owned()),
                None => c,
            },
            'u' => match self.unicode_escape(self.unicode) {
                Some(value) => value,
                None if self.unicode => return Err("Invalid Unicode escape".to_owned()),
                None => c,
            },
            _ if self.unicode => {
                if "^$\\.*+?()[]{}|/".contains(ch)
                    || (self.sets && in_class && "&-!#%,:;<=>@`~".contains(ch))
                {
                    c
                } else {
                    return Err("Invalid escape".to_owned());
                }
            }
            'k' if self.has_names => return Err("Invalid named reference".to_owned()),
            _ => c,
        })
    }

    fn octal(&mut self, first: u32) -> u32 {
        let mut value = first;
        for _ in 0..2 {
            match self.peek().and_then(|c| c.to_digit(8)) {
                Some(digit) if value * 8 + digit <= 0o377 => {
                    value = value * 8 + digit;
                    self.at += 1;
                }
                _ => break,
            }
        }
        value
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let mut value = 0;
        for ahead in 0..digits {
            value = value * 16 + self.peek_at(ahead)?.to_digit(16)?;
        }
        self.at += digits;
        Some(value)
    }

    /// What follows `\u`.
    pub(super) fn unicode_escape(&mut self, code_points: bool) -> Option<u32> {
        if code_points && self.peek() == Some('{') {
            let start = self.at;
            self.at += 1;
            let mut value: u32 = 0;
            let mut any = false;
            while let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) {
                value = value.saturating_mul(16).saturating_add(digit);
                any = true;
                self.at += 1;
            }
            if any && value <= 0x10_FFFF && self.eat('}') {
                return Some(value);
            }
            self.at = start;
            return None;
        }
        let first = self.hex(4)?;
        if code_points
            && (0xD800..0xDC00).contains(&first)
            && self.peek() == Some('\\')
            && self.peek_at(1) == Some('u')
        {
            let saved = self.at;
            self.at += 2;
            if let Some(second @ 0xDC00..=0xDFFF) = self.hex(4) {
                return Some(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
            }
            self.at = saved;
        }
        Some(first)
    }
}
