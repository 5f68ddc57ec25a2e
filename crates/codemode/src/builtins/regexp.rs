//! `RegExp`: making expressions, executing them, and the objects that matches are.
//!
//! The methods that string methods delegate to are in `regexp_methods`.

use super::string::part;
use crate::atoms::SYM_MATCH;
use crate::object::{Kind, RegExpData};
use crate::realm::{Builder, intrinsic as i, name};
use crate::regex::{Captures, Flags, MatchError, Regex};
use crate::shape::Attrs;
use crate::text::Text;
use crate::value::{Abrupt, ObjId, Res, Stop, StrId, Value};
use crate::vm::{Args, ErrorType, Vm};
use std::sync::Arc;

/// Slot of `lastIndex` in every expression.
const LAST_INDEX: usize = 0;

/// Whether a flag is among those of an expression.
type IsSet = fn(Flags) -> bool;

/// The flags by letter, property and place in [`Flags`], in the order of the letters.
const FLAGS: [(char, &str, IsSet); 8] = [
    ('d', "hasIndices", |f| f.indices),
    ('g', "global", |f| f.global),
    ('i', "ignoreCase", |f| f.ignore_case),
    ('m', "multiline", |f| f.multiline),
    ('s', "dotAll", |f| f.dot_all),
    ('u', "unicode", |f| f.unicode),
    ('v', "unicodeSets", |f| f.unicode_sets),
    ('y', "sticky", |f| f.sticky),
];

pub(super) fn install(b: &mut Builder) {
    let proto = i::REGEXP_PROTO;
    b.constructor(i::REGEXP, proto, "RegExp", 2, construct);
    b.species(i::REGEXP);
    b.methods(i::REGEXP, &[("escape", 1, escape)]);
    b.methods(
        proto,
        &[
            ("test", 1, |vm, a| {
                let id = receiver(vm, a)?;
                let text = subject(vm, a)?;
                let found = exec_any(vm, id, text)?;
                Ok(Value::Bool(!matches!(found, Value::Null)))
            }),
            ("exec", 1, |vm, a| {
                let id = this(vm, a)?;
                let text = subject(vm, a)?;
                exec(vm, id, text)
            }),
            ("toString", 0, |vm, a| {
                let id = receiver(vm, a)?;
                let source = vm.intern("source");
                let source = vm.get(Value::Obj(id), source)?;
                let source = vm.to_str(source)?;
                let flags = vm.get(Value::Obj(id), name::FLAGS)?;
                let flags = vm.to_str(flags)?;
                let slash = vm.text(Text::new("/"));
                let mut out = slash;
                for piece in [source, slash, flags] {
                    out = vm.concat(out, piece)?;
                }
                Ok(Value::Str(out))
            }),
        ],
    );
    b.getter(proto, "source", source, None);
    b.getter(proto, "flags", flags, None);
    macro_rules! flag_getters {
        ($($at:literal),*) => {
            $(b.getter(proto, FLAGS[$at].1, |vm, a| flag(vm, a, FLAGS[$at].2), None);)*
        };
    }
    flag_getters!(0, 1, 2, 3, 4, 5, 6, 7);
    super::regexp_methods::install(b);
}

fn source(vm: &mut Vm, args: Args) -> Res<Value> {
    if args.this.as_obj() == Some(i::REGEXP_PROTO) {
        return Ok(vm.str("(?:)"));
    }
    let id = this(vm, args)?;
    match vm.heap.kind(id) {
        Kind::RegExp(data) => Ok(Value::Str(data.source)),
        _ => Ok(Value::Undefined),
    }
}

/// The letters of the flags that the receiver's properties say it has.
fn flags(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = receiver(vm, args)?;
    let mut letters = String::new();
    for (letter, property, _) in FLAGS {
        let key = vm.intern(property);
        let on = vm.get(Value::Obj(id), key)?;
        if vm.truthy(on) {
            letters.push(letter);
        }
    }
    Ok(vm.str(&letters))
}

/// The object a method was called on, an expression or not.
pub(super) fn receiver(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match vm.settle(args.this).as_obj() {
        Some(id) => Ok(id),
        None => Err(vm.type_error("RegExp method called on a value that is no object.")),
    }
}

/// The expression a method was called on.
fn this(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match args.this {
        Value::Obj(id) if matches!(vm.heap.kind(id), Kind::RegExp(_)) => Ok(id),
        _ => Err(vm.type_error("Receiver is not a RegExp.")),
    }
}

