//! Takes keys out of text before anybody sees it.

use crate::secret::SecretString;

/// What stands where a key stood.
const MARK: &str = "[redacted]";

/// A key's beginning of this many bytes at the end of a cut text still counts as the key.
const MIN_CUT_BYTES: usize = 6;

/// Replaces every occurrence of the secrets in `text`, plain, percent-encoded or cut off at the text's end.
pub fn redact(text: &str, secrets: &[SecretString]) -> String {
    let mut clean = text.to_owned();
    for secret in secrets
        .iter()
        .map(SecretString::expose)
        .filter(|secret| !secret.is_empty())
    {
        clean = without(clean, secret);
        let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        if encoded != secret {
            clean = without(clean, &encoded);
        }
    }
    clean
}

fn without(text: String, secret: &str) -> String {
    let mut clean = if text.contains(secret) {
        text.replace(secret, MARK)
    } else {
        text
    };
    // A snippet may have been cut inside the key, with an ellipsis put after it.
    let kept = clean.trim_end_matches(['…', '.', ' ']);
    let cut = (MIN_CUT_BYTES..secret.len())
        .rev()
        .filter(|len| secret.is_char_boundary(*len))
        .find(|len| kept.ends_with(&secret[..*len]));
    if let Some(len) = cut {
        let start = kept.len() - len;
        clean.replace_range(start..start + len, MARK);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Vec<SecretString> {
        vec![SecretString::new("sk-planted/+key"), SecretString::new("")]
    }

    #[test]
    fn a_key_is_replaced_wherever_it_stands() {
        assert_eq!(
            redact("a sk-planted/+key b sk-planted/+key", &secrets()),
            "a [redacted] b [redacted]"
        );
        assert_eq!(
            redact("?key=sk-planted%2F%2Bkey", &secrets()),
            "?key=[redacted]"
        );
        assert_eq!(redact("nothing here", &secrets()), "nothing here");
    }

    #[test]
    fn a_key_cut_in_the_middle_leaves_no_beginning_behind() {
        for len in MIN_CUT_BYTES.."sk-planted/+key".len() {
            let cut = &"sk-planted/+key"[..len];
            assert_eq!(
                redact(&format!("wrong key {cut}"), &secrets()),
                "wrong key [redacted]"
            );
            assert_eq!(
                redact(&format!("wrong key {cut}…"), &secrets()),
                "wrong key [redacted]…"
            );
        }
    }
}
