//! The block structure of a Markdown text, flattened into leaves: what a thread shows as rows.

use std::{collections::HashMap, ops::Range, sync::Arc};

use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, HeadingLevel, OffsetIter, Options, Parser, Tag, TagEnd,
};

/// Prose longer than this many bytes is cut into several blocks, so that no row takes long to lay out.
pub(super) const MAX_PROSE_BYTES: usize = 4096;

/// What the parser recognises beyond CommonMark.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_MATH);

/// One leaf of the block structure. All ranges are byte ranges of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Where the block stands, with its markup.
    pub range: Range<usize>,
    /// What it is.
    pub kind: BlockKind,
    /// Which containers it stands in.
    pub place: Place,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockKind {
    /// Prose. `lines` are its lines without the markup of containers; `None` when it is the whole range.
    Paragraph {
        /// The text's lines, when they are not simply the block's range.
        lines: Option<Box<[Range<usize>]>>,
        /// The block goes on from the one before, of which it was cut off.
        continued: bool,
    },
    /// A heading.
    Heading {
        /// From 1 to 6.
        level: u8,
        /// As for paragraphs.
        lines: Option<Box<[Range<usize>]>>,
    },
    /// Code, fenced or indented.
    Code {
        /// The language given after the fence; empty when there is none.
        language: Box<str>,
        /// The code, without fences and indentation of containers.
        parts: Box<[Range<usize>]>,
    },
    /// A table. Cells are source ranges of their text.
    Table {
        /// How the columns are aligned.
        alignments: Arc<[Alignment]>,
        /// The cells of the head.
        head: Box<[Range<usize>]>,
        /// The cells of each row.
        rows: Box<[Box<[Range<usize>]>]>,
    },
    /// A thematic break.
    Rule,
    /// A block of HTML, which is shown as it is written.
    Html {
        /// The lines of the block.
        lines: Box<[Range<usize>]>,
    },
}

/// Which containers a block stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// How many block quotes.
    pub quotes: u8,
    /// How many lists.
    pub lists: u8,
    /// The marker of the list item that begins with this block.
    pub marker: Option<Marker>,
    /// The list item's text stands close to its neighbours.
    pub tight: bool,
}

/// What stands before a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A bullet.
    Bullet,
    /// A number.
    Number(u64),
    /// A box, ticked or not.
    Task(bool),
}

/// The targets of reference links, by normalised label.
pub type Definitions = HashMap<Box<str>, Box<str>>;

/// Labels match without regard to case and to the amount of white space (CommonMark 0.31, section 4.7).
pub(super) fn normalise_label(label: &str) -> Box<str> {
    let words: Vec<&str> = label.split_whitespace().collect();
    words.join(" ").to_lowercase().into()
}

/// A block at the top level of the document, as the place where parsing may start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Root {
    /// Start of its first line.
    pub start: usize,
    /// Its first leaf in the list of blocks.
    pub first_block: usize,
    /// No line that follows can become part of it: a heading, a rule, a closed fence.
    pub closed: bool,
}

/// What splitting a text gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Split {
    /// The leaves in order.
    pub blocks: Vec<Block>,
    /// Targets of reference links.
    pub definitions: Definitions,
    pub(super) roots: Vec<Root>,
}

/// Splits `source` into its blocks. Linear in its length; never fails, as every text is Markdown.
pub fn split_blocks(source: &str) -> Split {
    split_from(source, 0)
}

/// Splits `source[start..]`, where `start` is the start of a line that begins a top-level block.
pub(super) fn split_from(source: &str, start: usize) -> Split {
    let events = Parser::new_ext(&source[start..], OPTIONS).into_offset_iter();
    let definitions = events
        .reference_definitions()
        .iter()
        .map(|(label, definition)| (normalise_label(label), definition.dest.as_ref().into()))
        .collect();
    let mut splitter = Splitter {
        source,
        start,
        split: Split {
            definitions,
            ..Split::default()
        },
        depth: 0,
        quotes: 0,
        lists: Vec::new(),
        pending_marker: None,
        leaf: None,
    };
    splitter.run(events);
    splitter.split
}

/// A leaf whose end has not been seen yet.
struct OpenLeaf {
    range: Range<usize>,
    kind: OpenKind,
    place: Place,
    /// Starts of the text's lines, as far as they were seen.
    line_starts: Vec<usize>,
    /// The next inline event begins a line.
    at_line_start: bool,
}

