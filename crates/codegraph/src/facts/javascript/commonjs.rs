//! The exports of CommonJS modules: `module.exports = …`, `exports.a = …`, and what compilers write for them.

use std::collections::{HashMap, HashSet};

use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, CallExpression, Expression, ObjectExpression,
    ObjectPropertyKind, Statement, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};

use super::Reader;
use super::declarations::{kind_of_value, offset_of, top_level_kinds};
use crate::facts::{ImportFlags, Origin, SymbolKind};

/// Which object of CommonJS an expression names.
#[derive(PartialEq)]
enum Target {
    /// `module.exports` or `exports` itself.
    Whole,
    /// A property of it.
    Property(String),
}

/// Finds the names of the exports object: `var app = exports = module.exports = {}` and `module.exports = app`.
#[derive(Default)]
struct ExportedNames {
    aliases: HashSet<String>,
}

impl<'a> Visit<'a> for ExportedNames {
    fn visit_variable_declarator(&mut self, variable: &VariableDeclarator<'a>) {
        if variable.init.as_ref().is_some_and(is_exports) {
            self.aliases.extend(
                variable
                    .id
                    .get_identifier_name()
                    .map(|name| name.to_string()),
            );
        }
        walk::walk_variable_declarator(self, variable);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        if target_of(&assignment.left) == Some(Target::Whole)
            && let Expression::Identifier(name) = innermost_value(assignment)
            && !matches!(name.name.as_str(), "exports" | "module")
        {
            self.aliases.insert(name.name.to_string());
        }
        walk::walk_assignment_expression(self, assignment);
    }
}

/// Finds what is assigned to `exports` wherever it happens: bundles and old libraries do it inside of functions.
struct Assignments<'r, 't, 'a> {
    reader: &'r mut Reader<'t, 'a>,
    kinds: HashMap<String, SymbolKind>,
}

impl<'a> Visit<'a> for Assignments<'_, '_, '_> {
    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        self.reader
            .read_commonjs_assignment(assignment, &self.kinds);
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.reader.read_commonjs_call(call, &self.kinds);
        walk::walk_call_expression(self, call);
    }
}

impl<'t, 'a> Reader<'t, 'a> {
    /// Reads CommonJS exports, where the file has no `import` or `export` of its own.
    pub(super) fn read_commonjs(&mut self) {
        let is_module = self
            .program
            .body
            .iter()
            .any(Statement::is_module_declaration);
        if is_module || !self.is_javascript {
            return;
        }
        let mentions =
            |name: &str| memchr::memmem::find(self.text.as_bytes(), name.as_bytes()).is_some();
        if !mentions("exports") && !mentions("__export") {
            return;
        }
        let kinds = top_level_kinds(self.program);
        let program = self.program;
        let mut names = ExportedNames::default();
        names.visit_program(program);
        self.exports_aliases = names.aliases;
        Assignments {
            reader: self,
            kinds,
        }
        .visit_program(program);
    }

    fn read_commonjs_assignment(
        &mut self,
        assignment: &AssignmentExpression<'_>,
        kinds: &HashMap<String, SymbolKind>,
    ) {
        // `exports.a = exports.b = void 0` announces names that are assigned later.
        let value = innermost_value(assignment);
        let target = target_of(&assignment.left).or_else(|| self.alias_target(&assignment.left));
        match target {
            Some(Target::Property(name)) if name != "__esModule" => {
                let origin = match self.required_module(value) {
                    Some(import) => Origin::Imported {
                        import,
                        name: "*".to_owned(),
                    },
                    None => {
                        Origin::Declared(kind_of_value(value, kinds).unwrap_or(SymbolKind::Const))
                    }
                };
                self.push_export(&name, origin, offset_of(assignment));
            }
            Some(Target::Whole) => self.read_whole(value, kinds),
            _ => {}
        }
    }

    /// `app.use = …` where `app` is, or becomes, the exports object.
    fn alias_target(&self, target: &AssignmentTarget<'_>) -> Option<Target> {
        let AssignmentTarget::StaticMemberExpression(member) = target else {
            return None;
        };
        let name = member.object.get_identifier_reference()?;
        let is_alias = self.exports_aliases.contains(name.name.as_str())
            && member.property.name != "prototype";
        is_alias.then(|| Target::Property(member.property.name.to_string()))
    }

    fn read_whole(&mut self, value: &Expression<'_>, kinds: &HashMap<String, SymbolKind>) {
        if let Some(import) = self.required_module(value) {
            self.star(import);
            return;
        }
        match value.get_inner_expression() {
            Expression::ObjectExpression(object) => self.read_object(object, kinds),
            Expression::Identifier(name) if matches!(name.name.as_str(), "exports" | "module") => {}
            value => {
                if let Some(object) = self.object_named(value) {
                    self.read_object(object, kinds);
                }
                let kind = kind_of_value(value, kinds).unwrap_or(SymbolKind::Const);
                self.push_export("default", Origin::Declared(kind), offset_of(value));
            }
        }
    }

