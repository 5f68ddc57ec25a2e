//! Interned strings: the built-in names of the process, then those of the program, then those that a run makes.

use crate::compiled::Program;
use crate::text::{Text, Units};
use crate::value::Key;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Names interned once a process while the built-ins are described.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) texts: Vec<Text>,
    pub(crate) map: FxHashMap<Text, u32>,
}

impl Names {
    pub(crate) fn intern(&mut self, name: &str) -> Key {
        let text = Text::new(name);
        if let Some(&found) = self.map.get(&text) {
            return Key(found);
        }
        let id = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.map.insert(text, id);
        Key(id)
    }
}

/// All interned strings and symbols of one run.
pub(crate) struct Atoms {
    names: &'static Names,
    program: Arc<Program>,
    texts: Vec<Text>,
    map: FxHashMap<Text, u32>,
    symbols: Vec<Symbol>,
}

/// A symbol made by a run.
pub(crate) struct Symbol {
    pub(crate) description: Option<Text>,
    pub(crate) private: bool,
    pub(crate) registered: bool,
}

/// Symbols below this number are the well-known ones.
pub(crate) const WELL_KNOWN: [&str; 13] = [
    "iterator",
    "asyncIterator",
    "hasInstance",
    "toPrimitive",
    "toStringTag",
    "species",
    "isConcatSpreadable",
    "unscopables",
    "match",
    "matchAll",
    "replace",
    "search",
    "split",
];
pub(crate) const SYM_ITERATOR: Key = Key::symbol(0);
pub(crate) const SYM_ASYNC_ITERATOR: Key = Key::symbol(1);
pub(crate) const SYM_HAS_INSTANCE: Key = Key::symbol(2);
pub(crate) const SYM_TO_PRIMITIVE: Key = Key::symbol(3);
pub(crate) const SYM_TO_STRING_TAG: Key = Key::symbol(4);
pub(crate) const SYM_SPECIES: Key = Key::symbol(5);
pub(crate) const SYM_SPREADABLE: Key = Key::symbol(6);
pub(crate) const SYM_UNSCOPABLES: Key = Key::symbol(7);
pub(crate) const SYM_MATCH: Key = Key::symbol(8);
pub(crate) const SYM_MATCH_ALL: Key = Key::symbol(9);
pub(crate) const SYM_REPLACE: Key = Key::symbol(10);
pub(crate) const SYM_SEARCH: Key = Key::symbol(11);
pub(crate) const SYM_SPLIT: Key = Key::symbol(12);

impl Atoms {
    pub(crate) fn new(names: &'static Names, program: Arc<Program>) -> Atoms {
        Atoms {
            names,
            program,
            texts: Vec::new(),
            map: FxHashMap::default(),
            symbols: Vec::new(),
        }
    }

    /// The text of a string atom.
    pub(crate) fn text(&self, key: Key) -> &Text {
        let at = key.0 as usize;
        let names = self.names.texts.len();
        if at < names {
            return &self.names.texts[at];
        }
        let at = at - names;
        if at < self.program.atoms.len() {
            return &self.program.atoms[at];
        }
        &self.texts[at - self.program.atoms.len()]
    }

    /// Interns text that isn't an array index, and tells the bytes that this took.
    pub(crate) fn intern(&mut self, text: &Text) -> (Key, usize) {
        if let Some(&id) = self
            .names
            .map
            .get(text)
            .or_else(|| self.program.atom_map.get(text))
        {
            return (Key(id), 0);
        }
        if let Some(&id) = self.map.get(text) {
            return (Key(id), 0);
        }
        let id = (self.names.texts.len() + self.program.atoms.len() + self.texts.len()) as u32;
        self.texts.push(text.clone());
        self.map.insert(text.clone(), id);
        (Key(id), 2 * text.bytes() + 80)
    }

    pub(crate) fn symbol(
        &mut self,
        description: Option<Text>,
        private: bool,
        registered: bool,
    ) -> Key {
        let number = WELL_KNOWN.len() + self.symbols.len();
        self.symbols.push(Symbol {
            description,
            private,
            registered,
        });
        Key::symbol(number as u32)
    }

    /// Description of a symbol.
    pub(crate) fn describe(&self, symbol: u32) -> Option<Text> {
        match WELL_KNOWN.get(symbol as usize) {
            Some(name) => Some(Text::new(&format!("Symbol.{name}"))),
            None => self.symbols[symbol as usize - WELL_KNOWN.len()]
                .description
                .clone(),
        }
    }

    pub(crate) fn is_private(&self, key: Key) -> bool {
        key.as_symbol()
            .and_then(|n| (n as usize).checked_sub(WELL_KNOWN.len()))
            .is_some_and(|n| self.symbols[n].private)
    }

    pub(crate) fn is_registered(&self, key: Key) -> bool {
        key.as_symbol()
            .and_then(|n| (n as usize).checked_sub(WELL_KNOWN.len()))
            .is_some_and(|n| self.symbols[n].registered)
    }

    pub(crate) fn registered(&self, description: Units<'_>) -> Option<Key> {
        self.symbols
            .iter()
            .position(|s| {
                s.registered
                    && s.description
                        .as_ref()
                        .is_some_and(|d| d.units().same(description))
            })
            .map(|n| Key::symbol((n + WELL_KNOWN.len()) as u32))
    }
}

/// The array index that `text` spells canonically, below 2^31.
pub(crate) fn index_of(text: Units<'_>) -> Option<u32> {
    let len = text.len();
    if len == 0 || len > 10 {
        return None;
    }
    let mut value: u64 = 0;
    for unit in text.iter() {
        if !(48..=57).contains(&unit) {
            return None;
        }
        value = value * 10 + u64::from(unit - 48);
    }
    let canonical = len == 1 || text.at(0) != 48;
    (canonical && value < 1 << 31).then_some(value as u32)
}