enum OpenKind {
    Paragraph,
    /// The text of a tight list item, which the parser doesn't announce as a paragraph.
    Implicit,
    Heading(u8),
    Code {
        language: Box<str>,
        parts: Vec<Range<usize>>,
    },
    Table {
        alignments: Arc<[Alignment]>,
        head: Box<[Range<usize>]>,
        rows: Vec<Box<[Range<usize>]>>,
        cells: Vec<Range<usize>>,
    },
    Html(Vec<Range<usize>>),
}

struct Splitter<'a> {
    source: &'a str,
    start: usize,
    split: Split,
    depth: usize,
    quotes: u8,
    /// The next number of each open list, for ordered ones.
    lists: Vec<Option<u64>>,
    pending_marker: Option<Marker>,
    leaf: Option<OpenLeaf>,
}

impl Splitter<'_> {
    fn run<'a>(&mut self, events: OffsetIter<'a>) {
        for (event, range) in events {
            let range = range.start + self.start..range.end + self.start;
            match event {
                Event::Start(tag) => self.start_tag(tag, range),
                Event::End(tag) => self.end_tag(tag, &range),
                Event::Rule => {
                    self.close_implicit();
                    self.note_root(range.start);
                    let place = self.take_place(false);
                    self.emit(Block {
                        range: trim_end(self.source, range),
                        kind: BlockKind::Rule,
                        place,
                    });
                }
                Event::TaskListMarker(done) => self.task_marker(done, &range),
                Event::Text(_) | Event::Html(_) => self.text(range),
                Event::SoftBreak | Event::HardBreak => self.line_break(),
                Event::Code(_)
                | Event::InlineHtml(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::FootnoteReference(_) => self.inline(&range),
            }
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let is_inline = matches!(
            tag,
            Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Superscript
                | Tag::Subscript
                | Tag::Link { .. }
                | Tag::Image { .. }
        );
        if is_inline {
            self.inline(&range);
            return;
        }
        self.close_implicit();
        self.note_root(range.start);
        self.depth += 1;
        match tag {
            Tag::Paragraph => self.open(range, OpenKind::Paragraph),
            Tag::Heading { level, .. } => self.open(range, OpenKind::Heading(level_number(level))),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => first_word(&info).into(),
                    CodeBlockKind::Indented => Box::default(),
                };
                let parts = Vec::new();
                self.open(range, OpenKind::Code { language, parts });
            }
            Tag::Table(alignments) => self.open(
                range,
                OpenKind::Table {
                    alignments: alignments.into(),
                    head: Box::default(),
                    rows: Vec::new(),
                    cells: Vec::new(),
                },
            ),
            Tag::TableCell => self.cell(range),
            Tag::HtmlBlock => self.open(range, OpenKind::Html(Vec::new())),
            Tag::BlockQuote(_) => self.quotes = self.quotes.saturating_add(1),
            Tag::List(first) => {
                self.flush_marker(range.start);
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.pending_marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = Marker::Number(*number);
                *number = number.saturating_add(1);
                Some(marker)
            }
            _ => Some(Marker::Bullet),
        };
    }

    fn end_tag(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image => return,
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::Table
            | TagEnd::HtmlBlock => self.close(),
            TagEnd::TableHead => self.end_table_head(),
            TagEnd::TableRow => self.end_table_row(),
            TagEnd::Item => {
                self.close_implicit();
                self.flush_marker(range.end);
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.close_implicit();
                self.quotes = self.quotes.saturating_sub(1);
            }
            _ => {}
        }
        self.depth -= 1;
    }

    /// Notes the start of a top-level block as a place where parsing may start again.
    fn note_root(&mut self, at: usize) {
        if self.depth == 0 {
            let line = self.source[..at].rfind('\n').map_or(0, |end| end + 1);
            self.split.roots.push(Root {
                start: line.max(self.start),
                first_block: self.split.blocks.len(),
                closed: false,
            });
        }
    }

    fn take_place(&mut self, tight: bool) -> Place {
        Place {
            quotes: self.quotes,
            lists: u8::try_from(self.lists.len()).unwrap_or(u8::MAX),
            marker: self.pending_marker.take(),
            tight,
        }
    }

    fn open(&mut self, range: Range<usize>, kind: OpenKind) {
        let place = self.take_place(matches!(kind, OpenKind::Implicit));
        self.leaf = Some(OpenLeaf {
            range,
            kind,
            place,
            line_starts: Vec::new(),
            at_line_start: true,
        });
    }

    fn close_implicit(&mut self) {
        let implicit = |leaf: &OpenLeaf| matches!(leaf.kind, OpenKind::Implicit);
        if self.leaf.as_ref().is_some_and(implicit) {
            self.close();
        }
    }

    /// An item without text of its own still shows its marker.
    fn flush_marker(&mut self, at: usize) {
        if self.pending_marker.is_some() {
            let place = self.take_place(true);
            self.emit(Block {
                range: at..at,
                kind: BlockKind::Paragraph {
                    lines: None,
                    continued: false,
                },
                place,
            });
        }
    }

    fn task_marker(&mut self, done: bool, range: &Range<usize>) {
        let marker = Some(Marker::Task(done));
        match &mut self.leaf {
            Some(leaf) => {
                leaf.place.marker = marker;
                leaf.range.start = range.end;
            }
            None => self.pending_marker = marker,
        }
    }

    /// Inline content: belongs to the open leaf, or begins the text of a tight list item.
    fn inline(&mut self, range: &Range<usize>) {
        if self.leaf.is_none() {
            self.open(range.clone(), OpenKind::Implicit);
        }
        if let Some(leaf) = &mut self.leaf {
            if std::mem::take(&mut leaf.at_line_start) {
                leaf.line_starts.push(range.start);
            }
            if matches!(leaf.kind, OpenKind::Implicit) {
                leaf.range.end = leaf.range.end.max(range.end);
            }
        }
    }

    fn text(&mut self, range: Range<usize>) {
        match self.leaf.as_mut().map(|leaf| &mut leaf.kind) {
            Some(OpenKind::Code { parts, .. } | OpenKind::Html(parts)) => match parts.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => parts.push(range),
            },
            _ => self.inline(&range),
        }
    }

    fn line_break(&mut self) {
        if let Some(leaf) = &mut self.leaf {
            leaf.at_line_start = true;
        }
    }

    fn cell(&mut self, range: Range<usize>) {
        if let Some(OpenKind::Table { cells, .. }) = self.leaf.as_mut().map(|leaf| &mut leaf.kind) {
            cells.push(trim(self.source, range));
        }
    }

    fn end_table_head(&mut self) {
        if let Some(OpenKind::Table { head, cells, .. }) =
            self.leaf.as_mut().map(|leaf| &mut leaf.kind)
        {
            *head = std::mem::take(cells).into();
        }
    }

    fn end_table_row(&mut self) {
        if let Some(OpenKind::Table { rows, cells, .. }) =
            self.leaf.as_mut().map(|leaf| &mut leaf.kind)
        {
            rows.push(std::mem::take(cells).into());
        }
    }

    fn close(&mut self) {
        let Some(leaf) = self.leaf.take() else { return };
        let range = trim_end(self.source, leaf.range.clone());
        let kind = match leaf.kind {
            OpenKind::Paragraph | OpenKind::Implicit => {
                self.emit_prose(range, &leaf.line_starts, leaf.place);
                return;
            }
            OpenKind::Heading(level) => BlockKind::Heading {
                level,
                lines: Some(heading_lines(self.source, &range, &leaf.line_starts)),
            },
            OpenKind::Code { language, parts } => BlockKind::Code {
                language,
                parts: parts.into(),
            },
            OpenKind::Table {
                alignments,
                head,
                rows,
                ..
            } => BlockKind::Table {
                alignments,
                head,
                rows: rows.into(),
            },
            OpenKind::Html(lines) => BlockKind::Html {
                lines: lines.into(),
            },
        };
        self.emit(Block {
            range,
            kind,
            place: leaf.place,
        });
    }

    /// Emits prose, in pieces when it is long.
    fn emit_prose(&mut self, range: Range<usize>, line_starts: &[usize], place: Place) {
        let nested = place.quotes > 0 || place.lists > 0;
        let lines: Vec<Range<usize>> = if nested {
            lines_from_starts(self.source, &range, line_starts)
        } else {
            vec![range.clone()]
        };
        let pieces = cut_prose(self.source, lines);
        let last = pieces.len().saturating_sub(1);
        for (at, piece) in pieces.into_iter().enumerate() {
            let (Some(first_line), Some(last_line)) = (piece.first(), piece.last()) else {
                continue;
            };
            let start = if at == 0 {
                range.start
            } else {
                first_line.start
            };
            let end = if at == last { range.end } else { last_line.end };
            let whole = piece.len() == 1 && *first_line == (start..end);
            self.emit(Block {
                range: start..end,
                kind: BlockKind::Paragraph {
                    lines: (!whole).then(|| piece.into()),
                    continued: at > 0,
                },
                place: Place {
                    marker: place.marker.filter(|_| at == 0),
                    ..place
                },
            });
        }
    }

    fn emit(&mut self, block: Block) {
        if let Some(root) = self.split.roots.last_mut() {
            root.closed = match &block.kind {
                BlockKind::Heading { .. } | BlockKind::Rule => true,
                BlockKind::Code { .. } => fence_is_closed(&self.source[block.range.clone()]),
                _ => false,
            } && block.place.quotes == 0
                && block.place.lists == 0;
        }
        self.split.blocks.push(block);
    }
}