fn flag(vm: &mut Vm, args: Args, pick: fn(Flags) -> bool) -> Res<Value> {
    if args.this.as_obj() == Some(i::REGEXP_PROTO) {
        return Ok(Value::Undefined);
    }
    let id = this(vm, args)?;
    let regex = regex(vm, id);
    Ok(Value::Bool(regex.is_some_and(|r| pick(r.flags))))
}

pub(super) fn regex(vm: &Vm, id: ObjId) -> Option<Arc<Regex>> {
    match vm.heap.kind(id) {
        Kind::RegExp(data) => Some(Arc::clone(&data.regex)),
        _ => None,
    }
}

/// `IsRegExp`.
pub(super) fn is_regexp(vm: &mut Vm, value: Value) -> Res<bool> {
    let Some(id) = value.as_obj() else {
        return Ok(false);
    };
    if let Kind::Tool(_) = vm.heap.kind(id) {
        return Ok(false);
    }
    let matcher = vm.get(value, SYM_MATCH)?;
    if !matcher.is_undefined() {
        return Ok(vm.truthy(matcher));
    }
    Ok(matches!(vm.heap.kind(id), Kind::RegExp(_)))
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    let (pattern, flags) = (args.get(vm, 0), args.get(vm, 1));
    let like_regexp = is_regexp(vm, pattern)?;
    if !args.is_construct() && like_regexp && flags.is_undefined() {
        let constructor = vm.get(pattern, name::CONSTRUCTOR)?;
        if constructor.as_obj() == Some(i::REGEXP) {
            return Ok(pattern);
        }
    }
    let (source, flags) = match pattern {
        Value::Obj(id) if let Kind::RegExp(data) = vm.heap.kind(id) => {
            let (source, old) = (data.source, data.flags);
            (
                Value::Str(source),
                if flags.is_undefined() {
                    Value::Str(old)
                } else {
                    flags
                },
            )
        }
        pattern if like_regexp => {
            let key = vm.intern("source");
            let source = vm.get(pattern, key)?;
            let flags = match flags {
                Value::Undefined => vm.get(pattern, name::FLAGS)?,
                flags => flags,
            };
            (source, flags)
        }
        pattern => (pattern, flags),
    };
    let proto = vm.proto_of_new(args.new_target, i::REGEXP_PROTO)?;
    let id = create(vm, source, flags)?;
    if proto != i::REGEXP_PROTO {
        vm.heap.set_proto(id, Some(proto));
    }
    Ok(Value::Obj(id))
}

/// `RegExpCreate`.
pub(super) fn create(vm: &mut Vm, source: Value, flags: Value) -> Res<ObjId> {
    let text = |vm: &mut Vm, value: Value| match value {
        Value::Undefined => Ok(vm.key_str(name::EMPTY)),
        value => vm.to_str(value),
    };
    let source = text(vm, source)?;
    let flags = text(vm, flags)?;
    make(vm, source, flags)
}

pub(super) fn make(vm: &mut Vm, source: StrId, flags: StrId) -> Res<ObjId> {
    let flag_text = vm.utf8(flags);
    let Some(parsed) = Flags::parse(&flag_text) else {
        return Err(vm.error(
            ErrorType::Syntax,
            &format!("Invalid flags supplied to RegExp constructor '{flag_text}'"),
        ));
    };
    vm.charge(vm.heap.str_len(source))?;
    let compiled = Regex::new(vm.heap.units(source), parsed);
    let regex = match compiled {
        Ok(regex) => Arc::new(regex),
        Err(problem) => {
            let text = vm.utf8(source);
            let message = format!("Invalid regular expression: /{text}/{flag_text}: {problem}");
            return Err(vm.error(ErrorType::Syntax, &message));
        }
    };
    Ok(from_regex(vm, regex, source, flags))
}

fn from_regex(vm: &mut Vm, regex: Arc<Regex>, source: StrId, flags: StrId) -> ObjId {
    let source = escape_source(vm, source);
    let mut sorted: Vec<u16> = vm.heap.units(flags).to_vec();
    sorted.sort_unstable();
    let flags = vm.text(Text::from_units(sorted));
    let data = RegExpData {
        regex,
        source,
        flags,
    };
    let id = vm
        .heap
        .alloc(Some(i::REGEXP_PROTO), Kind::RegExp(Box::new(data)));
    vm.heap.add_prop(
        id,
        name::LAST_INDEX,
        Attrs(Attrs::WRITABLE),
        Value::Num(0.0),
    );
    id
}

