//! The classes of code that have a colour of their own.

use serde::Deserialize;

macro_rules! syntax_kinds {
    ($($variant:ident, $doc:literal;)*) => {
        /// A class of code that a theme gives a colour; names follow the theme files' `[syntax]` section.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum SyntaxKind {
            $(#[doc = $doc] $variant,)*
        }

        impl SyntaxKind {
            /// Every class, in the order of their discriminants.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
        }
    };
}

syntax_kinds! {
    Comment, "Comments and documentation.";
    Keyword, "Keywords and storage modifiers.";
    String, "String and character literals.";
    Escape, "Escapes inside literals, and regular expressions.";
    Number, "Numeric literals.";
    Constant, "Named constants and the language's own, such as `true`.";
    Function, "Functions and methods, where named or called.";
    Type, "Types, classes, traits, modules.";
    Variable, "Variables, and all text without a class.";
    Parameter, "Parameters of functions.";
    Property, "Fields, keys of mappings.";
    Attribute, "Attributes, annotations, decorators.";
    Tag, "Tags of markup.";
    Operator, "Operators.";
    Punctuation, "Brackets, separators.";
    MarkupHeading, "Headings of markup.";
    MarkupLink, "Links of markup.";
    MarkupQuote, "Quotes of markup.";
    MarkupCode, "Literal text of markup.";
    Inserted, "Added lines of a diff.";
    Deleted, "Removed lines of a diff.";
    Invalid, "What the grammar rejects.";
}
