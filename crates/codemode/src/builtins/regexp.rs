//! `RegExp`, and the string methods that work with it.

use super::string::part;
use crate::object::{Kind, RegExpData};
use crate::realm::{Builder, intrinsic as i, name};
use crate::regex::{Captures, Flags, MatchError, Regex};
use crate::text::Text;
use crate::value::{Abrupt, ObjId, Res, Stop, StrId, Value};
use crate::vm::{Args, ErrorType, STRING_LIMIT, Vm};
use std::sync::Arc;

pub(super) fn install(b: &mut Builder) {
    let proto = i::REGEXP_PROTO;
    b.constructor(i::REGEXP, proto, "RegExp", 2, construct);
    b.methods(i::REGEXP, &[("escape", 1, escape)]);
    b.methods(
        proto,
        &[
            ("test", 1, |vm, a| {
                let (id, text) = subject(vm, a)?;
                Ok(Value::Bool(exec_raw(vm, id, text)?.is_some()))
            }),
            ("exec", 1, |vm, a| {
                let (id, text) = subject(vm, a)?;
                exec(vm, id, text)
            }),
            ("toString", 0, |vm, a| {
                let source = vm.intern("source");
                let source = vm.get(a.this, source)?;
                let flags = vm.get(a.this, name::FLAGS)?;
                let (source, flags) = (vm.to_text(source)?, vm.to_text(flags)?);
                vm.new_text(Text::new(&format!("/{source}/{flags}")))
            }),
        ],
    );
    b.getter(
        proto,
        "source",
        |vm, a| {
            let id = this(vm, a)?;
            let Kind::RegExp(data) = vm.heap.kind(id) else {
                return Ok(Value::Undefined);
            };
            Ok(Value::Str(data.source))
        },
        None,
    );
    b.getter(
        proto,
        "flags",
        |vm, a| {
            let id = this(vm, a)?;
            let Kind::RegExp(data) = vm.heap.kind(id) else {
                return Ok(Value::Undefined);
            };
            Ok(Value::Str(data.flags))
        },
        None,
    );
    b.getter(
        proto,
        "hasIndices",
        |vm, a| flag(vm, a, |f| f.indices),
        None,
    );
    b.getter(proto, "global", |vm, a| flag(vm, a, |f| f.global), None);
    b.getter(
        proto,
        "ignoreCase",
        |vm, a| flag(vm, a, |f| f.ignore_case),
        None,
    );
    b.getter(
        proto,
        "multiline",
        |vm, a| flag(vm, a, |f| f.multiline),
        None,
    );
    b.getter(proto, "dotAll", |vm, a| flag(vm, a, |f| f.dot_all), None);
    b.getter(proto, "unicode", |vm, a| flag(vm, a, |f| f.unicode), None);
    b.getter(
        proto,
        "unicodeSets",
        |vm, a| flag(vm, a, |f| f.unicode_sets),
        None,
    );
    b.getter(proto, "sticky", |vm, a| flag(vm, a, |f| f.sticky), None);
}

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

fn regex(vm: &Vm, id: ObjId) -> Option<Arc<Regex>> {
    match vm.heap.kind(id) {
        Kind::RegExp(data) => Some(Arc::clone(&data.regex)),
        _ => None,
    }
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    let (pattern, flags) = (args.get(vm, 0), args.get(vm, 1));
    let (source, old_flags) = match pattern {
        Value::Obj(id) if let Kind::RegExp(data) = vm.heap.kind(id) => {
            (Value::Str(data.source), Some(data.flags))
        }
        other => (other, None),
    };
    let source = if source.is_undefined() {
        vm.key_str(name::EMPTY)
    } else {
        vm.to_str(source)?
    };
    let flags = match (flags, old_flags) {
        (Value::Undefined, Some(old)) => old,
        (Value::Undefined, None) => vm.key_str(name::EMPTY),
        (flags, _) => vm.to_str(flags)?,
    };
    let id = make(vm, source, flags)?;
    if args.is_construct() && args.new_target.as_obj() != Some(i::REGEXP) {
        let proto = vm.proto_of_new(args.new_target, i::REGEXP_PROTO)?;
        vm.heap.set_proto(id, Some(proto));
    }
    Ok(Value::Obj(id))
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
        last_index: Value::Num(0.0),
    };
    vm.heap
        .alloc(Some(i::REGEXP_PROTO), Kind::RegExp(Box::new(data)))
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

