//! Numbers to text and back, as ECMA-262 writes them.

use crate::text::{Units, is_space};

/// `Number::toString` with radix 10.
pub(crate) fn to_string(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let int = value as i64;
    if int as f64 == value && int.unsigned_abs() < 1 << 53 {
        return int.to_string();
    }
    ryu_js::Buffer::new().format(value).to_owned()
}

/// `Number::toString` with another radix, to 52 fractional bits.
pub(crate) fn to_radix(value: f64, radix: u32) -> String {
    if radix == 10 || !value.is_finite() {
        return to_string(value);
    }
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let base = f64::from(radix);
    let magnitude = value.abs();
    let mut whole = magnitude.trunc();
    let mut fraction = magnitude - whole;
    // Half of the distance to the next number: digits beyond it carry nothing.
    let mut delta = (0.5 * (next_up(magnitude) - magnitude)).max(f64::MIN_POSITIVE);
    let mut tail: Vec<u8> = Vec::new();
    if fraction >= delta {
        loop {
            fraction *= base;
            delta *= base;
            let digit = fraction as u32;
            tail.push(digit as u8);
            fraction -= f64::from(digit);
            if (fraction > 0.5 || (fraction == 0.5 && digit & 1 == 1)) && fraction + delta > 1.0 {
                round_up(&mut tail, &mut whole, radix);
                break;
            }
            if fraction < delta {
                break;
            }
        }
    }
    let mut head = Vec::new();
    loop {
        let digit = (whole % base) as usize;
        head.push(digits[digit]);
        whole = (whole / base).trunc();
        if whole < 1.0 {
            break;
        }
    }
    head.reverse();
    let mut out = String::new();
    if value < 0.0 {
        out.push('-');
    }
    out.extend(head.iter().map(|&b| b as char));
    if !tail.is_empty() {
        out.push('.');
        out.extend(tail.iter().map(|&d| digits[d as usize] as char));
    }
    out
}

fn round_up(tail: &mut Vec<u8>, whole: &mut f64, radix: u32) {
    while let Some(last) = tail.last_mut() {
        if u32::from(*last) + 1 < radix {
            *last += 1;
            return;
        }
        tail.pop();
    }
    *whole += 1.0;
}

fn next_up(value: f64) -> f64 {
    f64::from_bits(value.to_bits() + 1)
}

/// `StringToNumber`.
pub(crate) fn from_text(text: Units<'_>) -> f64 {
    let text = text.trim(true, true);
    if text.is_empty() {
        return 0.0;
    }
    if text.len() > 2 && text.at(0) == 48 {
        let radix = match text.at(1) | 32 {
            0x78 => 16,
            0x6F => 8,
            0x62 => 2,
            _ => 0,
        };
        if radix != 0 {
            let digits = text.slice(2, text.len());
            return match parse_digits(digits, radix) {
                (value, used) if used == digits.len() => value,
                _ => f64::NAN,
            };
        }
    }
    match parse_prefix(text) {
        Some((value, used)) if used == text.len() => value,
        _ => f64::NAN,
    }
}

/// The longest decimal literal at the start (`StrDecimalLiteral`) and its length.
pub(crate) fn parse_prefix(text: Units<'_>) -> Option<(f64, usize)> {
    let mut at = 0;
    let digit = |at: usize| text.get(at).is_some_and(|u| (48..=57).contains(&u));
    if matches!(text.get(0), Some(43 | 45)) {
        at = 1;
    }
    let infinity = "Infinity";
    if text.len() >= at + infinity.len() && text.slice(at, at + infinity.len()).is(infinity) {
        let sign = if text.at(0) == 45 { -1.0 } else { 1.0 };
        return Some((sign * f64::INFINITY, at + infinity.len()));
    }
    let whole = at;
    while digit(at) {
        at += 1;
    }
    let mut any = at > whole;
    if text.get(at) == Some(46) && (any || digit(at + 1)) {
        at += 1;
        while digit(at) {
            any = true;
            at += 1;
        }
    }
    if !any {
        return None;
    }
    if matches!(text.get(at), Some(69 | 101)) {
        let mut end = at + 1;
        if matches!(text.get(end), Some(43 | 45)) {
            end += 1;
        }
        if digit(end) {
            while digit(end) {
                end += 1;
            }
            at = end;
        }
    }
    let ascii: String = text.slice(0, at).iter().map(|u| u as u8 as char).collect();
    ascii.parse().ok().map(|value| (value, at))
}

/// Digits of a radix from the start, and how many units they took.
pub(crate) fn parse_digits(text: Units<'_>, radix: u32) -> (f64, usize) {
    let mut value = 0.0;
    let mut used = 0;
    for unit in text.iter() {
        let Some(digit) = char::from_u32(u32::from(unit)).and_then(|c| c.to_digit(radix)) else {
            break;
        };
        value = value * f64::from(radix) + f64::from(digit);
        used += 1;
    }
    if used == 0 {
        return (f64::NAN, 0);
    }
    if radix == 10 && used > 15 {
        let ascii: String = text
            .slice(0, used)
            .iter()
            .map(|u| u as u8 as char)
            .collect();
        return (ascii.parse().unwrap_or(f64::NAN), used);
    }
    (value, used)
}

/// `parseInt`.
pub(crate) fn parse_int(text: Units<'_>, radix: i32) -> f64 {
    let mut start = 0;
    while start < text.len() && is_space(text.at(start)) {
        start += 1;
    }
    let mut negative = false;
    if matches!(text.get(start), Some(43 | 45)) {
        negative = text.at(start) == 45;
        start += 1;
    }
    let mut radix = radix;
    let prefixed = text.get(start) == Some(48) && matches!(text.get(start + 1), Some(120 | 88));
    if prefixed && (radix == 0 || radix == 16) {
        start += 2;
        radix = 16;
    }
    if radix == 0 {
        radix = 10;
    }
    if !(2..=36).contains(&radix) {
        return f64::NAN;
    }
    let (value, _) = parse_digits(text.slice(start, text.len()), radix as u32);
    if negative { -value } else { value }
}

/// `ToInt32`.
pub(crate) fn to_int32(value: f64) -> i32 {
    let int = value as i32;
    if f64::from(int) == value {
        return int;
    }
    if !value.is_finite() {
        return 0;
    }
    let modulus = value.trunc() % 4_294_967_296.0;
    modulus as i64 as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn numbers_print_as_the_standard_says() {
        for (value, text) in [
            (0.1, "0.1"),
            (-0.0, "0"),
            (1e21, "1e+21"),
            (123456789.0, "123456789"),
            (1e-7, "1e-7"),
        ] {
            assert_eq!(to_string(value), text);
        }
        assert_eq!(to_radix(255.5, 16), "ff.8");
        assert_eq!(to_radix(-7.0, 2), "-111");
    }

    #[test]
    fn text_reads_as_numbers() {
        let read = |s: &str| from_text(Text::new(s).units());
        assert_eq!(read(" 12 "), 12.0);
        assert_eq!(read("0x1F"), 31.0);
        assert!(read("12px").is_nan());
        assert!(read("1_0").is_nan());
        assert_eq!(parse_int(Text::new("12px").units(), 0), 12.0);
        assert_eq!(to_int32(4_294_967_295.0), -1);
    }
}
