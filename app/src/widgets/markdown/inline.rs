//! Inline Markdown as a layout job: emphasis, code, links, and where each letter comes from.

use std::{ops::Range, sync::Arc};

use egui::{
    Color32, FontId, Stroke,
    text::{LayoutJob, TextFormat},
};
use pulldown_cmark::{BrokenLink, CowStr, Event, Parser, Tag, TagEnd};

use super::{
    blocks::{Definitions, OPTIONS, normalise_label},
    text_map::TextMap,
};
use crate::theme::{Tokens, fonts::Families};

/// Fonts, sizes and colours of text in a thread, made of the tokens once.
#[derive(Clone, Debug)]
pub struct Typography {
    /// The design tokens.
    pub tokens: Arc<Tokens>,
    /// The families to choose from.
    pub families: Families,
    /// Line height of prose, in points, whole pixels.
    pub prose_line: f32,
    /// Line height of code, in points, whole pixels.
    pub code_line: f32,
    /// Width of an average character of prose, in points.
    pub average_char: f32,
    /// Width of a character of code, in points.
    pub code_char: f32,
    /// The scale all of it was measured for.
    pub pixels_per_point: f32,
    /// Background of code.
    pub code_fill: Color32,
    /// Background of code on a raised surface.
    pub code_fill_raised: Color32,
}

impl Typography {
    /// Measures the fonts that `ctx` has.
    pub fn new(tokens: Arc<Tokens>, ctx: &egui::Context) -> Self {
        const SAMPLE: &str = "the quick brown fox jumps over the lazy dog and is gone";
        let families = Families::default();
        let typ = &tokens.metrics.typ;
        let pixels_per_point = ctx.pixels_per_point();
        let whole = |length: f32| (length * pixels_per_point).round() / pixels_per_point;
        let prose = FontId::new(typ.ui, families.regular.clone());
        let code = FontId::new(typ.code, families.mono.clone());
        let (sample, code_char) = ctx.fonts_mut(|fonts| {
            let sample = fonts.layout_no_wrap(SAMPLE.to_owned(), prose, Color32::WHITE);
            (sample.size().x, fonts.glyph_width(&code, '0'))
        });
        let tint = |surface: Color32| surface.lerp_to_gamma(tokens.text.primary, 0.07);
        Self {
            prose_line: whole(typ.ui * typ.prose_line_height),
            code_line: whole(typ.code * typ.code_line_height),
            average_char: sample / SAMPLE.len() as f32,
            code_char,
            pixels_per_point,
            code_fill: tokens.surface.raised,
            code_fill_raised: tint(tokens.surface.raised),
            families,
            tokens,
        }
    }

    /// The widest prose may be, in points.
    pub fn prose_width(&self) -> f32 {
        self.average_char * self.tokens.metrics.typ.prose_max_chars
    }

    /// The format of text in `style`.
    pub fn format(&self, style: InlineStyle) -> TextFormat {
        let typ = &self.tokens.metrics.typ;
        let (mut size, mut line) = match style.heading {
            1 => (typ.heading + 2.0, self.prose_line + 5.0),
            2 => (typ.heading, self.prose_line + 3.0),
            _ => (typ.ui, self.prose_line),
        };
        if style.small {
            size = typ.secondary;
            line = self.prose_line - 1.0;
        }
        let strong = style.strong || style.heading > 0;
        let family = match (style.code, strong, style.strong && style.heading > 0) {
            (true, false, _) => &self.families.mono,
            (true, true, _) => &self.families.mono_bold,
            (false, _, true) => &self.families.bold,
            (false, true, false) => &self.families.semibold,
            (false, false, false) => &self.families.regular,
        };
        if style.code {
            // The mono font looks larger than the text font at the same size.
            size -= 1.0;
        }
        let tokens = &self.tokens;
        let color = match () {
            () if style.link => tokens.accent,
            () if style.secondary => tokens.text.secondary,
            () => tokens.text.primary,
        };
        TextFormat {
            font_id: FontId::new(size, family.clone()),
            line_height: Some(line),
            color,
            italics: style.emphasis,
            strikethrough: if style.strike {
                Stroke::new(1.0, color)
            } else {
                Stroke::NONE
            },
            ..TextFormat::default()
        }
    }
}