    /// The object that a top-level variable holds: `const api = { … }; module.exports = api`.
    fn object_named(&self, value: &Expression<'_>) -> Option<&'t ObjectExpression<'a>> {
        let name = value.get_identifier_reference()?;
        let variables = self
            .program
            .body
            .iter()
            .filter_map(|statement| match statement {
                Statement::VariableDeclaration(variables) => Some(&variables.declarations),
                _ => None,
            });
        variables.flatten().find_map(|variable| {
            let is_named = variable
                .id
                .get_identifier_name()
                .is_some_and(|bound| bound == name.name);
            match variable.init.as_ref().map(Expression::get_inner_expression) {
                Some(Expression::ObjectExpression(object)) if is_named => Some(&**object),
                _ => None,
            }
        })
    }

    fn read_object(&mut self, object: &ObjectExpression<'_>, kinds: &HashMap<String, SymbolKind>) {
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    let Some(name) = property.key.static_name() else {
                        continue;
                    };
                    let origin = match self.required_module(&property.value) {
                        Some(import) => Origin::Imported {
                            import,
                            name: "*".to_owned(),
                        },
                        None => Origin::Declared(
                            kind_of_value(&property.value, kinds).unwrap_or(SymbolKind::Const),
                        ),
                    };
                    self.push_export(&name, origin, offset_of(&**property));
                }
                ObjectPropertyKind::SpreadProperty(spread) => {
                    if let Some(import) = self.required_module(&spread.argument) {
                        self.star(import);
                    }
                }
            }
        }
    }

    fn read_commonjs_call(
        &mut self,
        call: &CallExpression<'_>,
        kinds: &HashMap<String, SymbolKind>,
    ) {
        let argument = |index: usize| call.arguments.get(index).and_then(Argument::as_expression);
        let callee = match call.callee.get_inner_expression() {
            Expression::Identifier(name) => name.name.as_str(),
            Expression::StaticMemberExpression(member) => member.property.name.as_str(),
            // `(0, tslib_1.__exportStar)(require("./a"), exports)`
            Expression::SequenceExpression(sequence) => match sequence.expressions.last() {
                Some(Expression::StaticMemberExpression(member)) => member.property.name.as_str(),
                _ => return,
            },
            _ => return,
        };
        match callee {
            "defineProperty" => {
                let (Some(object), Some(Expression::StringLiteral(name))) =
                    (argument(0), argument(1))
                else {
                    return;
                };
                if target_of_value(object) == Some(Target::Whole) && name.value != "__esModule" {
                    let kind = argument(2)
                        .and_then(|value| kind_of_value(value, kinds))
                        .unwrap_or(SymbolKind::Const);
                    self.push_export(&name.value, Origin::Declared(kind), offset_of(call));
                }
            }
            "__exportStar" | "__export" => {
                if let Some(import) = argument(0).and_then(|value| self.required_module(value)) {
                    self.star(import);
                }
            }
            _ => {}
        }
    }

    fn star(&mut self, import: u32) {
        self.facts.star_exports.push(import);
        let flags = &mut self.facts.imports[import as usize].flags;
        *flags = flags.with(ImportFlags::REEXPORT);
        self.mark_used(import);
    }

    /// The import that a `require()` value is.
    fn required_module(&self, value: &Expression<'_>) -> Option<u32> {
        let Expression::CallExpression(call) = value.get_inner_expression() else {
            return None;
        };
        let source = call.common_js_require()?;
        let line = self.line_of(&**call);
        let position = self
            .facts
            .imports
            .iter()
            .position(|import| import.line == line && import.module == source.value.as_str())?;
        u32::try_from(position).ok()
    }
}

fn innermost_value<'v, 'a>(assignment: &'v AssignmentExpression<'a>) -> &'v Expression<'a> {
    match assignment.right.get_inner_expression() {
        Expression::AssignmentExpression(inner) => innermost_value(inner),
        value => value,
    }
}

/// Whether a value is the exports object, or is being made it.
fn is_exports(value: &Expression<'_>) -> bool {
    match value.get_inner_expression() {
        Expression::AssignmentExpression(assignment) => {
            target_of(&assignment.left) == Some(Target::Whole)
        }
        value => target_of_value(value) == Some(Target::Whole),
    }
}

fn target_of(target: &AssignmentTarget<'_>) -> Option<Target> {
    match target {
        AssignmentTarget::AssignmentTargetIdentifier(name) if name.name == "exports" => {
            Some(Target::Whole)
        }
        AssignmentTarget::StaticMemberExpression(member) => {
            property_target(&member.object, member.property.name.as_str())
        }
        AssignmentTarget::ComputedMemberExpression(member) => match &member.expression {
            Expression::StringLiteral(name) => property_target(&member.object, &name.value),
            _ => None,
        },
        _ => None,
    }
}

fn target_of_value(value: &Expression<'_>) -> Option<Target> {
    match value.get_inner_expression() {
        Expression::Identifier(name) if name.name == "exports" => Some(Target::Whole),
        Expression::StaticMemberExpression(member) => {
            property_target(&member.object, member.property.name.as_str())
        }
        _ => None,
    }
}

fn property_target(object: &Expression<'_>, property: &str) -> Option<Target> {
    match object.get_inner_expression() {
        Expression::Identifier(name) if name.name == "module" => {
            (property == "exports").then_some(Target::Whole)
        }
        object => match target_of_value(object)? {
            Target::Whole => Some(Target::Property(property.to_owned())),
            Target::Property(_) => None,
        },
    }
}
