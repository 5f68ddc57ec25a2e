//! The guards around imports and definitions: `TYPE_CHECKING`, `sys.version_info`, `except ImportError`.

use ruff_python_ast::{ExceptHandler, Expr, StmtTry};

/// Whether a test asks for type checking.
pub(super) fn is_type_checking(test: &Expr) -> bool {
    match test {
        Expr::Name(name) => name.id.as_str() == "TYPE_CHECKING",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "TYPE_CHECKING",
        Expr::UnaryOp(not) => is_type_checking(&not.operand),
        Expr::BoolOp(op) => op.values.iter().any(is_type_checking),
        _ => false,
    }
}

/// Whether definitions under this test belong to the module: `TYPE_CHECKING` and `sys.version_info`.
pub(super) fn is_definition_guard(test: &Expr) -> bool {
    is_type_checking(test) || mentions_version(test)
}

fn mentions_version(test: &Expr) -> bool {
    match test {
        Expr::Attribute(attribute) => {
            attribute.attr.as_str() == "version_info" || mentions_version(&attribute.value)
        }
        Expr::Name(name) => matches!(name.id.as_str(), "version_info" | "PY2" | "PY3"),
        Expr::Compare(compare) => {
            mentions_version(&compare.left) || compare.comparators.iter().any(mentions_version)
        }
        Expr::Subscript(subscript) => mentions_version(&subscript.value),
        Expr::UnaryOp(not) => mentions_version(&not.operand),
        Expr::BoolOp(op) => op.values.iter().any(mentions_version),
        _ => false,
    }
}

/// Whether a `try` catches `ImportError` or `ModuleNotFoundError`.
pub(super) fn catches_import_error(guarded: &StmtTry) -> bool {
    guarded.handlers.iter().any(|handler| {
        let ExceptHandler::ExceptHandler(handler) = handler;
        handler.type_.as_deref().is_some_and(names_import_error)
    })
}

fn names_import_error(kind: &Expr) -> bool {
    match kind {
        Expr::Name(name) => matches!(name.id.as_str(), "ImportError" | "ModuleNotFoundError"),
        Expr::Attribute(attribute) => matches!(
            attribute.attr.as_str(),
            "ImportError" | "ModuleNotFoundError"
        ),
        Expr::Tuple(tuple) => tuple.elts.iter().any(names_import_error),
        _ => false,
    }
}
