//! `console`, and the text form of values in log lines and messages.

use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i, name};
use crate::text::Text;
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{Args, Vm};

const DEPTH_LIMIT: usize = 32;
/// Longest line kept.
const LINE_LIMIT: usize = 1 << 22;

pub(super) fn install(b: &mut Builder) {
    b.global("console", Value::Obj(i::CONSOLE));
    let log = b.method(i::CONSOLE, "log", 0, |vm, a| line(vm, a, ""));
    b.methods(
        i::CONSOLE,
        &[
            ("info", 0, |vm, a| line(vm, a, "")),
            ("debug", 0, |vm, a| line(vm, a, "[debug] ")),
            ("warn", 0, |vm, a| line(vm, a, "[warn] ")),
            ("error", 0, |vm, a| line(vm, a, "[error] ")),
            ("dir", 0, |vm, a| {
                let value = a.get(vm, 0);
                let text = if a.len() == 0 {
                    String::new()
                } else {
                    render(vm, value)
                };
                vm.log(text)
            }),
            ("table", 1, table),
        ],
    );
    b.internal("print", 0, |vm, a| line(vm, a, ""));
    let _ = log;
    b.tag(i::CONSOLE, "console");
}

fn line(vm: &mut Vm, args: Args, prefix: &str) -> Res<Value> {
    let mut out = prefix.to_owned();
    for at in 0..args.len() {
        if at > 0 {
            out.push(' ');
        }
        match args.get(vm, at) {
            Value::Str(id) => out.push_str(&vm.utf8(id)),
            value => out.push_str(&render(vm, value)),
        }
    }
    vm.log(out)
}

impl Vm {
    pub(crate) fn log(&mut self, line: String) -> Res<Value> {
        self.charge(line.len() / 16 + 1)?;
        self.reserve(line.len())?;
        self.heap.bytes += line.len();
        self.heap.interned += line.len();
        self.host.log(line);
        Ok(Value::Undefined)
    }
}

/// The compact text of a value; strings are quoted. Never runs program code.
pub(crate) fn render(vm: &mut Vm, value: Value) -> String {
    let mut out = String::new();
    let mut path = Vec::new();
    write(vm, value, &mut out, &mut path);
    out
}

fn write(vm: &mut Vm, value: Value, out: &mut String, path: &mut Vec<ObjId>) {
    if out.len() > LINE_LIMIT {
        return;
    }
    match value {
        Value::Undefined | Value::Hole | Value::Cell(_) => out.push_str("undefined"),
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if b { "true" } else { "false" }),
        Value::Num(n) => {
            out.push_str(&if n == 0.0 && n.is_sign_negative() {
                "0".to_owned()
            } else {
                crate::number::to_string(n)
            });
        }
        Value::Str(id) => {
            vm.heap.flatten(id);
            super::json::quote(out, vm.heap.flat(id));
        }
        Value::Sym(key) => out.push_str(&vm.key_text(key)),
        Value::Big(id) => {
            let text = vm.heap.big_value(id);
            let shown = if text.bits() > 4096 {
                "(large BigInt)".to_owned()
            } else {
                format!("{text}n")
            };
            out.push_str(&shown);
        }
        Value::Lazy(_) => out.push_str("[opaque reference]"),
        Value::Obj(id) => object(vm, id, out, path),
    }
}

