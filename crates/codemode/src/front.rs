//! The front end: from submitted text to a compiled program, or to the diagnostics that say why not.
//!
//! The source is parsed as the body of an async arrow function, which is what gives it `return` and `await` at the top.
//! JavaScript is tried first, so that `f(a < b, c > (d))` means what it means there; TypeScript second, its types
//! erased. A code fence around the source, and a single arrow function around the whole program, are taken off.

use crate::atoms::Names;
use crate::compile::{CompileError, compile};
use crate::compiled::Program;
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use oxc_allocator::Allocator;
use oxc_ast::ast::{self, ArrowFunctionBody, Expression, Statement};
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::{GetSpan, SourceType};
use oxc_syntax::scope::ScopeId;

const OPEN: &str = "(async()=>{";
const CLOSE: &str = "\n})";
/// Longest source accepted, in bytes.
pub(crate) const SOURCE_LIMIT: usize = 1 << 20;
/// Host stack set aside for each construct of the source that might nest in the one before it.
const STACK_PER_LEVEL: usize = if cfg!(debug_assertions) {
    16_000
} else {
    3_000
};
/// Most constructs that might nest; more than this asks for more stack than is reasonable.
const LEVEL_LIMIT: usize = if cfg!(debug_assertions) {
    60_000
} else {
    330_000
};

/// A problem at a byte offset.
struct Problem {
    message: String,
    offset: u32,
}

/// Why a text was refused.
struct Refused {
    problems: Vec<Problem>,
    /// The grammar accepted it; what is wrong are early errors, which another grammar mustn't excuse.
    parsed: bool,
}

/// Parses and compiles a program.
pub(crate) fn build(source: &str, names: &'static Names) -> Result<Program, Vec<Diagnostic>> {
    if source.len() > SOURCE_LIMIT {
        let message = format!("the program is longer than {SOURCE_LIMIT} bytes");
        return Err(vec![Diagnostic::new(DiagnosticKind::ParseError, message)]);
    }
    let levels = levels(source);
    if levels > LEVEL_LIMIT {
        let message = "the program has too many constructs that might nest";
        return Err(vec![Diagnostic::new(DiagnosticKind::ParseError, message)]);
    }
    let body = without_fence(source);
    let text = format!("{OPEN}{body}{CLOSE}");
    let need = (256 << 10) + levels * STACK_PER_LEVEL;
    stacker::maybe_grow(need, need + (1 << 20), || build_text(source, &text, names))
}

/// Parses and compiles a program behind a prelude that shares its scope. The prelude stands on the wrapper's side of
/// the source, so places in it count as the source's start.
pub(crate) fn build_with_prelude(
    prelude: &str,
    source: &str,
    names: &'static Names,
) -> Result<Program, Vec<Diagnostic>> {
    let alone = build(source, names);
    if prelude.is_empty() {
        return alone.map(|program| Program {
            print: true,
            ..program
        });
    }
    // A source that doesn't stand alone mustn't be completed by its prelude.
    if let Err(problems) = &alone
        && problems
            .iter()
            .any(|p| p.message.contains("Unexpected token") || p.message.contains("empty"))
    {
        return alone;
    }
    let whole = format!("{prelude}\n;{}", without_fence(source));
    let shift = (prelude.len() + 2) as u32;
    let text = format!("{OPEN}{whole}{CLOSE}");
    let need = (256 << 10) + levels(&whole) * STACK_PER_LEVEL;
    stacker::maybe_grow(need, need + (1 << 20), || {
        let kinds = [SourceType::script(), SourceType::ts().with_script(true)];
        let mut first = None;
        for kind in kinds {
            match attempt(&text, kind, names, shift) {
                Ok(program) => {
                    return Ok(Program {
                        source: source.to_owned(),
                        print: true,
                        ..program
                    });
                }
                Err(refused) => {
                    let ends = refused.parsed;
                    first = first.or(Some(refused.problems));
                    if ends {
                        break;
                    }
                }
            }
        }
        let problems = first.unwrap_or_default();
        Err(problems
            .iter()
            .map(|p| {
                Diagnostic::located(
                    DiagnosticKind::ParseError,
                    &p.message,
                    source,
                    p.offset.saturating_sub(shift),
                )
            })
            .collect())
    })
}

