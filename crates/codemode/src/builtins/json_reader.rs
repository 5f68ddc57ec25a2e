//! Reading JSON straight into the heap.

use super::json::DEPTH_LIMIT;
use crate::text::{Text, Units};
use crate::value::{Key, Res, StrId, Value};
use crate::vm::{ErrorType, Vm};

/// Parses a string of the heap.
pub(crate) fn parse_text(vm: &mut Vm, text: StrId) -> Res<Value> {
    let copy = vm.heap.units(text).to_text();
    match &copy {
        Text::Narrow(bytes) => parse_units(vm, bytes),
        Text::Wide(units) => parse_units(vm, units),
    }
}

/// Parses UTF-8 text that a tool returned.
pub(crate) fn parse_utf8(vm: &mut Vm, text: &str) -> Res<Value> {
    if text.is_ascii() {
        return parse_units(vm, text.as_bytes());
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    parse_units(vm, &units)
}

/// Keys, and short strings, remembered while reading.
const KEYS: usize = 128;
/// Longest string worth remembering, in units.
const SHORT: usize = 24;

/// One code unit of either width.
trait Unit: Copy + Eq + 'static {
    fn code(self) -> u16;
    fn text(slice: &[Self]) -> Text;

    /// Units before the first that is a quote, a backslash or a control character.
    fn plain_len(slice: &[Self]) -> usize {
        let special = |unit: &Self| matches!(unit.code(), 0x22 | 0x5C | 0..=0x1F);
        slice.iter().position(special).unwrap_or(slice.len())
    }
}

impl Unit for u8 {
    fn code(self) -> u16 {
        u16::from(self)
    }
    fn text(slice: &[u8]) -> Text {
        Text::Narrow(slice.into())
    }

    /// Eight bytes at a time: a byte is zero where `word - 0x01..` borrows into its upper bit and the byte had none.
    fn plain_len(slice: &[u8]) -> usize {
        const ONES: u64 = u64::MAX / 255;
        const HIGH: u64 = ONES << 7;
        let mut at = 0;
        for chunk in slice.chunks_exact(8) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(chunk);
            let word = u64::from_le_bytes(bytes);
            let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
            let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
            let found = zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5C)) | control;
            if found != 0 {
                break;
            }
            at += 8;
        }
        let special = |&byte: &u8| matches!(byte, 0x22 | 0x5C | 0..=0x1F);
        let rest = &slice[at..];
        at + rest.iter().position(special).unwrap_or(rest.len())
    }
}

impl Unit for u16 {
    fn code(self) -> u16 {
        self
    }
    fn text(slice: &[u16]) -> Text {
        Units::Wide(slice).to_text()
    }
}

struct Reader<'a, T> {
    src: &'a [T],
    at: usize,
    /// Where keys seen lately stand in the text, by their hash.
    keys: Vec<Option<(usize, usize, Key)>>,
    /// The same of short strings.
    strings: Vec<Option<(usize, usize, StrId)>>,
    /// Properties of the last object on each level, which the next is likely to have too.
    sizes: [u8; 16],
}

fn parse_units<T: Unit>(vm: &mut Vm, src: &[T]) -> Res<Value> {
    vm.charge(src.len() / 16)?;
    vm.reserve(src.len())?;
    let mut reader = Reader {
        src,
        at: 0,
        keys: vec![None; KEYS],
        strings: vec![None; KEYS],
        sizes: [0; 16],
    };
    let value = reader.value(vm, 0)?;
    reader.space();
    if reader.at < src.len() {
        return Err(reader.unexpected(vm));
    }
    Ok(value)
}

