//! The check before a run: every unknown name and tool, every input that can't fit its schema and every read of a
//! property that a result doesn't have, in one answer, with nothing executed.
//!
//! A program that is right gets no problem: what the text doesn't show for certain, computed paths and keys first of all,
//! is left alone.

mod fit;
mod flow;
mod reads;
mod types;

use crate::compiled::Program;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::front;
use crate::realm::realm;
use crate::text::Text;
use crate::tools::{ToolSet, closest};
use crate::value::Key;
use fit::Fit;
use flow::{Flow, SEARCH_INPUT, strip};
use oxc_ast::AstKind;
use oxc_ast::ast::{CallExpression, Expression};
use oxc_semantic::Semantic;
use oxc_span::GetSpan;
use oxc_syntax::operator::UnaryOperator;
use reads::{BadRead, Excused};
use rustc_hash::FxHashSet;
use types::Ty;

/// Most problems told; the first ones are the ones to mend.
const LIMIT: usize = 50;
const FOUND_BY: &str = "Use search({ query: ... }) to find the tools there are.";

struct Problem {
    offset: u32,
    kind: DiagnosticKind,
    message: String,
    suggestions: Vec<String>,
}

/// All problems of a program against a set of tools, in the order of the source. `globals` are the names that the host
/// adds.
pub(crate) fn check(
    program: &Program,
    prelude: &str,
    tools: &ToolSet,
    globals: &[&str],
) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let looked = front::with_tree(prelude, &program.source, |semantic, shift| {
        problems.extend(names(program, semantic, tools, globals));
        problems.extend(tree(semantic, shift, tools));
    });
    if looked.is_none() {
        return Vec::new();
    }
    problems.sort_by_key(|p| p.offset);
    problems.dedup_by(|a, b| a.offset == b.offset && a.message == b.message);
    problems.truncate(LIMIT);
    problems
        .into_iter()
        .map(|p| Diagnostic {
            suggestions: p.suggestions,
            ..Diagnostic::located(p.kind, &p.message, &program.source, p.offset)
        })
        .collect()
}

/// Names that nothing declares.
fn names(
    program: &Program,
    semantic: &Semantic<'_>,
    tools: &ToolSet,
    globals: &[&str],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut probed: Option<FxHashSet<String>> = None;
    for (name, offset) in &program.free_names {
        if problems.len() >= LIMIT {
            break;
        }
        let known = realm()
            .names
            .map
            .get(&Text::new(name))
            .is_some_and(|&id| realm().globals.contains_key(&Key(id)));
        if known || globals.contains(&name.as_str()) || (program.print && name == "print") {
            continue;
        }
        // A program that asks `typeof name` first knows what it does.
        if probed
            .get_or_insert_with(|| probed_names(semantic))
            .contains(name)
        {
            continue;
        }
        let mut suggestions = Vec::new();
        if let Some(near) = tools.by_bare_name(name) {
            suggestions.push(format!("Call {near}(...) instead."));
        } else if tools.has_child(&[], name) {
            suggestions.push(format!("Write tools.{name} instead."));
        } else if let Some(near) = closest(name, declared_names(semantic).into_iter()) {
            suggestions.push(format!("Did you mean {near}?"));
        }
        problems.push(Problem {
            offset: *offset,
            kind: DiagnosticKind::ExecutionFailure,
            message: format!("ReferenceError: {name} is not defined"),
            suggestions,
        });
    }
    problems
}

/// Names that a mistyped one may have meant.
fn declared_names<'s>(semantic: &'s Semantic<'_>) -> Vec<&'s str> {
    let mut names: Vec<&str> = semantic.scoping().symbol_names().collect();
    names.extend(["tools", "search", "console", "undefined"]);
    names.extend([
        "Object", "Promise", "Array", "JSON", "Math", "String", "Number",
    ]);
    names
}

fn probed_names(semantic: &Semantic<'_>) -> FxHashSet<String> {
    let mut names = FxHashSet::default();
    for node in semantic.nodes().iter() {
        if let AstKind::UnaryExpression(u) = node.kind()
            && u.operator == UnaryOperator::Typeof
            && let Expression::Identifier(ident) = strip(&u.argument)
        {
            names.insert(ident.name.to_string());
        }
    }
    names
}

