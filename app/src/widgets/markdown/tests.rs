use proptest::prelude::*;

use super::blocks::{Block, BlockKind, MAX_PROSE_BYTES, Marker, split_blocks};
use super::doc::MarkdownDoc;

/// A short form for expectations: kind, source text, containers.
fn outline(source: &str) -> Vec<String> {
    split_blocks(source)
        .blocks
        .iter()
        .map(|block| describe(source, block))
        .collect()
}

fn describe(source: &str, block: &Block) -> String {
    let kind = match &block.kind {
        BlockKind::Paragraph { .. } => "p".to_owned(),
        BlockKind::Heading { level, .. } => format!("h{level}"),
        BlockKind::Code { language, .. } => format!("code[{language}]"),
        BlockKind::Table { rows, .. } => format!("table{}", rows.len()),
        BlockKind::Rule => "rule".to_owned(),
        BlockKind::Html { .. } => "html".to_owned(),
    };
    let marker = match block.place.marker {
        None => String::new(),
        Some(Marker::Bullet) => " *".to_owned(),
        Some(Marker::Number(number)) => format!(" {number}."),
        Some(Marker::Task(done)) => format!(" [{}]", if done { 'x' } else { ' ' }),
    };
    let text = match &block.kind {
        BlockKind::Paragraph {
            lines: Some(lines), ..
        }
        | BlockKind::Heading {
            lines: Some(lines), ..
        } => lines
            .iter()
            .map(|line| source[line.clone()].to_owned())
            .collect::<Vec<_>>()
            .join("|"),
        BlockKind::Code { parts, .. } => parts
            .iter()
            .map(|part| source[part.clone()].to_owned())
            .collect::<String>(),
        _ => source[block.range.clone()].to_owned(),
    };
    let text = text.replace('\n', "|");
    format!(
        "{}{}{kind}{marker} {text}",
        ">".repeat(block.place.quotes.into()),
        "-".repeat(block.place.lists.into()),
    )
}

#[test]
fn paragraphs_headings_rules_and_html_are_blocks() {
    assert_eq!(
        outline("# One #\n\ntext\nmore\n\nTwo\n===\n\n---\n<b>\nraw\n\nend"),
        [
            "h1 One",
            "p text|more",
            "h1 Two",
            "rule ---",
            "html <b>|raw",
            "p end"
        ]
    );
}

#[test]
fn each_list_item_is_a_block_with_its_marker() {
    assert_eq!(
        outline("- one\n- two\n  more\n  1. inner\n  2. last\n- [x] done\n- [ ] open\n-\n"),
        [
            "-p * one",
            "-p * two|more",
            "--p 1. inner",
            "--p 2. last",
            "-p [x] done",
            "-p [ ] open",
            "-p * ",
        ]
    );
}

#[test]
fn loose_items_and_code_inside_items_keep_their_place() {
    assert_eq!(
        outline("7. one\n\n   second\n\n   ```rust\n   fn f() {\n       g();\n   ```\n\n8. two"),
        [
            "-p 7. one",
            "-p second",
            "-code[rust] fn f() {|    g();|",
            "-p 8. two"
        ]
    );
}

#[test]
fn quotes_are_counted_and_their_marks_left_out() {
    assert_eq!(
        outline("> one\n> two\n>\n> > inner\nlazy\n"),
        [">p one|two", ">>p inner|lazy"]
    );
}

#[test]
fn a_table_knows_its_cells() {
    let source = "| a | b |\n|---|--:|\n| 1 | `x|y` |\n| 3 |\n";
    let split = split_blocks(source);
    let BlockKind::Table {
        head,
        rows,
        alignments,
    } = &split.blocks[0].kind
    else {
        panic!("{:?}", split.blocks);
    };
    assert_eq!(alignments.len(), 2);
    assert_eq!(&source[head[1].clone()], "b");
    assert_eq!(&source[rows[0][0].clone()], "1");
    assert_eq!(&source[rows[1][0].clone()], "3");
}

#[test]
fn definitions_are_collected_and_not_shown() {
    let split = split_blocks("[Foo Bar]: http://x.example/\n\nsee [foo  bar]\n");
    assert_eq!(split.blocks.len(), 1);
    assert_eq!(split.definitions["foo bar"].as_ref(), "http://x.example/");
}

#[test]
fn long_prose_is_cut_into_short_pieces_without_losing_text() {
    for source in [
        "word ".repeat(20_000),
        "x".repeat(50_000),
        "é\n".repeat(9_000),
    ] {
        let split = split_blocks(&source);
        assert!(split.blocks.len() > 3);
        let mut kept = String::new();
        for block in &split.blocks {
            assert!(block.range.len() <= MAX_PROSE_BYTES);
            kept.push_str(&source[block.range.clone()]);
        }
        let squeeze = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeeze(&kept), squeeze(&source));
    }
}

/// Pieces that meet in all the ways that change what was there before.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c ]{1,6}",
        4 => Just("\n".to_owned()),
        3 => Just("\n\n".to_owned()),
        2 => Just("- ".to_owned()),
        2 => Just("1. ".to_owned()),
        1 => Just("2".to_owned()),
        1 => Just(". ".to_owned()),
        1 => Just("  ".to_owned()),
        1 => Just("    ".to_owned()),
        2 => Just("> ".to_owned()),
        3 => Just("```".to_owned()),
        1 => Just("````\n".to_owned()),
        1 => Just("~~~\n".to_owned()),
        1 => Just("`".to_owned()),
        1 => Just("# ".to_owned()),
        1 => Just("===".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("| a | b |\n|---|---|\n".to_owned()),
        1 => Just("|".to_owned()),
        1 => Just("[a]: /u\n".to_owned()),
        1 => Just("'t".to_owned()),
        1 => Just("<div>\n".to_owned()),
        1 => Just("<!-- ".to_owned()),
        1 => Just("-->".to_owned()),
        1 => Just("[ ] ".to_owned()),
        1 => Just("**".to_owned()),
        1 => Just("$$".to_owned()),
        1 => Just("é漢😀".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("\r\n".to_owned()),
    ]
}

#[test]
fn a_link_definition_after_a_closed_block_may_still_become_a_paragraph() {
    let mut doc = MarkdownDoc::default();
    for piece in ["~~~\n", "~~~\n", "[a]: /u\n", " ", "- ", "\n", "a"] {
        doc.push(piece);
    }
    assert_eq!(doc.blocks(), MarkdownDoc::new(doc.source()).blocks());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_text_that_streams_in_has_the_blocks_of_the_whole(
        pieces in prop::collection::vec(fragment(), 0..40),
    ) {
        let mut doc = MarkdownDoc::default();
        let mut source = String::new();
        for piece in pieces {
            source.push_str(&piece);
            let before = doc.blocks().to_vec();
            let changed = doc.push(&piece);
            let whole = split_blocks(&source);
            prop_assert_eq!(doc.blocks(), &whole.blocks[..], "{:?}", source);
            prop_assert_eq!(&before[..changed], &doc.blocks()[..changed]);
        }
    }

    #[test]
    fn blocks_are_in_order_and_inside_the_text(text in "[ -~\n`*>#|é-]{0,200}") {
        let split = split_blocks(&text);
        let mut end = 0;
        for block in &split.blocks {
            prop_assert!(block.range.start >= end, "{:?}", split.blocks);
            prop_assert!(text.get(block.range.clone()).is_some());
            end = block.range.end;
        }
    }
}
