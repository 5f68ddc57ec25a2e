//! The names and kinds that top-level declarations bind.

use std::collections::HashMap;

use oxc_ast::ast::{Declaration, Expression, Program, Statement};
use oxc_span::GetSpan;

use crate::facts::SymbolKind;

/// A declared name: name, kind, byte offset.
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) kind: SymbolKind,
    pub(super) offset: u32,
}

/// The names that one declaration binds. Ambient modules and `declare global` bind none in the file's scope.
pub(super) fn declared_by(declaration: &Declaration<'_>) -> Vec<Declared> {
    let one = |name: &str, kind, offset| {
        vec![Declared {
            name: name.to_owned(),
            kind,
            offset,
        }]
    };
    match declaration {
        Declaration::VariableDeclaration(variables) => variables
            .declarations
            .iter()
            .flat_map(|variable| variable.id.get_binding_identifiers())
            .map(|bound| Declared {
                name: bound.name.to_string(),
                kind: SymbolKind::Const,
                offset: bound.span.start,
            })
            .collect(),
        Declaration::FunctionDeclaration(function) => {
            function.id.as_ref().map_or_else(Vec::new, |id| {
                one(&id.name, SymbolKind::Function, id.span.start)
            })
        }
        Declaration::ClassDeclaration(class) => class.id.as_ref().map_or_else(Vec::new, |id| {
            one(&id.name, SymbolKind::Class, id.span.start)
        }),
        Declaration::TSTypeAliasDeclaration(alias) => {
            one(&alias.id.name, SymbolKind::Type, alias.id.span.start)
        }
        Declaration::TSInterfaceDeclaration(interface) => one(
            &interface.id.name,
            SymbolKind::Interface,
            interface.id.span.start,
        ),
        Declaration::TSEnumDeclaration(item) => {
            one(&item.id.name, SymbolKind::Enum, item.id.span.start)
        }
        Declaration::TSNamespaceDeclaration(namespace) => one(
            &namespace.id.name,
            SymbolKind::Const,
            namespace.id.span.start,
        ),
        Declaration::TSImportEqualsDeclaration(import) => {
            one(&import.id.name, SymbolKind::Const, import.id.span.start)
        }
        Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => {
            Vec::new()
        }
    }
}

/// The kind of every name that the file declares at top level; where declarations merge, the strongest kind.
pub(super) fn top_level_kinds(program: &Program<'_>) -> HashMap<String, SymbolKind> {
    let mut kinds = HashMap::new();
    for statement in &program.body {
        let declaration = match statement {
            Statement::ExportDeclaration(export) => Some(&export.declaration),
            other => other.as_declaration(),
        };
        for declared in declaration.into_iter().flat_map(declared_by) {
            let kind = kinds.entry(declared.name).or_insert(declared.kind);
            if declared.kind.strength() > kind.strength() {
                *kind = declared.kind;
            }
        }
    }
    kinds
}

/// The kind of a value: function and class expressions by what they are, names by their declaration.
pub(super) fn kind_of_value(
    value: &Expression<'_>,
    kinds: &HashMap<String, SymbolKind>,
) -> Option<SymbolKind> {
    match value.get_inner_expression() {
        Expression::FunctionExpression(_) | Expression::ArrowFunctionExpression(_) => {
            Some(SymbolKind::Function)
        }
        Expression::ClassExpression(_) => Some(SymbolKind::Class),
        Expression::Identifier(identifier) => kinds.get(identifier.name.as_str()).copied(),
        _ => None,
    }
}

/// The start of a node.
pub(super) fn offset_of(node: &impl GetSpan) -> u32 {
    node.span().start
}
