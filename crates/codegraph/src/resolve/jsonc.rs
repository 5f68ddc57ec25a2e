//! JSON with comments and trailing commas, as tsconfig files are written.

use serde_json::Value;

/// Reads JSON, comments and trailing commas allowed. `None` where it is broken.
pub(super) fn parse(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text)
        .ok()
        .or_else(|| serde_json::from_str(&strip(text)).ok())
}

fn strip(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                out.extend_from_slice(&bytes[at..end]);
                at = end;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |found| at + found);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = memchr::memmem::find(&bytes[at..], b"*/")
                    .map_or(bytes.len(), |found| at + found + 2);
            }
            b'}' | b']' => {
                while out.last().is_some_and(u8::is_ascii_whitespace) {
                    out.pop();
                }
                if out.last() == Some(&b',') {
                    out.pop();
                }
                out.push(bytes[at]);
                at += 1;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_let_pass() {
        let value =
            parse("{ // one\n \"a//b\": [1, 2, /* three */ ], \"c\\\"\": {\"d\": 1,},\n}").unwrap();
        assert_eq!(value["a//b"][1], 2);
        assert_eq!(value["c\""]["d"], 1);
        assert!(parse("{ nonsense").is_none());
    }
}
