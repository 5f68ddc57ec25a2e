//! A short, readable beginning of something long, for error messages.

/// The most characters a snippet shows.
const MAX_CHARS: usize = 300;

/// The beginning of `text` on one line, cut at a character.
pub(crate) fn snippet(text: &str) -> String {
    let mut short = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > 0 {
            short.push(' ');
            chars += 1;
        }
        for character in word.chars() {
            if chars >= MAX_CHARS {
                short.push('…');
                return short;
            }
            short.push(character);
            chars += 1;
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_one_short_line() {
        assert_eq!(snippet("  a\n\tb  "), "a b");
        let long = snippet(&"é".repeat(1000));
        assert_eq!(long.chars().count(), MAX_CHARS + 1);
    }
}
