//! `JSON`: parsing straight into the heap, and writing, also in the form in which data leaves a program.

use crate::diagnostic::DiagnosticKind;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i, name};
use crate::text::{Text, Units};
use crate::value::{Key, ObjId, Res, StrId, Value};
use crate::vm::{Args, ErrorType, STRING_LIMIT, Vm};
use rustc_hash::FxHashMap;

/// Deepest nesting read or written inside a program.
const DEPTH_LIMIT: usize = 5_000;
/// Deepest nesting that crosses the boundary.
pub(crate) const BOUNDARY_DEPTH: usize = 32;

pub(super) fn install(b: &mut Builder) {
    b.global("JSON", Value::Obj(i::JSON));
    b.methods(i::JSON, &[("parse", 2, parse), ("stringify", 3, stringify)]);
    b.tag(i::JSON, "JSON");
}

fn parse(vm: &mut Vm, args: Args) -> Res<Value> {
    let (text, reviver) = (args.get(vm, 0), args.get(vm, 1));
    let text = vm.to_str(text)?;
    let value = parse_text(vm, text)?;
    if !vm.is_callable(reviver) {
        return Ok(value);
    }
    let root = vm.object();
    vm.define_field(root, name::EMPTY, value)?;
    revive(vm, root, name::EMPTY, reviver, 0)
}

fn revive(vm: &mut Vm, holder: ObjId, key: Key, reviver: Value, depth: usize) -> Res<Value> {
    if depth > DEPTH_LIMIT {
        return Err(vm.range_error("Maximum call stack size exceeded."));
    }
    let value = vm.get(Value::Obj(holder), key)?;
    if let Value::Obj(id) = value {
        let keys = if let Kind::Array(items) = vm.heap.kind(id) {
            (0..items.len() as u32).map(Key::index).collect()
        } else {
            vm.enumerable_keys(id)
        };
        for inner in keys {
            let new = stacker::maybe_grow(128 << 10, 4 << 20, || {
                revive(vm, id, inner, reviver, depth + 1)
            })?;
            if new.is_undefined() {
                vm.delete(Value::Obj(id), inner)?;
            } else {
                vm.define_field(id, inner, new)?;
            }
        }
    }
    let label = Value::Str(vm.key_str(key));
    vm.call(reviver, Value::Obj(holder), &[label, value])
}

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

/// One code unit of either width.
trait Unit: Copy + Eq + 'static {
    fn code(self) -> u16;
    fn text(slice: &[Self]) -> Text;
}