fn build_text(source: &str, text: &str, names: &'static Names) -> Result<Program, Vec<Diagnostic>> {
    let script = match attempt(text, SourceType::script(), names, 0) {
        Ok(program) => {
            return Ok(Program {
                source: source.to_owned(),
                ..program
            });
        }
        Err(refused) => refused,
    };
    let located = |problems: &[Problem]| {
        let diagnostic = |p: &Problem| {
            Diagnostic::located(DiagnosticKind::ParseError, &p.message, source, p.offset)
        };
        Err(problems.iter().map(diagnostic).collect())
    };
    if script.parsed {
        return located(&script.problems);
    }
    let script = script.problems;
    let first = |list: &[Problem]| list.first().map_or(0, |p| p.offset);
    let problems = match attempt(text, SourceType::ts().with_script(true), names, 0) {
        Ok(program) => {
            return Ok(Program {
                source: source.to_owned(),
                ..program
            });
        }
        Err(typed) if first(&typed.problems) > first(&script) => typed.problems,
        Err(_) => script,
    };
    located(&problems)
}

fn attempt(
    text: &str,
    kind: SourceType,
    names: &'static Names,
    prelude: u32,
) -> Result<Program, Refused> {
    let allocator = Allocator::default();
    let options = ParseOptions {
        preserve_parens: false,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(&allocator, text, kind)
        .with_options(options)
        .parse();
    let problems = problems(&parsed.diagnostics, text);
    let refused = |problems| Refused {
        problems,
        parsed: false,
    };
    let early = |problems| Refused {
        problems,
        parsed: true,
    };
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    let Some(arrow) = wrapper(&parsed.program, text) else {
        let offset = parsed
            .program
            .body
            .first()
            .map_or(0, |s| stray_end(s).saturating_sub(OPEN.len() as u32 + 1));
        return Err(refused(vec![Problem {
            message: "Unexpected token '}'".to_owned(),
            offset,
        }]));
    };
    if is_blank(arrow) {
        return Err(refused(vec![Problem {
            message: "the program is empty".to_owned(),
            offset: 0,
        }]));
    }
    let semantic = SemanticBuilder::new_compiler().build(&parsed.program);
    let problems = self::problems(&semantic.diagnostics, text);
    if !problems.is_empty() {
        // Modules are told apart later, where they are reached.
        let module = problems[0].message.contains("outside a module");
        return Err(if module {
            refused(problems)
        } else {
            early(problems)
        });
    }
    let scoping = semantic.semantic.into_scoping();
    let (body, scope) = unwrap(arrow);
    let shift = OPEN.len() as u32 + prelude;
    let result = compile(body, scope, &scoping, names, shift, true).or_else(|error| match error {
        CompileError::JumpTooFar => compile(body, scope, &scoping, names, shift, false),
        other => Err(other),
    });
    result.map_err(|error| {
        let offset = match error {
            CompileError::Early(list) => {
                let problem = |(offset, message)| Problem {
                    message,
                    offset: offset + prelude,
                };
                return early(list.into_iter().map(problem).collect());
            }
            CompileError::TooLarge { span } => span,
            CompileError::JumpTooFar => 0,
        };
        early(vec![Problem {
            message: "a function of the program is too large".to_owned(),
            offset,
        }])
    })
}

/// Parses a program that compiled before, for a look at its tree. `look` gets the tree with its scopes, and the offset
/// of the source in the text that was parsed.
pub(crate) fn with_tree<R>(
    prelude: &str,
    source: &str,
    look: impl FnOnce(&Semantic<'_>, u32) -> R,
) -> Option<R> {
    let body = without_fence(source);
    let (text, shift) = if prelude.is_empty() {
        (format!("{OPEN}{body}{CLOSE}"), 0)
    } else {
        let shift = prelude.len() as u32 + 2;
        (format!("{OPEN}{prelude}\n;{body}{CLOSE}"), shift)
    };
    let shift = shift + OPEN.len() as u32;
    let need = (256 << 10) + levels(&text) * STACK_PER_LEVEL;
    stacker::maybe_grow(need, need + (1 << 20), || {
        for kind in [SourceType::script(), SourceType::ts().with_script(true)] {
            let allocator = Allocator::default();
            let options = ParseOptions {
                preserve_parens: false,
                ..ParseOptions::default()
            };
            let parsed = Parser::new(&allocator, &text, kind)
                .with_options(options)
                .parse();
            if parsed.diagnostics.is_empty() {
                let built = SemanticBuilder::new()
                    .with_build_nodes(true)
                    .build(&parsed.program);
                return Some(look(&built.semantic, shift));
            }
        }
        None
    })
}

fn problems(list: &[OxcDiagnostic], text: &str) -> Vec<Problem> {
    let end = (text.len() - OPEN.len() - CLOSE.len()) as u32;
    list.iter()
        .map(|d| {
            let offset = d.labels.first().map_or(0, |l| l.offset());
            Problem {
                message: d.message.to_string(),
                offset: offset.saturating_sub(OPEN.len() as u32).min(end),
            }
        })
        .collect()
}

/// The arrow function that wraps the source, when the source stayed inside.
fn wrapper<'b, 'a>(
    program: &'b ast::Program<'a>,
    text: &str,
) -> Option<&'b ast::ArrowFunctionExpression<'a>> {
    let [Statement::ExpressionStatement(statement)] = program.body.as_slice() else {
        return None;
    };
    match &statement.expression {
        Expression::ArrowFunctionExpression(arrow) if arrow.span.end as usize == text.len() - 1 => {
            Some(arrow)
        }
        _ => None,
    }
}

/// Where the first function of a source that broke out of its wrapper ends.
fn stray_end(statement: &Statement<'_>) -> u32 {
    let Statement::ExpressionStatement(s) = statement else {
        return statement.span().end;
    };
    let mut e = &s.expression;
    loop {
        e = match e {
            Expression::SequenceExpression(s) => match s.expressions.first() {
                Some(first) => first,
                None => return s.span.end,
            },
            Expression::CallExpression(c) => &c.callee,
            Expression::StaticMemberExpression(m) => &m.object,
            Expression::BinaryExpression(b) => &b.left,
            other => return other.span().end,
        };
    }
}

fn is_blank(arrow: &ast::ArrowFunctionExpression<'_>) -> bool {
    match &arrow.body {
        ArrowFunctionBody::FunctionBody(body) => {
            body.statements.is_empty() && body.directives.is_empty()
        }
        _ => false,
    }
}

/// What there is to run.
#[derive(Clone, Copy)]
pub(crate) enum Main<'a> {
    Statements {
        directives: &'a [ast::Directive<'a>],
        list: &'a [Statement<'a>],
    },
    Value(&'a Expression<'a>),
}

