//! Code as a thread shows it: lines with syntax colours, laid out some lines at a time.

use std::ops::Range;

use egui::{
    Context, FontId, Vec2,
    text::{LayoutJob, TextFormat},
    vec2,
};

use super::{
    highlight::LineSpans,
    markdown::{BlockLayout, Piece, TextMap, Typography},
};
use crate::theme::SyntaxKind;

/// How many lines are laid out together.
pub const LINES_PER_CHUNK: usize = 48;

/// Longer lines are broken after this many bytes, so that no line takes long to lay out.
const MAX_LINE_BYTES: usize = 1024;

/// The lines of code that stands in `parts` of `source`, without line breaks, overlong ones broken up.
pub fn code_lines(source: &str, parts: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut open_line = false;
    for part in parts {
        let mut start = part.start;
        for line in source[part.clone()].split_inclusive('\n') {
            let end = start + line.trim_end_matches(['\n', '\r']).len();
            if open_line && start == end {
                // The line break of a line that the part before ended in.
            } else {
                push_line(source, start..end, &mut lines);
            }
            open_line = !line.ends_with('\n');
            start += line.len();
        }
    }
    lines
}

fn push_line(source: &str, mut line: Range<usize>, lines: &mut Vec<Range<usize>>) {
    while line.len() > MAX_LINE_BYTES {
        let cut = line.start + source[line.clone()].floor_char_boundary(MAX_LINE_BYTES);
        lines.push(line.start..cut);
        line.start = cut;
    }
    lines.push(line);
}

/// How many chunks `lines` lines of code are laid out in.
pub fn code_chunks(lines: usize) -> usize {
    lines.div_ceil(LINES_PER_CHUNK).max(1)
}

/// Lays out `lines` with the colours that are known, at most `wrap` points wide, or as wide as they are.
pub fn layout_code(
    ctx: &Context,
    source: &str,
    lines: &[Range<usize>],
    spans: &[LineSpans],
    typography: &Typography,
    wrap: Option<f32>,
    offset: Vec2,
) -> BlockLayout {
    let (mut job, map) = code_job(source, lines, spans, typography);
    job.wrap.max_width = wrap.unwrap_or(f32::INFINITY);
    let galley = ctx.fonts_mut(|fonts| fonts.layout_job(job));
    let height = galley
        .size()
        .y
        .max(lines.len() as f32 * typography.code_line);
    BlockLayout {
        size: vec2(offset.x + galley.size().x, offset.y + height),
        pieces: vec![Piece {
            galley,
            offset,
            map,
            links: Vec::new(),
        }],
        fills: Vec::new(),
    }
}

fn code_job(
    source: &str,
    lines: &[Range<usize>],
    spans: &[LineSpans],
    typography: &Typography,
) -> (LayoutJob, TextMap) {
    let format = |kind: SyntaxKind| TextFormat {
        font_id: FontId::new(
            typography.tokens.metrics.typ.code,
            typography.families.mono.clone(),
        ),
        line_height: Some(typography.code_line),
        color: typography.tokens.syntax.color(kind),
        ..TextFormat::default()
    };
    let plain = format(SyntaxKind::Variable);
    let mut job = LayoutJob::default();
    let mut map = TextMap::default();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            job.append("\n", 0.0, plain.clone());
            map.push(1, lines[at - 1].end..line.start);
        }
        let mut rest = &source[line.clone()];
        for span in spans.get(at).into_iter().flatten() {
            let (text, after) = rest
                .split_at_checked(span.len as usize)
                .unwrap_or((rest, ""));
            job.append(text, 0.0, format(span.kind));
            rest = after;
        }
        job.append(rest, 0.0, plain.clone());
        map.push(line.len(), line.clone());
    }
    (job, map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str, parts: &[Range<usize>]) -> Vec<String> {
        code_lines(source, parts)
            .into_iter()
            .map(|line| source[line].to_owned())
            .collect()
    }

    #[test]
    fn lines_lose_their_breaks_of_either_kind() {
        assert_eq!(
            texts("a\r\n\nb", std::slice::from_ref(&(0..5))),
            ["a", "", "b"]
        );
        assert_eq!(texts("", &[]), [""; 0]);
    }

    #[test]
    fn parts_that_end_inside_a_line_break_make_no_line_of_their_own() {
        // As the parser reports indented code with Windows line ends.
        assert_eq!(texts("  a\r\n  b\n", &[2..3, 4..5, 7..9]), ["a", "b"]);
    }

    #[test]
    fn an_endless_line_is_broken_up_between_characters() {
        let source = "é".repeat(5000);
        let lines = texts(&source, std::slice::from_ref(&(0..source.len())));
        assert!(lines.iter().all(|line| line.len() <= MAX_LINE_BYTES));
        assert_eq!(lines.concat(), source);
    }
}
