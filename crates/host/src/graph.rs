//! The code graph of the open folder: a thread of its own that reads the folder, follows what is saved, and answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use codegraph::analysis::communities::communities;
use codegraph::analysis::history::History;
use codegraph::analysis::layers::LayerRules;
use codegraph::analysis::{FileGraph, cycles};
use codegraph::filter::Filter;
use codegraph::graph::{Graph, NodeIndex};
use codegraph::live::{LiveError, LiveGraph};
use codegraph::nested::Nested;
use codegraph::query::Answer;
use codegraph::watch::{Debounce, Waker};

use crate::client_state::read_small_file;

/// Changes are taken in this soon after the last one, and no later than `AT_MOST` after the first.
const PAUSE: Duration = Duration::from_millis(40);
const AT_MOST: Duration = Duration::from_millis(400);
/// Without a change or a question the thread looks up this often: only to notice that nobody wants it any more.
const CALM: Duration = Duration::from_secs(600);
/// So many commits of history are read.
const HISTORY_COMMITS: usize = 2_000;

/// A folder's graph at one moment, with what views need of it.
#[derive(Debug)]
pub struct GraphData {
    /// The folder.
    pub folder: PathBuf,
    /// The graph.
    pub graph: Graph,
    /// Its directories and files as boxes in boxes.
    pub nested: Nested,
    /// The community of each file, by node; `None` for what is no file.
    pub communities: Vec<Option<u32>>,
    /// How many of the last commits changed each file, by node; empty where there is no history.
    pub churn: Vec<u32>,
    /// How many commits ago each file was changed last, by node; empty where there is no history.
    pub age: Vec<u32>,
    /// The import cycles that there are at run time.
    pub cycles: Vec<CycleData>,
    /// The imports that break the folder's layer rules, and the rule; none where it has no rules.
    pub forbidden: Vec<(NodeIndex, NodeIndex, String)>,
    /// Why the folder's layer rules don't count, where they can't be read.
    pub rules_problem: Option<String>,
    /// Counts up with every change.
    pub version: u64,
}

/// Where a folder says which of its parts may import which, below it (see [`codegraph::analysis::layers`]).
const LAYER_RULES: &str = ".folkmoot/layers.toml";

/// Files that import each other in a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleData {
    /// The files.
    pub files: Vec<NodeIndex>,
    /// Imports that, taken away, leave no ring.
    pub cut: Vec<(NodeIndex, NodeIndex)>,
}

/// How the graph of the open folder is.
#[derive(Clone, Debug, Default)]
pub enum GraphState {
    /// Nobody asked for it, or no folder is open.
    #[default]
    Closed,
    /// It is being read for the first time.
    Reading(PathBuf),
    /// It is there, and follows what is saved.
    Ready(Arc<GraphData>),
    /// It can't be had; what happened, where, and what to do.
    Failed(String),
}

/// What the thread tells.
#[derive(Debug)]
pub(crate) enum GraphNews {
    State(GraphState),
    Answer(u64, Result<Arc<Answer>, String>),
}

enum Command {
    Ask(u64, String),
}

/// The thread; it ends when this is dropped.
pub(crate) struct GraphService {
    commands: Sender<Command>,
    wakers: Receiver<Waker>,
    waker: Option<Waker>,
}

impl GraphService {
    /// Starts to read a folder. `tell` is called from the thread.
    pub(crate) fn start(
        folder: PathBuf,
        cache_file: Option<PathBuf>,
        tell: impl Fn(GraphNews) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let (give_waker, wakers) = channel();
        let run = move || {
            tell(GraphNews::State(GraphState::Reading(folder.clone())));
            let debounce = Debounce {
                pause: PAUSE,
                at_most: AT_MOST,
            };
            match LiveGraph::open(&folder, Filter::default(), cache_file, debounce) {
                Ok(live) => {
                    drop(give_waker.send(live.waker()));
                    follow(live, &folder, &inbox, &tell);
                }
                Err(error) => tell(GraphNews::State(failed(&folder, &error))),
            }
        };
        std::thread::Builder::new()
            .name("code graph".to_owned())
            .spawn(run)?;
        Ok(Self {
            commands,
            wakers,
            waker: None,
        })
    }

    /// Asks a question; the answer comes as news with the same number. Says whether the thread still runs.
    pub(crate) fn ask(&mut self, number: u64, question: String) -> bool {
        let is_running = self.commands.send(Command::Ask(number, question)).is_ok();
        self.wake();
        is_running
    }

