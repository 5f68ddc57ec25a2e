//! The pattern grammar, with the legacy forms of Annex B when no Unicode flag is set.

use super::Flags;
use super::charset::{self, CharSet};
use crate::text::Units;

/// A parsed pattern.
#[derive(Debug)]
pub(crate) enum Node {
    Empty,
    Char {
        c: u32,
        fold: bool,
    },
    Set {
        set: CharSet,
        fold: bool,
    },
    Seq(Vec<Node>),
    Alt(Vec<Node>),
    Group {
        node: Box<Node>,
        capture: Option<usize>,
    },
    BackRef {
        groups: Vec<usize>,
        fold: bool,
    },
    Look {
        node: Box<Node>,
        ahead: bool,
        negative: bool,
    },
    LineStart {
        multiline: bool,
    },
    LineEnd {
        multiline: bool,
    },
    WordEdge {
        negative: bool,
    },
    /// `captures` are the groups inside, which each round resets.
    Repeat {
        node: Box<Node>,
        min: u32,
        max: u32,
        greedy: bool,
        captures: (usize, usize),
    },
}

pub(crate) struct Parsed {
    pub(crate) node: Node,
    pub(crate) groups: usize,
    pub(crate) names: Vec<(String, Vec<usize>)>,
}

/// Deepest nesting of groups and classes.
const DEPTH_LIMIT: usize = 200;

#[derive(Clone, Copy)]
struct Modes {
    fold: bool,
    multiline: bool,
    dot_all: bool,
}

struct Parser<'a> {
    text: Units<'a>,
    at: usize,
    unicode: bool,
    sets: bool,
    modes: Modes,
    groups: usize,
    total_groups: usize,
    names: Vec<(String, Vec<usize>)>,
    has_names: bool,
    named_refs: Vec<String>,
    depth: usize,
}

type Parse<T> = Result<T, String>;

pub(crate) fn parse(text: Units<'_>, flags: Flags) -> Parse<Parsed> {
    let (total_groups, has_names) = count_groups(text);
    let mut parser = Parser {
        text,
        at: 0,
        unicode: flags.by_code_point(),
        sets: flags.unicode_sets,
        modes: Modes {
            fold: flags.ignore_case,
            multiline: flags.multiline,
            dot_all: flags.dot_all,
        },
        groups: 1,
        total_groups,
        names: Vec::new(),
        has_names,
        named_refs: Vec::new(),
        depth: 0,
    };
    let mut seen = Vec::new();
    let mut node = parser.disjunction(&mut seen)?;
    if parser.at < text.len() {
        return Err(if parser.peek() == Some(')') {
            "Unmatched ')'"
        } else {
            "Unexpected character"
        }
        .to_owned());
    }
    for name in &parser.named_refs {
        if !parser.names.iter().any(|(n, _)| n == name) {
            return Err("Invalid named reference".to_owned());
        }
    }
    let (names, refs) = (parser.names, parser.named_refs);
    resolve(&mut node, &names, &refs);
    Ok(Parsed {
        node,
        groups: parser.groups,
        names,
    })
}

/// Fills in the groups of named references, which were parsed as numbers beyond every group.
fn resolve(node: &mut Node, names: &[(String, Vec<usize>)], refs: &[String]) {
    match node {
        Node::BackRef { groups, .. } => {
            if let Some(at) = groups.first().and_then(|g| g.checked_sub(NAMED)) {
                let found = names.iter().find(|(n, _)| n == &refs[at]);
                *groups = found.map(|(_, g)| g.clone()).unwrap_or_default();
            }
        }
        Node::Seq(list) | Node::Alt(list) => list.iter_mut().for_each(|n| resolve(n, names, refs)),
        Node::Group { node, .. } | Node::Look { node, .. } | Node::Repeat { node, .. } => {
            resolve(node, names, refs);
        }
        _ => {}
    }
}

const NAMED: usize = 1 << 40;

