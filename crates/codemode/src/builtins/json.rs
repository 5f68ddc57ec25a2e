//! `JSON`: its functions, and writing, also in the form in which data leaves a program.

use crate::diagnostic::DiagnosticKind;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i, name};
use crate::text::{Text, Units};
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{Args, ErrorType, STRING_LIMIT, Vm};

/// Deepest nesting read or written inside a program.
pub(super) const DEPTH_LIMIT: usize = 5_000;
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
    let value = super::json_reader::parse_text(vm, text)?;
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
        let keys = if let Kind::Array(_) = vm.heap.kind(id) {
            (0..vm.length_of(id)? as u32).map(Key::index).collect()
        } else {
            vm.enumerable_keys(id)
        };
        for inner in keys {
            let new = stacker::maybe_grow(128 << 10, 4 << 20, || {
                revive(vm, id, inner, reviver, depth + 1)
            })?;
            // What can't be changed stays as it is.
            if new.is_undefined() {
                vm.delete_own(id, inner)?;
            } else {
                vm.create_data(id, inner, new)?;
            }
        }
    }
    let label = Value::Str(vm.key_str(key));
    vm.call(reviver, Value::Obj(holder), &[label, value])
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
        for item in vm.dense_items(replacer)? {
            let boxed = match item {
                Value::Obj(id) => match vm.heap.kind(id) {
                    Kind::Boxed(inner) => *inner,
                    _ => Value::Undefined,
                },
                _ => item,
            };
            if matches!(boxed, Value::Str(_) | Value::Num(_)) {
                let text = vm.to_str(item)?;
                let key = vm.str_key(text);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        allowed = Some(keys);
    }
    let space = match space {
        Value::Obj(id) => match vm.heap.kind(id) {
            Kind::Boxed(Value::Num(_)) => Value::Num(vm.to_number(space)?),
            Kind::Boxed(Value::Str(_)) => Value::Str(vm.to_str(space)?),
            _ => Value::Undefined,
        },
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
                            self.number(n);
                        } else {
                            self.out.push_str("null");
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
            Kind::Typed(_) | Kind::Buffer(_) | Kind::View(_) if self.boundary => {
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
