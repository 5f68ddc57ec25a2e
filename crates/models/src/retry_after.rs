//! When to try again, from every place where providers say it.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::usage::whole_number;

/// The longest wait that is believed: weekly limits exist, longer ones are slips of the pen.
pub const LONGEST_WAIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// The wait that a refusal asks for: the longest that its headers and its body name, at most [`LONGEST_WAIT`].
///
/// Headers: `Retry-After` in seconds or as an HTTP date (RFC 9110, section 10.2.3), `retry-after-ms` and
/// `x-ms-retry-after-ms`. Body: the fields of [`body_wait`], and "try again in 20s" in its text.
pub fn retry_after(headers: &HeaderMap, body: &str, now: Timestamp) -> Option<Duration> {
    [header_wait(headers, now), body_wait(body, now)]
        .into_iter()
        .flatten()
        .max()
}

/// The wait that the headers ask for.
pub fn header_wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let values = |name: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok().map(str::trim))
            .collect::<Vec<_>>()
    };
    let plain = values("retry-after")
        .into_iter()
        .filter_map(|value| seconds(value).or_else(|| until(value, now)));
    let millis = ["retry-after-ms", "x-ms-retry-after-ms"]
        .into_iter()
        .flat_map(values)
        .filter_map(|value| millis(value.parse().ok()?));
    plain.chain(millis).map(believed).max()
}

/// The wait that an error body asks for, wherever in its JSON it says so: `reset_seconds`, `resets_in_seconds`,
/// `retry_after`, `retry_after_ms`, `reset_time` and `retryDelay` (`1m30s`), `resets_at` (Unix seconds or a date).
pub fn body_wait(body: &str, now: Timestamp) -> Option<Duration> {
    let fields = serde_json::from_str::<Value>(body)
        .ok()
        .and_then(|value| field_wait(&value, now, 0));
    [fields, text_wait(body)]
        .into_iter()
        .flatten()
        .map(believed)
        .max()
}

fn field_wait(value: &Value, now: Timestamp, depth: usize) -> Option<Duration> {
    /// Error bodies are shallow; anything deeper is somebody else's document.
    const MAX_DEPTH: usize = 8;
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Array(items) => items
            .iter()
            .filter_map(|item| field_wait(item, now, depth + 1))
            .max(),
        Value::Object(fields) => fields
            .iter()
            .filter_map(|(name, value)| {
                named_wait(name, value, now).or_else(|| field_wait(value, now, depth + 1))
            })
            .max(),
        _ => None,
    }
}

fn named_wait(name: &str, value: &Value, now: Timestamp) -> Option<Duration> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    match name {
        "reset_seconds"
        | "resets_in_seconds"
        | "retry_after"
        | "retry_after_seconds"
        | "retryAfter"
        | "reset_after"
        | "retry_delay"
        | "retryDelay"
        | "reset_time" => seconds(&text).or_else(|| spelled(&text)),
        "retry_after_ms" | "retryAfterMs" => millis(text.parse().ok()?),
        "resets_at" | "reset_at" => match whole_number(value) {
            Some(at) => since(Timestamp::from_second(i64::try_from(at).ok()?).ok()?, now),
            None => until(&text, now),
        },
        _ => None,
    }
}

/// "Please try again in 1m2.5s", as OpenAI writes it.
fn text_wait(text: &str) -> Option<Duration> {
    let lower = text.to_ascii_lowercase();
    lower
        .match_indices("again in ")
        .filter_map(|(at, words)| {
            let rest = &lower[at + words.len()..];
            let end = rest
                .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | 'd' | 'h' | 'm' | 's'))
                .unwrap_or(rest.len());
            spelled(rest[..end].trim_end_matches('.'))
        })
        .max()
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn millis(millis: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(millis / 1000.0).ok()
}

fn until(text: &str, now: Timestamp) -> Option<Duration> {
    /// The one date format that senders must use (RFC 9110, section 5.6.7).
    static HTTP_DATE: jiff::fmt::rfc2822::DateTimeParser =
        jiff::fmt::rfc2822::DateTimeParser::new();
    let at = HTTP_DATE
        .parse_timestamp(text)
        .ok()
        .or_else(|| text.parse().ok())?;
    since(at, now)
}

/// The time from `now` until `at`; none when that is over.
fn since(at: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(at.duration_since(now)).ok()
}

/// Reads `1h2m3.5s` and `250ms`, as Go and Google print durations.
fn spelled(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit = &rest[digits..];
        let unit = &unit[..unit
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(unit.len())];
        total += number
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86400.0,
                _ => return None,
            };
        rest = &rest[digits + unit.len()..];
    }
    if text.is_empty() {
        return None;
    }
    Duration::try_from_secs_f64(total).ok()
}

fn believed(wait: Duration) -> Duration {
    wait.min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn now() -> Timestamp {
        "1994-11-06T08:49:00Z".parse().expect("valid")
    }

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[track_caller]
    fn expect(list: &[(&'static str, &'static str)], body: &str, secs: f64) {
        let wait = retry_after(&headers(list), body, now()).map(|wait| wait.as_secs_f64());
        assert_eq!(wait, Some(secs), "{list:?} {body}");
    }

    #[test]
    fn headers_say_it_in_seconds_as_a_date_or_in_milliseconds() {
        expect(&[("retry-after", "30")], "", 30.0);
        expect(&[("retry-after", "1.5")], "", 1.5);
        expect(
            &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
            "",
            37.0,
        );
        expect(&[("retry-after-ms", "250")], "", 0.25);
    }

    #[test]
    fn bodies_say_it_in_fields_at_any_depth() {
        expect(
            &[],
            r#"{"error":{"code":"model_cooldown","reset_time":"1m30s","reset_seconds":90}}"#,
            90.0,
        );
        expect(
            &[],
            r#"{"error":{"type":"usage_limit_reached","resets_in_seconds":"120"}}"#,
            120.0,
        );
        expect(&[], r#"{"error":{"resets_at":784111777}}"#, 37.0);
        expect(
            &[],
            r#"[{"error":{"details":[{"retryDelay":"34.5s"}]}}]"#,
            34.5,
        );
        expect(
            &[],
            r#"{"error":{"message":"Please try again in 1m2.5s. Visit"}}"#,
            62.5,
        );
        expect(&[], "slow down, try again in 250ms.", 0.25);
    }

    #[test]
    fn the_longest_wins_and_nonsense_is_capped() {
        expect(
            &[("retry-after", "1"), ("retry-after-ms", "5000")],
            r#"{"error":{"reset_seconds":90}}"#,
            90.0,
        );
        expect(
            &[("retry-after", "99999999999")],
            "",
            LONGEST_WAIT.as_secs_f64(),
        );
    }

    #[test]
    fn a_date_in_the_past_and_words_say_nothing() {
        for value in ["Sun, 06 Nov 1994 08:00:00 GMT", "soon", "-5", "NaN", ""] {
            assert_eq!(retry_after(&headers(&[]), value, now()), None);
            let list = HeaderMap::from_iter([(
                HeaderName::from_static("retry-after"),
                value.parse().expect("valid"),
            )]);
            assert_eq!(retry_after(&list, "", now()), None, "{value}");
        }
    }
}
