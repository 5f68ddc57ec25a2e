//! The chunk of a chat completion as endpoints really send it: every field may be missing, null or of another type.
//!
//! The common fields borrow from the payload; what is rare (tool calls, usage, errors) stays raw until it is asked for.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// One payload: a streamed chunk, or the whole answer of an endpoint that doesn't stream.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(crate) model: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) choices: Choices<'a>,
    #[serde(borrow)]
    pub(crate) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

/// The first choice of a chunk. Folkmoot asks for one reply, so any other belongs to nobody.
#[derive(Debug, Default)]
pub(crate) struct Choices<'a> {
    /// The key was there, whatever its value.
    pub(crate) present: bool,
    pub(crate) first: Option<Choice<'a>>,
}

/// A choice, streamed (`delta`) or whole (`message`).
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(crate) index: Text<'a>,
    #[serde(borrow)]
    pub(crate) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(crate) message: Option<Delta<'a>>,
    /// Missing is not the same as empty.
    #[serde(borrow)]
    pub(crate) finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) usage: Option<&'a RawValue>,
}

/// What a choice adds to the reply. The role is not read: it says nothing that isn't known.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(crate) content: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) refusal: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) reasoning: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) reasoning_details: Text<'a>,
    #[serde(borrow)]
    pub(crate) tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) function_call: Option<&'a RawValue>,
}

impl<'a> Delta<'a> {
    /// The thinking in this delta, from the first field that carries any: endpoints that fill several repeat themselves.
    pub(crate) fn thought(&self) -> &str {
        [
            &self.reasoning_content,
            &self.reasoning,
            &self.reasoning_details,
        ]
        .into_iter()
        .flat_map(|field| [&*field.text, &*field.thought])
        .chain([&*self.content.thought])
        .find(|text| !text.is_empty())
        .unwrap_or_default()
    }
}

/// Text that may come as a string, an array of parts, a single part or null. Numbers keep their digits.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The parts that were marked as thinking.
    pub(crate) thought: String,
}

impl Text<'_> {
    /// The text, `None` where it is empty.
    pub(crate) fn non_empty(&self) -> Option<&str> {
        Some(&*self.text).filter(|text| !text.is_empty())
    }

    fn of_part(part: &Value) -> Text<'static> {
        let mut text = Text::default();
        text.add_part(part, false, 0);
        text
    }

    /// Walks a part: `{"type": "text", "text": ..}`, `{"type": "thinking", "thinking": [..]}`, a string, or a list.
    fn add_part(&mut self, part: &Value, thinking: bool, depth: usize) {
        /// Parts nest twice at most in every known dialect.
        const MAX_DEPTH: usize = 8;
        match part {
            Value::String(text) if thinking => self.thought.push_str(text),
            Value::String(text) => self.text.to_mut().push_str(text),
            Value::Array(parts) if depth < MAX_DEPTH => {
                for part in parts {
                    self.add_part(part, thinking, depth + 1);
                }
            }
            Value::Object(fields) if depth < MAX_DEPTH => {
                for (name, inside) in [
                    ("thinking", true),
                    ("text", thinking),
                    ("summary", thinking),
                    ("content", thinking),
                ] {
                    if let Some(part) = fields.get(name) {
                        self.add_part(part, inside, depth + 1);
                        return;
                    }
                }
            }
            _ => {}
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, parts of text, or null")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text {
            text: Cow::Borrowed(text),
            thought: String::new(),
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text {
            text: Cow::Owned(text.to_owned()),
            thought: String::new(),
        })
    }

    fn visit_unit<E: Error>(self) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Text<'de>, E> {
        Ok(Text::default())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Text<'de>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Text<'de>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Text<'de>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text<'de>, A::Error> {
        let mut text = Text::default();
        while let Some(part) = parts.next_element::<Value>()? {
            text.add_part(&part, false, 1);
        }
        Ok(text)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Text<'de>, A::Error> {
        let part = Value::deserialize(serde::de::value::MapAccessDeserializer::new(fields))?;
        Ok(Text::of_part(&part))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoicesVisitor)
    }
}

struct ChoicesVisitor;