fn subject(vm: &mut Vm, args: Args) -> Res<(ObjId, StrId)> {
    let id = this(vm, args)?;
    let text = args.get(vm, 0);
    let text = vm.to_str(text)?;
    vm.heap.flatten(text);
    Ok((id, text))
}

/// Matches from a position, counting steps against the run's budgets.
fn match_at(
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
fn exec_raw(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Option<Captures>> {
    let Some(regex) = regex(vm, id) else {
        return Ok(None);
    };
    let Kind::RegExp(data) = vm.heap.kind(id) else {
        return Ok(None);
    };
    let last = data.last_index;
    let advancing = regex.flags.global || regex.flags.sticky;
    let last = vm.to_length(last)?;
    let start = if advancing { last } else { 0 };
    if start > vm.heap.str_len(text) {
        set_last_index(vm, id, 0);
        return Ok(None);
    }
    let found = match_at(vm, &regex, text, start, regex.flags.sticky)?;
    if advancing {
        let end = found.as_ref().and_then(|c| c[0]).map_or(0, |(_, end)| end);
        set_last_index(vm, id, end);
    }
    Ok(found)
}

fn set_last_index(vm: &mut Vm, id: ObjId, value: usize) {
    if let Kind::RegExp(data) = vm.heap.kind_mut(id) {
        data.last_index = Value::Num(value as f64);
    }
}

fn exec(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Value> {
    match exec_raw(vm, id, text)? {
        Some(captures) => match_object(vm, id, text, &captures),
        None => Ok(Value::Null),
    }
}

fn groups_object(vm: &mut Vm, regex: &Regex, values: &[Value]) -> Res<Value> {
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

fn capture_values(vm: &mut Vm, text: StrId, captures: &Captures) -> Res<Vec<Value>> {
    captures
        .iter()
        .map(|c| match *c {
            Some((start, end)) => part(vm, text, start, end),
            None => Ok(Value::Undefined),
        })
        .collect()
}

fn match_object(vm: &mut Vm, id: ObjId, text: StrId, captures: &Captures) -> Res<Value> {
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
    /// A regular expression literal; each evaluation makes a new object of the pattern compiled once.
    pub(crate) fn regexp_literal(&mut self, k: usize) -> Res<Value> {
        let (source, flags) = self.program.regexes[k];
        let (source, flags) = (self.key_str(source), self.key_str(flags));
        if let Some(regex) = self.compiled_regex(k) {
            return Ok(Value::Obj(from_regex(self, regex, source, flags)));
        }
        let id = make(self, source, flags)?;
        if let Some(regex) = regex(self, id) {
            self.keep_regex(k, regex);
        }
        Ok(Value::Obj(id))
    }

    /// The text that a replacer's result stands for.
    pub(crate) fn to_replacement(&mut self, value: Value) -> Res<StrId> {
        if self.is_promise(value) {
            return Ok(self.text(Text::new("[object Promise]")));
        }
        self.to_str(value)
    }
}

/// Appends a replacement template with its `$` references filled in.
pub(super) fn expand(
    vm: &mut Vm,
    template: StrId,
    text: StrId,
    captures: &[Option<(usize, usize)>],
    groups: Value,
    out: &mut Vec<u16>,
) -> Res<()> {
    vm.heap.flatten(template);
    vm.heap.flatten(text);
    let (start, end) = captures[0].unwrap_or((0, 0));
    let mut at = 0;
    while at < vm.heap.str_len(template) {
        let t = vm.heap.flat(template);
        let unit = t.at(at);
        if unit != 0x24 || at + 1 >= t.len() {
            out.push(unit);
            at += 1;
            continue;
        }
        let next = t.at(at + 1);
        let source = vm.heap.flat(text);
        match next {
            0x24 => out.push(0x24),
            0x26 => source.slice(start, end).push_to(out),
            0x60 => source.slice(0, start).push_to(out),
            0x27 => source
                .slice(end.min(source.len()), source.len())
                .push_to(out),
            0x30..=0x39 => {
                let one = (next - 0x30) as usize;
                let two = t
                    .get(at + 2)
                    .filter(|u| (0x30..=0x39).contains(u))
                    .map(|u| one * 10 + (u - 0x30) as usize);
                let (number, width) = match two {
                    Some(two) if two >= 1 && two < captures.len() => (two, 2),
                    _ => (one, 1),
                };
                if number == 0 || number >= captures.len() {
                    out.push(0x24);
                    at += 1;
                    continue;
                }
                if let Some((a, b)) = captures[number] {
                    source.slice(a, b).push_to(out);
                }
                at += 1 + width;
                continue;
            }
            0x3C if !groups.is_undefined() => {
                let close = (at + 2..t.len()).find(|&i| t.at(i) == 0x3E);
                let Some(close) = close else {
                    out.push(0x24);
                    at += 1;
                    continue;
                };
                let label = t.slice(at + 2, close).to_utf8();
                let key = vm.intern(&label);
                let value = vm.get(groups, key)?;
                if !value.is_undefined() {
                    let value = vm.to_str(value)?;
                    vm.heap.units(value).push_to(out);
                }
                at = close + 1;
                continue;
            }
            _ => {
                out.push(0x24);
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    Ok(())
}

pub(super) fn replace(vm: &mut Vm, id: ObjId, text: StrId, replacement: Value) -> Res<Value> {
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Str(text));
    };
    let function = vm.is_callable(replacement);
    let template = if function {
        None
    } else {
        Some(vm.to_str(replacement)?)
    };
    let matches = if regex.flags.global {
        all_matches(vm, id, &regex, text)?
    } else {
        exec_raw(vm, id, text)?.into_iter().collect()
    };
    if matches.is_empty() {
        return Ok(Value::Str(text));
    }
    let mut out: Vec<u16> = Vec::new();
    let mut last = 0;
    for captures in matches {
        let (start, end) = captures[0].unwrap_or((0, 0));
        vm.heap
            .units(text)
            .slice(last, start.max(last))
            .push_to(&mut out);
        match template {
            None => {
                let mut args = capture_values(vm, text, &captures)?;
                let groups = groups_object(vm, &regex, &args)?;
                args.push(Value::Num(start as f64));
                args.push(Value::Str(text));
                if !groups.is_undefined() {
                    args.push(groups);
                }
                let result = vm.call(replacement, Value::Undefined, &args)?;
                let piece = vm.to_replacement(result)?;
                vm.heap.units(piece).push_to(&mut out);
            }
            Some(template) => {
                let groups = if regex.names.is_empty() {
                    Value::Undefined
                } else {
                    let values = capture_values(vm, text, &captures)?;
                    groups_object(vm, &regex, &values)?
                };
                expand(vm, template, text, &captures, groups, &mut out)?;
            }
        }
        if out.len() > STRING_LIMIT {
            return Err(vm.range_error("Invalid string length"));
        }
        vm.charge(4)?;
        last = end.max(last);
    }
    let len = vm.heap.str_len(text);
    vm.heap.units(text).slice(last, len).push_to(&mut out);
    vm.new_text(Text::from_units(out))
}

/// Every match of a global expression.
fn all_matches(vm: &mut Vm, id: ObjId, regex: &Regex, text: StrId) -> Res<Vec<Captures>> {
    set_last_index(vm, id, 0);
    let mut list = Vec::new();
    let mut at = 0;
    let len = vm.heap.str_len(text);
    while at <= len {
        let Some(captures) = match_at(vm, regex, text, at, regex.flags.sticky)? else {
            break;
        };
        let (start, end) = captures[0].unwrap_or((at, at));
        at = if end == start {
            advance(vm, text, end, regex)
        } else {
            end
        };
        list.push(captures);
        vm.charge(8)?;
        if list.len() % 1024 == 0 {
            vm.reserve(list.len() * 64)?;
        }
    }
    Ok(list)
}

fn advance(vm: &mut Vm, text: StrId, at: usize, regex: &Regex) -> usize {
    let units = vm.heap.units(text);
    if regex.flags.by_code_point() && at < units.len() {
        at + units.code_point(at).1
    } else {
        at + 1
    }
}

/// The expression that an argument stands for.
fn to_regexp(vm: &mut Vm, value: Value, flags: &str) -> Res<ObjId> {
    if let Value::Obj(id) = value
        && let Kind::RegExp(_) = vm.heap.kind(id)
    {
        return Ok(id);
    }
    let source = if value.is_undefined() {
        vm.key_str(name::EMPTY)
    } else {
        vm.to_str(value)?
    };
    let flags = vm.text(Text::new(flags));
    make(vm, source, flags)
}

pub(super) fn string_match(vm: &mut Vm, args: Args) -> Res<Value> {
    let text = super::string::this(vm, args)?;
    let pattern = args.get(vm, 0);
    let id = to_regexp(vm, pattern, "")?;
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Null);
    };
    if !regex.flags.global {
        return exec(vm, id, text);
    }
    let matches = all_matches(vm, id, &regex, text)?;
    if matches.is_empty() {
        return Ok(Value::Null);
    }
    let out = vm.array(Vec::new());
    for captures in matches {
        let (start, end) = captures[0].unwrap_or((0, 0));
        let piece = part(vm, text, start, end)?;
        vm.push(out, piece)?;
    }
    Ok(out)
}

/// All matches as an array, which iterates like the standard's iterator and can be indexed besides.
pub(super) fn string_match_all(vm: &mut Vm, args: Args) -> Res<Value> {
    let text = super::string::this(vm, args)?;
    let pattern = args.get(vm, 0);
    let id = to_regexp(vm, pattern, "g")?;
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Null);
    };
    if !regex.flags.global {
        return Err(
            vm.type_error("String.prototype.matchAll called with a non-global RegExp argument.")
        );
    }
    let out = vm.array(Vec::new());
    for captures in all_matches(vm, id, &regex, text)? {
        let found = match_object(vm, id, text, &captures)?;
        vm.push(out, found)?;
    }
    Ok(out)
}

pub(super) fn string_search(vm: &mut Vm, args: Args) -> Res<Value> {
    let text = super::string::this(vm, args)?;
    let pattern = args.get(vm, 0);
    let id = to_regexp(vm, pattern, "")?;
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Null);
    };
    let found = match_at(vm, &regex, text, 0, regex.flags.sticky)?;
    Ok(Value::Num(
        found
            .and_then(|c| c[0])
            .map_or(-1.0, |(start, _)| start as f64),
    ))
}