fn object(vm: &mut Vm, id: ObjId, out: &mut String, path: &mut Vec<ObjId>) {
    if path.contains(&id) {
        out.push_str("[Circular]");
        return;
    }
    if path.len() >= DEPTH_LIMIT {
        out.push_str("...");
        return;
    }
    path.push(id);
    match vm.heap.kind(id) {
        Kind::Array(items) => {
            let items = items.clone();
            list(vm, &items, out, path);
        }
        Kind::Map(t) => {
            let entries: Vec<(Value, Value)> = t.entries.iter().flatten().copied().collect();
            out.push_str(&format!("Map({}) [", entries.len()));
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                list(vm, &[key, value], out, path);
            }
            out.push(']');
        }
        Kind::Set(t) => {
            let items: Vec<Value> = t.entries.iter().flatten().map(|(k, _)| *k).collect();
            out.push_str(&format!("Set({}) ", items.len()));
            list(vm, &items, out, path);
        }
        Kind::Date(time) => {
            let text = super::date::iso(*time).unwrap_or_else(|| "Invalid Date".to_owned());
            out.push_str(&text);
        }
        Kind::RegExp(data) => {
            let (source, flags) = (data.source, data.flags);
            let (source, flags) = (vm.utf8(source), vm.utf8(flags));
            out.push_str(&format!("/{source}/{flags}"));
        }
        Kind::Error(_) => {
            let name = plain_text(vm, id, name::NAME).unwrap_or_else(|| "Error".to_owned());
            let message = plain_text(vm, id, name::MESSAGE).unwrap_or_default();
            out.push_str(&if message.is_empty() {
                name
            } else {
                format!("{name}: {message}")
            });
        }
        Kind::Promise(_) => out.push_str("[Promise (await it to get its value)]"),
        Kind::Typed(window) => {
            let name = window.element.name();
            let len = vm.window_len(window).unwrap_or(0);
            let shown: Vec<Value> = (0..len.min(64))
                .filter_map(|at| vm.typed_get(id, at))
                .collect();
            let mut texts = Vec::new();
            for value in shown {
                texts.push(super::render(vm, value));
            }
            let more = if len > 64 { ",..." } else { "" };
            out.push_str(&format!("{name}({len}) [{}{more}]", texts.join(",")));
        }
        Kind::Buffer(data) => out.push_str(&format!("ArrayBuffer({})", data.bytes.len())),
        Kind::Url(data) => out.push_str(data.url.as_str()),
        Kind::Params(data) => out.push_str(&super::url::serialize(&data.list)),
        Kind::Headers(headers) => {
            let headers = super::headers::combined(headers);
            out.push_str("Headers {");
            for (at, (name, value)) in headers.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                super::json::quote(out, Text::new(name).units());
                out.push(':');
                super::json::quote(out, Text::new(value).units());
            }
            out.push('}');
        }
        Kind::Boxed(inner) => {
            let inner = *inner;
            write(vm, inner, out, path);
        }
        Kind::Ordinary | Kind::Arguments => members(vm, id, out, path),
        _ => out.push_str("[opaque reference]"),
    }
    path.pop();
}

fn list(vm: &mut Vm, items: &[Value], out: &mut String, path: &mut Vec<ObjId>) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(vm, *item, out, path);
    }
    out.push(']');
}

fn members(vm: &mut Vm, id: ObjId, out: &mut String, path: &mut Vec<ObjId>) {
    out.push('{');
    for (at, key) in vm.enumerable_keys(id).into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let label = vm.key_str(key);
        vm.heap.flatten(label);
        super::json::quote(out, vm.heap.flat(label));
        out.push(':');
        match vm.get_own(id, key) {
            Some(own) if own.attrs.accessor() => out.push_str("[getter]"),
            Some(own) => write(vm, own.value, out, path),
            None => {}
        }
    }
    out.push('}');
}

/// A string property found without running program code.
pub(crate) fn plain_text(vm: &mut Vm, id: ObjId, key: Key) -> Option<String> {
    let mut at = Some(id);
    while let Some(object) = at {
        if let Some(own) = vm.get_own(object, key) {
            return match own.value {
                Value::Str(text) if !own.attrs.accessor() => Some(vm.utf8(text)),
                _ => None,
            };
        }
        at = vm.heap.proto_of(object);
    }
    None
}

/// Tab-separated rows under a header that starts with `(index)`.
fn table(vm: &mut Vm, args: Args) -> Res<Value> {
    let (data, filter) = (args.get(vm, 0), args.get(vm, 1));
    let Some(id) = data.as_obj() else {
        let text = render(vm, data);
        return vm.log(text);
    };
    let mut columns: Vec<Key> = Vec::new();
    let fixed = vm.is_array(filter);
    if fixed {
        for item in vm.array_items(filter) {
            let key = vm.to_key(item)?;
            columns.push(key);
        }
    }
    let mut rows = Vec::new();
    let mut values = false;
    for key in vm.enumerable_keys(id) {
        let row = vm.get(Value::Obj(id), key)?;
        match row.as_obj() {
            Some(object) if !vm.heap.obj(object).is_callable() => {
                if !fixed {
                    for column in vm.enumerable_keys(object) {
                        if !columns.contains(&column) {
                            columns.push(column);
                        }
                    }
                }
            }
            _ => values = true,
        }
        rows.push((key, row));
    }
    let cell = |vm: &mut Vm, value: Value| match value {
        Value::Str(id) => vm.utf8(id),
        value => render(vm, value),
    };
    let mut out = String::from("(index)");
    for &column in &columns {
        out.push('\t');
        out.push_str(&vm.key_text(column));
    }
    if values {
        out.push_str("\tValue");
    }
    for (key, row) in rows {
        out.push('\n');
        out.push_str(&vm.key_text(key));
        let object = row.as_obj().filter(|&o| !vm.heap.obj(o).is_callable());
        for &column in &columns {
            out.push('\t');
            if let Some(object) = object
                && let Some(own) = vm.get_own(object, column)
            {
                let text = cell(vm, own.value);
                out.push_str(&text);
            }
        }
        if values {
            out.push('\t');
            if object.is_none() {
                let text = cell(vm, row);
                out.push_str(&text);
            }
        }
    }
    vm.log(out)
}
