//! `import` and `export` at the top level of a module.

use std::collections::HashMap;

use oxc_ast::ast::{
    Declaration, ExportAllDeclaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind,
    ExportFromDeclaration, ExportNamedDeclaration, ImportDeclaration, ImportDeclarationSpecifier,
    Statement, TSExportAssignment, TSImportEqualsDeclaration, TSModuleReference,
    TSNamespaceDeclarationBody,
};

use super::Reader;
use super::declarations::{declared_by, kind_of_value, offset_of, top_level_kinds};
use crate::facts::{Export, ImportFlags, Origin, SymbolKind, Usage};

/// The imports by their local names: import index and the name in the other module.
type Locals = HashMap<String, (u32, String)>;

impl Reader<'_, '_> {
    pub(super) fn read_module_items(&mut self) {
        let program = self.program;
        for statement in &program.body {
            match statement {
                Statement::ImportDeclaration(import) => self.read_import(import),
                Statement::TSImportEqualsDeclaration(import) => self.read_import_equals(import),
                Statement::ExportDeclaration(export) => {
                    if let oxc_ast::ast::Declaration::TSImportEqualsDeclaration(import) =
                        &export.declaration
                    {
                        self.read_import_equals(import);
                    }
                }
                _ => {}
            }
        }
        let locals = self.locals();
        let kinds = top_level_kinds(program);
        for statement in &program.body {
            match statement {
                Statement::ExportDeclaration(export) => {
                    for declared in declared_by(&export.declaration) {
                        self.push_export(
                            &declared.name,
                            Origin::Declared(declared.kind),
                            declared.offset,
                        );
                    }
                }
                Statement::ExportNamedDeclaration(export) => {
                    self.read_export_list(export, &locals, &kinds);
                }
                Statement::ExportFromDeclaration(export) => self.read_export_from(export),
                Statement::ExportAllDeclaration(export) => self.read_export_all(export),
                Statement::ExportDefaultDeclaration(export) => {
                    self.read_export_default(export, &locals, &kinds);
                }
                Statement::TSExportAssignment(export) => {
                    self.read_export_assignment(export, &locals, &kinds);
                }
                _ => {}
            }
        }
        self.read_implicit_exports();
    }

    fn locals(&self) -> Locals {
        let mut locals = Locals::new();
        for (index, import) in (0..).zip(&self.facts.imports) {
            for name in import.names.iter().filter(|name| !name.local.is_empty()) {
                locals.insert(name.local.clone(), (index, name.imported.clone()));
            }
        }
        locals
    }

    pub(super) fn push_export(&mut self, name: &str, origin: Origin, offset: u32) {
        let line = self.lines.line(offset);
        self.facts.exports.push(Export {
            name: name.to_owned(),
            origin,
            line,
        });
    }

    fn read_import(&mut self, import: &ImportDeclaration<'_>) {
        let mut flags = ImportFlags::default();
        let specifiers = import.specifiers.as_ref();
        let all_types = |item: &ImportDeclarationSpecifier<'_>| matches!(item, ImportDeclarationSpecifier::ImportSpecifier(named) if named.import_kind.is_type());
        if import.import_kind.is_type()
            || specifiers.is_some_and(|items| !items.is_empty() && items.iter().all(all_types))
        {
            flags = flags.with(ImportFlags::TYPE_ONLY);
        }
        if specifiers.is_none_or(|items| items.is_empty()) {
            flags = flags.with(ImportFlags::SIDE_EFFECT);
        }
        let index = self.push_import(&import.source.value, flags, import.span.start);
        for specifier in specifiers.into_iter().flatten() {
            let (imported, local, type_only) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(named) => (
                    named.imported.name().to_string(),
                    &named.local,
                    named.import_kind.is_type(),
                ),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => {
                    ("default".to_owned(), &default.local, false)
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(namespace) => {
                    ("*".to_owned(), &namespace.local, false)
                }
            };
            let type_only = type_only || import.import_kind.is_type();
            self.push_name(
                index,
                &imported,
                &local.name,
                type_only,
                local.symbol_id.get(),
            );
        }
    }