pub(super) fn split(vm: &mut Vm, id: ObjId, text: StrId, limit: usize) -> Res<Value> {
    let out = vm.array(Vec::new());
    let Some(regex) = regex(vm, id) else {
        return Ok(out);
    };
    let len = vm.heap.str_len(text);
    if limit == 0 {
        return Ok(out);
    }
    if len == 0 {
        if match_at(vm, &regex, text, 0, true)?.is_none() {
            vm.push(out, Value::Str(text))?;
        }
        return Ok(out);
    }
    let mut count = 0;
    let (mut last, mut at) = (0, 0);
    while at < len {
        let Some(captures) = match_at(vm, &regex, text, at, false)? else {
            break;
        };
        let (start, end) = captures[0].unwrap_or((at, at));
        if start >= len {
            break;
        }
        if end == start && end == last {
            // An empty match where the last piece ended separates nothing.
            at = advance(vm, text, start, &regex);
            continue;
        }
        let piece = part(vm, text, last, start)?;
        vm.push(out, piece)?;
        count += 1;
        if count == limit {
            return Ok(out);
        }
        last = end;
        for value in capture_values(vm, text, &captures)?.into_iter().skip(1) {
            vm.push(out, value)?;
            count += 1;
            if count == limit {
                return Ok(out);
            }
        }
        at = if end == start {
            advance(vm, text, end, &regex)
        } else {
            end
        };
    }
    let piece = part(vm, text, last, len)?;
    vm.push(out, piece)?;
    Ok(out)
}
