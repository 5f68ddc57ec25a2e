//! The search within the open thread, done on a thread of its own.

use std::sync::mpsc::{Receiver, channel};

use egui::{Frame, Panel, Ui};

use super::ChatView;
use crate::chat::find::{Find, FindAction, FindHit};
use crate::shell::model::Model;
use crate::shell::parts::Part;
use crate::theme::Tokens;

/// A search on its way.
pub(super) struct Searching {
    needle: String,
    /// Whether the first hit is to be shown: the words changed, not only the messages.
    is_new: bool,
    answer: Receiver<Vec<FindHit>>,
}

impl ChatView {
    /// Opens the search bar; the words of last time are looked for anew.
    pub fn open_find(&mut self) {
        self.find.open();
        self.searches_again = true;
    }

    /// Goes to another hit of the search.
    pub fn step_find(&mut self, forward: bool) {
        if !self.find.is_open {
            self.open_find();
        }
        self.find.step(forward);
        self.show_hit();
    }

    fn show_hit(&mut self) {
        if let (Some(hit), Some(doc)) = (self.find.current_hit(), &mut self.doc) {
            let message = hit.message.as_str().into();
            doc.jump_to_byte(&message, hit.range.start);
            doc.select(&message, hit.range.clone());
        }
    }

    pub(super) fn find_bar_ui(&mut self, ui: &mut Ui, tokens: &Tokens, model: &Model) {
        self.take_hits();
        if !self.find.is_open {
            return;
        }
        let bar = Panel::top("find bar")
            .frame(Frame::NONE)
            .show(ui, |ui| self.find.find_ui(ui, tokens));
        self.parts
            .push(Part::with_first(bar.response.rect, Find::field_id()));
        match bar.inner {
            Some(FindAction::Changed) => self.begin_search(ui.ctx(), model, true),
            None if std::mem::take(&mut self.searches_again) => {
                self.begin_search(ui.ctx(), model, false);
            }
            Some(FindAction::Next) => self.step_find(true),
            Some(FindAction::Previous) => self.step_find(false),
            Some(FindAction::Close) => {
                self.find.is_open = false;
                if let Some(doc) = &mut self.doc {
                    doc.mark_matches("");
                }
                self.composer.focus();
            }
            None => {}
        }
    }

    /// Searches on a thread of its own: a long conversation must not stop the frame.
    fn begin_search(&mut self, ctx: &egui::Context, model: &Model, is_new: bool) {
        if let Some(doc) = &mut self.doc {
            doc.mark_matches(&self.find.needle);
        }
        let needle = self.find.needle.clone();
        let messages = model
            .thread
            .as_ref()
            .map(|t| t.messages.clone())
            .unwrap_or_default();
        let (answer, asked) = channel();
        let (ctx, wanted) = (ctx.clone(), needle.clone());
        std::thread::spawn(move || {
            let hits = messages
                .iter()
                .flat_map(|message| {
                    transcript::find_in_text(message.content(), &wanted)
                        .into_iter()
                        .map(|range| FindHit {
                            message: message.id().clone(),
                            range,
                        })
                })
                .collect();
            // A newer search may have taken this one's place.
            let _superseded = answer.send(hits);
            ctx.request_repaint();
        });
        self.searching = Some(Searching {
            needle,
            is_new,
            answer: asked,
        });
    }

    fn take_hits(&mut self) {
        let Some(searching) = &self.searching else {
            return;
        };
        let Ok(hits) = searching.answer.try_recv() else {
            return;
        };
        if searching.needle == self.find.needle {
            let is_new = searching.is_new;
            self.find.set_hits(hits);
            if is_new {
                self.show_hit();
            }
        }
        self.searching = None;
    }
}