fn level_number(level: HeadingLevel) -> u8 {
    level as u8
}

fn first_word(info: &str) -> &str {
    info.split([' ', '\t', ',', '{']).next().unwrap_or_default()
}

fn trim(source: &str, range: Range<usize>) -> Range<usize> {
    let text = &source[range.clone()];
    let start = range.start + (text.len() - text.trim_start().len());
    let end = start + source[start..range.end].trim_end().len();
    start..end
}

fn trim_end(source: &str, range: Range<usize>) -> Range<usize> {
    let end = range.start + source[range.clone()].trim_end().len();
    range.start..end
}

/// The lines of a text in containers: each from where its own text starts to the end of its line.
fn lines_from_starts(
    source: &str,
    range: &Range<usize>,
    line_starts: &[usize],
) -> Vec<Range<usize>> {
    let line_of = |&start: &usize| {
        let rest = &source[start..range.end.max(start)];
        let end = start + rest.find('\n').unwrap_or(rest.len());
        start..end
    };
    line_starts.iter().map(line_of).collect()
}

/// The text of a heading, without hash signs or the line below.
fn heading_lines(source: &str, range: &Range<usize>, line_starts: &[usize]) -> Box<[Range<usize>]> {
    let is_atx = source[range.clone()].starts_with('#');
    lines_from_starts(source, range, line_starts)
        .into_iter()
        .map(|line| {
            if !is_atx {
                return trim_end(source, line);
            }
            let text = source[line.clone()].trim_end();
            let without_hashes = text.trim_end_matches('#');
            let closes = without_hashes.is_empty() || without_hashes.ends_with([' ', '\t']);
            let kept = if closes {
                without_hashes.trim_end()
            } else {
                text
            };
            line.start..line.start + kept.len()
        })
        .collect()
}