/// Source text that reads back as the same pattern between slashes.
fn escape_source(vm: &mut Vm, source: StrId) -> StrId {
    let units = vm.heap.units(source);
    if units.is_empty() {
        return vm.text(Text::new("(?:)"));
    }
    let needs = units
        .iter()
        .any(|u| matches!(u, 0x2F | 10 | 13 | 0x2028 | 0x2029));
    if !needs {
        return source;
    }
    let mut out = Vec::new();
    let (mut escaped, mut class) = (false, false);
    for unit in units.iter() {
        match unit {
            10 => out.extend(
                if escaped { &b"n"[..] } else { &b"\\n"[..] }
                    .iter()
                    .map(|&b| u16::from(b)),
            ),
            13 => out.extend(
                if escaped { &b"r"[..] } else { &b"\\r"[..] }
                    .iter()
                    .map(|&b| u16::from(b)),
            ),
            0x2F if !escaped && !class => out.extend([0x5C, 0x2F]),
            other => out.push(other),
        }
        if !escaped {
            class = (class || unit == 0x5B) && unit != 0x5D;
        }
        escaped = unit == 0x5C && !escaped;
    }
    vm.text(Text::from_units(out))
}

fn escape(vm: &mut Vm, args: Args) -> Res<Value> {
    let Value::Str(id) = args.get(vm, 0) else {
        return Err(vm.type_error("RegExp.escape needs a string."));
    };
    let mut out = String::new();
    for (at, c) in vm.utf8(id).chars().enumerate() {
        match c {
            c if at == 0 && c.is_ascii_alphanumeric() => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|'
            | '/' => {
                out.push('\\');
                out.push(c);
            }
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            ',' | '-' | '=' | '<' | '>' | '#' | '&' | '!' | '%' | ':' | ';' | '@' | '~' | '\''
            | '`' | '"' | ' ' => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c if (c as u32) < 0x10000 && crate::text::is_space(c as u16) => {
                let code = c as u32;
                out.push_str(&if code < 256 {
                    format!("\\x{code:02x}")
                } else {
                    format!("\\u{code:04x}")
                });
            }
            c => out.push(c),
        }
    }
    vm.new_text(Text::new(&out))
}

/// The text to match: the first argument.
pub(super) fn subject(vm: &mut Vm, args: Args) -> Res<StrId> {
    let text = args.get(vm, 0);
    let text = vm.to_str(text)?;
    vm.heap.flatten(text);
    Ok(text)
}

/// Matches from a position, counting steps against the run's budgets.
pub(super) fn match_at(
    vm: &mut Vm,
    regex: &Regex,
    text: StrId,
    start: usize,
    sticky: bool,
) -> Res<Option<Captures>> {
    vm.heap.flatten(text);
    let mut stop = None;
    let mut spent: u64 = 0;
    let outcome = {
        let units = vm.heap.flat(text);
        let host = &vm.host;
        let used = vm.used_fuel;
        regex.exec(units, start, sticky, &mut |steps| {
            spent += u64::from(steps);
            stop = if host.is_cancelled() {
                Some(Stop::Cancelled)
            } else if host.is_late() {
                Some(Stop::Timeout)
            } else if host.limits.fuel.is_some_and(|limit| used + spent > limit) {
                Some(Stop::Fuel)
            } else {
                None
            };
            stop.is_none()
        })
    };
    vm.used_fuel += spent;
    match (outcome, stop) {
        (_, Some(stop)) => Err(Abrupt::Stop(stop)),
        (Ok(found), None) => Ok(found),
        (Err(MatchError::TooComplex | MatchError::Interrupted), None) => {
            Err(vm.range_error("The regular expression needs too much memory on this text."))
        }
    }
}