/// Calls of tools, and reads of what they gave.
fn tree(semantic: &Semantic<'_>, shift: u32, tools: &ToolSet) -> Vec<Problem> {
    let mut flow = Flow::new(semantic, tools);
    let excused = Excused::collect(&mut flow);
    let mut problems = Vec::new();
    for node in semantic.nodes().iter() {
        if let AstKind::CallExpression(call) = node.kind()
            && problems.len() < LIMIT
            && call.span.start >= shift
            && let Ty::Tools(path) = flow.ty(&call.callee)
        {
            problems.extend(call_problems(&flow, call, &path, shift));
        }
    }
    let reads = reads::bad_reads(&flow, &excused);
    // What stands in a prelude is the host's own affair.
    for read in reads.iter().filter(|r| r.span.start >= shift).take(LIMIT) {
        problems.push(read_problem(read, shift));
    }
    problems
}

fn call_problems<'a>(
    flow: &Flow<'a, '_, '_>,
    call: &'a CallExpression<'a>,
    path: &[String],
    shift: u32,
) -> Vec<Problem> {
    let label = path.join(".");
    let offset = call.callee.span().start.saturating_sub(shift);
    let tools = flow.tools;
    let index = tools.find(path);
    if index.is_none() && label != "search" {
        let near = tools.nearest(path);
        let hint = near.as_ref().map(|n| format!(" Did you mean {n}?"));
        let mut suggestions: Vec<String> = near
            .map(|n| format!("Call {n} instead."))
            .into_iter()
            .collect();
        suggestions.push(FOUND_BY.to_owned());
        return vec![Problem {
            offset,
            kind: DiagnosticKind::UnknownTool,
            message: format!("Unknown tool '{label}'.{}", hint.unwrap_or_default()),
            suggestions,
        }];
    }
    if call.arguments.iter().any(|a| a.is_spread()) {
        return Vec::new();
    }
    let invalid = |offset, message| Problem {
        offset,
        kind: DiagnosticKind::InvalidToolInput,
        message,
        suggestions: Vec::new(),
    };
    if call.arguments.len() > 1 {
        let count = call.arguments.len();
        let message =
            format!("Tool '{label}' takes one object with named fields, not {count} arguments.");
        return vec![invalid(offset, message)];
    }
    let argument = call.arguments.first().and_then(|a| a.as_expression());
    let schema = match index {
        Some(index) => match &tools.tools()[index].input {
            Some(schema) => schema,
            None => return Vec::new(),
        },
        // The built-in search takes a bare query too.
        None if matches!(argument.map(strip), Some(Expression::StringLiteral(_))) => {
            return Vec::new();
        }
        None => &*SEARCH_INPUT,
    };
    let fit = Fit::new(flow, label);
    fit.input(argument, call.callee.span(), schema)
        .into_iter()
        .map(|m| invalid(m.span.start.saturating_sub(shift), m.message))
        .collect()
}

fn read_problem(read: &BadRead<'_>, shift: u32) -> Problem {
    let name = &read.name;
    let mut suggestions = Vec::new();
    let message = match &read.ty {
        Ty::Promise(_) => {
            suggestions.push("Await the call first.".to_owned());
            format!("A promise has no property '{name}'; await it first.")
        }
        Ty::Undefined => {
            format!("The tool gives no result, so there is no property '{name}' to read.")
        }
        _ => {
            let near = closest(name, read.names.iter().copied());
            let hint = near.map(|n| format!(" Did you mean '{n}'?"));
            if read.names.contains(&"copyWithin") {
                suggestions.push("The value is an array.".to_owned());
            } else {
                let mut names: Vec<&str> = read.names.clone();
                names.dedup();
                let list = names.into_iter().take(20).collect::<Vec<_>>().join(", ");
                suggestions.push(format!("There are: {list}."));
            }
            format!(
                "The result has no property '{name}'.{}",
                hint.unwrap_or_default()
            )
        }
    };
    Problem {
        offset: read.span.start.saturating_sub(shift),
        kind: DiagnosticKind::InvalidDataValue,
        message,
        suggestions,
    }
}
