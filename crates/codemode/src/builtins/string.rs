//! `String`. Positions count UTF-16 units.

use crate::atoms::SYM_ITERATOR;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i, name};
use crate::text::{Text, Units, push_code_point};
use crate::value::{Key, Res, StrId, Value};
use crate::vm::{Args, STRING_LIMIT, Vm};
use unicode_normalization::UnicodeNormalization;

pub(super) fn install(b: &mut Builder) {
    let proto = i::STRING_PROTO;
    b.constructor(i::STRING, proto, "String", 1, construct);
    b.methods(
        i::STRING,
        &[
            ("fromCharCode", 1, from_char_code),
            ("fromCodePoint", 1, from_code_point),
            ("raw", 1, raw),
        ],
    );
    b.methods(
        proto,
        &[
            ("toLowerCase", 0, |vm, a| {
                mapped(vm, a, |s| s.to_lowercase())
            }),
            ("toUpperCase", 0, |vm, a| {
                mapped(vm, a, |s| s.to_uppercase())
            }),
            ("toLocaleLowerCase", 0, |vm, a| {
                mapped(vm, a, |s| s.to_lowercase())
            }),
            ("toLocaleUpperCase", 0, |vm, a| {
                mapped(vm, a, |s| s.to_uppercase())
            }),
            ("normalize", 0, normalize),
            ("trim", 0, |vm, a| trim(vm, a, true, true)),
            ("includes", 1, |vm, a| {
                let (id, needle) = plain_needle(vm, a)?;
                let from = a.get(vm, 1);
                let from = position(vm, from, id)?;
                Ok(Value::Bool(
                    vm.heap.flat(id).find(vm.heap.flat(needle), from).is_some(),
                ))
            }),
            ("startsWith", 1, |vm, a| {
                let (id, needle) = plain_needle(vm, a)?;
                let from = a.get(vm, 1);
                let from = position(vm, from, id)?;
                let (text, needle) = (vm.heap.flat(id), vm.heap.flat(needle));
                let end = from + needle.len();
                Ok(Value::Bool(
                    end <= text.len() && text.slice(from, end).same(needle),
                ))
            }),
            ("endsWith", 1, |vm, a| {
                let (id, needle) = plain_needle(vm, a)?;
                let end = a.get(vm, 1);
                let end = if end.is_undefined() {
                    vm.heap.str_len(id)
                } else {
                    position(vm, end, id)?
                };
                let (text, needle) = (vm.heap.flat(id), vm.heap.flat(needle));
                Ok(Value::Bool(
                    needle.len() <= end && text.slice(end - needle.len(), end).same(needle),
                ))
            }),
            ("indexOf", 1, |vm, a| {
                let (id, needle) = needle(vm, a)?;
                let from = a.get(vm, 1);
                let from = position(vm, from, id)?;
                vm.charge(vm.heap.str_len(id) / 32)?;
                let found = vm.heap.flat(id).find(vm.heap.flat(needle), from);
                Ok(Value::Num(found.map_or(-1.0, |at| at as f64)))
            }),
            ("lastIndexOf", 1, |vm, a| {
                let (id, needle) = needle(vm, a)?;
                let from = a.get(vm, 1);
                let n = vm.to_number(from)?;
                let len = vm.heap.str_len(id);
                let from = if n.is_nan() {
                    len
                } else {
                    n.clamp(0.0, len as f64) as usize
                };
                let found = vm.heap.flat(id).rfind(vm.heap.flat(needle), from);
                Ok(Value::Num(found.map_or(-1.0, |at| at as f64)))
            }),
            ("slice", 2, |vm, a| {
                let id = this(vm, a)?;
                let len = vm.heap.str_len(id);
                let (start, end) = (a.get(vm, 0), a.get(vm, 1));
                let start = vm.relative_index(start, len, 0)?;
                let end = vm.relative_index(end, len, len)?;
                part(vm, id, start, end.max(start))
            }),
            ("substring", 2, |vm, a| {
                let id = this(vm, a)?;
                let len = vm.heap.str_len(id);
                let (start, end) = (a.get(vm, 0), a.get(vm, 1));
                let start = position(vm, start, id)?;
                let end = if end.is_undefined() {
                    len
                } else {
                    position(vm, end, id)?
                };
                part(vm, id, start.min(end), start.max(end))
            }),
            ("substr", 2, |vm, a| {
                let id = this(vm, a)?;
                let len = vm.heap.str_len(id);
                let (start, count) = (a.get(vm, 0), a.get(vm, 1));
                let start = vm.relative_index(start, len, 0)?;
                let count = if count.is_undefined() {
                    len as f64
                } else {
                    vm.to_integer(count)?
                };
                let end = (start as f64 + count.max(0.0)).min(len as f64) as usize;
                part(vm, id, start, end.max(start))
            }),
            ("at", 1, |vm, a| {
                let id = this(vm, a)?;
                let n = a.get(vm, 0);
                let n = vm.to_integer(n)?;
                let len = vm.heap.str_len(id) as f64;
                let at = if n < 0.0 { len + n } else { n };
                if at < 0.0 || at >= len {
                    return Ok(Value::Undefined);
                }
                part(vm, id, at as usize, at as usize + 1)
            }),
            ("charAt", 1, |vm, a| {
                let (id, at) = unit_position(vm, a)?;
                match at {
                    Some(at) => part(vm, id, at, at + 1),
                    None => Ok(Value::Str(vm.key_str(name::EMPTY))),
                }
            }),
            ("charCodeAt", 1, |vm, a| {
                let (id, at) = unit_position(vm, a)?;
                Ok(Value::Num(
                    at.map_or(f64::NAN, |at| f64::from(vm.heap.flat(id).at(at))),
                ))
            }),
            ("codePointAt", 1, |vm, a| {
                let (id, at) = unit_position(vm, a)?;
                Ok(at.map_or(Value::Undefined, |at| {
                    Value::Num(f64::from(vm.heap.flat(id).code_point(at).0))
                }))
            }),
            ("split", 2, split),
            ("concat", 1, |vm, a| {
                let mut out = this(vm, a)?;
                for piece in a.all(vm) {
                    let piece = vm.to_str(piece)?;
                    out = vm.concat(out, piece)?;
                }
                Ok(Value::Str(out))
            }),
            ("repeat", 1, repeat),
            ("padStart", 1, |vm, a| pad(vm, a, true)),
            ("padEnd", 1, |vm, a| pad(vm, a, false)),
            ("replace", 2, |vm, a| replace(vm, a, false)),
            ("replaceAll", 2, |vm, a| replace(vm, a, true)),
            ("match", 1, super::regexp_methods::string_match),
            ("matchAll", 1, super::regexp_methods::string_match_all),
            ("search", 1, super::regexp_methods::string_search),
            ("localeCompare", 1, locale_compare),
            ("isWellFormed", 0, |vm, a| {
                let id = this(vm, a)?;
                let text = vm.heap.flat(id);
                Ok(Value::Bool(lone_surrogates(text).next().is_none()))
            }),
            ("toWellFormed", 0, |vm, a| {
                let id = this(vm, a)?;
                let mut units = vm.heap.flat(id).to_vec();
                let lone: Vec<usize> = lone_surrogates(vm.heap.flat(id)).collect();
                lone.into_iter().for_each(|at| units[at] = 0xFFFD);
                vm.new_text(Text::from_units(units))
            }),
            ("toString", 0, |vm, a| this_string(vm, a)),
            ("valueOf", 0, |vm, a| this_string(vm, a)),
        ],
    );
    for (names, start, end) in [
        (["trimStart", "trimLeft"], true, false),
        (["trimEnd", "trimRight"], false, true),
    ] {
        let func: crate::realm::NativeFn = if start && !end {
            |vm, a| trim(vm, a, true, false)
        } else {
            |vm, a| trim(vm, a, false, true)
        };
        let number = b.method(proto, names[0], 0, func);
        let alias = b.key(names[1]);
        b.alias(proto, alias, number);
    }
    b.symbol_method(proto, SYM_ITERATOR, "[Symbol.iterator]", 0, |vm, a| {
        let id = this(vm, a)?;
        Ok(Value::Obj(vm.heap.alloc(
            Some(i::STRING_ITERATOR_PROTO),
            Kind::StringIter(id, 0),
        )))
    });
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    let text = match value {
        _ if args.len() == 0 => vm.key_str(name::EMPTY),
        Value::Sym(key) if !args.is_construct() => {
            let text = vm.key_text(key);
            vm.text(Text::new(&text))
        }
        value => vm.to_str(value)?,
    };
    if !args.is_construct() {
        return Ok(Value::Str(text));
    }
    let proto = vm.proto_of_new(args.new_target, i::STRING_PROTO)?;
    Ok(Value::Obj(
        vm.heap.alloc(Some(proto), Kind::Boxed(Value::Str(text))),
    ))
}

