//! From the scopes of a grammar to the classes that themes colour.

use std::sync::LazyLock;

use syntect::parsing::Scope;

use crate::theme::SyntaxKind;

/// Scope prefixes and their classes; the first that matches a scope counts, so the narrower ones come first.
///
/// The scope names are those that Sublime Text's grammars agree on: <https://www.sublimetext.com/docs/scope_naming.html>.
const CLASSES: &[(&str, SyntaxKind)] = &[
    ("comment", SyntaxKind::Comment),
    ("punctuation.definition.comment", SyntaxKind::Comment),
    ("punctuation.definition.string", SyntaxKind::String),
    ("punctuation.definition.heading", SyntaxKind::MarkupHeading),
    ("punctuation.definition.annotation", SyntaxKind::Attribute),
    ("string.regexp", SyntaxKind::Escape),
    ("string", SyntaxKind::String),
    ("constant.character.escape", SyntaxKind::Escape),
    ("constant.numeric", SyntaxKind::Number),
    ("constant.other.placeholder", SyntaxKind::Escape),
    ("constant", SyntaxKind::Constant),
    ("keyword.operator.word", SyntaxKind::Keyword),
    ("keyword.operator", SyntaxKind::Operator),
    ("keyword", SyntaxKind::Keyword),
    ("storage", SyntaxKind::Keyword),
    ("variable.function", SyntaxKind::Function),
    ("variable.parameter", SyntaxKind::Parameter),
    ("variable.other.member", SyntaxKind::Property),
    ("variable.other.property", SyntaxKind::Property),
    ("variable.language", SyntaxKind::Keyword),
    ("variable.annotation", SyntaxKind::Attribute),
    ("variable", SyntaxKind::Variable),
    ("entity.name.function", SyntaxKind::Function),
    ("entity.name.tag", SyntaxKind::Tag),
    ("entity.name.section", SyntaxKind::MarkupHeading),
    ("entity.name.label", SyntaxKind::Constant),
    ("entity.other.attribute-name", SyntaxKind::Attribute),
    ("entity.other.inherited-class", SyntaxKind::Type),
    ("entity.name", SyntaxKind::Type),
    ("support.function", SyntaxKind::Function),
    ("support.macro", SyntaxKind::Function),
    ("support.constant", SyntaxKind::Constant),
    ("support.type.property-name", SyntaxKind::Property),
    ("support.type", SyntaxKind::Type),
    ("support.class", SyntaxKind::Type),
    ("support", SyntaxKind::Function),
    ("markup.heading", SyntaxKind::MarkupHeading),
    ("markup.underline.link", SyntaxKind::MarkupLink),
    ("markup.quote", SyntaxKind::MarkupQuote),
    ("markup.raw", SyntaxKind::MarkupCode),
    ("markup.inserted", SyntaxKind::Inserted),
    ("markup.deleted", SyntaxKind::Deleted),
    ("meta.diff.range", SyntaxKind::MarkupHeading),
    ("punctuation", SyntaxKind::Punctuation),
    ("invalid", SyntaxKind::Invalid),
];

struct Table {
    classes: Vec<(Scope, SyntaxKind)>,
    mapping_key: Scope,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let scope = |name: &str| Scope::new(name).unwrap_or_default();
    Table {
        classes: CLASSES
            .iter()
            .map(|&(name, kind)| (scope(name), kind))
            .collect(),
        mapping_key: scope("meta.mapping.key"),
    }
});

/// The class of text inside these scopes, of which the last is the innermost.
pub(super) fn class_of(scopes: &[Scope]) -> SyntaxKind {
    let table = &*TABLE;
    let class = |scope: &Scope| {
        let found = table
            .classes
            .iter()
            .find(|(prefix, _)| prefix.is_prefix_of(*scope));
        found.map(|&(_, kind)| kind)
    };
    let kind = scopes.iter().rev().find_map(class);
    let is_key = || {
        scopes
            .iter()
            .any(|&scope| table.mapping_key.is_prefix_of(scope))
    };
    match kind {
        Some(SyntaxKind::String) if is_key() => SyntaxKind::Property,
        Some(kind) => kind,
        None => SyntaxKind::Variable,
    }
}
