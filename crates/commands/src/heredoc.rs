//! Here-documents: their text stands after the line in which they are named.

use crate::parse::Parser;
use crate::word::{NotUnderstood, Word};

/// A here-document whose text is still to be stepped over.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    end: String,
    quoted: bool,
    strips_tabs: bool,
}

impl Parser {
    /// The text of a here-document that was just named, found ahead; it is stepped over at the end of the line.
    pub(crate) fn heredoc_ahead(
        &mut self,
        end: &Word,
        strips_tabs: bool,
    ) -> Result<String, NotUnderstood> {
        if end.dynamic {
            return Err(self.error("a here-document that ends on a variable"));
        }
        let pending = Pending {
            end: end.text.clone(),
            quoted: end.quoted,
            strips_tabs,
        };
        self.pending.push(pending);
        // Where the line ends isn't known before it is read; another reading of the rest finds the text. Quotes that
        // span lines between are rare enough to be refused.
        let here = self.at;
        let mut at = here;
        while self.chars.get(at).is_some_and(|next| *next != '\n') {
            at += 1;
        }
        let line: String = self.chars[here..at].iter().collect();
        if line.contains(['\'', '"', '`', '\\', '(']) {
            return Err(self.error("quotes or substitutions after a here-document's name"));
        }
        at += 1;
        let mut body = String::new();
        for pending in self.pending.clone() {
            body = self.text_at(&mut at, &pending)?;
        }
        Ok(body)
    }

    fn text_at(&self, at: &mut usize, pending: &Pending) -> Result<String, NotUnderstood> {
        let mut body = String::new();
        while *at < self.chars.len() {
            let rest = &self.chars[*at..];
            let length = rest
                .iter()
                .position(|next| *next == '\n')
                .unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            *at += length + 1;
            let line = if pending.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if line == pending.end {
                return Ok(body);
            }
            body.push_str(line);
            body.push('\n');
        }
        Err(self.error("a here-document that is not ended"))
    }

    /// Steps over the texts that begin here, and finds what is substituted in them.
    pub(crate) fn heredoc_bodies(&mut self) -> Result<(), NotUnderstood> {
        for pending in std::mem::take(&mut self.pending) {
            let mut at = self.at;
            let body = self.text_at(&mut at, &pending)?;
            self.at = at.min(self.chars.len());
            if !pending.quoted {
                self.substitutions_in(&body)?;
            }
        }
        Ok(())
    }

    fn substitutions_in(&mut self, body: &str) -> Result<(), NotUnderstood> {
        let mut inner = Parser {
            chars: body.chars().collect(),
            at: 0,
            depth: self.depth,
            found: Vec::new(),
            pending: Vec::new(),
        };
        let mut text = Word::default();
        while let Some(next) = inner.peek() {
            match next {
                '\\' => inner.at += 2,
                '$' => inner.dollar(&mut text, true)?,
                '`' => inner.backquote(&mut text)?,
                _ => inner.at += 1,
            }
        }
        self.found.append(&mut inner.found);
        Ok(())
    }
}