/// The string a method was called on, flat.
pub(super) fn this(vm: &mut Vm, args: Args) -> Res<StrId> {
    if args.this.is_nullish() {
        return Err(vm.type_error("String.prototype method called on null or undefined."));
    }
    let id = vm.to_str(args.this)?;
    vm.heap.flatten(id);
    Ok(id)
}

fn this_string(vm: &mut Vm, args: Args) -> Res<Value> {
    match args.this {
        Value::Str(_) => Ok(args.this),
        Value::Obj(id) if let Kind::Boxed(inner @ Value::Str(_)) = vm.heap.kind(id) => Ok(*inner),
        Value::Obj(i::STRING_PROTO) => Ok(Value::Str(vm.key_str(name::EMPTY))),
        _ => Err(vm.type_error("String.prototype.valueOf requires that 'this' be a String.")),
    }
}

fn needle(vm: &mut Vm, args: Args) -> Res<(StrId, StrId)> {
    let id = this(vm, args)?;
    let needle = args.get(vm, 0);
    let needle = vm.to_str(needle)?;
    vm.heap.flatten(needle);
    Ok((id, needle))
}

/// As `needle`, refusing regular expressions.
fn plain_needle(vm: &mut Vm, args: Args) -> Res<(StrId, StrId)> {
    let id = this(vm, args)?;
    let needle = args.get(vm, 0);
    if super::regexp::is_regexp(vm, needle)? {
        return Err(vm.type_error("First argument must not be a regular expression."));
    }
    let needle = vm.to_str(needle)?;
    vm.heap.flatten(needle);
    Ok((id, needle))
}