    fn read_import_equals(&mut self, import: &TSImportEqualsDeclaration<'_>) {
        let TSModuleReference::ExternalModuleReference(reference) = &import.module_reference else {
            return;
        };
        let mut flags = ImportFlags::REQUIRE;
        if import.import_kind.is_type() {
            flags = flags.with(ImportFlags::TYPE_ONLY);
        }
        let index = self.push_import(&reference.expression.value, flags, import.span.start);
        let type_only = import.import_kind.is_type();
        self.push_name(
            index,
            "default",
            &import.id.name,
            type_only,
            import.id.symbol_id.get(),
        );
    }

    fn read_export_list(
        &mut self,
        export: &ExportNamedDeclaration<'_>,
        locals: &Locals,
        kinds: &HashMap<String, SymbolKind>,
    ) {
        for specifier in &export.specifiers {
            let local = specifier.local.name();
            let origin =
                origin_of(&local, locals, kinds).unwrap_or(Origin::Declared(SymbolKind::Const));
            self.push_export(&specifier.exported.name(), origin, specifier.span.start);
        }
    }

    fn read_export_from(&mut self, export: &ExportFromDeclaration<'_>) {
        let mut flags = ImportFlags::REEXPORT;
        if export.export_kind.is_type() {
            flags = flags.with(ImportFlags::TYPE_ONLY);
        }
        let import = self.push_import(&export.source.value, flags, export.span.start);
        for specifier in &export.specifiers {
            let (name, exported) = (specifier.local.name(), specifier.exported.name());
            let type_only = export.export_kind.is_type() || specifier.export_kind.is_type();
            self.push_name(import, &name, &exported, type_only, None);
            let origin = Origin::Imported {
                import,
                name: name.to_string(),
            };
            self.push_export(&exported, origin, specifier.span.start);
        }
    }

    fn read_export_all(&mut self, export: &ExportAllDeclaration<'_>) {
        let mut flags = ImportFlags::REEXPORT;
        if export.export_kind.is_type() {
            flags = flags.with(ImportFlags::TYPE_ONLY);
        }
        let import = self.push_import(&export.source.value, flags, export.span.start);
        let type_only = export.export_kind.is_type();
        if let Some(exported) = &export.exported {
            let name = exported.name();
            self.push_name(import, "*", &name, type_only, None);
            self.push_export(
                &name,
                Origin::Imported {
                    import,
                    name: "*".to_owned(),
                },
                export.span.start,
            );
        } else {
            self.push_name(import, "*", "", type_only, None);
            self.facts.star_exports.push(import);
        }
    }