impl Unit for u8 {
    fn code(self) -> u16 {
        u16::from(self)
    }
    fn text(slice: &[u8]) -> Text {
        Text::Narrow(slice.into())
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
    keys: FxHashMap<u64, (Vec<T>, Key)>,
}

fn parse_units<T: Unit>(vm: &mut Vm, src: &[T]) -> Res<Value> {
    vm.charge(src.len() / 16)?;
    vm.reserve(src.len())?;
    let mut reader = Reader {
        src,
        at: 0,
        keys: FxHashMap::default(),
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
        let mut end = start;
        while let Some(unit) = self.src.get(end) {
            match unit.code() {
                0x22 => {
                    self.at = end + 1;
                    return Some((start, end));
                }
                0x5C | 0..=0x1F => return None,
                _ => end += 1,
            }
        }
        None
    }

    fn string(&mut self, vm: &mut Vm) -> Res<StrId> {
        if let Some((start, end)) = self.plain() {
            return Ok(vm.text(T::text(&self.src[start..end])));
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
        use std::hash::Hasher;
        let Some((start, end)) = self.plain() else {
            let text = self.escaped(vm)?;
            let id = vm.text(text);
            return Ok(vm.str_key(id));
        };
        let slice = &self.src[start..end];
        let mut hasher = rustc_hash::FxHasher::default();
        for unit in slice {
            hasher.write_u16(unit.code());
        }
        let hash = hasher.finish();
        if let Some((known, key)) = self.keys.get(&hash)
            && known == slice
        {
            return Ok(*key);
        }
        let id = vm.text(T::text(slice));
        let key = vm.str_key(id);
        if self.keys.len() < 4096 {
            self.keys.insert(hash, (slice.to_vec(), key));
        }
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
            match vm.heap.find_own(id, key) {
                Some(slot) => vm.heap.obj_mut(id).slots[slot.index as usize] = value,
                None => vm.heap.add_prop(id, key, crate::shape::Attrs::DATA, value),
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

struct Writer {
    out: String,
    boundary: bool,
    replacer: Value,
    allowed: Option<Vec<Key>>,
    gap: String,
    indent: String,
    path: Vec<ObjId>,
}

fn stringify(vm: &mut Vm, args: Args) -> Res<Value> {
    let (value, replacer, space) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let mut allowed = None;
    if vm.is_array(replacer) {
        let mut keys = Vec::new();
        for item in vm.array_items(replacer) {
            let item = match item {
                Value::Obj(id) if let Kind::Boxed(inner) = vm.heap.kind(id) => *inner,
                other => other,
            };
            if matches!(item, Value::Str(_) | Value::Num(_)) {
                let key = vm.to_key(item)?;
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        allowed = Some(keys);
    }
    let space = match space {
        Value::Obj(id) if let Kind::Boxed(inner) = vm.heap.kind(id) => *inner,
        other => other,
    };
    let gap = match space {
        Value::Num(n) => " ".repeat(n.clamp(0.0, 10.0) as usize),
        Value::Str(id) => vm.utf8(id).chars().take(10).collect(),
        _ => String::new(),
    };
    let replacer = if vm.is_callable(replacer) {
        replacer
    } else {
        Value::Undefined
    };
    let mut writer = Writer {
        out: String::new(),
        boundary: false,
        replacer,
        allowed,
        gap,
        indent: String::new(),
        path: Vec::new(),
    };
    let holder = if replacer.is_undefined() {
        None
    } else {
        let holder = vm.object();
        vm.define_field(holder, name::EMPTY, value)?;
        Some(holder)
    };
    if !writer.write(vm, holder, name::EMPTY, value)? {
        return Ok(Value::Undefined);
    }
    vm.new_text(Text::new(&writer.out))
}

/// The JSON text of a value as it leaves the program; nothing when it vanishes.
pub(crate) fn boundary_text(vm: &mut Vm, value: Value) -> Res<Option<String>> {
    let mut writer = Writer {
        out: String::new(),
        boundary: true,
        replacer: Value::Undefined,
        allowed: None,
        gap: String::new(),
        indent: String::new(),
        path: Vec::new(),
    };
    let written = writer.write(vm, None, name::EMPTY, value)?;
    Ok(written.then_some(writer.out))
}

impl Writer {
    /// Writes a property's value; false when JSON has no form for it.
    fn write(&mut self, vm: &mut Vm, holder: Option<ObjId>, key: Key, value: Value) -> Res<bool> {
        let mut value = value;
        if self.boundary {
            value = settled(vm, value)?;
        }
        if matches!(value, Value::Obj(_) | Value::Big(_)) && !self.is_tool(vm, value) {
            let method = vm.get_lazy(value, name::TO_JSON)?;
            if vm.is_callable(method) {
                let label = vm.key_value(key);
                value = vm.call(method, value, &[label])?;
                if self.boundary {
                    value = settled(vm, value)?;
                }
            }
        }
        if !self.replacer.is_undefined() {
            let label = vm.key_value(key);
            let this = holder.map_or(Value::Undefined, Value::Obj);
            value = vm.call(self.replacer, this, &[label, value])?;
        }
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Num(n) if n.is_finite() => self.number(n),
            Value::Num(_) => self.out.push_str("null"),
            Value::Str(id) => {
                vm.heap.flatten(id);
                quote(&mut self.out, vm.heap.flat(id));
            }
            Value::Big(_) => return Err(vm.type_error("Do not know how to serialize a BigInt")),
            Value::Obj(id) => return self.object(vm, id),
            Value::Undefined | Value::Hole | Value::Sym(_) | Value::Lazy(_) | Value::Cell(_) => {
                return Ok(false);
            }
        }
        if self.out.len() > 2 * STRING_LIMIT {
            return Err(vm.range_error("Invalid string length"));
        }
        Ok(true)
    }

    fn is_tool(&self, vm: &Vm, value: Value) -> bool {
        matches!(
            value.as_obj().map(|id| vm.heap.kind(id)),
            Some(Kind::Tool(_))
        )
    }

    fn number(&mut self, n: f64) {
        let int = n as i64;
        if int as f64 == n && int.unsigned_abs() < 1 << 53 {
            let mut buffer = [0u8; 20];
            let mut at = buffer.len();
            let mut rest = int.unsigned_abs();
            loop {
                at -= 1;
                buffer[at] = b'0' + (rest % 10) as u8;
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            if int < 0 {
                self.out.push('-');
            }
            self.out.extend(buffer[at..].iter().map(|&b| b as char));
            return;
        }
        self.out.push_str(&crate::number::to_string(n));
    }

    fn object(&mut self, vm: &mut Vm, id: ObjId) -> Res<bool> {
        if self.path.contains(&id) {
            return Err(vm.type_error("Converting circular structure to JSON."));
        }
        let limit = if self.boundary {
            BOUNDARY_DEPTH
        } else {
            DEPTH_LIMIT
        };
        enum Form {
            Array(Vec<Value>),
            Object,
            Error,
            Headers(Vec<(String, String)>),
        }
        let form = match vm.heap.kind(id) {
            Kind::Boxed(inner) => {
                let inner = *inner;
                return match inner {
                    Value::Num(_) => {
                        let n = vm.to_number(Value::Obj(id))?;
                        if n.is_finite() {
                            self.number(n)
                        } else {
                            self.out.push_str("null")
                        }
                        Ok(true)
                    }
                    Value::Str(_) => {
                        let text = vm.to_str(Value::Obj(id))?;
                        vm.heap.flatten(text);
                        quote(&mut self.out, vm.heap.flat(text));
                        Ok(true)
                    }
                    Value::Big(_) => Err(vm.type_error("Do not know how to serialize a BigInt")),
                    Value::Bool(b) => {
                        self.out.push_str(if b { "true" } else { "false" });
                        Ok(true)
                    }
                    _ => {
                        self.out.push_str("{}");
                        Ok(true)
                    }
                };
            }
            Kind::Array(items) => Form::Array(items.clone()),
            Kind::Set(table) if self.boundary => {
                Form::Array(table.entries.iter().flatten().map(|(k, _)| *k).collect())
            }
            Kind::Params(data) if self.boundary => {
                let text = super::url::serialize(&data.list);
                quote(&mut self.out, Text::new(&text).units());
                return Ok(true);
            }
            Kind::Headers(list) if self.boundary => Form::Headers(super::headers::combined(list)),
            Kind::Bytes(_) if self.boundary => {
                let message = "Binary data can't leave the program; encode it first, for example with bytes.toBase64().";
                return Err(vm.invalid_data(message));
            }
            Kind::Promise(_) => {
                return Err(vm.invalid_data(
                    "A promise can't be written as JSON; await it to get its value.",
                ));
            }
            Kind::Error(_) => Form::Error,
            Kind::Tool(tool) if tool.path.is_empty() && !self.boundary => return Ok(false),
            _ if vm.heap.obj(id).is_callable() => return Ok(false),
            _ => Form::Object,
        };
        if self.path.len() >= limit {
            return Err(if self.boundary {
                vm.range_error(&format!(
                    "Data is nested deeper than {BOUNDARY_DEPTH} levels."
                ))
            } else {
                vm.range_error("Maximum call stack size exceeded.")
            });
        }
        self.path.push(id);
        let outer = self.indent.clone();
        self.indent.push_str(&self.gap);
        let result = stacker::maybe_grow(192 << 10, 4 << 20, || match form {
            Form::Array(items) => self.array(vm, id, &items, &outer),
            Form::Headers(list) => {
                self.out.push('{');
                for (at, (name, value)) in list.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    quote(&mut self.out, Text::new(name).units());
                    self.out.push(':');
                    quote(&mut self.out, Text::new(value).units());
                }
                self.out.push('}');
                Ok(())
            }
            Form::Object => self.members(vm, id, false, &outer),
            Form::Error => self.members(vm, id, true, &outer),
        });
        self.indent = outer;
        self.path.pop();
        result.map(|()| true)
    }

    fn array(&mut self, vm: &mut Vm, id: ObjId, items: &[Value], outer: &str) -> Res<()> {
        if items.is_empty() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.out.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.line();
            vm.charge(1)?;
            let value = item.or_undefined();
            if !self.write(vm, Some(id), Key::index(at as u32), value)? {
                self.out.push_str("null");
            }
        }
        self.end_line(outer);
        self.out.push(']');
        Ok(())
    }

    fn line(&mut self) {
        if !self.gap.is_empty() {
            self.out.push('\n');
            self.out.push_str(&self.indent);
        }
    }

    fn end_line(&mut self, outer: &str) {
        if !self.gap.is_empty() {
            self.out.push('\n');
            self.out.push_str(outer);
        }
    }

    fn members(&mut self, vm: &mut Vm, id: ObjId, error: bool, outer: &str) -> Res<()> {
        let mut keys = Vec::new();
        if error {
            keys.extend([name::NAME, name::MESSAGE]);
        }
        let own = match &self.allowed {
            Some(allowed) => allowed.clone(),
            None => vm.enumerable_keys(id),
        };
        keys.extend(
            own.into_iter()
                .filter(|k| !error || !matches!(*k, name::NAME | name::MESSAGE)),
        );
        self.out.push('{');
        let mut first = true;
        for key in keys {
            if self.boundary && key == name::PROTO {
                continue;
            }
            vm.charge(1)?;
            let value = vm.get(Value::Obj(id), key)?;
            let mark = self.out.len();
            if !first {
                self.out.push(',');
            }
            self.line();
            let label = vm.key_str(key);
            vm.heap.flatten(label);
            quote(&mut self.out, vm.heap.flat(label));
            self.out.push(':');
            if !self.gap.is_empty() {
                self.out.push(' ');
            }
            if self.write(vm, Some(id), key, value)? {
                first = false;
            } else {
                self.out.truncate(mark);
            }
        }
        if !first {
            self.end_line(outer);
        }
        self.out.push('}');
        Ok(())
    }
}

/// The value of a settled promise; a rejected one throws its reason.
fn settled(vm: &mut Vm, value: Value) -> Res<Value> {
    use crate::object::PromiseState;
    let mut value = value;
    while let Some(id) = value.as_obj()
        && let Kind::Promise(data) = vm.heap.kind_mut(id)
    {
        data.handled = true;
        match data.state {
            PromiseState::Fulfilled => value = data.value,
            PromiseState::Rejected => return Err(crate::value::Abrupt::Throw(data.value)),
            PromiseState::Pending => {
                return Err(vm.diagnostic_error(
                    ErrorType::Type,
                    DiagnosticKind::InvalidDataValue,
                    "A promise that never settles can't leave the program.",
                    Vec::new(),
                ));
            }
        }
    }
    Ok(value)
}

/// Writes a quoted JSON string; lone surrogates are escaped.
pub(crate) fn quote(out: &mut String, units: Units<'_>) {
    out.push('"');
    if let Units::Narrow(bytes) = units {
        let mut start = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if byte == b'"' || byte == b'\\' || !(32..128).contains(&byte) {
                push_ascii(out, &bytes[start..at]);
                escape_unit(out, u16::from(byte));
                start = at + 1;
            }
        }
        push_ascii(out, &bytes[start..]);
    } else {
        for piece in char::decode_utf16(units.iter()) {
            match piece {
                Ok(c) if (c as u32) < 128 => escape_unit(out, c as u16),
                Ok(c) => out.push(c),
                Err(lone) => out.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
            }
        }
    }
    out.push('"');
}

fn push_ascii(out: &mut String, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        out.push_str(text);
    }
}

fn escape_unit(out: &mut String, unit: u16) {
    match unit {
        0x22 => out.push_str("\\\""),
        0x5C => out.push_str("\\\\"),
        8 => out.push_str("\\b"),
        9 => out.push_str("\\t"),
        10 => out.push_str("\\n"),
        12 => out.push_str("\\f"),
        13 => out.push_str("\\r"),
        0..=31 => out.push_str(&format!("\\u{unit:04x}")),
        other => out.push(char::from_u32(u32::from(other)).unwrap_or('\u{FFFD}')),
    }
}
