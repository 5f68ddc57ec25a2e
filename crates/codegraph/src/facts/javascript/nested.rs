//! Imports that may stand anywhere: `require()`, `import()`, `import("m").T`, and the presence of JSX.

use std::collections::HashMap;

use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, Expression, IfStatement, ImportExpression,
    JSXElement, JSXFragment, PropertyKey, TSImportType, TSImportTypeQualifier, TryStatement,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::{Scoping, SymbolId};

use super::Reader;
use crate::facts::ImportFlags;

/// A name taken out of a module: its name there, the local name, the local symbol.
type Taken = (String, String, Option<SymbolId>);

/// An import found below the top level.
struct Found {
    module: String,
    flags: ImportFlags,
    offset: u32,
    names: Vec<Taken>,
}

struct Finder<'t> {
    scoping: &'t Scoping,
    found: Vec<Found>,
    /// What the surroundings of a call take out of it, by the call's start.
    taken: HashMap<u32, Vec<Taken>>,
    conditions: u32,
    has_jsx: bool,
}

impl Reader<'_, '_> {
    /// Finds nested imports. The whole tree is only walked where the text can hold one, or where JSX decides.
    pub(super) fn read_nested(&mut self, has_dynamic_imports: bool) {
        let has_require = self
            .scoping
            .root_unresolved_references()
            .keys()
            .any(|name| name.as_str() == "require");
        let has_import_types =
            !self.is_javascript && memchr::memmem::find(self.text.as_bytes(), b"import(").is_some();
        let asks_for_jsx = self.program.source_type.is_jsx()
            && self
                .bound
                .iter()
                .any(|(_, _, symbol)| self.scoping.symbol_is_unused(*symbol));
        if !(has_dynamic_imports || has_require || has_import_types || asks_for_jsx) {
            return;
        }
        let mut finder = Finder {
            scoping: self.scoping,
            found: Vec::new(),
            taken: HashMap::new(),
            conditions: 0,
            has_jsx: false,
        };
        finder.visit_program(self.program);
        self.has_jsx = finder.has_jsx;
        for found in finder.found {
            let index = self.push_import(&found.module, found.flags, found.offset);
            let type_only = found.flags.contains(ImportFlags::TYPE_ONLY);
            for (imported, local, symbol) in found.names {
                self.push_name(index, &imported, &local, type_only, symbol);
            }
        }
    }
}

impl Finder<'_> {
    fn push(&mut self, module: &str, flags: ImportFlags, offset: u32) {
        let flags = if self.conditions > 0 {
            flags.with(ImportFlags::CONDITIONAL)
        } else {
            flags
        };
        let names = self.taken.remove(&offset).unwrap_or_default();
        self.found.push(Found {
            module: module.to_owned(),
            flags,
            offset,
            names,
        });
    }

    fn is_require(&self, call: &CallExpression<'_>) -> bool {
        call.common_js_require().is_some()
            && call
                .callee
                .get_identifier_reference()
                .is_some_and(|callee| {
                    callee
                        .reference_id
                        .get()
                        .is_none_or(|id| !self.scoping.has_binding(id))
                })
    }

    /// The start of the import that a value is, through `await`, brackets, casts and interop wrappers, and the
    /// member taken out of it.
    fn import_in<'v>(&self, value: &'v Expression<'_>) -> Option<(u32, Option<&'v str>, bool)> {
        match value.get_inner_expression() {
            Expression::AwaitExpression(awaited) => self.import_in(&awaited.argument),
            Expression::ImportExpression(import) => Some((import.span.start, None, true)),
            Expression::CallExpression(call) if self.is_require(call) => {
                Some((call.span.start, None, false))
            }
            Expression::CallExpression(call) if call.callee.is_identifier_reference() => call
                .arguments
                .first()
                .and_then(Argument::as_expression)
                .and_then(|inner| self.import_in(inner)),
            Expression::StaticMemberExpression(member) => {
                let (offset, taken, dynamic) = self.import_in(&member.object)?;
                taken
                    .is_none()
                    .then_some((offset, Some(member.property.name.as_str()), dynamic))
            }
            _ => None,
        }
    }
}

/// The names that a pattern takes out of a module.
fn names_of_pattern(pattern: &BindingPattern<'_>, whole: &str) -> Vec<Taken> {
    match pattern {
        BindingPattern::BindingIdentifier(bound) => {
            vec![(
                whole.to_owned(),
                bound.name.to_string(),
                bound.symbol_id.get(),
            )]
        }
        BindingPattern::ObjectPattern(object) => object
            .properties
            .iter()
            .filter_map(|property| {
                let name = property_name(&property.key)?;
                let bound = first_identifier(&property.value);
                let local = bound
                    .as_ref()
                    .map_or_else(|| name.clone(), |(local, _)| local.clone());
                Some((name, local, bound.and_then(|(_, symbol)| symbol)))
            })
            .collect(),
        BindingPattern::AssignmentPattern(assignment) => names_of_pattern(&assignment.left, whole),
        BindingPattern::ArrayPattern(_) => Vec::new(),
    }
}