fn position(vm: &mut Vm, value: Value, id: StrId) -> Res<usize> {
    let n = vm.to_integer(value)?;
    Ok(n.clamp(0.0, vm.heap.str_len(id) as f64) as usize)
}

fn unit_position(vm: &mut Vm, args: Args) -> Res<(StrId, Option<usize>)> {
    let id = this(vm, args)?;
    let n = args.get(vm, 0);
    let n = vm.to_integer(n)?;
    let inside = n >= 0.0 && n < vm.heap.str_len(id) as f64;
    Ok((id, inside.then_some(n as usize)))
}

/// Units `start..end` as a string.
pub(super) fn part(vm: &mut Vm, id: StrId, start: usize, end: usize) -> Res<Value> {
    vm.heap.flatten(id);
    let len = vm.heap.str_len(id);
    if start == 0 && end == len {
        return Ok(Value::Str(id));
    }
    if start >= end {
        return Ok(Value::Str(vm.key_str(name::EMPTY)));
    }
    if end - start == 1 {
        let unit = vm.heap.flat(id).at(start);
        return Ok(Value::Str(vm.char_str(unit)));
    }
    let text = vm.heap.flat(id).slice(start, end).to_text();
    vm.new_text(text)
}

fn from_char_code(vm: &mut Vm, args: Args) -> Res<Value> {
    let mut units = Vec::with_capacity(args.len());
    for value in args.all(vm) {
        units.push(crate::number::to_int32(vm.to_number(value)?) as u16);
    }
    vm.new_text(Text::from_units(units))
}

fn from_code_point(vm: &mut Vm, args: Args) -> Res<Value> {
    let mut units = Vec::with_capacity(args.len());
    for value in args.all(vm) {
        let n = vm.to_number(value)?;
        if !(0.0..=1_114_111.0).contains(&n) || n.trunc() != n {
            return Err(vm.range_error(&format!(
                "Invalid code point {}",
                crate::number::to_string(n)
            )));
        }
        push_code_point(&mut units, n as u32);
    }
    vm.new_text(Text::from_units(units))
}

fn raw(vm: &mut Vm, args: Args) -> Res<Value> {
    let strings = args.get(vm, 0);
    let raw = vm.get(strings, name::RAW)?;
    let id = vm.to_object(raw)?;
    let len = vm.length_of(id)?.min(STRING_LIMIT);
    let mut out = vm.key_str(name::EMPTY);
    for at in 0..len {
        let piece = vm.get(Value::Obj(id), Key::index(at as u32))?;
        let piece = vm.to_str(piece)?;
        out = vm.concat(out, piece)?;
        if at + 1 < len && at + 1 < args.len() {
            let value = args.get(vm, at + 1);
            let value = vm.to_str(value)?;
            out = vm.concat(out, value)?;
        }
    }
    Ok(Value::Str(out))
}

