//! The code graph of the open folder, as long as somebody wants it.

use std::path::{Path, PathBuf};

use super::{Core, Inbound};
use crate::graph::{GraphNews, GraphService, GraphState};
use crate::protocol::Event;

impl Core {
    /// Reads the graph if that hasn't begun yet, and says how it is.
    pub(super) fn show_graph(&mut self) {
        let is_failed = matches!(self.graph_state, GraphState::Failed(_));
        if self.graph.is_none() || is_failed {
            self.open_graph();
        } else {
            self.publish(&Event::Graph(self.graph_state.clone()));
        }
    }

    /// Reads the graph of the folder that is open now.
    pub(super) fn open_graph(&mut self) {
        self.graph_thread += 1;
        let thread = self.graph_thread;
        self.graph = None;
        self.graph_state = GraphState::Closed;
        if let Some(folder) = self.folder.clone() {
            let core = self.inbox.clone();
            let tell = move |news| {
                // The core is gone when the program ends.
                let _ended = core.blocking_send(Inbound::Graph(thread, news));
            };
            let cache = self.graph_cache(&folder);
            self.graph_state = GraphState::Reading(folder.clone());
            match GraphService::start(folder, cache, tell) {
                Ok(service) => self.graph = Some(service),
                Err(error) => {
                    let text = format!("The code graph can't be read: no thread for it: {error}");
                    self.graph_state = GraphState::Failed(text);
                }
            }
        }
        self.publish(&Event::Graph(self.graph_state.clone()));
    }

    /// Where facts about the folder's files are kept from run to run; losing it costs time only.
    fn graph_cache(&self, folder: &Path) -> Option<PathBuf> {
        if self.disk.read_only.is_some() {
            return None;
        }
        let real = std::fs::canonicalize(folder).ok()?;
        let name = codegraph::snapshot::workspace_hash(&real.to_string_lossy());
        let cache = self.home.join("cache");
        std::fs::create_dir_all(&cache).ok()?;
        Some(cache.join(format!("{name}.facts")))
    }

    pub(super) fn ask_graph(&mut self, number: u64, question: String) {
        if self.graph.is_none() {
            self.show_graph();
        }
        let is_asked = self
            .graph
            .as_mut()
            .is_some_and(|graph| graph.ask(number, question));
        if !is_asked {
            let why = match &self.graph_state {
                GraphState::Failed(why) => why.clone(),
                _ => "No folder is open, so there is no code graph to ask.".to_owned(),
            };
            self.publish(&Event::GraphAnswer(number, Err(why)));
        }
    }

    pub(super) fn graph_news(&mut self, thread: u64, news: GraphNews) {
        if thread != self.graph_thread {
            return;
        }
        match news {
            GraphNews::State(state) => {
                self.graph_state = state.clone();
                self.publish(&Event::Graph(state));
            }
            GraphNews::Answer(number, answer) => self.publish(&Event::GraphAnswer(number, answer)),
        }
    }
}
