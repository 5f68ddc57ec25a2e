//! A string that must not be shown.

use std::fmt;

use zeroize::Zeroizing;

/// An API key. Prints as `[redacted]` and is overwritten when dropped.
#[derive(Clone)]
pub struct SecretString(Zeroizing<String>);

impl SecretString {
    /// Takes a key as a person pastes it: white space around it is dropped.
    pub fn new(key: impl Into<String>) -> Self {
        let key = Zeroizing::new(key.into());
        let trimmed = key.trim();
        if trimmed.len() == key.len() {
            return Self(key);
        }
        Self(Zeroizing::new(trimmed.to_owned()))
    }

    /// The key itself. Name the use where you call this.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Display for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = SecretString::new(" sk-planted\n");
        assert_eq!(
            format!("{secret} {secret:?} {:#?}", Some(&secret)),
            "[redacted] [redacted] Some(\n    [redacted],\n)"
        );
        assert_eq!(secret.expose(), "sk-planted");
    }
}
