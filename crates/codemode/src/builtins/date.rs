//! `Date`. The local time zone is UTC, so that a program gives the same answer everywhere; dates print in ISO form.

use crate::atoms::SYM_TO_PRIMITIVE;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::shape::Attrs;
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Hint, Vm};

const DAY: f64 = 86_400_000.0;
const LIMIT: f64 = 8.64e15;
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

pub(super) fn install(b: &mut Builder) {
    let proto = i::DATE_PROTO;
    b.constructor(i::DATE, proto, "Date", 7, construct);
    b.methods(
        i::DATE,
        &[
            ("now", 0, |vm, _| Ok(Value::Num(vm.host.now_ms()))),
            ("parse", 1, |vm, a| {
                let text = a.get(vm, 0);
                let text = vm.to_text(text)?;
                Ok(Value::Num(parse(&text)))
            }),
            ("UTC", 7, |vm, a| {
                let parts = components(vm, a)?;
                Ok(Value::Num(clip(from_components(&parts))))
            }),
        ],
    );
    macro_rules! getters {
        ($($name:literal $utc:literal => $f:expr),* $(,)?) => {
            $(
                b.method(proto, $name, 0, |vm: &mut Vm, a: Args| read(vm, a, $f));
                b.method(proto, $utc, 0, |vm: &mut Vm, a: Args| read(vm, a, $f));
            )*
        };
    }
    getters! {
        "getFullYear" "getUTCFullYear" => |p| p[0],
        "getMonth" "getUTCMonth" => |p| p[1],
        "getDate" "getUTCDate" => |p| p[2],
        "getHours" "getUTCHours" => |p| p[3],
        "getMinutes" "getUTCMinutes" => |p| p[4],
        "getSeconds" "getUTCSeconds" => |p| p[5],
        "getMilliseconds" "getUTCMilliseconds" => |p| p[6],
        "getDay" "getUTCDay" => |p| p[7],
    }
    macro_rules! setters {
        ($($name:literal $utc:literal => $first:literal $count:literal),* $(,)?) => {
            $(
                b.method(proto, $name, $count, |vm: &mut Vm, a: Args| write(vm, a, $first, $count));
                b.method(proto, $utc, $count, |vm: &mut Vm, a: Args| write(vm, a, $first, $count));
            )*
        };
    }
    setters! {
        "setFullYear" "setUTCFullYear" => 0 3,
        "setMonth" "setUTCMonth" => 1 2,
        "setDate" "setUTCDate" => 2 1,
        "setHours" "setUTCHours" => 3 4,
        "setMinutes" "setUTCMinutes" => 4 3,
        "setSeconds" "setUTCSeconds" => 5 2,
        "setMilliseconds" "setUTCMilliseconds" => 6 1,
    }
    b.methods(
        proto,
        &[
            ("getTime", 0, |vm, a| {
                this(vm, a).map(|(_, t)| Value::Num(t))
            }),
            ("valueOf", 0, |vm, a| {
                this(vm, a).map(|(_, t)| Value::Num(t))
            }),
            ("getYear", 0, |vm, a| read(vm, a, |p| p[0] - 1900.0)),
            ("getTimezoneOffset", 0, |vm, a| {
                let (_, t) = this(vm, a)?;
                Ok(Value::Num(if t.is_nan() { t } else { 0.0 }))
            }),
            ("setTime", 1, |vm, a| {
                let (id, _) = this(vm, a)?;
                let t = a.get(vm, 0);
                let t = clip(vm.to_number(t)?);
                *vm.heap.kind_mut(id) = Kind::Date(t);
                Ok(Value::Num(t))
            }),
            ("toISOString", 0, |vm, a| {
                let (_, t) = this(vm, a)?;
                match iso(t) {
                    Some(text) => Ok(vm.str(&text)),
                    None => Err(vm.range_error("Invalid time value")),
                }
            }),
            ("toJSON", 1, |vm, a| {
                let value = vm.to_primitive(a.this, Hint::Number)?;
                if matches!(value, Value::Num(n) if !n.is_finite()) {
                    return Ok(Value::Null);
                }
                let key = vm.intern("toISOString");
                let method = vm.get(a.this, key)?;
                vm.call(method, a.this, &[])
            }),
            ("toString", 0, |vm, a| {
                print(vm, a, |t| iso(t).unwrap_or_default())
            }),
            ("toDateString", 0, |vm, a| {
                print(vm, a, |t| {
                    let p = split(t);
                    format!(
                        "{} {} {:02} {}",
                        DAYS[p[7] as usize],
                        MONTHS[p[1] as usize],
                        p[2],
                        year(p[0])
                    )
                })
            }),
            ("toTimeString", 0, |vm, a| {
                print(vm, a, |t| {
                    let p = split(t);
                    format!(
                        "{:02}:{:02}:{:02} GMT+0000 (Coordinated Universal Time)",
                        p[3], p[4], p[5]
                    )
                })
            }),
            ("toLocaleDateString", 0, |vm, a| {
                print(vm, a, |t| {
                    let p = split(t);
                    format!("{}/{}/{}", p[1] + 1.0, p[2], p[0])
                })
            }),
            ("toLocaleTimeString", 0, |vm, a| print(vm, a, locale_time)),
            ("toLocaleString", 0, |vm, a| {
                print(vm, a, |t| {
                    let p = split(t);
                    format!("{}/{}/{}, {}", p[1] + 1.0, p[2], p[0], locale_time(t))
                })
            }),
        ],
    );
    let utc = b.method(proto, "toUTCString", 0, |vm, a| {
        print(vm, a, |t| {
            let p = split(t);
            format!(
                "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                DAYS[p[7] as usize],
                p[2],
                MONTHS[p[1] as usize],
                year(p[0]),
                p[3],
                p[4],
                p[5]
            )
        })
    });
    let gmt = b.key("toGMTString");
    b.alias(proto, gmt, utc);
    let primitive = b.native("[Symbol.toPrimitive]", 1, |vm, a| {
        if !a.this.is_object() {
            return Err(vm.type_error("this is not an object."));
        }
        let hint = match a.get(vm, 0) {
            Value::Str(id) => vm.utf8(id),
            _ => String::new(),
        };
        match hint.as_str() {
            "number" => vm.ordinary_to_primitive(a.this, Hint::Number),
            "string" | "default" => vm.ordinary_to_primitive(a.this, Hint::String),
            _ => Err(vm.type_error("Invalid hint.")),
        }
    });
    b.define(
        proto,
        SYM_TO_PRIMITIVE,
        Value::Lazy(primitive),
        Attrs(Attrs::CONFIGURABLE),
    );
}