/// Cuts long prose into pieces of at most [`MAX_PROSE_BYTES`], at ends of lines or words where there are any.
fn cut_prose(source: &str, lines: Vec<Range<usize>>) -> Vec<Vec<Range<usize>>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Range<usize>> = Vec::new();
    let mut size = 0;
    for mut line in lines {
        while size + line.len() > MAX_PROSE_BYTES {
            let room = MAX_PROSE_BYTES - size;
            let cut = cut_point(&source[line.clone()], room);
            if size > 0 && !source[line.clone()][..cut].contains('\n') {
                // The line goes to the next piece as a whole, or is cut there.
                pieces.push(std::mem::take(&mut piece));
            } else {
                let head = trim_end(source, line.start..line.start + cut);
                piece.push(head);
                pieces.push(std::mem::take(&mut piece));
                line.start += cut;
            }
            size = 0;
        }
        size += line.len() + 1;
        piece.push(line);
    }
    pieces.push(piece);
    pieces
}

/// Where to cut `text`, at most `room` bytes in: after a line, else after a word, else after a character.
fn cut_point(text: &str, room: usize) -> usize {
    let limit = text.floor_char_boundary(room.max(4));
    let head = &text[..limit];
    head.rfind('\n')
        .or_else(|| head.rfind(' '))
        .map_or(limit, |at| at + 1)
}

/// Whether fenced code ends with its closing fence.
pub(super) fn fence_is_closed(block: &str) -> bool {
    let Some((first, rest)) = block.split_once('\n') else {
        return false;
    };
    let last = rest.rsplit('\n').next().unwrap_or_default();
    Fence::opened_by(first).is_some_and(|fence| fence.is_closed_by(last))
}

/// A code fence (CommonMark 0.31, section 4.5).
#[derive(Clone, Copy, Debug)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    pub(super) fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start_matches(' ');
        let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
        let length = line.chars().take_while(|&other| other == mark).count();
        (length >= 3).then_some(Self { mark, length })
    }

    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let marks = text.chars().take_while(|&other| other == self.mark).count();
        indent <= 3 && marks >= self.length && text[marks..].trim().is_empty()
    }
}
