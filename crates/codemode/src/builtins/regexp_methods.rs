//! What string methods ask of a regular expression: `Symbol.match`, `matchAll`, `replace`, `search` and `split`
//! (ECMA-262 22.2.6). An expression that nobody changed takes a short way on which no program code runs.

use super::regexp::{
    capture_values, create, exec_any, exec_raw, groups_object, is_pristine, is_regexp, match_at,
    match_object, receiver, regex, set_last_index, subject,
};
use super::string::part;
use super::substitution::{Piece, Substitution, substitute};
use crate::atoms::{SYM_MATCH, SYM_MATCH_ALL, SYM_REPLACE, SYM_SEARCH, SYM_SPLIT};
use crate::object::{Kind, MatchIter};
use crate::realm::{Builder, intrinsic as i, name};
use crate::regex::{Captures, Regex};
use crate::text::Text;
use crate::value::{Key, ObjId, Res, StrId, Value};
use crate::vm::{Args, STRING_LIMIT, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::REGEXP_PROTO;
    b.symbol_method(proto, SYM_MATCH, "[Symbol.match]", 1, |vm, a| {
        let id = receiver(vm, a)?;
        let text = subject(vm, a)?;
        if is_pristine(vm, id) {
            return match_fast(vm, id, text);
        }
        match_any(vm, id, text)
    });
    b.symbol_method(proto, SYM_MATCH_ALL, "[Symbol.matchAll]", 1, match_all);
    b.symbol_method(proto, SYM_REPLACE, "[Symbol.replace]", 2, |vm, a| {
        let id = receiver(vm, a)?;
        let text = subject(vm, a)?;
        let replacement = a.get(vm, 1);
        replace(vm, id, text, replacement)
    });
    b.symbol_method(proto, SYM_SEARCH, "[Symbol.search]", 1, |vm, a| {
        let id = receiver(vm, a)?;
        let text = subject(vm, a)?;
        search(vm, id, text)
    });
    b.symbol_method(proto, SYM_SPLIT, "[Symbol.split]", 2, |vm, a| {
        let id = receiver(vm, a)?;
        let text = subject(vm, a)?;
        let limit = a.get(vm, 1);
        split(vm, id, text, limit)
    });
}