fn year(y: f64) -> String {
    if y < 0.0 {
        format!("-{:06}", -y)
    } else {
        format!("{y:04}")
    }
}

fn locale_time(t: f64) -> String {
    let p = split(t);
    let hour = if p[3] % 12.0 == 0.0 {
        12.0
    } else {
        p[3] % 12.0
    };
    format!(
        "{hour}:{:02}:{:02} {}",
        p[4],
        p[5],
        if p[3] < 12.0 { "AM" } else { "PM" }
    )
}

fn this(vm: &mut Vm, args: Args) -> Res<(ObjId, f64)> {
    match args.this.as_obj().map(|id| (id, vm.heap.kind(id))) {
        Some((id, Kind::Date(t))) => Ok((id, *t)),
        _ => Err(vm.type_error("this is not a Date object.")),
    }
}

fn print(vm: &mut Vm, args: Args, f: fn(f64) -> String) -> Res<Value> {
    let (_, t) = this(vm, args)?;
    Ok(if t.is_nan() {
        vm.str("Invalid Date")
    } else {
        vm.str(&f(t))
    })
}

fn read(vm: &mut Vm, args: Args, f: fn(&[f64; 8]) -> f64) -> Res<Value> {
    let (_, t) = this(vm, args)?;
    Ok(Value::Num(if t.is_nan() { t } else { f(&split(t)) }))
}

/// Sets `count` components from `first` on, as far as arguments are given.
fn write(vm: &mut Vm, args: Args, first: usize, count: usize) -> Res<Value> {
    let (id, t) = this(vm, args)?;
    let mut given = Vec::new();
    for at in 0..args.len().min(count).max(1) {
        let value = args.get(vm, at);
        given.push(vm.to_number(value)?);
    }
    let base = if t.is_nan() && first == 0 { 0.0 } else { t };
    let new = if base.is_nan() {
        f64::NAN
    } else {
        let mut parts = split(base);
        parts[first..first + given.len()].copy_from_slice(&given);
        clip(from_components(&parts))
    };
    *vm.heap.kind_mut(id) = Kind::Date(new);
    Ok(Value::Num(new))
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        let now = vm.host.now_ms();
        let text = iso(now).unwrap_or_default();
        return Ok(vm.str(&text));
    }
    let time = match args.len() {
        0 => vm.host.now_ms(),
        1 => {
            let value = args.get(vm, 0);
            if let Some(id) = value.as_obj()
                && let Kind::Date(t) = vm.heap.kind(id)
            {
                *t
            } else {
                match vm.to_primitive(value, Hint::Default)? {
                    Value::Str(id) => {
                        let text = vm.utf8(id);
                        parse(&text)
                    }
                    other => clip(vm.to_number(other)?),
                }
            }
        }
        _ => clip(from_components(&components(vm, args)?)),
    };
    let proto = vm.proto_of_new(args.new_target, i::DATE_PROTO)?;
    Ok(Value::Obj(vm.heap.alloc(Some(proto), Kind::Date(time))))
}