    fn wake(&mut self) {
        self.waker = self.waker.take().or_else(|| self.wakers.try_recv().ok());
        if let Some(waker) = &self.waker {
            waker.wake();
        }
    }
}

impl Drop for GraphService {
    fn drop(&mut self) {
        // The thread finds the other end of its inbox gone.
        let (gone, _) = channel();
        self.commands = gone;
        self.wake();
    }
}

fn failed(folder: &Path, error: &LiveError) -> GraphState {
    GraphState::Failed(format!(
        "The code graph of {} can't be built: {error}",
        folder.display()
    ))
}

fn follow(
    mut live: LiveGraph,
    folder: &Path,
    inbox: &Receiver<Command>,
    tell: &impl Fn(GraphNews),
) {
    let history = History::read(folder, HISTORY_COMMITS).ok();
    let mut version = 1;
    let state = |live: &LiveGraph, version| {
        let data = data(live, folder, history.as_ref(), version);
        GraphNews::State(GraphState::Ready(Arc::new(data)))
    };
    tell(state(&live, version));
    loop {
        loop {
            match inbox.try_recv() {
                Ok(Command::Ask(number, question)) => {
                    let answer = live.ask(&question, history.as_ref());
                    let answer = answer.map(Arc::new).map_err(|error| error.to_string());
                    tell(GraphNews::Answer(number, answer));
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        match live.next_changes(Instant::now() + CALM) {
            Ok(Some(_changes)) => {
                version += 1;
                tell(state(&live, version));
            }
            Ok(None) => {}
            Err(error) => {
                tell(GraphNews::State(failed(folder, &error)));
                return;
            }
        }
    }
}

fn data(live: &LiveGraph, folder: &Path, history: Option<&History>, version: u64) -> GraphData {
    let engine = live.engine();
    let graph = engine.graph().clone();
    let lines = |node| engine.model().lines(&graph.path(node)).unwrap_or_default();
    let nested = Nested::of(&graph, lines);
    let files = FileGraph::new(&graph);
    let mut by_node = vec![None; graph.nodes.len()];
    for (file, community) in files.nodes.iter().zip(communities(&files)) {
        by_node[*file as usize] = Some(community);
    }
    let (mut churn, mut age) = (Vec::new(), Vec::new());
    if let Some(history) = history {
        let counts = history.churn();
        let last = history.last_changes();
        churn = vec![0; graph.nodes.len()];
        age = vec![u32::MAX; graph.nodes.len()];
        for (file, path) in files.nodes.iter().zip(&files.paths) {
            churn[*file as usize] = counts.get(path.as_str()).copied().unwrap_or_default();
            age[*file as usize] = last.get(path.as_str()).copied().unwrap_or(u32::MAX);
        }
    }
    let at_run_time = FileGraph::at_run_time(&graph);
    let node = |file: &u32| at_run_time.nodes[*file as usize];
    let cycles = cycles::cycles(&at_run_time)
        .iter()
        .map(|cycle| CycleData {
            files: cycle.files.iter().map(node).collect(),
            cut: cycle
                .cut
                .iter()
                .map(|(from, to)| (node(from), node(to)))
                .collect(),
        })
        .collect();
    let (forbidden, rules_problem) = match layer_rules(folder) {
        Ok(rules) => (forbidden(&rules, &files), None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    GraphData {
        folder: folder.to_owned(),
        forbidden,
        rules_problem,
        nested,
        communities: by_node,
        churn,
        age,
        cycles,
        version,
        graph,
    }
}

/// The folder's layer rules; none where it has no file of them.
fn layer_rules(folder: &Path) -> Result<LayerRules, String> {
    let path = folder.join(LAYER_RULES);
    let told = |error: String| format!("{error} ({})", path.display());
    match read_small_file(&path) {
        Ok(text) => LayerRules::parse(&text).map_err(|error| told(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(LayerRules::default()),
        Err(error) => Err(told(format!("the layer rules can't be read: {error}"))),
    }
}

fn forbidden(rules: &LayerRules, files: &FileGraph) -> Vec<(NodeIndex, NodeIndex, String)> {
    let node = |file: u32| files.nodes[file as usize];
    let broken = rules.violations(files).into_iter();
    broken
        .map(|broken| (node(broken.from), node(broken.to), broken.rule))
        .collect()
}
