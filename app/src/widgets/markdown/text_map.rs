//! Which byte of the source a byte of the displayed text comes from, and back.

/// Which way to go where displayed text borders on markup that isn't displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// To the text before: for the end of a selection.
    Before,
    /// To the text after: for the start of a selection.
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    display: usize,
    display_len: usize,
    source: usize,
    source_len: usize,
}

/// The correspondence between a displayed text and the source it was made from, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextMap {
    segments: Vec<Segment>,
}

impl TextMap {
    /// Notes that `display_len` displayed bytes, following those noted before, come from `source`.
    /// Equal lengths mean equal text; otherwise only the ends correspond.
    pub fn push(&mut self, display_len: usize, source: std::ops::Range<usize>) {
        let display = self.display_len();
        if let Some(last) = self.segments.last_mut()
            && last.display_len == last.source_len
            && display_len == source.len()
            && last.source + last.source_len == source.start
        {
            last.display_len += display_len;
            last.source_len += source.len();
            return;
        }
        self.segments.push(Segment {
            display,
            display_len,
            source: source.start,
            source_len: source.len(),
        });
    }

    /// Length of the displayed text.
    pub fn display_len(&self) -> usize {
        self.segments
            .last()
            .map_or(0, |last| last.display + last.display_len)
    }

    /// The source position of a displayed one; `None` when nothing is displayed.
    pub fn to_source(&self, display: usize, bias: Bias) -> Option<usize> {
        let after = |segment: &Segment| match bias {
            Bias::Before => segment.display + segment.display_len >= display,
            Bias::After => segment.display + segment.display_len > display,
        };
        let at = self.segments.partition_point(|segment| !after(segment));
        let segment = self.segments.get(at).or_else(|| self.segments.last())?;
        let into = display.saturating_sub(segment.display);
        Some(if segment.display_len == segment.source_len {
            segment.source + into.min(segment.source_len)
        } else if into == 0 {
            segment.source
        } else {
            segment.source + segment.source_len
        })
    }

    /// The displayed position of a source position, the nearest one when the source position is in markup.
    pub fn to_display(&self, source: usize) -> usize {
        let at = self
            .segments
            .partition_point(|segment| segment.source + segment.source_len < source);
        let Some(segment) = self.segments.get(at) else {
            return self.display_len();
        };
        let into = source.saturating_sub(segment.source);
        if segment.display_len == segment.source_len {
            segment.display + into
        } else if into < segment.source_len {
            segment.display
        } else {
            segment.display + segment.display_len
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a **bc** &amp; d` shown as `a bc & d`.
    fn map() -> TextMap {
        let mut map = TextMap::default();
        map.push(2, 0..2);
        map.push(2, 4..6);
        map.push(1, 8..9);
        map.push(1, 9..14);
        map.push(2, 14..16);
        map
    }

    #[test]
    fn positions_beside_markup_go_the_way_they_are_told() {
        assert_eq!(map().to_source(2, Bias::Before), Some(2));
        assert_eq!(map().to_source(2, Bias::After), Some(4));
        assert_eq!(map().to_source(4, Bias::Before), Some(6));
        assert_eq!(map().to_source(4, Bias::After), Some(8));
    }

    #[test]
    fn an_entity_is_selected_whole() {
        assert_eq!(map().to_source(5, Bias::After), Some(9));
        assert_eq!(map().to_source(6, Bias::Before), Some(14));
        assert_eq!(map().to_display(11), 5);
        assert_eq!(map().to_display(14), 6);
    }

    #[test]
    fn source_positions_in_markup_go_to_the_next_text() {
        assert_eq!(map().to_display(3), 2);
        assert_eq!(map().to_display(7), 4);
        assert_eq!(map().to_display(99), 8);
    }

    #[test]
    fn text_that_follows_itself_is_one_segment() {
        let mut map = TextMap::default();
        map.push(3, 10..13);
        map.push(4, 13..17);
        assert_eq!(map.segments.len(), 1);
        assert_eq!(map.to_source(7, Bias::After), Some(17));
    }
}