/// How a run of text is set off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlineStyle {
    /// Level of the heading the text is in, 0 for none.
    pub heading: u8,
    /// Strong.
    pub strong: bool,
    /// Emphasised.
    pub emphasis: bool,
    /// Struck through.
    pub strike: bool,
    /// Code.
    pub code: bool,
    /// Code without a background: markup shown as it is written.
    pub literal: bool,
    /// Part of a link.
    pub link: bool,
    /// Less important than what is around it.
    pub secondary: bool,
    /// Set smaller.
    pub small: bool,
}

/// Inline text ready to be laid out.
#[derive(Clone, Debug, Default)]
pub(super) struct InlineText {
    pub job: LayoutJob,
    pub map: TextMap,
    pub links: Vec<(Range<usize>, Arc<str>)>,
    /// Displayed bytes that are code, and get a background.
    pub code: Vec<Range<usize>>,
}

/// A text put together from lines of the source.
struct Clean {
    /// The lines, after [`GUARD`].
    text: String,
    /// Where each line begins in `text` and in the source.
    starts: Vec<(usize, usize)>,
}

/// Stands before the text so that nothing in it can be taken for the start of a block. Punctuation, so that it doesn't
/// change what emphasis means.
const GUARD: &str = ":";

/// Space between code and what is beside it, in points.
const CODE_SPACE: f32 = 2.0;

impl Clean {
    fn new(source: &str, lines: &[Range<usize>]) -> Self {
        let mut text = String::from(GUARD);
        let mut starts = Vec::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            starts.push((text.len(), line.start));
            text.push_str(&source[line.clone()]);
        }
        Self { text, starts }
    }

    fn source_of(&self, offset: usize) -> usize {
        let at = self.starts.partition_point(|start| start.0 <= offset);
        let (clean, source) = at
            .checked_sub(1)
            .and_then(|at| self.starts.get(at))
            .copied()
            .unwrap_or((GUARD.len(), self.starts.first().map_or(0, |start| start.1)));
        source + offset.saturating_sub(clean)
    }
}

/// Lays out the inline Markdown of `lines` of `source`, beginning with `style`.
pub(super) fn inline_text(
    source: &str,
    lines: &[Range<usize>],
    definitions: &Definitions,
    typography: &Typography,
    style: InlineStyle,
) -> InlineText {
    let clean = Clean::new(source, lines);
    let resolve = |link: BrokenLink<'_>| {
        let target = definitions.get(&normalise_label(&link.reference))?;
        Some((CowStr::from(target.to_string()), CowStr::from("")))
    };
    let events = Parser::new_with_broken_link_callback(&clean.text, OPTIONS, Some(resolve))
        .into_offset_iter();
    let mut writer = Writer {
        clean: &clean,
        typography,
        style,
        nesting: Vec::new(),
        open_links: Vec::new(),
        out: InlineText::default(),
    };
    for (event, range) in events {
        writer.event(event, range);
    }
    writer.out
}

