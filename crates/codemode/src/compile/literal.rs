//! Literals that make an object: templates, arrays and regular expressions.

use super::{Compiler, literal_text};
use crate::compiled::TemplateSite;
use crate::op::{Op, Reg};
use crate::text::Text;
use oxc_ast::ast::{self, ArrayExpressionElement};
use oxc_span::GetSpan;
use std::sync::Arc;

impl<'a> Compiler<'a> {
    pub(super) fn template(&mut self, t: &'a ast::TemplateLiteral<'a>, dst: Reg) {
        let mut pieces = Vec::new();
        for (at, quasi) in t.quasis.iter().enumerate() {
            let cooked = quasi.value.cooked.as_ref().map_or("", |c| c.as_str());
            if !cooked.is_empty() || (at == 0 && t.expressions.is_empty()) {
                pieces.push(Ok(literal_text(cooked, quasi.lone_surrogates)));
            }
            if let Some(e) = t.expressions.get(at) {
                pieces.push(Err(e));
            }
        }
        let start = self.temps(pieces.len() as u32);
        let count = pieces.len() as u16;
        for (at, piece) in pieces.into_iter().enumerate() {
            let reg = start + at as Reg;
            match piece {
                Ok(text) => self.load_str(reg, text),
                Err(e) => {
                    self.expr_to(e, reg);
                    self.emit(Op::Concat {
                        dst: reg,
                        start: reg,
                        count: 1,
                    });
                }
            }
        }
        self.emit(Op::Concat { dst, start, count });
    }

    pub(super) fn tagged_template(&mut self, t: &'a ast::TaggedTemplateExpression<'a>, dst: Reg) {
        let start = self.temps(3 + t.quasi.expressions.len() as u32);
        self.callee(&t.tag, start);
        let mut site = TemplateSite {
            cooked: Vec::new(),
            raw: Vec::new(),
        };
        for quasi in &t.quasi.quasis {
            let lone = quasi.lone_surrogates;
            let cooked = quasi
                .value
                .cooked
                .as_ref()
                .map(|c| literal_text(c.as_str(), lone));
            let cooked = cooked.map(|text| self.atom(text));
            site.cooked.push(cooked);
            let raw = self.key(
                &quasi
                    .value
                    .raw
                    .as_str()
                    .replace("\r\n", "\n")
                    .replace('\r', "\n"),
            );
            site.raw.push(raw);
        }
        self.program.templates.push(site);
        let k = self.program.templates.len() as u32 - 1;
        self.emit(Op::TemplateObject { dst: start + 2, k });
        for (at, e) in t.quasi.expressions.iter().enumerate() {
            self.expr_to(e, start + 3 + at as Reg);
        }
        self.emit(Op::Call {
            dst,
            start,
            argc: 1 + t.quasi.expressions.len() as u16,
        });
    }

    pub(super) fn array(&mut self, a: &'a ast::ArrayExpression<'a>, dst: Reg) {
        let arr = self.temp();
        self.emit(Op::NewArray {
            dst: arr,
            capacity: a.elements.len() as u32,
        });
        for element in &a.elements {
            let mark = self.mark();
            match element {
                ArrayExpressionElement::Elision(_) => {
                    self.emit(Op::ArrayHole { arr });
                }
                ArrayExpressionElement::SpreadElement(s) => {
                    let src = self.expr(&s.argument);
                    let old = self.at(s.argument.span());
                    self.emit(Op::ArraySpread { arr, src });
                    self.span = old;
                }
                other => {
                    if let Some(e) = other.as_expression() {
                        let src = self.expr(e);
                        self.emit(Op::ArrayPush { arr, src });
                    }
                }
            }
            self.release(mark);
        }
        self.emit(Op::Move { dst, src: arr });
    }

    /// A malformed expression is an early error.
    pub(super) fn regexp_literal(
        &mut self,
        source: &str,
        flags: &str,
        span: oxc_span::Span,
        dst: Reg,
    ) {
        let pattern = Text::new(source);
        let compiled = match crate::regex::Flags::parse(flags) {
            Some(parsed) => crate::regex::Regex::new(pattern.units(), parsed),
            None => Err(format!("invalid flags {flags}")),
        };
        let regex = match compiled {
            Ok(regex) => Arc::new(regex),
            Err(problem) => {
                let message = format!("Invalid regular expression: /{source}/{flags}: {problem}");
                let at = span.start.saturating_sub(self.shift);
                self.early.push((at, message));
                return;
            }
        };
        let (source, flags) = (self.key(source), self.key(flags));
        self.program.regexes.push((source, flags, regex));
        let k = self.program.regexes.len() as u32 - 1;
        self.emit(Op::NewRegExp { dst, k });
    }
}
