//! Making errors: what is thrown, of which kind, and where.

use super::Vm;
use crate::diagnostic::DiagnosticKind;
use crate::object::{ErrorData, Kind};
use crate::realm::{intrinsic, name};
use crate::shape::Attrs;
use crate::value::{Abrupt, ObjId, Value};

/// The native error constructors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorType {
    Error,
    Type,
    Range,
    Syntax,
    Reference,
    Eval,
    Uri,
    Aggregate,
}

impl ErrorType {
    pub(crate) fn prototype(self) -> ObjId {
        match self {
            ErrorType::Error => intrinsic::ERROR_PROTO,
            ErrorType::Type => intrinsic::TYPE_ERROR_PROTO,
            ErrorType::Range => intrinsic::RANGE_ERROR_PROTO,
            ErrorType::Syntax => intrinsic::SYNTAX_ERROR_PROTO,
            ErrorType::Reference => intrinsic::REFERENCE_ERROR_PROTO,
            ErrorType::Eval => intrinsic::EVAL_ERROR_PROTO,
            ErrorType::Uri => intrinsic::URI_ERROR_PROTO,
            ErrorType::Aggregate => intrinsic::AGGREGATE_ERROR_PROTO,
        }
    }
}

impl Vm {
    /// Source offset of the instruction that runs now.
    pub(crate) fn here(&self) -> Option<u32> {
        let frame = self.frames.last()?;
        Some(self.program.funcs[frame.func as usize].span_at(frame.pc.saturating_sub(1)))
    }

    /// An error object with a message, raised by the interpreter.
    pub(crate) fn make_error(
        &mut self,
        which: ErrorType,
        kind: Option<DiagnosticKind>,
        message: &str,
    ) -> ObjId {
        let data = ErrorData {
            kind,
            span: self.here(),
            suggestions: Vec::new(),
            raised: true,
        };
        let id = self
            .heap
            .alloc(Some(which.prototype()), Kind::Error(Box::new(data)));
        let message = self.str(message);
        self.heap
            .add_prop(id, name::MESSAGE, Attrs::HIDDEN, message);
        id
    }

    pub(crate) fn error(&mut self, which: ErrorType, message: &str) -> Abrupt {
        Abrupt::Throw(Value::Obj(self.make_error(which, None, message)))
    }

    pub(crate) fn type_error(&mut self, message: &str) -> Abrupt {
        self.error(ErrorType::Type, message)
    }

    pub(crate) fn range_error(&mut self, message: &str) -> Abrupt {
        self.error(ErrorType::Range, message)
    }

    /// An error of a kind of its own, with advice.
    pub(crate) fn diagnostic_error(
        &mut self,
        which: ErrorType,
        kind: DiagnosticKind,
        message: &str,
        suggestions: Vec<String>,
    ) -> Abrupt {
        let id = self.make_error(which, Some(kind), message);
        if let Kind::Error(data) = self.heap.kind_mut(id) {
            data.suggestions = suggestions;
        }
        Abrupt::Throw(Value::Obj(id))
    }

    pub(crate) fn invalid_data(&mut self, message: &str) -> Abrupt {
        self.diagnostic_error(
            ErrorType::Type,
            DiagnosticKind::InvalidDataValue,
            message,
            Vec::new(),
        )
    }

    /// Source text of the callee of the call that runs now, when it can be named.
    pub(crate) fn callee_text(&self) -> Option<String> {
        let frame = self.frames.last()?;
        let func = &self.program.funcs[frame.func as usize];
        let pc = frame.pc.saturating_sub(1);
        let start = func.span_at(pc) as usize;
        let at = func.callees.binary_search_by_key(&pc, |&(at, _)| at).ok()?;
        let end = func.callees[at].1 as usize;
        nameable(self.program.source.get(start..end)?)
    }

    pub(crate) fn not_a_function(&mut self, what: &str) -> Abrupt {
        let message = match self.callee_text() {
            Some(text) => format!("{text} is not a function."),
            None => format!("{what} is not a function."),
        };
        self.type_error(&message)
    }
}

/// A chain of names with arguments left out, or nothing when some link has no name.
fn nameable(source: &str) -> Option<String> {
    let mut out = String::new();
    let mut depth = 0usize;
    for c in source.chars() {
        match c {
            '(' => {
                if depth == 0 {
                    out.push_str("(...)");
                }
                depth += 1;
            }
            ')' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            c if c.is_alphanumeric() || "_$.#?".contains(c) => out.push(c),
            c if c.is_whitespace() => {}
            _ => return None,
        }
    }
    (depth == 0 && !out.starts_with("(") && !out.is_empty()).then_some(out)
}