impl<T: Unit> Reader<'_, T> {
    fn space(&mut self) {
        while self
            .src
            .get(self.at)
            .is_some_and(|u| matches!(u.code(), 32 | 10 | 13 | 9))
        {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u16> {
        self.src.get(self.at).map(|u| u.code())
    }

    fn unexpected(&self, vm: &mut Vm) -> crate::value::Abrupt {
        let message = match self.peek() {
            None => "Unexpected end of JSON input".to_owned(),
            Some(unit) => {
                let c = char::from_u32(u32::from(unit)).unwrap_or('\u{FFFD}');
                format!("Unexpected token '{c}' in JSON at position {}", self.at)
            }
        };
        vm.error(ErrorType::Syntax, &message)
    }

    fn value(&mut self, vm: &mut Vm, depth: usize) -> Res<Value> {
        self.space();
        match self.peek() {
            Some(0x22) => {
                let text = self.string(vm)?;
                Ok(Value::Str(text))
            }
            Some(0x7B | 0x5B) if depth >= DEPTH_LIMIT => {
                Err(vm.range_error("Maximum call stack size exceeded."))
            }
            Some(0x7B) if depth % 64 == 63 => {
                stacker::maybe_grow(192 << 10, 4 << 20, || self.object(vm, depth + 1))
            }
            Some(0x7B) => self.object(vm, depth + 1),
            Some(0x5B) if depth % 64 == 63 => {
                stacker::maybe_grow(192 << 10, 4 << 20, || self.array(vm, depth + 1))
            }
            Some(0x5B) => self.array(vm, depth + 1),
            Some(0x2D | 0x30..=0x39) => self.number(vm),
            Some(0x74) => self.word(vm, "true", Value::Bool(true)),
            Some(0x66) => self.word(vm, "false", Value::Bool(false)),
            Some(0x6E) => self.word(vm, "null", Value::Null),
            _ => Err(self.unexpected(vm)),
        }
    }

    fn word(&mut self, vm: &mut Vm, word: &str, value: Value) -> Res<Value> {
        for byte in word.bytes() {
            if self.peek() != Some(u16::from(byte)) {
                return Err(self.unexpected(vm));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self, vm: &mut Vm) -> Res<Value> {
        let start = self.at;
        let digit = |r: &Self| r.peek().is_some_and(|u| (48..=57).contains(&u));
        if self.peek() == Some(45) {
            self.at += 1;
        }
        let whole = self.at;
        let mut int: u64 = 0;
        while digit(self) {
            int = int
                .wrapping_mul(10)
                .wrapping_add(u64::from(self.src[self.at].code() - 48));
            self.at += 1;
        }
        let count = self.at - whole;
        if count == 0 || (count > 1 && self.src[whole].code() == 48) {
            if count > 1 {
                self.at = whole + 1;
            }
            return Err(self.unexpected(vm));
        }
        let simple = !matches!(self.peek(), Some(46 | 69 | 101)) && count <= 15;
        if simple {
            let value = int as f64;
            return Ok(Value::Num(if whole > start { -value } else { value }));
        }
        if self.peek() == Some(46) {
            self.at += 1;
            if !digit(self) {
                return Err(self.unexpected(vm));
            }
            while digit(self) {
                self.at += 1;
            }
        }
        if matches!(self.peek(), Some(69 | 101)) {
            self.at += 1;
            if matches!(self.peek(), Some(43 | 45)) {
                self.at += 1;
            }
            if !digit(self) {
                return Err(self.unexpected(vm));
            }
            while digit(self) {
                self.at += 1;
            }
        }
        let text: String = self.src[start..self.at]
            .iter()
            .map(|u| u.code() as u8 as char)
            .collect();
        Ok(Value::Num(text.parse().unwrap_or(f64::NAN)))
    }

    /// The units between two quotes when none of them is special.
    fn plain(&mut self) -> Option<(usize, usize)> {
        let start = self.at + 1;
        let end = start + T::plain_len(&self.src[start..]);
        if self.src.get(end).map(|u| u.code()) != Some(0x22) {
            return None;
        }
        self.at = end + 1;
        Some((start, end))
    }

    /// Texts repeat from row to row: their ends, middle and length tell most of them apart.
    fn slot(slice: &[T]) -> usize {
        let unit = |at: usize| slice.get(at).map_or(0, |u| usize::from(u.code()));
        let hash = unit(0) * 31
            + unit(slice.len() / 2) * 7
            + unit(slice.len().wrapping_sub(1))
            + slice.len() * 13;
        hash % KEYS
    }

    fn string(&mut self, vm: &mut Vm) -> Res<StrId> {
        if let Some((start, end)) = self.plain() {
            let slice = &self.src[start..end];
            if slice.len() > SHORT {
                return Ok(vm.text(T::text(slice)));
            }
            let slot = Self::slot(slice);
            if let Some((from, to, id)) = self.strings[slot]
                && self.src[from..to] == *slice
            {
                return Ok(id);
            }
            let id = vm.text(T::text(slice));
            self.strings[slot] = Some((start, end, id));
            return Ok(id);
        }
        let text = self.escaped(vm)?;
        Ok(vm.text(text))
    }

    fn escaped(&mut self, vm: &mut Vm) -> Res<Text> {
        self.at += 1;
        let mut out: Vec<u16> = Vec::new();
        loop {
            let Some(unit) = self.peek() else {
                return Err(self.unexpected(vm));
            };
            match unit {
                0x22 => {
                    self.at += 1;
                    return Ok(Text::from_units(out));
                }
                0..=0x1F => {
                    return Err(vm.error(
                        ErrorType::Syntax,
                        "Bad control character in string literal in JSON",
                    ));
                }
                0x5C => {
                    self.at += 1;
                    let escape = self.peek();
                    self.at += 1;
                    out.push(match escape {
                        Some(0x22) => 0x22,
                        Some(0x5C) => 0x5C,
                        Some(0x2F) => 0x2F,
                        Some(0x62) => 8,
                        Some(0x66) => 12,
                        Some(0x6E) => 10,
                        Some(0x72) => 13,
                        Some(0x74) => 9,
                        Some(0x75) => self.hex(vm)?,
                        _ => {
                            self.at -= 1;
                            return Err(
                                vm.error(ErrorType::Syntax, "Bad escaped character in JSON")
                            );
                        }
                    });
                }
                other => {
                    out.push(other);
                    self.at += 1;
                }
            }
        }
    }

    fn hex(&mut self, vm: &mut Vm) -> Res<u16> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self
                .peek()
                .and_then(|u| char::from_u32(u32::from(u)))
                .and_then(|c| c.to_digit(16));
            let Some(digit) = digit else {
                return Err(vm.error(ErrorType::Syntax, "Bad Unicode escape in JSON"));
            };
            value = value * 16 + digit as u16;
            self.at += 1;
        }
        Ok(value)
    }

    fn key(&mut self, vm: &mut Vm) -> Res<Key> {
        let Some((start, end)) = self.plain() else {
            let text = self.escaped(vm)?;
            let id = vm.text(text);
            return Ok(vm.str_key(id));
        };
        let slice = &self.src[start..end];
        let slot = Self::slot(slice);
        if let Some((from, to, key)) = self.keys[slot]
            && self.src[from..to] == *slice
        {
            return Ok(key);
        }
        let id = vm.text(T::text(slice));
        let key = vm.str_key(id);
        self.keys[slot] = Some((start, end, key));
        Ok(key)
    }

    fn object(&mut self, vm: &mut Vm, depth: usize) -> Res<Value> {
        self.at += 1;
        let id = vm.object();
        self.space();
        if self.peek() == Some(0x7D) {
            self.at += 1;
            return Ok(Value::Obj(id));
        }
        if let Some(&size) = self.sizes.get(depth) {
            vm.heap.obj_mut(id).slots.reserve_exact(usize::from(size));
        }
        loop {
            self.space();
            if self.peek() != Some(0x22) {
                return Err(self.unexpected(vm));
            }
            let key = self.key(vm)?;
            self.space();
            if self.peek() != Some(0x3A) {
                return Err(self.unexpected(vm));
            }
            self.at += 1;
            let value = self.value(vm, depth)?;
            if vm.heap.add_as_before(id, key, value) {
                // The object goes the way that others went.
            } else {
                match vm.heap.find_own(id, key) {
                    Some(slot) => vm.heap.obj_mut(id).slots[slot.index as usize] = value,
                    None => vm.heap.add_prop(id, key, crate::shape::Attrs::DATA, value),
                }
            }
            self.space();
            match self.peek() {
                Some(0x2C) => self.at += 1,
                Some(0x7D) => {
                    self.at += 1;
                    break;
                }
                _ => return Err(self.unexpected(vm)),
            }
        }
        if let Some(size) = self.sizes.get_mut(depth) {
            *size = vm.heap.obj(id).slots.len().min(255) as u8;
        }
        if vm.heap.bytes > vm.host.limits.heap_bytes {
            vm.reserve(0)?;
        }
        Ok(Value::Obj(id))
    }

    fn array(&mut self, vm: &mut Vm, depth: usize) -> Res<Value> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(0x5D) {
            self.at += 1;
            return Ok(vm.array(items));
        }
        loop {
            items.push(self.value(vm, depth)?);
            self.space();
            match self.peek() {
                Some(0x2C) => self.at += 1,
                Some(0x5D) => {
                    self.at += 1;
                    break;
                }
                _ => return Err(self.unexpected(vm)),
            }
        }
        super::array::new_array(vm, items)
    }
}

/// Builds a value from the host's JSON.
pub(crate) fn from_json(vm: &mut Vm, json: &serde_json::Value) -> Res<Value> {
    Ok(match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Bool(*b),
        serde_json::Value::Number(n) => Value::Num(n.as_f64().unwrap_or(f64::NAN)),
        serde_json::Value::String(s) => vm.new_text(Text::new(s))?,
        serde_json::Value::Array(list) => {
            let mut items = Vec::with_capacity(list.len());
            for item in list {
                items.push(from_json(vm, item)?);
            }
            super::array::new_array(vm, items)?
        }
        serde_json::Value::Object(map) => {
            let id = vm.object();
            for (key, value) in map {
                let key = vm.intern(key);
                let value = from_json(vm, value)?;
                vm.define_field(id, key, value)?;
            }
            Value::Obj(id)
        }
    })
}
