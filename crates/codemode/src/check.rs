//! The check before a run: every unknown name, tool and field of the program in one answer, with nothing executed.

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::op::{Program, ToolUse};
use crate::realm::realm;
use crate::text::Text;
use crate::tools::{ToolSet, closest};
use serde_json::Value;

/// All problems of a program against a set of tools, in the order of the source.
pub(crate) fn check(program: &Program, tools: &ToolSet) -> Vec<Diagnostic> {
    let mut problems: Vec<(u32, Diagnostic)> = Vec::new();
    for (name, span) in &program.free_names {
        let known = realm()
            .names
            .map
            .get(&Text::new(name))
            .is_some_and(|&id| realm().globals.contains_key(&crate::value::Key(id)));
        if known || (program.print && name == "print") {
            continue;
        }
        let message = format!("ReferenceError: {name} is not defined");
        let mut problem = Diagnostic::located(
            DiagnosticKind::ExecutionFailure,
            &message,
            &program.source,
            *span,
        );
        problem.suggestions.extend(
            tools
                .by_bare_name(name)
                .map(|near| format!("Call {near}(...) instead.")),
        );
        problems.push((*span, problem));
    }
    for used in &program.tool_uses {
        problems.extend(
            check_tool(program, tools, used)
                .into_iter()
                .map(|p| (used.span, p)),
        );
    }
    problems.sort_by_key(|(span, _)| *span);
    problems.into_iter().map(|(_, problem)| problem).collect()
}

fn check_tool(program: &Program, tools: &ToolSet, used: &ToolUse) -> Vec<Diagnostic> {
    let label = used.path.join(".");
    let located =
        |kind, message: &str| Diagnostic::located(kind, message, &program.source, used.span);
    let Some(index) = tools.find(&used.path) else {
        if label == "search" {
            return Vec::new();
        }
        let near = tools.nearest(&used.path);
        let hint = near
            .as_ref()
            .map(|n| format!(" Did you mean {n}?"))
            .unwrap_or_default();
        let mut problem = located(
            DiagnosticKind::UnknownTool,
            &format!("Unknown tool '{label}'.{hint}"),
        );
        problem
            .suggestions
            .extend(near.map(|n| format!("Call {n} instead.")));
        return vec![problem];
    };
    let (Some(fields), Some(schema)) = (&used.fields, &tools.tools()[index].input) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let names: Vec<&str> = properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        for field in fields.iter().filter(|f| !names.contains(&f.as_str())) {
            let near = closest(field, names.iter().copied());
            let hint = near
                .map(|n| format!(" Did you mean '{n}'?"))
                .unwrap_or_default();
            let message = format!("Tool '{label}' has no field '{field}'.{hint}");
            problems.push(located(DiagnosticKind::InvalidToolInput, &message));
        }
    }
    for required in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !fields.iter().any(|f| f == required) {
            let message = format!("Tool '{label}' needs the field '{required}'.");
            problems.push(located(DiagnosticKind::InvalidToolInput, &message));
        }
    }
    problems
}