/// Takes off a single arrow function around the whole program.
fn unwrap<'a>(arrow: &'a ast::ArrowFunctionExpression<'a>) -> (Main<'a>, Option<ScopeId>) {
    let ArrowFunctionBody::FunctionBody(body) = &arrow.body else {
        return (
            Main::Statements {
                directives: &[],
                list: &[],
            },
            arrow.scope_id.get(),
        );
    };
    if let ([Statement::ExpressionStatement(only)], true) =
        (body.statements.as_slice(), body.directives.is_empty())
        && let Expression::ArrowFunctionExpression(inner) = &only.expression
        && inner.params.items.is_empty()
        && inner.params.rest.is_none()
    {
        let main = match &inner.body {
            ArrowFunctionBody::FunctionBody(body) => Main::Statements {
                directives: &body.directives,
                list: &body.statements,
            },
            other => match other.as_expression() {
                Some(e) => Main::Value(e),
                None => Main::Statements {
                    directives: &[],
                    list: &[],
                },
            },
        };
        return (main, inner.scope_id.get());
    }
    (
        Main::Statements {
            directives: &body.directives,
            list: &body.statements,
        },
        arrow.scope_id.get(),
    )
}

/// Blanks a Markdown code fence around the source, keeping every offset.
fn without_fence(source: &str) -> String {
    let trimmed = source.trim();
    let start = source.len() - source.trim_start().len();
    if !trimmed.starts_with("```") || !trimmed.ends_with("```") || trimmed.len() < 6 {
        return source.to_owned();
    }
    let Some(line_end) = trimmed.find('\n') else {
        return source.to_owned();
    };
    let info = &trimmed[3..line_end];
    if info.contains('`') || line_end + 3 > trimmed.len() {
        return source.to_owned();
    }
    let open = start..start + line_end;
    let close = start + trimmed.len() - 3..start + trimmed.len();
    let blank = |c: char| {
        if c == '\n' || c == '\r' {
            c.to_string()
        } else {
            " ".repeat(c.len_utf8())
        }
    };
    source
        .char_indices()
        .map(|(at, c)| {
            if open.contains(&at) || close.contains(&at) {
                blank(c)
            } else {
                c.to_string()
            }
        })
        .collect()
}

/// How many constructs of the source might nest in each other: an upper bound on the recursion of parser and compiler,
/// counted without telling code from strings.
fn levels(source: &str) -> usize {
    let mut count = 0;
    let mut word = 0;
    for byte in source.bytes() {
        if byte.is_ascii_alphanumeric() {
            word += 1;
            continue;
        }
        // A keyword that can stand in front of itself has at least two letters; closing and separating don't nest.
        let nests = byte.is_ascii_punctuation() && !b",;)]}'\"_$".contains(&byte);
        count += usize::from(word >= 2) + usize::from(nests);
        word = 0;
    }
    count
}
