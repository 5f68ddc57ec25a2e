//! Character classes, and under the `v` flag sets of characters and strings (ECMA-262 22.2.1).

use super::charset::{self, CharSet};
use super::parser::{DEPTH_LIMIT, Node, Parse, Parser};

/// What a class matches: one of some characters, or one of some strings.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassSet {
    set: CharSet,
    /// Strings of no or several characters.
    strings: Vec<Vec<u32>>,
    /// The grammar says that it may match a string, so that it can't be negated.
    may_match_strings: bool,
}

impl From<CharSet> for ClassSet {
    fn from(set: CharSet) -> ClassSet {
        ClassSet {
            set,
            ..ClassSet::default()
        }
    }
}

impl ClassSet {
    fn union(mut self, other: ClassSet) -> ClassSet {
        self.set = self.set.union(&other.set);
        self.strings.extend(other.strings);
        self.may_match_strings |= other.may_match_strings;
        self
    }

    fn intersect(mut self, other: &ClassSet) -> ClassSet {
        self.set = self.set.intersect(&other.set);
        self.strings.retain(|string| other.strings.contains(string));
        self.may_match_strings &= other.may_match_strings;
        self
    }

    fn subtract(mut self, other: &ClassSet) -> ClassSet {
        self.set = self.set.subtract(&other.set);
        self.strings
            .retain(|string| !other.strings.contains(string));
        self
    }

    /// The longest strings are tried first.
    pub(super) fn into_node(mut self, fold: bool) -> Node {
        if self.strings.is_empty() {
            return Node::Set {
                set: self.set,
                fold,
            };
        }
        self.strings
            .sort_by_key(|string| std::cmp::Reverse(string.len()));
        self.strings.dedup();
        let chars =
            |string: &Vec<u32>| Node::Seq(string.iter().map(|&c| Node::Char { c, fold }).collect());
        let mut choices: Vec<Node> = Vec::new();
        let empty = self.strings.iter().any(Vec::is_empty);
        choices.extend(self.strings.iter().filter(|s| !s.is_empty()).map(chars));
        choices.push(Node::Set {
            set: self.set,
            fold,
        });
        if empty {
            choices.push(Node::Empty);
        }
        Node::Group {
            node: Box::new(Node::Alt(choices)),
            capture: None,
        }
    }
}

impl Parser<'_> {
    /// A class after its opening bracket.
    pub(super) fn class(&mut self) -> Parse<ClassSet> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err("Pattern nests too deeply".to_owned());
        }
        let negative = self.eat('^');
        let mut class = if self.sets {
            self.class_set()?
        } else {
            self.class_ranges()?.into()
        };
        self.depth -= 1;
        if !negative {
            return Ok(class);
        }
        if class.may_match_strings {
            return Err("Negated character class may contain strings".to_owned());
        }
        // Without regard to case, a negated class excludes every form of its members.
        if self.modes.fold {
            class.set = fold_closure(&class.set, self.unicode);
        }
        Ok(class.set.negate().into())
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

    /// The body of a class under the `v` flag: a union, an intersection or a subtraction, never mixed.
    fn class_set(&mut self) -> Parse<ClassSet> {
        if self.eat(']') {
            return Ok(ClassSet::default());
        }
        let mut class = self.union_operand()?;
        for (operator, intersects) in [("&&", true), ("--", false)] {
            if !self.looking_at(operator) {
                continue;
            }
            while !self.eat(']') {
                if !self.eat_all(operator) || self.peek() == Some('&') {
                    return Err("Invalid set operation in character class".to_owned());
                }
                let right = self.set_operand()?;
                class = if intersects {
                    class.intersect(&right)
                } else {
                    class.subtract(&right)
                };
            }
            return Ok(class);
        }
        while !self.eat(']') {
            if self.looking_at("--") || self.looking_at("&&") {
                return Err("Invalid set operation in character class".to_owned());
            }
            class = class.union(self.union_operand()?);
        }
        Ok(class)
    }

    fn looking_at(&self, text: &str) -> bool {
        let end = self.at + text.len();
        end <= self.text.len() && self.text.slice(self.at, end).is(text)
    }

    /// An operand that may be a range.
    fn union_operand(&mut self) -> Parse<ClassSet> {
        let low = match self.operand()? {
            Ok(c) => c,
            Err(set) => return Ok(set),
        };
        if self.peek() == Some('-') && self.peek_at(1) != Some('-') {
            self.at += 1;
            return match self.operand()? {
                Ok(high) if low <= high => Ok(CharSet::new(vec![(low, high)]).into()),
                _ => Err("Range out of order in character class".to_owned()),
            };
        }
        Ok(CharSet::new(vec![(low, low)]).into())
    }

    fn set_operand(&mut self) -> Parse<ClassSet> {
        Ok(match self.operand()? {
            Ok(c) => CharSet::new(vec![(c, c)]).into(),
            Err(set) => set,
        })
    }

    /// A single character, or a set.
    fn operand(&mut self) -> Parse<Result<u32, ClassSet>> {
        if self.at >= self.text.len() {
            return Err("Unterminated character class".to_owned());
        }
        if self.eat('[') {
            return self.class().map(Err);
        }
        if self.eat_all("\\q{") {
            return self.quoted_strings().map(Err);
        }
        if self.peek() == Some('\\') {
            return Ok(self.class_atom()?.map_err(ClassSet::from));
        }
        self.set_character().map(Ok)
    }

    /// A character that needs no escape.
    fn set_character(&mut self) -> Parse<u32> {
        let double = self.peek().filter(|&c| self.peek_at(1) == Some(c));
        if double.is_some_and(|c| "&!#$%*+,.:;<=>?@^`~".contains(c)) {
            return Err("Invalid set operation in character class".to_owned());
        }
        let c = self.next()?;
        if char::from_u32(c).is_some_and(|c| "()[]{}/-|\\".contains(c)) {
            return Err("Invalid character in character class".to_owned());
        }
        Ok(c)
    }

    /// `\q{ab|c}` after its opening brace.
    fn quoted_strings(&mut self) -> Parse<ClassSet> {
        let mut class = ClassSet::default();
        let mut string = Vec::new();
        loop {
            let ends = match self.peek() {
                Some('}') => true,
                Some('|') => false,
                Some('\\') => {
                    match self.class_atom()? {
                        Ok(c) => string.push(c),
                        Err(_) => return Err("Invalid escape".to_owned()),
                    }
                    continue;
                }
                _ => {
                    string.push(self.set_character()?);
                    continue;
                }
            };
            self.at += 1;
            match std::mem::take(&mut string)[..] {
                [c] => class.set = class.set.union(&CharSet::new(vec![(c, c)])),
                ref several => {
                    class.strings.push(several.to_vec());
                    class.may_match_strings = true;
                }
            }
            if ends {
                return Ok(class);
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
