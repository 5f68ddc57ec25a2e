//! Byte offsets to line numbers.

/// The starts of a text's lines.
pub(crate) struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| clamp(at + 1)));
        Self { starts }
    }

    /// The 1-based line of a byte offset.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        clamp(self.starts.partition_point(|start| *start <= offset))
    }
}

fn clamp(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