/// Every match of an untouched global expression.
fn all_matches(vm: &mut Vm, id: ObjId, regex: &Regex, text: StrId) -> Res<Vec<Captures>> {
    set_last_index(vm, id, 0)?;
    let mut list = Vec::new();
    let mut at = 0;
    let len = vm.heap.str_len(text);
    while at <= len {
        let Some(captures) = match_at(vm, regex, text, at, regex.flags.sticky)? else {
            break;
        };
        let (start, end) = captures[0].unwrap_or((at, at));
        at = if end == start {
            advance(vm, text, end, regex.flags.by_code_point())
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

/// `AdvanceStringIndex`.
fn advance(vm: &mut Vm, text: StrId, at: usize, by_code_point: bool) -> usize {
    let units = vm.heap.units(text);
    if by_code_point && at < units.len() {
        at + units.code_point(at).1
    } else {
        at + 1
    }
}

/// The letters that the expression's `flags` property gives.
fn flag_letters(vm: &mut Vm, id: ObjId) -> Res<String> {
    let flags = vm.get(Value::Obj(id), name::FLAGS)?;
    vm.to_text(flags)
}

/// After an empty match: moves `lastIndex` on by one.
fn step_over(vm: &mut Vm, id: ObjId, text: StrId, by_code_point: bool) -> Res<()> {
    let last = vm.get(Value::Obj(id), name::LAST_INDEX)?;
    let last = vm.to_length(last)?;
    let next = advance(vm, text, last, by_code_point);
    set_last_index(vm, id, next)
}

fn match_fast(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Value> {
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Null);
    };
    if !regex.flags.global {
        return super::regexp::exec(vm, id, text);
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

fn match_any(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Value> {
    let flags = flag_letters(vm, id)?;
    if !flags.contains('g') {
        return exec_any(vm, id, text);
    }
    let by_code_point = flags.contains(['u', 'v']);
    set_last_index(vm, id, 0)?;
    let out = vm.array(Vec::new());
    let mut none = true;
    loop {
        vm.charge(8)?;
        let found = exec_any(vm, id, text)?;
        if let Value::Null = found {
            return Ok(if none { Value::Null } else { out });
        }
        let matched = vm.get(found, Key::index(0))?;
        let matched = vm.to_str(matched)?;
        vm.push(out, Value::Str(matched))?;
        none = false;
        if vm.heap.str_len(matched) == 0 {
            step_over(vm, id, text, by_code_point)?;
        }
    }
}

fn match_all(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = receiver(vm, args)?;
    let text = subject(vm, args)?;
    let constructor = vm.species_of(id, i::REGEXP)?;
    let flags = vm.get(Value::Obj(id), name::FLAGS)?;
    let flags = vm.to_str(flags)?;
    let list = [Value::Obj(id), Value::Str(flags)];
    let matcher = vm.construct(constructor, &list, constructor)?;
    let last = vm.get(Value::Obj(id), name::LAST_INDEX)?;
    let last = vm.to_length(last)?;
    vm.put(matcher, name::LAST_INDEX, Value::Num(last as f64))?;
    let letters = vm.utf8(flags);
    let Some(matcher) = matcher.as_obj() else {
        return Ok(Value::Undefined);
    };
    let iter = MatchIter {
        matcher,
        text,
        global: letters.contains('g'),
        by_code_point: letters.contains(['u', 'v']),
        done: false,
    };
    let kind = Kind::MatchIter(Box::new(iter));
    Ok(Value::Obj(
        vm.heap.alloc(Some(i::REGEXP_ITERATOR_PROTO), kind),
    ))
}

/// The next match of a `matchAll` iterator.
pub(super) fn next_match(vm: &mut Vm, id: ObjId) -> Res<Option<Value>> {
    let Kind::MatchIter(iter) = vm.heap.kind(id) else {
        return Ok(None);
    };
    let (matcher, text, global, by_code_point) =
        (iter.matcher, iter.text, iter.global, iter.by_code_point);
    if iter.done {
        return Ok(None);
    }
    let found = exec_any(vm, matcher, text)?;
    let ended = matches!(found, Value::Null);
    if (ended || !global)
        && let Kind::MatchIter(iter) = vm.heap.kind_mut(id)
    {
        iter.done = true;
    }
    if ended {
        return Ok(None);
    }
    if global {
        let matched = vm.get(found, Key::index(0))?;
        let matched = vm.to_str(matched)?;
        if vm.heap.str_len(matched) == 0 {
            step_over(vm, matcher, text, by_code_point)?;
        }
    }
    Ok(Some(found))
}

fn replace(vm: &mut Vm, id: ObjId, text: StrId, replacement: Value) -> Res<Value> {
    vm.refuse_callback(replacement)?;
    let template = if vm.is_callable(replacement) {
        None
    } else {
        Some(vm.to_str(replacement)?)
    };
    if is_pristine(vm, id) {
        replace_fast(vm, id, text, replacement, template)
    } else {
        replace_any(vm, id, text, replacement, template)
    }
}

fn replace_fast(
    vm: &mut Vm,
    id: ObjId,
    text: StrId,
    replacement: Value,
    template: Option<StrId>,
) -> Res<Value> {
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Str(text));
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
        let gap = vm.heap.units(text).slice(last, start.max(last));
        gap.push_to(&mut out);
        let pins = vm.pin_mark();
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
                let pieces: Vec<Piece> = captures
                    .iter()
                    .map(|c| c.map(|(a, b)| (text, a, b)))
                    .collect();
                let with = Substitution {
                    text,
                    start,
                    width: end - start,
                    captures: &pieces,
                    groups,
                };
                substitute(vm, template, &with, &mut out)?;
            }
        }
        vm.release_pins(pins);
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

/// The results that the program's `exec` gives for a replacement, all of them before the first is used.
fn results_to_replace(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Vec<Value>> {
    let flags = flag_letters(vm, id)?;
    let (global, by_code_point) = (flags.contains('g'), flags.contains(['u', 'v']));
    if global {
        set_last_index(vm, id, 0)?;
    }
    let mut results = Vec::new();
    loop {
        vm.charge(8)?;
        let found = exec_any(vm, id, text)?;
        if let Value::Null = found {
            return Ok(results);
        }
        results.push(found);
        if !global {
            return Ok(results);
        }
        let matched = vm.get(found, Key::index(0))?;
        let matched = vm.to_str(matched)?;
        if vm.heap.str_len(matched) == 0 {
            step_over(vm, id, text, by_code_point)?;
        }
    }
}

fn replace_any(
    vm: &mut Vm,
    id: ObjId,
    text: StrId,
    replacement: Value,
    template: Option<StrId>,
) -> Res<Value> {
    let mut out: Vec<u16> = Vec::new();
    let mut last = 0;
    let len = vm.heap.str_len(text);
    for result in results_to_replace(vm, id, text)? {
        let Some(result) = result.as_obj() else {
            continue;
        };
        let (captures, start, groups) = result_parts(vm, result, len)?;
        let width = match captures[0] {
            Value::Str(matched) => vm.heap.str_len(matched),
            _ => 0,
        };
        let piece = match template {
            None => {
                let mut args = captures;
                args.push(Value::Num(start as f64));
                args.push(Value::Str(text));
                if !groups.is_undefined() {
                    args.push(groups);
                }
                let result = vm.call(replacement, Value::Undefined, &args)?;
                let piece = vm.to_replacement(result)?;
                vm.heap.units(piece).to_vec()
            }
            Some(template) => {
                let groups = match groups {
                    Value::Undefined => groups,
                    groups => Value::Obj(vm.to_object(groups)?),
                };
                let pieces: Vec<Piece> = captures
                    .iter()
                    .map(|value| match *value {
                        Value::Str(piece) => Some((piece, 0, vm.heap.str_len(piece))),
                        _ => None,
                    })
                    .collect();
                let with = Substitution {
                    text,
                    start,
                    width,
                    captures: &pieces,
                    groups,
                };
                let mut piece = Vec::new();
                substitute(vm, template, &with, &mut piece)?;
                piece
            }
        };
        if start >= last {
            vm.heap.units(text).slice(last, start).push_to(&mut out);
            out.extend(piece);
            last = start + width;
        }
        if out.len() > STRING_LIMIT {
            return Err(vm.range_error("Invalid string length"));
        }
    }
    if last < len {
        vm.heap.units(text).slice(last, len).push_to(&mut out);
    }
    vm.new_text(Text::from_units(out))
}

/// The captures, the place and the named groups that a result object tells.
fn result_parts(vm: &mut Vm, result: ObjId, len: usize) -> Res<(Vec<Value>, usize, Value)> {
    let count = vm.length_of(result)?.max(1);
    if count > crate::vm::ARRAY_LIMIT {
        return Err(vm.range_error("Invalid array length"));
    }
    let matched = vm.get(Value::Obj(result), Key::index(0))?;
    let mut captures = vec![Value::Str(vm.to_str(matched)?)];
    let place = vm.get(Value::Obj(result), name::INDEX)?;
    let place = vm.to_integer(place)?.clamp(0.0, len as f64) as usize;
    for at in 1..count {
        let value = vm.get(Value::Obj(result), Key::index(at as u32))?;
        captures.push(match value {
            Value::Undefined => value,
            value => Value::Str(vm.to_str(value)?),
        });
    }
    let groups = vm.get(Value::Obj(result), name::GROUPS)?;
    Ok((captures, place, groups))
}

fn search(vm: &mut Vm, id: ObjId, text: StrId) -> Res<Value> {
    if is_pristine(vm, id)
        && let Some(regex) = regex(vm, id)
    {
        let found = match_at(vm, &regex, text, 0, regex.flags.sticky)?;
        let start = found.and_then(|c| c[0]).map(|(start, _)| start as f64);
        return Ok(Value::Num(start.unwrap_or(-1.0)));
    }
    let before = vm.get(Value::Obj(id), name::LAST_INDEX)?;
    if !vm.same_value(before, Value::Num(0.0)) {
        vm.put(Value::Obj(id), name::LAST_INDEX, Value::Num(0.0))?;
    }
    let found = exec_any(vm, id, text)?;
    let now = vm.get(Value::Obj(id), name::LAST_INDEX)?;
    if !vm.same_value(now, before) {
        vm.put(Value::Obj(id), name::LAST_INDEX, before)?;
    }
    match found {
        Value::Null => Ok(Value::Num(-1.0)),
        found => vm.get(found, name::INDEX),
    }
}

/// `ToUint32` of a limit; none given means no limit.
pub(super) fn to_limit(vm: &mut Vm, limit: Value) -> Res<usize> {
    match limit {
        Value::Undefined => Ok(u32::MAX as usize),
        limit => Ok(crate::number::to_int32(vm.to_number(limit)?) as u32 as usize),
    }
}

fn split(vm: &mut Vm, id: ObjId, text: StrId, limit: Value) -> Res<Value> {
    if is_pristine(vm, id) {
        let limit = to_limit(vm, limit)?;
        return split_fast(vm, id, text, limit);
    }
    let constructor = vm.species_of(id, i::REGEXP)?;
    let flags = vm.get(Value::Obj(id), name::FLAGS)?;
    let flags = vm.to_str(flags)?;
    let letters = vm.utf8(flags);
    let flags = if letters.contains('y') {
        flags
    } else {
        let sticky = vm.text(Text::new("y"));
        vm.concat(flags, sticky)?
    };
    let list = [Value::Obj(id), Value::Str(flags)];
    let splitter = vm.construct(constructor, &list, constructor)?;
    let limit = to_limit(vm, limit)?;
    let out = vm.array(Vec::new());
    let Some(splitter) = splitter.as_obj() else {
        return Ok(out);
    };
    if limit == 0 {
        return Ok(out);
    }
    split_any(vm, splitter, text, limit, letters.contains(['u', 'v']), out)?;
    Ok(out)
}

fn split_any(
    vm: &mut Vm,
    splitter: ObjId,
    text: StrId,
    limit: usize,
    by_code_point: bool,
    out: Value,
) -> Res<()> {
    let len = vm.heap.str_len(text);
    if len == 0 {
        if let Value::Null = exec_any(vm, splitter, text)? {
            vm.push(out, Value::Str(text))?;
        }
        return Ok(());
    }
    let (mut last, mut at, mut count) = (0, 0, 0);
    while at < len {
        vm.charge(8)?;
        set_last_index(vm, splitter, at)?;
        let found = exec_any(vm, splitter, text)?;
        let Value::Obj(found) = found else {
            at = advance(vm, text, at, by_code_point);
            continue;
        };
        let end = vm.get(Value::Obj(splitter), name::LAST_INDEX)?;
        let end = vm.to_length(end)?.min(len);
        if end == last {
            at = advance(vm, text, at, by_code_point);
            continue;
        }
        let piece = part(vm, text, last, at)?;
        vm.push(out, piece)?;
        count += 1;
        if count == limit {
            return Ok(());
        }
        last = end;
        let groups = vm.length_of(found)?.max(1);
        for group in 1..groups {
            let value = vm.get(Value::Obj(found), Key::index(group as u32))?;
            vm.push(out, value)?;
            count += 1;
            if count == limit {
                return Ok(());
            }
        }
        at = last;
    }
    let piece = part(vm, text, last, len)?;
    vm.push(out, piece)
}

fn split_fast(vm: &mut Vm, id: ObjId, text: StrId, limit: usize) -> Res<Value> {
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
            at = advance(vm, text, start, regex.flags.by_code_point());
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
            advance(vm, text, end, regex.flags.by_code_point())
        } else {
            end
        };
    }
    let piece = part(vm, text, last, len)?;
    vm.push(out, piece)?;
    Ok(out)
}

/// Calls the argument's own method of a symbol, when it is an object that has one.
fn delegate(vm: &mut Vm, args: Args, symbol: Key, list: &[Value]) -> Res<Option<Value>> {
    if args.this.is_nullish() {
        return Err(vm.type_error("String.prototype method called on null or undefined."));
    }
    let pattern = args.get(vm, 0);
    let pattern = vm.settle(pattern);
    if !pattern.is_object() {
        return Ok(None);
    }
    match vm.get_method(pattern, symbol)? {
        Some(method) => vm.call(method, pattern, list).map(Some),
        None => Ok(None),
    }
}

/// Makes an expression of the argument and asks it.
fn with_new_regexp(vm: &mut Vm, args: Args, flags: Value, symbol: Key) -> Res<Value> {
    let text = super::string::this(vm, args)?;
    let pattern = args.get(vm, 0);
    let id = create(vm, pattern, flags)?;
    let method = vm.get(Value::Obj(id), symbol)?;
    vm.call(method, Value::Obj(id), &[Value::Str(text)])
}

pub(super) fn string_match(vm: &mut Vm, args: Args) -> Res<Value> {
    if let Some(found) = delegate(vm, args, SYM_MATCH, &[args.this])? {
        return Ok(found);
    }
    with_new_regexp(vm, args, Value::Undefined, SYM_MATCH)
}

pub(super) fn string_search(vm: &mut Vm, args: Args) -> Res<Value> {
    if let Some(found) = delegate(vm, args, SYM_SEARCH, &[args.this])? {
        return Ok(found);
    }
    with_new_regexp(vm, args, Value::Undefined, SYM_SEARCH)
}

/// Refuses an expression that would find one match only.
fn require_global(vm: &mut Vm, pattern: Value, method: &str) -> Res<()> {
    if !is_regexp(vm, pattern)? {
        return Ok(());
    }
    let flags = vm.get(pattern, name::FLAGS)?;
    if flags.is_nullish() {
        return Err(vm.type_error("The flags of a regular expression must be a string."));
    }
    if vm.to_text(flags)?.contains('g') {
        return Ok(());
    }
    Err(vm.type_error(&format!(
        "String.prototype.{method} called with a non-global RegExp argument."
    )))
}

/// All matches as an array, which iterates like the standard's iterator and can be indexed besides; an expression with a
/// method of its own answers itself.
pub(super) fn string_match_all(vm: &mut Vm, args: Args) -> Res<Value> {
    if args.this.is_nullish() {
        return Err(vm.type_error("String.prototype method called on null or undefined."));
    }
    let pattern = args.get(vm, 0);
    require_global(vm, pattern, "matchAll")?;
    let id = match pattern {
        Value::Obj(id) if is_pristine(vm, id) => id,
        _ => {
            if let Some(found) = delegate(vm, args, SYM_MATCH_ALL, &[args.this])? {
                return Ok(found);
            }
            let flags = vm.text(Text::new("g"));
            let text = super::string::this(vm, args)?;
            let id = create(vm, pattern, Value::Str(flags))?;
            if !is_pristine(vm, id) {
                let method = vm.get(Value::Obj(id), SYM_MATCH_ALL)?;
                return vm.call(method, Value::Obj(id), &[Value::Str(text)]);
            }
            id
        }
    };
    let text = super::string::this(vm, args)?;
    let Some(regex) = regex(vm, id) else {
        return Ok(Value::Null);
    };
    let last = vm.get(Value::Obj(id), name::LAST_INDEX)?;
    let out = vm.array(Vec::new());
    for captures in all_matches(vm, id, &regex, text)? {
        let found = match_object(vm, id, text, &captures)?;
        vm.push(out, found)?;
    }
    vm.put(Value::Obj(id), name::LAST_INDEX, last)?;
    Ok(out)
}

/// What an object with a `Symbol.split` answers; none when the separator is plain.
pub(super) fn delegated_split(vm: &mut Vm, args: Args) -> Res<Option<Value>> {
    let limit = args.get(vm, 1);
    delegate(vm, args, SYM_SPLIT, &[args.this, limit])
}

/// What an object with a `Symbol.replace` answers; none when the pattern is plain.
pub(super) fn delegated_replace(vm: &mut Vm, args: Args, all: bool) -> Res<Option<Value>> {
    if args.this.is_nullish() {
        return Err(vm.type_error("String.prototype method called on null or undefined."));
    }
    if all {
        let pattern = args.get(vm, 0);
        require_global(vm, pattern, "replaceAll")?;
    }
    let replacement = args.get(vm, 1);
    delegate(vm, args, SYM_REPLACE, &[args.this, replacement])
}