/// The one name that a pattern binds; patterns inside patterns have no single one.
fn first_identifier(pattern: &BindingPattern<'_>) -> Option<(String, Option<SymbolId>)> {
    match pattern {
        BindingPattern::BindingIdentifier(bound) => {
            Some((bound.name.to_string(), bound.symbol_id.get()))
        }
        BindingPattern::AssignmentPattern(assignment) => first_identifier(&assignment.left),
        _ => None,
    }
}

fn property_name(key: &PropertyKey<'_>) -> Option<String> {
    key.static_name().map(|name| name.to_string())
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_variable_declarator(&mut self, variable: &VariableDeclarator<'a>) {
        if let Some((offset, member, dynamic)) =
            variable.init.as_ref().and_then(|init| self.import_in(init))
        {
            let whole = if dynamic { "*" } else { "default" };
            let names = match member {
                Some(member) => match &variable.id {
                    BindingPattern::BindingIdentifier(_) => names_of_pattern(&variable.id, member),
                    _ => vec![(member.to_owned(), member.to_owned(), None)],
                },
                None => names_of_pattern(&variable.id, whole),
            };
            self.taken.insert(offset, names);
        }
        walk::walk_variable_declarator(self, variable);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if self.is_require(call) {
            if let Some(source) = call.common_js_require() {
                self.push(&source.value, ImportFlags::REQUIRE, call.span.start);
            }
        } else if let Some((offset, names)) = taken_by_then(call) {
            self.taken.entry(offset).or_insert(names);
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_static_member_expression(
        &mut self,
        member: &oxc_ast::ast::StaticMemberExpression<'a>,
    ) {
        if let Some((offset, None, _)) = self.import_in(&member.object)
            && member.property.name != "then"
        {
            let name = member.property.name.to_string();
            self.taken
                .entry(offset)
                .or_insert_with(|| vec![(name.clone(), name, None)]);
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        let source = match &import.source {
            Expression::StringLiteral(source) => Some(source.value.to_string()),
            Expression::TemplateLiteral(template) => {
                template.single_quasi().map(|quasi| quasi.to_string())
            }
            _ => None,
        };
        if let Some(source) = source {
            self.push(&source, ImportFlags::DYNAMIC, import.span.start);
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_ts_import_type(&mut self, import: &TSImportType<'a>) {
        if let Some(qualifier) = &import.qualifier {
            let name = leftmost(qualifier);
            self.taken
                .insert(import.span.start, vec![(name.clone(), name, None)]);
        }
        self.push(
            &import.source.value,
            ImportFlags::TYPE_ONLY,
            import.span.start,
        );
        walk::walk_ts_import_type(self, import);
    }

    fn visit_if_statement(&mut self, statement: &IfStatement<'a>) {
        self.conditions += 1;
        walk::walk_if_statement(self, statement);
        self.conditions -= 1;
    }

    fn visit_try_statement(&mut self, statement: &TryStatement<'a>) {
        self.conditions += 1;
        walk::walk_try_statement(self, statement);
        self.conditions -= 1;
    }

    fn visit_jsx_element(&mut self, element: &JSXElement<'a>) {
        self.has_jsx = true;
        walk::walk_jsx_element(self, element);
    }

    fn visit_jsx_fragment(&mut self, fragment: &JSXFragment<'a>) {
        self.has_jsx = true;
        walk::walk_jsx_fragment(self, fragment);
    }
}

/// `import("m").then(({ a }) => …)`: the names that the callback takes out.
fn taken_by_then(call: &CallExpression<'_>) -> Option<(u32, Vec<Taken>)> {
    let Expression::StaticMemberExpression(member) = &call.callee else {
        return None;
    };
    let Expression::ImportExpression(import) = member.object.get_inner_expression() else {
        return None;
    };
    if member.property.name != "then" {
        return None;
    }
    let params = match call.arguments.first()? {
        Argument::ArrowFunctionExpression(arrow) => &arrow.params,
        Argument::FunctionExpression(function) => &function.params,
        _ => return None,
    };
    let pattern = &params.items.first()?.pattern;
    Some((import.span.start, names_of_pattern(pattern, "*")))
}

fn leftmost(qualifier: &TSImportTypeQualifier<'_>) -> String {
    match qualifier {
        TSImportTypeQualifier::Identifier(name) => name.name.to_string(),
        TSImportTypeQualifier::QualifiedName(qualified) => leftmost(&qualified.left),
    }
}
