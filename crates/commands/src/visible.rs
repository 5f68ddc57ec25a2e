//! A command as a person is to see it: every byte of it, and nothing that hides another.

use serde::Serialize;

/// Part of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// What is shown.
    pub text: String,
    /// Whether it stands for something that can't be seen; to be shown in another colour, since a command may hold
    /// the same letters.
    pub escaped: bool,
}

/// The pieces of a command: what can't be seen, changes the direction of writing, or isn't UTF-8 is escaped.
pub fn pieces(command: &[u8]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut put = |text: &str, escaped: bool| match pieces.last_mut() {
        Some(last) if last.escaped == escaped => last.text.push_str(text),
        _ => pieces.push(Piece {
            text: text.into(),
            escaped,
        }),
    };
    for chunk in command.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_hidden(character) {
                put(&escape(character), true);
            } else {
                put(character.encode_utf8(&mut [0; 4]), false);
            }
        }
        for byte in chunk.invalid() {
            put(&format!("\\x{byte:02x}"), true);
        }
    }
    pieces
}

/// The same as plain text.
pub fn visible(command: &[u8]) -> String {
    pieces(command)
        .into_iter()
        .map(|piece| piece.text)
        .collect()
}

fn escape(character: char) -> String {
    match character {
        '\n' => "\\n\n".into(),
        '\t' => "\\t".into(),
        '\r' => "\\r".into(),
        '\x1b' => "\\e".into(),
        other => format!("\\u{{{:x}}}", u32::from(other)),
    }
}

/// Control and format characters, spaces other than the usual one, and letters that are drawn as nothing: general
/// categories Cc, Cf, Zl, Zp and Zs of Unicode, the tags, variation selectors and fillers.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_spelled_out() {
        assert_eq!(visible(b"ls -la"), "ls -la");
        assert_eq!(
            visible("rm\u{a0}-rf\u{200b} /".as_bytes()),
            "rm\\u{a0}-rf\\u{200b} /"
        );
        assert_eq!(
            visible("a\u{202e}b\u{e0041}".as_bytes()),
            "a\\u{202e}b\\u{e0041}"
        );
        assert_eq!(visible(b"a\r\x1b[2Kb\xff\t"), "a\\r\\e[2Kb\\xff\\t");
        assert_eq!(visible(b"a\nb"), "a\\n\nb");
        assert_eq!(visible("größe 日本".as_bytes()), "größe 日本");
    }

    #[test]
    fn an_escape_is_told_from_the_same_letters() {
        let shown = pieces("\\u{200b}\u{200b}".as_bytes());
        assert_eq!(shown.len(), 2);
        assert_eq!((shown[0].escaped, shown[1].escaped), (false, true));
        assert_eq!(shown[0].text, shown[1].text);
    }
}