struct Writer<'a> {
    clean: &'a Clean,
    typography: &'a Typography,
    style: InlineStyle,
    nesting: Vec<InlineStyle>,
    open_links: Vec<(usize, Arc<str>)>,
    out: InlineText,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, range),
            Event::Code(text) => self.code(&text, range),
            Event::InlineMath(_) | Event::DisplayMath(_) => self.raw(range, self.style),
            Event::InlineHtml(_) | Event::Html(_) => {
                let literal = InlineStyle {
                    code: true,
                    literal: true,
                    secondary: true,
                    ..self.style
                };
                self.raw(range, literal);
            }
            Event::SoftBreak => self.write(" ", range, self.style),
            Event::HardBreak => self.write("\n", range, self.style),
            Event::FootnoteReference(_) | Event::Rule | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let inherited = self.style;
        match tag {
            Tag::Strong => self.style.strong = true,
            Tag::Emphasis => self.style.emphasis = true,
            Tag::Strikethrough => self.style.strike = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.style.link = true;
                let start = self.out.job.text.len();
                self.open_links.push((start, Arc::from(dest_url.as_ref())));
            }
            _ => return,
        }
        self.nesting.push(inherited);
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link | TagEnd::Image => {
                if let Some((start, url)) = self.open_links.pop() {
                    let end = self.out.job.text.len();
                    if start < end && !url.is_empty() {
                        self.out.links.push((start..end, url));
                    }
                }
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => {}
            _ => return,
        }
        if let Some(style) = self.nesting.pop() {
            self.style = style;
        }
    }

    fn text(&mut self, text: &str, range: Range<usize>) {
        // The guard is the very first text.
        let hidden = GUARD.len().saturating_sub(range.start).min(text.len());
        let (text, range) = (&text[hidden..], range.start + hidden..range.end);
        self.write(text, range, self.style);
    }

    fn code(&mut self, text: &str, range: Range<usize>) {
        let style = InlineStyle {
            code: true,
            ..self.style
        };
        // The ticks on both sides, and a space inside each of them where the text has to be kept apart from the ticks.
        let whole = &self.clean.text[range.clone()];
        match whole.find(text) {
            Some(at) if !text.is_empty() => {
                let start = range.start + at;
                self.write(text, start..start + text.len(), style);
            }
            _ => self.write(text, range, style),
        }
    }

    fn raw(&mut self, range: Range<usize>, style: InlineStyle) {
        let clean = self.clean;
        self.write(&clean.text[range.clone()], range, style);
    }

    fn write(&mut self, text: &str, range: Range<usize>, style: InlineStyle) {
        if text.is_empty() {
            return;
        }
        let source = self.clean.source_of(range.start)..self.clean.source_of(range.end);
        let start = self.out.job.text.len();
        let follows_code = self.out.code.last().is_some_and(|code| code.end == start);
        let is_code = style.code && !style.literal;
        if is_code {
            self.out.code.push(start..start + text.len());
        }
        // Room for the rounded ends of what lies behind code.
        let space = if is_code || follows_code {
            CODE_SPACE
        } else {
            0.0
        };
        self.out.map.push(text.len(), source);
        self.out
            .job
            .append(text, space, self.typography.format(style));
    }
}

#[cfg(test)]
mod tests {
    use super::super::text_map::Bias;
    use super::*;
    use crate::theme::{ThemeName, fonts};

    fn typography() -> Typography {
        let ctx = egui::Context::default();
        ctx.set_fonts(fonts::definitions_for_tests());
        let mut typography = None;
        ctx.run_ui(egui::RawInput::default(), |ui| {
            let tokens = Arc::new(Tokens::builtin(ThemeName::Dark));
            typography = Some(Typography::new(tokens, ui.ctx()));
        })
        .drop_without_applying_deltas();
        typography.unwrap()
    }

    fn inline(source: &str) -> InlineText {
        let line = 0..source.len();
        inline_text(
            source,
            std::slice::from_ref(&line),
            &Definitions::default(),
            &typography(),
            InlineStyle::default(),
        )
    }

    #[test]
    fn markup_disappears_and_text_stays() {
        let text = inline("a **b** _c_ `d` ~~e~~ [f](http://g/) &amp; \\* <b>h</b> $x_1$");
        assert_eq!(text.job.text, "a b c d e f & * <b>h</b> $x_1$");
        assert_eq!(text.links, [(10..11, Arc::from("http://g/"))]);
    }

    #[test]
    fn text_that_looks_like_a_block_stays_text() {
        for source in [
            "1. one",
            "- x",
            "# no heading",
            "> no quote",
            "    four spaces",
            "***",
        ] {
            assert_eq!(inline(source).job.text.trim(), source.trim());
        }
    }

    #[test]
    fn letters_know_their_place_in_the_source() {
        let source = "x **bold** `` a`b `` &lt;é [link](u)";
        let text = inline(source);
        for word in ["x", "bold", "a`b", "é", "link"] {
            let display = text.job.text.find(word).unwrap();
            let start = text.map.to_source(display, Bias::After).unwrap();
            assert_eq!(&source[start..start + word.len()], word);
            assert_eq!(text.map.to_display(start), display);
        }
    }

    #[test]
    fn references_are_resolved_from_the_definitions_of_the_whole_text() {
        let definitions = [(Box::from("foo"), Box::from("http://x/"))].into();
        let text = inline_text(
            "see [Foo] and [bar]",
            std::slice::from_ref(&(0..19)),
            &definitions,
            &typography(),
            InlineStyle::default(),
        );
        assert_eq!(text.job.text, "see Foo and [bar]");
        assert_eq!(text.links.len(), 1);
    }
}
