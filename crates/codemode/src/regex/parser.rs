//! The pattern grammar, with the legacy forms of Annex B when no Unicode flag is set.

use super::Flags;
use super::charset::{self, CharSet};
use crate::text::Units;
use oxc_syntax::identifier::{is_identifier_part, is_identifier_start};

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
pub(super) const DEPTH_LIMIT: usize = 200;

#[derive(Clone, Copy)]
pub(super) struct Modes {
    pub(super) fold: bool,
    multiline: bool,
    dot_all: bool,
}

pub(super) struct Parser<'a> {
    pub(super) text: Units<'a>,
    pub(super) at: usize,
    pub(super) unicode: bool,
    pub(super) sets: bool,
    pub(super) modes: Modes,
    groups: usize,
    pub(super) total_groups: usize,
    names: Vec<(String, Vec<usize>)>,
    pub(super) has_names: bool,
    pub(super) named_refs: Vec<String>,
    pub(super) depth: usize,
}

pub(super) type Parse<T> = Result<T, String>;

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

pub(super) const NAMED: usize = 1 << 40;

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
    pub(super) fn peek(&self) -> Option<char> {
        self.text
            .get(self.at)
            .map(|u| char::from_u32(u32::from(u)).unwrap_or('\u{FFFD}'))
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text
            .get(self.at + ahead)
            .map(|u| char::from_u32(u32::from(u)).unwrap_or('\u{FFFD}'))
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_all(&mut self, text: &str) -> bool {
        let end = self.at + text.len();
        let found = end <= self.text.len() && self.text.slice(self.at, end).is(text);
        if found {
            self.at = end;
        }
        found
    }

    /// The next character: a code point in Unicode mode, a unit otherwise.
    pub(super) fn next(&mut self) -> Parse<u32> {
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
            '[' => self.class()?.into_node(modes.fold),
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
                ':' if !value && used.is_empty() => return Err("Invalid group".to_owned()),
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

    pub(super) fn group_name(&mut self) -> Parse<String> {
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
            let ok = if name.is_empty() {
                is_identifier_start(ch)
            } else {
                is_identifier_part(ch)
            };
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

    pub(super) fn decimal(&mut self) -> Option<u32> {
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
}
