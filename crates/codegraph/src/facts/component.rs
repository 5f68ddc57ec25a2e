//! Facts of Vue and Svelte components: their script blocks, read as JavaScript or TypeScript.

use oxc_span::SourceType;

use super::{Export, FileFacts, Origin, SymbolKind, Usage, javascript};

/// Reads a component's script blocks. Everything outside of them is blanked, so lines and offsets stay true.
pub(super) fn extract(path: &str, text: &str) -> FileFacts {
    let (blank, outside, is_typescript) = split(text);
    let source_type = if is_typescript {
        SourceType::ts()
    } else {
        SourceType::jsx()
    };
    let mut facts = javascript::extract_as(path, &blank, source_type);
    for name in facts
        .imports
        .iter_mut()
        .flat_map(|import| &mut import.names)
    {
        // A template may use any name of the script, in either spelling of a tag.
        if name.usage != Usage::Used && mentions(&outside, &name.local) {
            name.usage = Usage::Used;
        }
    }
    if !facts.exports.iter().any(|export| export.name == "default") {
        let origin = Origin::Declared(SymbolKind::Class);
        facts.exports.push(Export {
            name: "default".to_owned(),
            origin,
            line: 1,
        });
    }
    facts
}

/// The text with everything but script blocks blanked, the text with the script blocks left out, and whether a
/// block says it is TypeScript.
fn split(text: &str) -> (String, String, bool) {
    let mut blank = String::with_capacity(text.len());
    let mut outside = String::new();
    let mut is_typescript = false;
    let mut at = 0;
    while let Some(open) = text[at..].find("<script").map(|found| at + found) {
        let Some(tag_end) = text[open..].find('>').map(|found| open + found + 1) else {
            break;
        };
        let Some(close) = text[tag_end..]
            .find("</script")
            .map(|found| tag_end + found)
        else {
            break;
        };
        let tag = &text[open..tag_end];
        is_typescript |= tag.contains("lang=\"ts") || tag.contains("lang='ts");
        push_blank(&mut blank, &text[at..tag_end]);
        outside.push_str(&text[at..open]);
        blank.push_str(&text[tag_end..close]);
        at = close;
    }
    push_blank(&mut blank, &text[at..]);
    outside.push_str(&text[at..]);
    (blank, outside, is_typescript)
}

fn push_blank(blank: &mut String, text: &str) {
    blank.extend(
        text.bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { ' ' }),
    );
}

fn mentions(text: &str, name: &str) -> bool {
    let kebab: String = name
        .char_indices()
        .flat_map(|(at, c)| {
            let dash = (c.is_uppercase() && at > 0).then_some('-');
            dash.into_iter().chain(c.to_lowercase())
        })
        .collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == '-';
    text.split(|c| !is_word(c)).any(|word| word == kebab)
        || text
            .split(|c: char| !is_word(c) || c == '-')
            .any(|word| word == name)
}