fn mapped(vm: &mut Vm, args: Args, map: fn(&str) -> String) -> Res<Value> {
    let id = this(vm, args)?;
    vm.charge(vm.heap.str_len(id) / 16)?;
    let units = vm.heap.flat(id);
    if lone_surrogates(units).next().is_none() {
        let mapped = map(&units.to_utf8());
        return vm.new_text(Text::new(&mapped));
    }
    let mut out = Vec::new();
    for piece in char::decode_utf16(units.iter()) {
        match piece {
            Ok(c) => out.extend(map(c.encode_utf8(&mut [0; 4])).encode_utf16()),
            Err(lone) => out.push(lone.unpaired_surrogate()),
        }
    }
    vm.new_text(Text::from_units(out))
}

fn lone_surrogates(units: Units<'_>) -> impl Iterator<Item = usize> + '_ {
    let wide = matches!(units, Units::Wide(_));
    let len = if wide { units.len() } else { 0 };
    (0..len).filter(move |&at| match units.at(at) {
        0xD800..=0xDBFF => !matches!(units.get(at + 1), Some(0xDC00..=0xDFFF)),
        0xDC00..=0xDFFF => at == 0 || !matches!(units.at(at - 1), 0xD800..=0xDBFF),
        _ => false,
    })
}

fn normalize(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = this(vm, args)?;
    let form = args.get(vm, 0);
    let form = if form.is_undefined() {
        "NFC".to_owned()
    } else {
        vm.to_text(form)?
    };
    let text = vm.utf8(id);
    vm.charge(text.len() / 4)?;
    let out: String = match form.as_str() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => {
            return Err(
                vm.range_error("The normalization form should be one of NFC, NFD, NFKC, NFKD.")
            );
        }
    };
    vm.new_text(Text::new(&out))
}

fn trim(vm: &mut Vm, args: Args, start: bool, end: bool) -> Res<Value> {
    let id = this(vm, args)?;
    let units = vm.heap.flat(id);
    let trimmed = units.trim(start, end);
    if trimmed.len() == units.len() {
        return Ok(Value::Str(id));
    }
    let text = trimmed.to_text();
    vm.new_text(text)
}

fn repeat(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = this(vm, args)?;
    let n = args.get(vm, 0);
    let n = vm.to_integer(n)?;
    if n < 0.0 || n.is_infinite() {
        return Err(vm.range_error(&format!(
            "Invalid count value: {}",
            crate::number::to_string(n)
        )));
    }
    repeated(vm, id, n)
}

fn repeated(vm: &mut Vm, id: StrId, n: f64) -> Res<Value> {
    let len = vm.heap.str_len(id);
    if len as f64 * n > STRING_LIMIT as f64 {
        return Err(vm.range_error("Invalid string length"));
    }
    let total = len * n as usize;
    vm.charge(total / 64)?;
    vm.reserve(total * 2)?;
    let text = match vm.heap.units(id) {
        Units::Narrow(bytes) => Text::Narrow(bytes.repeat(n as usize).into()),
        Units::Wide(units) => Text::from_units(units.repeat(n as usize)),
    };
    vm.new_text(text)
}

fn pad(vm: &mut Vm, args: Args, at_start: bool) -> Res<Value> {
    let id = this(vm, args)?;
    let (target, filler) = (args.get(vm, 0), args.get(vm, 1));
    let target = vm.to_length(target)?;
    let len = vm.heap.str_len(id);
    let filler = if filler.is_undefined() {
        vm.char_str(32)
    } else {
        vm.to_str(filler)?
    };
    let unit = vm.heap.str_len(filler);
    if target <= len || unit == 0 {
        return Ok(Value::Str(id));
    }
    if target > STRING_LIMIT {
        return Err(vm.range_error("Invalid string length"));
    }
    let fill = target - len;
    let Value::Str(padding) = repeated(vm, filler, fill.div_ceil(unit) as f64)? else {
        return Ok(Value::Str(id));
    };
    let Value::Str(padding) = part(vm, padding, 0, fill)? else {
        return Ok(Value::Str(id));
    };
    let out = if at_start {
        vm.concat(padding, id)?
    } else {
        vm.concat(id, padding)?
    };
    Ok(Value::Str(out))
}