impl<'de> Visitor<'de> for ChoicesVisitor {
    type Value = Choices<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices, or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Choices<'de>, E> {
        Ok(Choices {
            present: true,
            first: None,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<Choices<'de>, A::Error> {
        let mut first: Option<Choice<'de>> = None;
        while first.is_none() {
            let Some(choice) = choices.next_element::<Option<Choice<'de>>>()? else {
                break;
            };
            first = choice.filter(|choice| matches!(&*choice.index.text, "" | "0"));
        }
        while choices.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Choices {
            present: true,
            first,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Choices<'de>, A::Error> {
        let choice = Choice::deserialize(serde::de::value::MapAccessDeserializer::new(fields))?;
        Ok(Choices {
            present: true,
            first: Some(choice),
        })
    }
}

/// An object's fields in order, values raw, so that what is passed back is passed back verbatim.
#[derive(Debug, Default)]
pub(crate) struct RawFields<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawFields<'a> {
    /// The fields of `raw`, none where it is no object.
    pub(crate) fn of(raw: &'a RawValue) -> RawFields<'a> {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawFieldsVisitor)
    }
}

struct RawFieldsVisitor;

impl<'de> Visitor<'de> for RawFieldsVisitor {
    type Value = RawFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawFields<'de>, A::Error> {
        let mut fields = Vec::with_capacity(4);
        while let Some(name) = map.next_key::<Text<'de>>()? {
            fields.push((name.text, map.next_value()?));
        }
        Ok(RawFields(fields))
    }
}

/// Replaces `\uD800`-style escapes that lack their other half by U+FFFD, so that one broken character doesn't cost the
/// chunk. Everything else stays as it is.
pub(crate) fn mend_surrogates(payload: &str) -> String {
    let mut mended = String::with_capacity(payload.len());
    let mut rest = payload;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let taken = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (Some(Half::High), Some(Half::Low)) => 12,
            (Some(_), _) => {
                mended.push('\u{FFFD}');
                rest = &escape[6..];
                continue;
            }
            // The escaped character goes along, so that `\\ud800` is not taken for an escape.
            (None, _) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&escape[..taken]);
        rest = &escape[taken..];
    }
    mended.push_str(rest);
    mended
}

enum Half {
    High,
    Low,
}

fn surrogate(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> (String, String) {
        let text: Text<'_> = serde_json::from_str(json).expect("valid");
        (text.text.into_owned(), text.thought)
    }

    #[test]
    fn text_comes_as_a_string_an_array_of_parts_or_null() {
        let plain = |s: &str| (s.to_owned(), String::new());
        assert_eq!(text(r#""a\nb""#), plain("a\nb"));
        assert_eq!(text("null"), plain(""));
        assert_eq!(
            text(r#"[{"type":"text","text":"a"},"b",{"type":"image_url","image_url":{}}]"#),
            plain("ab")
        );
        assert_eq!(text(r#"{"type":"text","text":"a"}"#), plain("a"));
        assert_eq!(text("7"), plain("7"));
        assert_eq!(
            text(
                r#"[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]"#
            ),
            ("a".to_owned(), "hm".to_owned())
        );
    }

    #[test]
    fn a_plain_string_is_borrowed_from_the_payload() {
        let chunk: Chunk<'_> = serde_json::from_str(
            r#"{"model":"m","choices":[{"index":0,"delta":{"content":"abc"}}]}"#,
        )
        .expect("valid");
        let delta = chunk
            .choices
            .first
            .and_then(|choice| choice.delta)
            .expect("delta");
        assert!(matches!(delta.content.text, Cow::Borrowed("abc")));
    }

    #[test]
    fn a_lone_surrogate_is_mended_and_a_pair_is_left_alone() {
        assert_eq!(mend_surrogates(r#""a\ud83d""#), "\"a\u{FFFD}\"");
        assert_eq!(
            mend_surrogates(r"\ude00x\ud83d\ude00"),
            "\u{FFFD}x\\ud83d\\ude00"
        );
        assert_eq!(mend_surrogates(r"\\ud83d \n é"), r"\\ud83d \n é");
        assert_eq!(mend_surrogates(r"\ud83d\n"), "\u{FFFD}\\n");
        assert_eq!(mend_surrogates("\\"), "\\");
    }
}