/// `RegExpBuiltinExec` without the result object.
pub(super) fn exec_raw(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Option<Captures>> {
    let Some(regex) = regex(vm, id) else {
        return Ok(None);
    };
    let last = vm.heap.obj(id).slots[LAST_INDEX];
    let last = vm.to_length(last)?;
    let advancing = regex.flags.global || regex.flags.sticky;
    let start = if advancing { last } else { 0 };
    if start > vm.heap.str_len(text) {
        set_last_index(vm, id, 0)?;
        return Ok(None);
    }
    let found = match_at(vm, &regex, text, start, regex.flags.sticky)?;
    if advancing {
        let end = found.as_ref().and_then(|c| c[0]).map_or(0, |(_, end)| end);
        set_last_index(vm, id, end)?;
    }
    Ok(found)
}

/// Writes `lastIndex`, which a program may have made read-only.
pub(super) fn set_last_index(vm: &mut Vm, id: ObjId, value: usize) -> Res<()> {
    vm.put(Value::Obj(id), name::LAST_INDEX, Value::Num(value as f64))
}

pub(super) fn exec(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Value> {
    match exec_raw(vm, id, text)? {
        Some(captures) => match_object(vm, id, text, &captures),
        None => Ok(Value::Null),
    }
}

/// `RegExpExec`: the program's own `exec` when there is one.
pub(super) fn exec_any(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Value> {
    if is_pristine(vm, id) {
        return exec(vm, id, text);
    }
    let method = vm.intern("exec");
    let method = vm.get(Value::Obj(id), method)?;
    if vm.is_callable(method) {
        let result = vm.call(method, Value::Obj(id), &[Value::Str(text)])?;
        if !result.is_object() && !matches!(result, Value::Null) {
            return Err(vm.type_error("The result of exec must be an object or null."));
        }
        return Ok(result);
    }
    if let Kind::RegExp(_) = vm.heap.kind(id) {
        return exec(vm, id, text);
    }
    Err(vm.type_error("Receiver is not a RegExp."))
}

/// Whether an expression has nothing of its own and nothing that it inherits was changed, so that no program code can
/// notice how its matches are found.
pub(super) fn is_pristine(vm: &Vm, id: ObjId) -> bool {
    let obj = vm.heap.obj(id);
    let own = &vm.heap.shape_of(id).table.order;
    matches!(obj.kind, Kind::RegExp(_))
        && own.len() == 1
        && matches!(obj.slots[LAST_INDEX], Value::Num(_))
        && own[0].1.writable()
        && vm.heap.proto_of(id) == Some(i::REGEXP_PROTO)
        && vm.is_untouched(i::REGEXP_PROTO)
        && vm.is_untouched(i::REGEXP)
}

pub(super) fn groups_object(vm: &mut Vm, regex: &Regex, values: &[Value]) -> Res<Value> {
    if regex.names.is_empty() {
        return Ok(Value::Undefined);
    }
    let groups = vm.heap.alloc(None, Kind::Ordinary);
    for (name, numbers) in &regex.names {
        let value = numbers
            .iter()
            .map(|&n| values[n])
            .find(|v| !v.is_undefined())
            .unwrap_or(Value::Undefined);
        let key = vm.intern(name);
        vm.define_field(groups, key, value)?;
    }
    Ok(Value::Obj(groups))
}

pub(super) fn capture_values(vm: &mut Vm, text: StrId, captures: &Captures) -> Res<Vec<Value>> {
    captures
        .iter()
        .map(|c| match *c {
            Some((start, end)) => part(vm, text, start, end),
            None => Ok(Value::Undefined),
        })
        .collect()
}

pub(super) fn match_object(vm: &mut Vm, id: ObjId, text: StrId, captures: &Captures) -> Res<Value> {
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Null);
    };
    let values = capture_values(vm, text, captures)?;
    let groups = groups_object(vm, &regex, &values)?;
    let start = captures[0].map_or(0, |c| c.0);
    let array = vm.array(values);
    let Some(object) = array.as_obj() else {
        return Ok(array);
    };
    vm.define_field(object, name::INDEX, Value::Num(start as f64))?;
    vm.define_field(object, name::INPUT, Value::Str(text))?;
    vm.define_field(object, name::GROUPS, groups)?;
    if regex.flags.indices {
        let pairs: Vec<Value> = captures
            .iter()
            .map(|c| match *c {
                Some((a, b)) => vm.array(vec![Value::Num(a as f64), Value::Num(b as f64)]),
                None => Value::Undefined,
            })
            .collect();
        let groups = groups_object(vm, &regex, &pairs)?;
        let indices = vm.array(pairs);
        if let Some(indices) = indices.as_obj() {
            vm.define_field(indices, name::GROUPS, groups)?;
        }
        vm.define_field(object, name::INDICES, indices)?;
    }
    Ok(array)
}

impl Vm {
    /// A regular expression literal; each evaluation makes a new object of the pattern compiled with the program.
    pub(crate) fn regexp_literal(&mut self, k: usize) -> Value {
        let (source, flags, regex) = self.program.regexes[k].clone();
        let (source, flags) = (self.key_str(source), self.key_str(flags));
        Value::Obj(from_regex(self, regex, source, flags))
    }

    /// The text that a replacer's result stands for.
    pub(crate) fn to_replacement(&mut self, value: Value) -> Res<StrId> {
        if self.is_promise(value) {
            return Ok(self.text(Text::new("[object Promise]")));
        }
        self.to_str(value)
    }
}
