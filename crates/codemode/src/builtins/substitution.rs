//! Replacement templates: `$&`, `$1`, `$<name>` and their like (ECMA-262 22.1.3.19.1).

use crate::value::{Res, StrId, Value};
use crate::vm::Vm;

/// A captured piece of text: a string and the units of it that were matched.
pub(super) type Piece = Option<(StrId, usize, usize)>;

/// What a replacement template may refer to.
pub(super) struct Substitution<'c> {
    pub(super) text: StrId,
    /// Where the match starts and how long it is, in units of the text.
    pub(super) start: usize,
    pub(super) width: usize,
    /// The groups; the first is the match itself.
    pub(super) captures: &'c [Piece],
    pub(super) groups: Value,
}

/// `GetSubstitution`: appends a template with its `$` references filled in.
pub(super) fn substitute(
    vm: &mut Vm,
    template: StrId,
    with: &Substitution<'_>,
    out: &mut Vec<u16>,
) -> Res<()> {
    vm.heap.flatten(template);
    vm.heap.flatten(with.text);
    let mut at = 0;
    while at < vm.heap.str_len(template) {
        let t = vm.heap.flat(template);
        let unit = t.at(at);
        let source = vm.heap.flat(with.text);
        let end = (with.start + with.width).min(source.len());
        let next = if unit == 0x24 { t.get(at + 1) } else { None };
        match next {
            Some(0x24) => out.push(0x24),
            Some(0x26) => push_piece(vm, with.captures[0], out),
            Some(0x60) => source.slice(0, with.start.min(source.len())).push_to(out),
            Some(0x27) => source.slice(end, source.len()).push_to(out),
            Some(0x30..=0x39) => {
                let Some((number, width)) = group_number(vm, template, at + 1, with.captures.len())
                else {
                    out.push(0x24);
                    at += 1;
                    continue;
                };
                push_piece(vm, with.captures[number], out);
                at += 1 + width;
                continue;
            }
            Some(0x3C) if !with.groups.is_undefined() => {
                let close = (at + 2..t.len()).find(|&i| t.at(i) == 0x3E);
                let Some(close) = close else {
                    out.push(0x24);
                    at += 1;
                    continue;
                };
                let label = t.slice(at + 2, close).to_text();
                let label = vm.text(label);
                let key = vm.str_key(label);
                let value = vm.get(with.groups, key)?;
                if !value.is_undefined() {
                    let value = vm.to_str(value)?;
                    vm.heap.units(value).push_to(out);
                }
                at = close + 1;
                continue;
            }
            _ => {
                out.push(unit);
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    Ok(())
}

fn push_piece(vm: &mut Vm, piece: Piece, out: &mut Vec<u16>) {
    if let Some((text, start, end)) = piece {
        vm.heap.units(text).slice(start, end).push_to(out);
    }
}

/// The group that the one or two digits of a template name, and their number.
fn group_number(vm: &Vm, template: StrId, at: usize, count: usize) -> Option<(usize, usize)> {
    let t = vm.heap.flat(template);
    let digit = |at| {
        t.get(at)
            .filter(|u| (0x30..=0x39).contains(u))
            .map(|u| usize::from(u - 0x30))
    };
    let one = digit(at)?;
    let two = digit(at + 1).map(|second| one * 10 + second);
    match two {
        Some(two) if two >= 1 && two < count => Some((two, 2)),
        _ => (one >= 1 && one < count).then_some((one, 1)),
    }
}

/// Appends a replacement of plain text, without groups.
pub(super) fn expand_plain(
    vm: &mut Vm,
    template: StrId,
    text: StrId,
    (start, end): (usize, usize),
    out: &mut Vec<u16>,
) -> Res<()> {
    let with = Substitution {
        text,
        start,
        width: end - start,
        captures: &[Some((text, start, end))],
        groups: Value::Undefined,
    };
    substitute(vm, template, &with, out)
}