/// Capture groups of the pattern, and whether any has a name.
fn count_groups(text: Units<'_>) -> (usize, bool) {
    let (mut count, mut named, mut class, mut at) = (1, false, false, 0);
    while at < text.len() {
        match text.at(at) {
            0x5C => at += 1,
            0x5B => class = true,
            0x5D => class = false,
            0x28 if !class => {
                if text.get(at + 1) != Some(0x3F) {
                    count += 1;
                } else if text.get(at + 2) == Some(0x3C)
                    && !matches!(text.get(at + 3), Some(0x3D | 0x21))
                {
                    count += 1;
                    named = true;
                }
            }
            _ => {}
        }
        at += 1;
    }
    (count, named)
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text
            .get(self.at)
            .map(|u| char::from_u32(u32::from(u)).unwrap_or('\u{FFFD}'))
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text
            .get(self.at + ahead)
            .map(|u| char::from_u32(u32::from(u)).unwrap_or('\u{FFFD}'))
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn eat_all(&mut self, text: &str) -> bool {
        let end = self.at + text.len();
        let found = end <= self.text.len() && self.text.slice(self.at, end).is(text);
        if found {
            self.at = end;
        }
        found
    }

    /// The next character: a code point in Unicode mode, a unit otherwise.
    fn next(&mut self) -> Parse<u32> {
        if self.at >= self.text.len() {
            return Err("Unexpected end of pattern".to_owned());
        }
        let (c, len) = if self.unicode {
            self.text.code_point(self.at)
        } else {
            (u32::from(self.text.at(self.at)), 1)
        };
        self.at += len;
        Ok(c)
    }

    fn disjunction(&mut self, seen: &mut Vec<String>) -> Parse<Node> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err("Pattern nests too deeply".to_owned());
        }
        let outer = seen.clone();
        let mut union = Vec::new();
        let mut alternatives = Vec::new();
        loop {
            let mut names = outer.clone();
            alternatives.push(self.alternative(&mut names)?);
            union.extend(names);
            if !self.eat('|') {
                break;
            }
        }
        union.sort();
        union.dedup();
        *seen = union;
        self.depth -= 1;
        let only = if alternatives.len() == 1 {
            alternatives.pop()
        } else {
            None
        };
        Ok(only.unwrap_or(Node::Alt(alternatives)))
    }

    fn alternative(&mut self, seen: &mut Vec<String>) -> Parse<Node> {
        let mut list = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            let first = self.groups;
            let (node, quantifiable) = self.term(seen)?;
            list.push(self.quantified(node, quantifiable, first)?);
        }
        Ok(match list.len() {
            0 => Node::Empty,
            _ => Node::Seq(list),
        })
    }

    fn term(&mut self, seen: &mut Vec<String>) -> Parse<(Node, bool)> {
        let modes = self.modes;
        let c = self.next()?;
        let node = match char::from_u32(c).unwrap_or('\u{FFFD}') {
            '^' => {
                return Ok((
                    Node::LineStart {
                        multiline: modes.multiline,
                    },
                    false,
                ));
            }
            '$' => {
                return Ok((
                    Node::LineEnd {
                        multiline: modes.multiline,
                    },
                    false,
                ));
            }
            '.' => {
                let set = if modes.dot_all {
                    CharSet::new(vec![(0, 0x10_FFFF)])
                } else {
                    charset::dot()
                };
                Node::Set { set, fold: false }
            }
            '(' => return self.group(seen),
            '[' => {
                let set = self.class()?;
                Node::Set {
                    set,
                    fold: modes.fold,
                }
            }
            '\\' => return self.atom_escape(),
            '*' | '+' | '?' => return Err("Nothing to repeat".to_owned()),
            '{' if self.unicode => return Err("Nothing to repeat".to_owned()),
            '{' => {
                self.at -= 1;
                if self.braces()?.is_some() {
                    return Err("Nothing to repeat".to_owned());
                }
                self.at += 1;
                Node::Char {
                    c,
                    fold: modes.fold,
                }
            }
            ']' | '}' if self.unicode => return Err("Lone quantifier brackets".to_owned()),
            _ => Node::Char {
                c,
                fold: modes.fold,
            },
        };
        Ok((node, true))
    }

    fn group(&mut self, seen: &mut Vec<String>) -> Parse<(Node, bool)> {
        for (open, ahead, negative) in [
            ("?=", true, false),
            ("?!", true, true),
            ("?<=", false, false),
            ("?<!", false, true),
        ] {
            if self.eat_all(open) {
                let node = Box::new(self.disjunction(seen)?);
                self.close()?;
                return Ok((
                    Node::Look {
                        node,
                        ahead,
                        negative,
                    },
                    ahead && !self.unicode,
                ));
            }
        }
        if self.eat_all("?<") {
            let name = self.group_name()?;
            if seen.contains(&name) {
                return Err("Duplicate capture group name".to_owned());
            }
            seen.push(name.clone());
            let number = self.groups;
            match self.names.iter_mut().find(|(n, _)| *n == name) {
                Some((_, list)) => list.push(number),
                None => self.names.push((name, vec![number])),
            }
            return self.capture(seen);
        }
        if self.eat('?') {
            let saved = self.modes;
            self.modifiers()?;
            let node = Box::new(self.disjunction(seen)?);
            self.modes = saved;
            self.close()?;
            return Ok((
                Node::Group {
                    node,
                    capture: None,
                },
                true,
            ));
        }
        self.capture(seen)
    }

    fn capture(&mut self, seen: &mut Vec<String>) -> Parse<(Node, bool)> {
        let number = self.groups;
        self.groups += 1;
        let node = Box::new(self.disjunction(seen)?);
        self.close()?;
        Ok((
            Node::Group {
                node,
                capture: Some(number),
            },
            true,
        ))
    }

    fn close(&mut self) -> Parse<()> {
        if self.eat(')') {
            Ok(())
        } else {
            Err("Unterminated group".to_owned())
        }
    }

    /// `?:` or `?ims-ims:`.
    fn modifiers(&mut self) -> Parse<()> {
        let mut value = true;
        let mut used = Vec::new();
        loop {
            let Some(c) = self.peek() else {
                return Err("Invalid group".to_owned());
            };
            self.at += 1;
            match c {
                ':' => return Ok(()),
                '-' if value => value = false,
                'i' | 'm' | 's' if !used.contains(&c) => {
                    used.push(c);
                    match c {
                        'i' => self.modes.fold = value,
                        'm' => self.modes.multiline = value,
                        _ => self.modes.dot_all = value,
                    }
                }
                _ => return Err("Invalid group".to_owned()),
            }
        }
    }

    fn group_name(&mut self) -> Parse<String> {
        let mut name = String::new();
        loop {
            if self.at >= self.text.len() {
                return Err("Invalid capture group name".to_owned());
            }
            let (mut c, len) = self.text.code_point(self.at);
            self.at += len;
            if c == u32::from('>') {
                break;
            }
            if c == u32::from('\\') {
                if !self.eat('u') {
                    return Err("Invalid capture group name".to_owned());
                }
                c = self.unicode_escape(true).ok_or("Invalid Unicode escape")?;
            }
            let ch = char::from_u32(c).ok_or("Invalid capture group name")?;
            let ok = ch == '$'
                || ch == '_'
                || ch.is_alphabetic()
                || (!name.is_empty() && ch.is_alphanumeric());
            if !ok {
                return Err("Invalid capture group name".to_owned());
            }
            name.push(ch);
        }
        if name.is_empty() {
            Err("Invalid capture group name".to_owned())
        } else {
            Ok(name)
        }
    }

    /// `{n}`, `{n,}` or `{n,m}`; restores the position when it isn't one.
    fn braces(&mut self) -> Parse<Option<(u32, u32)>> {
        let start = self.at;
        if !self.eat('{') {
            return Ok(None);
        }
        let min = self.decimal();
        let bounds = match min {
            Some(min) if self.eat(',') => match self.decimal() {
                Some(max) => Some((min, max)),
                None => Some((min, u32::MAX)),
            },
            Some(min) => Some((min, min)),
            None => None,
        };
        match bounds {
            Some((min, max)) if self.eat('}') => {
                if min > max {
                    return Err("numbers out of order in {} quantifier".to_owned());
                }
                Ok(Some((min, max)))
            }
            _ => {
                self.at = start;
                Ok(None)
            }
        }
    }

    fn decimal(&mut self) -> Option<u32> {
        let start = self.at;
        let mut value: u32 = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            value = value.saturating_mul(10).saturating_add(digit);
            self.at += 1;
        }
        (self.at > start).then_some(value)
    }

    fn quantified(&mut self, node: Node, quantifiable: bool, first: usize) -> Parse<Node> {
        let (min, max) = match self.peek() {
            Some('*') => (0, u32::MAX),
            Some('+') => (1, u32::MAX),
            Some('?') => (0, 1),
            Some('{') => match self.braces()? {
                Some(bounds) => {
                    self.at -= 1;
                    bounds
                }
                None if self.unicode => return Err("Incomplete quantifier".to_owned()),
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        self.at += 1;
        if !quantifiable {
            return Err("Nothing to repeat".to_owned());
        }
        let greedy = !self.eat('?');
        Ok(Node::Repeat {
            node: Box::new(node),
            min,
            max,
            greedy,
            captures: (first, self.groups),
        })
    }

    fn atom_escape(&mut self) -> Parse<(Node, bool)> {
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
    fn class_escape(&mut self) -> Parse<Option<CharSet>> {
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

    fn character_escape(&mut self, in_class: bool) -> Parse<u32> {
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
    fn unicode_escape(&mut self, code_points: bool) -> Option<u32> {
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

    fn class(&mut self) -> Parse<CharSet> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err("Pattern nests too deeply".to_owned());
        }
        let negative = self.eat('^');
        let set = if self.sets {
            self.class_set()?
        } else {
            self.class_ranges()?
        };
        self.depth -= 1;
        // Without regard to case, a negated class excludes every form of its members.
        let set = if negative && self.modes.fold {
            fold_closure(&set, self.unicode)
        } else {
            set
        };
        Ok(if negative { set.negate() } else { set })
    }

    fn class_ranges(&mut self) -> Parse<CharSet> {
        let mut ranges = Vec::new();
        loop {
            if self.at >= self.text.len() {
                return Err("Unterminated character class".to_owned());
            }
            if self.eat(']') {
                return Ok(CharSet::new(ranges));
            }
            let low = self.class_atom()?;
            if self.peek() == Some('-') && self.peek_at(1).is_some_and(|c| c != ']') {
                self.at += 1;
                let high = self.class_atom()?;
                match (low, high) {
                    (Ok(a), Ok(b)) if a > b => {
                        return Err("Range out of order in character class".to_owned());
                    }
                    (Ok(a), Ok(b)) => ranges.push((a, b)),
                    _ if self.unicode => return Err("Invalid character class".to_owned()),
                    (low, high) => {
                        push_atom(&mut ranges, low);
                        ranges.push((45, 45));
                        push_atom(&mut ranges, high);
                    }
                }
            } else {
                push_atom(&mut ranges, low);
            }
        }
    }

    fn class_atom(&mut self) -> Parse<Result<u32, CharSet>> {
        if self.eat('\\') {
            if let Some(set) = self.class_escape()? {
                return Ok(Err(set));
            }
            return self.character_escape(true).map(Ok);
        }
        self.next().map(Ok)
    }

    /// The body of a class under the `v` flag.
    fn class_set(&mut self) -> Parse<CharSet> {
        let mut set = CharSet::default();
        let mut first = true;
        loop {
            if self.at >= self.text.len() {
                return Err("Unterminated character class".to_owned());
            }
            if self.eat(']') {
                return Ok(set);
            }
            if !first && self.eat_all("&&") {
                let right = self.set_operand()?;
                set = set.intersect(&right);
                continue;
            }
            if !first && self.eat_all("--") {
                let right = self.set_operand()?;
                set = set.subtract(&right);
                continue;
            }
            first = false;
            let part = self.set_operand()?;
            set = set.union(&part);
        }
    }

    fn set_operand(&mut self) -> Parse<CharSet> {
        if self.eat('[') {
            return self.class();
        }
        if self.eat_all("\\q{") {
            return self.quoted_strings();
        }
        let low = match self.class_atom()? {
            Ok(c) => c,
            Err(set) => return Ok(set),
        };
        if let Some(c) = char::from_u32(low)
            && "()[]{}/-|".contains(c)
            && self.text.get(self.at.wrapping_sub(2)) != Some(0x5C)
        {
            return Err("Invalid character in character class".to_owned());
        }
        if self.peek() == Some('-') && self.peek_at(1) != Some('-') {
            self.at += 1;
            return match self.class_atom()? {
                Ok(high) if low <= high => Ok(CharSet::new(vec![(low, high)])),
                _ => Err("Range out of order in character class".to_owned()),
            };
        }
        Ok(CharSet::new(vec![(low, low)]))
    }

    /// `\q{a|b}`; strings of more than one character aren't supported.
    fn quoted_strings(&mut self) -> Parse<CharSet> {
        let mut ranges = Vec::new();
        let mut length = 0;
        loop {
            match self.class_atom()? {
                Ok(0x7D) => return Ok(CharSet::new(ranges)),
                Ok(0x7C) => length = 0,
                Ok(_) if length == 1 => {
                    return Err("strings in a character class aren't supported".to_owned());
                }
                Ok(c) => {
                    length += 1;
                    ranges.push((c, c));
                }
                Err(_) => return Err("Invalid escape".to_owned()),
            }
        }
    }
}

fn push_atom(ranges: &mut Vec<(u32, u32)>, atom: Result<u32, CharSet>) {
    match atom {
        Ok(c) => ranges.push((c, c)),
        Err(set) => ranges.extend(set.ranges),
    }
}

/// The set with every case form of its members; large ranges are taken as they are.
fn fold_closure(set: &CharSet, unicode: bool) -> CharSet {
    let mut ranges = set.ranges.clone();
    for &(a, b) in &set.ranges {
        for c in a..=b.min(a + 2_000) {
            let folded = charset::canonicalize(c, unicode);
            ranges.push((folded, folded));
            if let Some(ch) = char::from_u32(c) {
                let forms = ch.to_lowercase().chain(ch.to_uppercase());
                ranges.extend(
                    forms
                        .map(|o| o as u32)
                        .filter(|&o| charset::canonicalize(o, unicode) == folded)
                        .map(|o| (o, o)),
                );
            }
        }
    }
    CharSet::new(ranges)
}