    fn read_export_default(
        &mut self,
        export: &ExportDefaultDeclaration<'_>,
        locals: &Locals,
        kinds: &HashMap<String, SymbolKind>,
    ) {
        let origin = match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(_) => {
                Origin::Declared(SymbolKind::Function)
            }
            ExportDefaultDeclarationKind::ClassDeclaration(_) => {
                Origin::Declared(SymbolKind::Class)
            }
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => {
                Origin::Declared(SymbolKind::Interface)
            }
            value => value
                .as_expression()
                .and_then(|value| match value.get_inner_expression() {
                    oxc_ast::ast::Expression::Identifier(name) => {
                        origin_of(&name.name, locals, kinds)
                    }
                    value => kind_of_value(value, kinds).map(Origin::Declared),
                })
                .unwrap_or(Origin::Declared(SymbolKind::Const)),
        };
        self.push_export("default", origin, export.span.start);
    }

    fn read_export_assignment(
        &mut self,
        export: &TSExportAssignment<'_>,
        locals: &Locals,
        kinds: &HashMap<String, SymbolKind>,
    ) {
        let origin = match export.expression.get_inner_expression() {
            oxc_ast::ast::Expression::Identifier(name) => origin_of(&name.name, locals, kinds),
            value => kind_of_value(value, kinds).map(Origin::Declared),
        };
        let origin = origin.unwrap_or(Origin::Declared(SymbolKind::Const));
        self.push_export("default", origin, export.span.start);
        if let oxc_ast::ast::Expression::Identifier(name) = export.expression.get_inner_expression()
        {
            self.read_namespace_members(&name.name, locals, kinds);
        }
    }

    /// What `export =` makes of a namespace: its members can be imported by name.
    fn read_namespace_members(
        &mut self,
        name: &str,
        locals: &Locals,
        kinds: &HashMap<String, SymbolKind>,
    ) {
        let program = self.program;
        let namespaces =
            program
                .body
                .iter()
                .filter_map(|statement| match statement.as_declaration() {
                    Some(Declaration::TSNamespaceDeclaration(namespace))
                        if namespace.id.name == name =>
                    {
                        Some(namespace)
                    }
                    _ => None,
                });
        for namespace in namespaces {
            let TSNamespaceDeclarationBody::TSModuleBlock(block) = &namespace.body else {
                continue;
            };
            let has_list = block
                .body
                .iter()
                .any(|statement| matches!(statement, Statement::ExportNamedDeclaration(_)));
            // As in a declaration file, an export list ends the rule that everything is exported.
            let is_ambient = (namespace.declare || self.is_declaration_file) && !has_list;
            for statement in &block.body {
                if let Statement::ExportNamedDeclaration(export) = statement {
                    self.read_export_list(export, locals, kinds);
                }
                let declaration = match statement {
                    Statement::ExportDeclaration(export) => Some(&export.declaration),
                    other if is_ambient => other.as_declaration(),
                    _ => None,
                };
                for declared in declaration.into_iter().flat_map(declared_by) {
                    self.push_export(
                        &declared.name,
                        Origin::Declared(declared.kind),
                        declared.offset,
                    );
                }
            }
        }
    }

    /// In a declaration file that is a module but has no export list, every declaration is exported, `export` or
    /// not: the rule of ambient contexts in TypeScript's binder.
    fn read_implicit_exports(&mut self) {
        if !self.is_declaration_file {
            return;
        }
        let program = self.program;
        let mut is_module = false;
        for statement in &program.body {
            match statement {
                Statement::ExportNamedDeclaration(_)
                | Statement::ExportFromDeclaration(_)
                | Statement::ExportAllDeclaration(_)
                | Statement::TSExportAssignment(_) => return,
                Statement::ExportDefaultDeclaration(export)
                    if export.declaration.as_expression().is_some() =>
                {
                    return;
                }
                Statement::ImportDeclaration(_)
                | Statement::ExportDeclaration(_)
                | Statement::ExportDefaultDeclaration(_) => is_module = true,
                _ => {}
            }
        }
        if !is_module {
            return;
        }
        for declaration in program.body.iter().filter_map(Statement::as_declaration) {
            for declared in declared_by(declaration) {
                self.push_export(
                    &declared.name,
                    Origin::Declared(declared.kind),
                    declared.offset,
                );
            }
        }
    }

    /// Marks the names of an import as used, whatever the scopes say.
    pub(super) fn mark_used(&mut self, import: u32) {
        self.bound.retain(|(index, _, _)| *index != import);
        for name in &mut self.facts.imports[import as usize].names {
            name.usage = Usage::Used;
        }
    }

    pub(super) fn line_of(&self, node: &impl oxc_span::GetSpan) -> u32 {
        self.lines.line(offset_of(node))
    }
}

/// Where an exported local name comes from.
fn origin_of(local: &str, locals: &Locals, kinds: &HashMap<String, SymbolKind>) -> Option<Origin> {
    if let Some((import, name)) = locals.get(local) {
        return Some(Origin::Imported {
            import: *import,
            name: name.clone(),
        });
    }
    kinds.get(local).map(|kind| Origin::Declared(*kind))
}
