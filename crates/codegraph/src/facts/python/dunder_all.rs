//! `__all__`: the names a module says it exports.

use ruff_python_ast::{Expr, Operator, Stmt};

/// Reads `__all__` from literal lists and tuples, `+=`, `.extend` and `.append`; `None` where there is none.
pub(super) fn read(body: &[Stmt]) -> Option<Vec<String>> {
    let mut all = None;
    read_body(body, &mut all);
    all
}

fn read_body(body: &[Stmt], all: &mut Option<Vec<String>>) {
    for statement in body {
        match statement {
            Stmt::Assign(assign) if assign.targets.iter().any(is_all) => {
                *all = Some(literals(&assign.value));
            }
            Stmt::AnnAssign(assign) if is_all(&assign.target) => {
                *all = assign.value.as_deref().map(literals);
            }
            Stmt::AugAssign(assign) if is_all(&assign.target) && assign.op == Operator::Add => {
                all.get_or_insert_default().extend(literals(&assign.value));
            }
            Stmt::Expr(expression) => read_call(&expression.value, all),
            Stmt::If(branch) => {
                read_body(&branch.body, all);
                branch
                    .elif_else_clauses
                    .iter()
                    .for_each(|clause| read_body(&clause.body, all));
            }
            Stmt::Try(guarded) => read_body(&guarded.body, all),
            _ => {}
        }
    }
}

fn read_call(expression: &Expr, all: &mut Option<Vec<String>>) {
    let Expr::Call(call) = expression else { return };
    let Expr::Attribute(method) = &*call.func else {
        return;
    };
    let Some(argument) = call.arguments.args.first() else {
        return;
    };
    if !is_all(&method.value) {
        return;
    }
    match method.attr.as_str() {
        "extend" => all.get_or_insert_default().extend(literals(argument)),
        "append" => {
            if let Expr::StringLiteral(name) = argument {
                all.get_or_insert_default()
                    .push(name.value.to_str().to_owned());
            }
        }
        _ => {}
    }
}

fn is_all(expression: &Expr) -> bool {
    matches!(expression, Expr::Name(name) if name.id.as_str() == "__all__")
}

/// The string literals of a list, a tuple or a sum of them; parts that are computed are left out.
fn literals(expression: &Expr) -> Vec<String> {
    match expression {
        Expr::List(list) => list.elts.iter().filter_map(literal).collect(),
        Expr::Tuple(tuple) => tuple.elts.iter().filter_map(literal).collect(),
        Expr::BinOp(sum) if sum.op == Operator::Add => {
            let mut names = literals(&sum.left);
            names.extend(literals(&sum.right));
            names
        }
        Expr::Call(call) => call.arguments.args.first().map_or_else(Vec::new, literals),
        _ => Vec::new(),
    }
}

fn literal(expression: &Expr) -> Option<String> {
    match expression {
        Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
        _ => None,
    }
}
