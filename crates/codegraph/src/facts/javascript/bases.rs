//! What classes and interfaces are built on.

use oxc_ast::ast::{
    Class, Declaration, ExportDefaultDeclarationKind, Expression, Statement,
    TSInterfaceDeclaration, TSTypeName,
};

use super::Reader;
use crate::facts::Base;

impl Reader<'_, '_> {
    /// Reads the bases of the classes and interfaces at the top level.
    pub(super) fn read_bases(&mut self) {
        let program = self.program;
        let mut bases = Vec::new();
        for statement in &program.body {
            match statement {
                Statement::ExportDeclaration(export) => {
                    read_declaration(&export.declaration, &mut bases);
                }
                Statement::ExportDefaultDeclaration(export) => match &export.declaration {
                    ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                        read_class(class, "default", &mut bases);
                    }
                    ExportDefaultDeclarationKind::TSInterfaceDeclaration(interface) => {
                        read_interface(interface, "default", &mut bases);
                    }
                    _ => {}
                },
                other => {
                    if let Some(declaration) = other.as_declaration() {
                        read_declaration(declaration, &mut bases);
                    }
                }
            }
        }
        self.facts.bases = bases;
    }
}

fn read_declaration(declaration: &Declaration<'_>, bases: &mut Vec<Base>) {
    match declaration {
        Declaration::ClassDeclaration(class) => {
            if let Some(id) = &class.id {
                read_class(class, &id.name, bases);
            }
        }
        Declaration::TSInterfaceDeclaration(interface) => {
            read_interface(interface, &interface.id.name, bases);
        }
        _ => {}
    }
}

fn read_class(class: &Class<'_>, name: &str, bases: &mut Vec<Base>) {
    let extended = class
        .heritage
        .as_ref()
        .and_then(|heritage| path_of_value(&heritage.expression));
    let implemented = class
        .implements
        .iter()
        .filter_map(|item| path_of_type(&item.expression));
    bases.extend(
        extended
            .into_iter()
            .chain(implemented)
            .map(|base| Base::new(name, base)),
    );
}

fn read_interface(interface: &TSInterfaceDeclaration<'_>, name: &str, bases: &mut Vec<Base>) {
    let extended = interface.extends.iter();
    bases.extend(
        extended
            .filter_map(|item| path_of_type(&item.type_name))
            .map(|base| Base::new(name, base)),
    );
}

fn path_of_value(value: &Expression<'_>) -> Option<String> {
    match value.get_inner_expression() {
        Expression::Identifier(name) => Some(name.name.to_string()),
        Expression::StaticMemberExpression(member) => {
            let object = path_of_value(&member.object)?;
            Some(format!("{object}.{}", member.property.name))
        }
        _ => None,
    }
}

fn path_of_type(name: &TSTypeName<'_>) -> Option<String> {
    match name {
        TSTypeName::IdentifierReference(name) => Some(name.name.to_string()),
        TSTypeName::QualifiedName(qualified) => {
            let left = path_of_type(&qualified.left)?;
            Some(format!("{left}.{}", qualified.right.name))
        }
        TSTypeName::ThisExpression(_) => None,
    }
}