fn components(vm: &mut Vm, args: Args) -> Res<[f64; 8]> {
    let mut parts = [f64::NAN, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for (at, part) in parts.iter_mut().enumerate().take(args.len().min(7)) {
        let value = args.get(vm, at);
        *part = vm.to_number(value)?;
    }
    let y = parts[0].trunc();
    if (0.0..=99.0).contains(&y) {
        parts[0] = 1900.0 + y;
    }
    Ok(parts)
}

/// Days since 1970 of a civil date (Howard Hinnant's algorithm).
fn days_from_civil(year: f64, month: f64) -> f64 {
    let y = if month < 2.0 { year - 1.0 } else { year };
    let era = (y / 400.0).floor();
    let of_era = y - era * 400.0;
    let shifted = (month + 10.0) % 12.0;
    let of_year = ((153.0 * shifted + 2.0) / 5.0).floor();
    let day_of_era = of_era * 365.0 + (of_era / 4.0).floor() - (of_era / 100.0).floor() + of_year;
    era * 146_097.0 + day_of_era - 719_468.0
}

fn from_components(p: &[f64; 8]) -> f64 {
    if p[..7].iter().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    let t: Vec<f64> = p.iter().map(|x| x.trunc()).collect();
    let year = t[0] + (t[1] / 12.0).floor();
    if year.abs() > 400_000.0 {
        return f64::NAN;
    }
    let month = t[1].rem_euclid(12.0);
    let day = days_from_civil(year, month) + t[2] - 1.0;
    day * DAY + t[3] * 3_600_000.0 + t[4] * 60_000.0 + t[5] * 1000.0 + t[6]
}

fn clip(t: f64) -> f64 {
    if t.is_finite() && t.abs() <= LIMIT {
        t.trunc() + 0.0
    } else {
        f64::NAN
    }
}

/// Year, month, day, hours, minutes, seconds, milliseconds, weekday.
fn split(t: f64) -> [f64; 8] {
    let days = (t / DAY).floor();
    let ms = t - days * DAY;
    let z = days + 719_468.0;
    let era = (z / 146_097.0).floor();
    let doe = z - era * 146_097.0;
    let yoe = ((doe - (doe / 1460.0).floor() + (doe / 36_524.0).floor()
        - (doe / 146_096.0).floor())
        / 365.0)
        .floor();
    let doy = doe - (365.0 * yoe + (yoe / 4.0).floor() - (yoe / 100.0).floor());
    let mp = ((5.0 * doy + 2.0) / 153.0).floor();
    let day = doy - ((153.0 * mp + 2.0) / 5.0).floor() + 1.0;
    let month = if mp < 10.0 { mp + 2.0 } else { mp - 10.0 };
    let year = yoe + era * 400.0 + f64::from(u8::from(month < 2.0));
    [
        year,
        month,
        day,
        (ms / 3_600_000.0).floor(),
        (ms / 60_000.0).floor() % 60.0,
        (ms / 1000.0).floor() % 60.0,
        ms % 1000.0,
        (days + 4.0).rem_euclid(7.0),
    ]
}

/// `YYYY-MM-DDTHH:mm:ss.sssZ`; nothing for an invalid time.
pub(super) fn iso(t: f64) -> Option<String> {
    if t.is_nan() {
        return None;
    }
    let p = split(t);
    let year = if (0.0..=9999.0).contains(&p[0]) {
        format!("{:04}", p[0])
    } else {
        format!("{}{:06}", if p[0] < 0.0 { '-' } else { '+' }, p[0].abs())
    };
    Some(format!(
        "{year}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        p[1] + 1.0,
        p[2],
        p[3],
        p[4],
        p[5],
        p[6]
    ))
}

/// ISO forms, and the forms that `Date` methods and HTTP print.
fn parse(text: &str) -> f64 {
    let text = text.trim();
    parse_iso(text)
        .or_else(|| parse_words(text))
        .map_or(f64::NAN, clip)
}

fn take(rest: &mut &str, count: usize) -> Option<f64> {
    let digits = rest
        .get(..count)
        .filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    *rest = &rest[count..];
    digits.parse().ok()
}

fn eat(rest: &mut &str, c: char) -> bool {
    match rest.strip_prefix(c) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

fn parse_iso(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut p = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    p[0] = if eat(&mut rest, '+') {
        take(&mut rest, 6)?
    } else if eat(&mut rest, '-') {
        let year = take(&mut rest, 6)?;
        if year == 0.0 {
            return None;
        }
        -year
    } else {
        take(&mut rest, 4)?
    };
    if eat(&mut rest, '-') {
        p[1] = take(&mut rest, 2)? - 1.0;
        if eat(&mut rest, '-') {
            p[2] = take(&mut rest, 2)?;
        }
    }
    let mut offset = 0.0;
    if eat(&mut rest, 'T') || eat(&mut rest, 't') || eat(&mut rest, ' ') {
        p[3] = take(&mut rest, 2)?;
        if !eat(&mut rest, ':') {
            return None;
        }
        p[4] = take(&mut rest, 2)?;
        if eat(&mut rest, ':') {
            p[5] = take(&mut rest, 2)?;
            if eat(&mut rest, '.') || eat(&mut rest, ',') {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let fraction: f64 = format!("0.{}", rest.get(..digits)?).parse().ok()?;
                p[6] = (fraction * 1000.0).trunc();
                rest = &rest[digits..];
            }
        }
        if eat(&mut rest, 'Z') || eat(&mut rest, 'z') {
        } else if let Some(sign) = rest.chars().next().filter(|c| matches!(c, '+' | '-')) {
            rest = &rest[1..];
            let hours = take(&mut rest, 2)?;
            eat(&mut rest, ':');
            let minutes = take(&mut rest, 2)?;
            offset = (hours * 60.0 + minutes) * if sign == '+' { 60_000.0 } else { -60_000.0 };
        }
    }
    let midnight = p[3] == 24.0 && p[4] == 0.0 && p[5] == 0.0 && p[6] == 0.0;
    let fine = (0.0..12.0).contains(&p[1])
        && (1.0..=31.0).contains(&p[2])
        && (p[3] < 24.0 || midnight)
        && p[4] < 60.0
        && p[5] < 60.0;
    (rest.is_empty() && fine).then(|| from_components(&p) - offset)
}

fn parse_words(text: &str) -> Option<f64> {
    let mut p = [f64::NAN, f64::NAN, f64::NAN, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut offset = 0.0;
    let mut numbers = Vec::new();
    let plain = match text.find('(') {
        Some(at) => &text[..at],
        None => text,
    };
    for word in plain
        .split(|c: char| c.is_whitespace() || c == ',' || c == '/')
        .filter(|w| !w.is_empty())
    {
        let lower = word.to_ascii_lowercase();
        if let Some(month) = MONTHS
            .iter()
            .position(|m| lower.starts_with(&m.to_ascii_lowercase()))
        {
            p[1] = month as f64;
        } else if DAYS
            .iter()
            .any(|d| lower.starts_with(&d.to_ascii_lowercase()))
            || lower == "at"
        {
        } else if word.contains(':') {
            for (at, part) in word.split(':').enumerate() {
                *p.get_mut(3 + at)? = part.parse().ok()?;
            }
        } else if lower == "am" || lower == "pm" {
            p[3] = p[3] % 12.0 + if lower == "pm" { 12.0 } else { 0.0 };
        } else if lower == "z" || lower == "utc" || lower == "gmt" {
        } else if let Some(zone) = lower
            .strip_prefix("gmt")
            .or_else(|| lower.strip_prefix("utc"))
            .or(Some(&lower))
            && zone.len() >= 3
            && zone.starts_with(['+', '-'])
        {
            let digits: f64 = zone[1..].replace(':', "").parse().ok()?;
            let minutes = (digits / 100.0).trunc() * 60.0 + digits % 100.0;
            offset = minutes
                * if zone.starts_with('+') {
                    60_000.0
                } else {
                    -60_000.0
                };
        } else {
            numbers.push(
                word.trim_end_matches(|c: char| c.is_ascii_alphabetic())
                    .parse::<f64>()
                    .ok()?,
            );
        }
    }
    if p[1].is_nan() {
        let [month, day, year] = numbers[..] else {
            return None;
        };
        p[..3].copy_from_slice(&[year, month - 1.0, day]);
    } else {
        let [a, b] = numbers[..] else { return None };
        (p[2], p[0]) = if a > 31.0 { (b, a) } else { (a, b) };
    }
    if p[0] < 50.0 {
        p[0] += 2000.0;
    } else if p[0] < 100.0 {
        p[0] += 1900.0;
    }
    let fine =
        (0.0..12.0).contains(&p[1]) && (1.0..=31.0).contains(&p[2]) && p[3] < 25.0 && p[4] < 60.0;
    fine.then(|| from_components(&p) - offset)
}