fn split(vm: &mut Vm, args: Args) -> Res<Value> {
    if let Some(parts) = super::regexp_methods::delegated_split(vm, args)? {
        return Ok(parts);
    }
    let id = this(vm, args)?;
    let (separator, limit) = (args.get(vm, 0), args.get(vm, 1));
    let limit = super::regexp_methods::to_limit(vm, limit)?;
    let out = vm.array(Vec::new());
    let plain = match separator {
        Value::Undefined => None,
        separator => Some(vm.to_str(separator)?),
    };
    if limit == 0 {
        return Ok(out);
    }
    let Some(separator) = plain else {
        vm.push(out, Value::Str(id))?;
        return Ok(out);
    };
    vm.heap.flatten(separator);
    let len = vm.heap.str_len(id);
    let width = vm.heap.str_len(separator);
    if width == 0 {
        for at in 0..len.min(limit) {
            let unit = vm.heap.flat(id).at(at);
            let value = Value::Str(vm.char_str(unit));
            vm.push(out, value)?;
        }
        return Ok(out);
    }
    let mut start = 0;
    let mut count = 0;
    while count < limit {
        let found = vm.heap.flat(id).find(vm.heap.flat(separator), start);
        let end = found.unwrap_or(len);
        let piece = part(vm, id, start, end)?;
        vm.push(out, piece)?;
        count += 1;
        vm.charge((end - start) / 32)?;
        if found.is_none() {
            break;
        }
        start = end + width;
    }
    Ok(out)
}

fn replace(vm: &mut Vm, args: Args, all: bool) -> Res<Value> {
    let (pattern, replacement) = (args.get(vm, 0), args.get(vm, 1));
    vm.refuse_callback(replacement)?;
    if let Some(replaced) = super::regexp_methods::delegated_replace(vm, args, all)? {
        return Ok(replaced);
    }
    let id = this(vm, args)?;
    let pattern = vm.to_str(pattern)?;
    vm.heap.flatten(pattern);
    let function = vm.is_callable(replacement);
    let template = if function {
        None
    } else {
        Some(vm.to_str(replacement)?)
    };
    let width = vm.heap.str_len(pattern);
    let len = vm.heap.str_len(id);
    let mut out: Vec<u16> = Vec::new();
    let mut last = 0;
    let mut from = 0;
    while let Some(at) = vm.heap.flat(id).find(vm.heap.flat(pattern), from) {
        vm.heap.flat(id).slice(last, at).push_to(&mut out);
        match template {
            None => {
                let result = vm.call(
                    replacement,
                    Value::Undefined,
                    &[Value::Str(pattern), Value::Num(at as f64), Value::Str(id)],
                )?;
                let text = vm.to_replacement(result)?;
                vm.heap.units(text).push_to(&mut out);
                vm.heap.flatten(id);
            }
            Some(template) => {
                super::substitution::expand_plain(vm, template, id, (at, at + width), &mut out)?;
            }
        }
        if out.len() > STRING_LIMIT {
            return Err(vm.range_error("Invalid string length"));
        }
        vm.charge(1 + (at - last) / 32)?;
        last = at + width;
        from = last.max(at + 1);
        if !all || from > len {
            break;
        }
    }
    if last == 0 && out.is_empty() && from == 0 {
        return Ok(Value::Str(id));
    }
    vm.heap.flat(id).slice(last, len).push_to(&mut out);
    vm.new_text(Text::from_units(out))
}

/// Order without a locale: by base letters first, then case and accents, then code units.
fn locale_compare(vm: &mut Vm, args: Args) -> Res<Value> {
    let (a, b) = needle(vm, args)?;
    let (x, y) = (vm.utf8(a), vm.utf8(b));
    vm.charge((x.len() + y.len()) / 8)?;
    let base = |s: &str| -> Vec<(u8, String)> {
        s.nfd()
            .filter(|c| !unicode_normalization::char::is_combining_mark(*c))
            .map(|c| (class_of(c), c.to_lowercase().collect::<String>()))
            .collect()
    };
    let accents = |s: &str| -> Vec<char> { s.nfd().flat_map(char::to_lowercase).collect() };
    // Lower case comes before upper case.
    let cases = |s: &str| -> Vec<bool> { s.chars().map(char::is_uppercase).collect() };
    let order = base(&x)
        .cmp(&base(&y))
        .then_with(|| accents(&x).cmp(&accents(&y)))
        .then_with(|| cases(&x).cmp(&cases(&y)));
    Ok(Value::Num(f64::from(order as i8)))
}

/// White space, punctuation, digits, letters: the order of the root collation.
fn class_of(c: char) -> u8 {
    match c {
        c if c.is_whitespace() => 0,
        '_' => 1,
        '-' => 2,
        c if c.is_numeric() => 8,
        c if c.is_alphabetic() => 9,
        _ => 3,
    }
}
