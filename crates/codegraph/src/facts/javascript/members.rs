//! What a file takes out of the modules that it imports as a whole: `ns.member`, `<ns.Member />`, `const { member } = ns`.

use oxc_ast::ast::{
    BindingPattern, ComputedMemberExpression, Expression, IdentifierReference, JSXMemberExpression,
    JSXMemberExpressionObject, StaticMemberExpression, TSQualifiedName, TSTypeName,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::{Scoping, SymbolId};
use rustc_hash::FxHashMap;

use super::Reader;
use crate::facts::ImportFlags;

/// Members that a name may have in turn where it is a module passed on by another.
const DEPTH: usize = 3;

impl Reader<'_, '_> {
    /// Notes the members of every name that means a module, where all its uses say which. The tree is only walked where
    /// there is such a name.
    pub(super) fn settle_members(&mut self) {
        let means_module = |import: u32, name: u32| {
            let import = &self.facts.imports[import as usize];
            let imported = import.names[name as usize].imported.as_str();
            let is_required = import.flags.contains(ImportFlags::REQUIRE);
            imported == "*" || (is_required && imported == "default")
        };
        let modules: Vec<(u32, u32, SymbolId)> = self
            .bound
            .iter()
            .copied()
            .filter(|(import, name, _)| means_module(*import, *name))
            .collect();
        if modules.is_empty() {
            return;
        }
        let mut finder = Finder {
            scoping: self.scoping,
            taken: modules
                .iter()
                .map(|(_, _, symbol)| (*symbol, Some(Vec::new())))
                .collect(),
        };
        finder.visit_program(self.program);
        for (import, name, symbol) in modules {
            let mut members = finder.taken.remove(&symbol).flatten();
            if let Some(members) = &mut members {
                members.sort_unstable();
                members.dedup();
            }
            self.facts.imports[import as usize].names[name as usize].members = members;
        }
    }
}

struct Finder<'t> {
    scoping: &'t Scoping,
    /// What is taken out of each module; `None` where the module itself goes somewhere.
    taken: FxHashMap<SymbolId, Option<Vec<String>>>,
}

impl Finder<'_> {
    fn symbol_of(&self, name: &IdentifierReference<'_>) -> Option<SymbolId> {
        let reference = name.reference_id.get()?;
        let symbol = self.scoping.get_reference(reference).symbol_id()?;
        self.taken.contains_key(&symbol).then_some(symbol)
    }

    /// Notes what is taken out of a name, innermost last; says whether the name means a module.
    fn take(&mut self, name: &IdentifierReference<'_>, outermost_first: &[&str]) -> bool {
        let Some(symbol) = self.symbol_of(name) else {
            return false;
        };
        let chain: Vec<&str> = outermost_first.iter().rev().take(DEPTH).copied().collect();
        if let Some(Some(members)) = self.taken.get_mut(&symbol) {
            members.push(chain.join("."));
        }
        true
    }

    /// Follows `a.b["c"]` down to its first name.
    fn take_chain<'e>(&mut self, object: &'e Expression<'_>, last: &'e str) -> bool {
        let mut parts = vec![last];
        let mut at = object;
        loop {
            match at {
                Expression::Identifier(name) => return self.take(name, &parts),
                Expression::StaticMemberExpression(member) => {
                    parts.push(member.property.name.as_str());
                    at = &member.object;
                }
                _ => return false,
            }
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        if let Some(symbol) = self.symbol_of(name) {
            self.taken.insert(symbol, None);
        }
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if !self.take_chain(&member.object, member.property.name.as_str()) {
            walk::walk_static_member_expression(self, member);
        }
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        if let Expression::StringLiteral(name) = &member.expression
            && self.take_chain(&member.object, name.value.as_str())
        {
            return;
        }
        walk::walk_computed_member_expression(self, member);
    }

    fn visit_jsx_member_expression(&mut self, member: &JSXMemberExpression<'a>) {
        let mut parts = vec![member.property.name.as_str()];
        let mut at = &member.object;
        loop {
            match at {
                JSXMemberExpressionObject::IdentifierReference(name) => {
                    self.take(name, &parts);
                    return;
                }
                JSXMemberExpressionObject::MemberExpression(inner) => {
                    parts.push(inner.property.name.as_str());
                    at = &inner.object;
                }
                JSXMemberExpressionObject::ThisExpression(_) => return,
            }
        }
    }

    fn visit_ts_qualified_name(&mut self, qualified: &TSQualifiedName<'a>) {
        let mut parts = vec![qualified.right.name.as_str()];
        let mut at = &qualified.left;
        loop {
            match at {
                TSTypeName::IdentifierReference(name) => {
                    self.take(name, &parts);
                    return;
                }
                TSTypeName::QualifiedName(inner) => {
                    parts.push(inner.right.name.as_str());
                    at = &inner.left;
                }
                TSTypeName::ThisExpression(_) => return,
            }
        }
    }

    fn visit_variable_declarator(&mut self, variable: &VariableDeclarator<'a>) {
        if let (Some(Expression::Identifier(name)), Some(members)) =
            (&variable.init, taken_by_pattern(&variable.id))
            && self.symbol_of(name).is_some()
        {
            for member in members {
                self.take(name, &[&member]);
            }
            return self.visit_binding_pattern(&variable.id);
        }
        walk::walk_variable_declarator(self, variable);
    }
}

/// The names that `const { a, b: c } = …` takes; `None` for other patterns and with a rest.
fn taken_by_pattern(pattern: &BindingPattern<'_>) -> Option<Vec<String>> {
    let BindingPattern::ObjectPattern(object) = pattern else {
        return None;
    };
    if object.rest.is_some() {
        return None;
    }
    let names = object.properties.iter();
    names
        .map(|property| property.key.static_name().map(|name| name.to_string()))
        .collect()
}
