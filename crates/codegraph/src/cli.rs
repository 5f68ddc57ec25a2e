//! The code graph from the command line: `build`, `query`, `watch`, `export`, `layout` and `stats` of a folder, as
//! subcommands of whichever program has them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::analysis::FileGraph;
use crate::analysis::history::History;
use crate::engine::Engine;
use crate::filter::Filter;
use crate::graph::{EdgeType, Graph};
use crate::layout::{Backend, LayoutGraph, Options, layout};
use crate::live::LiveGraph;
use crate::query::{self, Context, gnn_export};
use crate::snapshot::write_atomically;
use crate::watch::Debounce;
use crate::{kg, tree_text};
use clap::{Args, Subcommand};

type Failure = Box<dyn std::error::Error>;

/// Which folder, and what of it.
#[derive(Args, Clone, Debug)]
pub struct Folder {
    /// The folder.
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Take in files that .gitignore leaves out.
    #[arg(long)]
    no_gitignore: bool,
    /// Take in build output such as dist/.
    #[arg(long)]
    build_output: bool,
    /// Keep facts in this file between runs.
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
}

/// What to do with a folder's graph.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Build the graph and write it.
    Build {
        /// The folder, and what of it is read.
        #[command(flatten)]
        folder: Folder,
        /// Write the graph to this file; `-` is standard output.
        #[arg(long, value_name = "FILE")]
        kg: Option<PathBuf>,
        /// Write the tree text to this file.
        #[arg(long, value_name = "FILE")]
        txt: Option<PathBuf>,
        /// Dense ids in path order: equal folders give equal bytes.
        #[arg(long)]
        canonical: bool,
        /// Print the counts as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask a question, such as `dependents src/a.ts`, `path a.ts b.ts`, `cycles`.
    Query {
        /// The folder, and what of it is read.
        #[command(flatten)]
        folder: Folder,
        /// The question.
        #[arg(long, short, value_name = "QUESTION", required = true, num_args = 1..)]
        ask: Vec<String>,
        /// Answer as JSON.
        #[arg(long)]
        json: bool,
        /// The layer rules for `layers`.
        #[arg(long, value_name = "FILE")]
        layers: Option<PathBuf>,
        /// Ask a .kg file instead of the folder.
        #[arg(long, value_name = "FILE")]
        kg: Option<PathBuf>,
    },
    /// Keep a .kg file true to the folder until interrupted.
    Watch {
        /// The folder, and what of it is read.
        #[command(flatten)]
        folder: Folder,
        /// Where snapshots go.
        #[arg(long, value_name = "DIR")]
        snapshots: PathBuf,
        /// Milliseconds without a change before the graph is brought up to date.
        #[arg(long, default_value_t = 2000)]
        pause: u64,
    },
    /// Write arrays for graph neural networks.
    Export {
        /// The folder, and what of it is read.
        #[command(flatten)]
        folder: Folder,
        /// Where the .npy files and graph.json go.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Lay the files out by their imports and print where each lies.
    Layout {
        /// The folder, and what of it is read.
        #[command(flatten)]
        folder: Folder,
        /// Print as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print sizes and times.
    Stats {
        /// The folder, and what of it is read.
        #[command(flatten)]
        folder: Folder,
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Carries a command out. Errors go to standard error under the name of the program; the exit code is 3 where a file name
/// is ambiguous, 1 for any other failure.
pub fn run(command: Command, program: &str) -> ExitCode {
    match carry_out(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            let is_ambiguous = matches!(
                error.downcast_ref(),
                Some(query::QueryError::Ambiguous { .. })
            );
            ExitCode::from(if is_ambiguous { 3 } else { 1 })
        }
    }
}

fn carry_out(command: Command) -> Result<(), Failure> {
    match command {
        Command::Build {
            folder,
            kg,
            txt,
            canonical,
            json,
        } => build(&folder, kg.as_deref(), txt.as_deref(), canonical, json),
        Command::Query {
            folder,
            ask,
            json,
            layers,
            kg,
        } => ask_all(&folder, &ask, json, layers.as_deref(), kg.as_deref()),
        Command::Watch {
            folder,
            snapshots,
            pause,
        } => watch(&folder, &snapshots, Duration::from_millis(pause)),
        Command::Export { folder, out } => export(&folder, &out),
        Command::Layout { folder, json } => lay_out(&folder, json),
        Command::Stats { folder, json } => stats(&folder, json),
    }
}

fn filter(folder: &Folder) -> Filter {
    Filter {
        honour_gitignore: !folder.no_gitignore,
        include_build_output: folder.build_output,
    }
}

fn open(folder: &Folder) -> Result<Engine, Failure> {
    Ok(Engine::open(
        &folder.directory,
        filter(folder),
        folder.cache.clone(),
    )?)
}

fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // A reader such as `head` that has seen enough is no failure.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn counts(graph: &Graph) -> serde_json::Value {
    let edges = |edge_type| graph.edges_of(edge_type).len();
    serde_json::json!({
        "nodes": graph.nodes.len(),
        "edges": graph.edges.len(),
        "import_records": graph.imports.len(),
        "exports": edges(EdgeType::Exports),
        "imports": edges(EdgeType::Imports),
        "symbol_imports": edges(EdgeType::ImportsSymbol),
    })
}

fn print_pairs(pairs: &serde_json::Value, json: bool) -> Result<(), Failure> {
    if json {
        return print(&format!("{pairs}\n"));
    }
    let lines = pairs
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}: {value}\n"));
    print(&lines.collect::<String>())
}

fn build(
    folder: &Folder,
    kg: Option<&Path>,
    txt: Option<&Path>,
    canonical: bool,
    json: bool,
) -> Result<(), Failure> {
    let engine = open(folder)?;
    let graph = engine.graph();
    for (path, problem) in engine.model().problems() {
        eprintln!("{path}:{}: {}", problem.line, problem.message);
    }
    if let Some(path) = txt {
        write_atomically(path, tree_text::render(graph).as_bytes())?;
    }
    let text = if canonical {
        kg::write_canonical(graph)
    } else {
        kg::write(graph)
    };
    match kg {
        Some(path) if path == Path::new("-") => return print(&text),
        Some(path) => write_atomically(path, text.as_bytes())?,
        None => {}
    }
    print_pairs(&counts(graph), json)
}

fn ask_all(
    folder: &Folder,
    questions: &[String],
    json: bool,
    layers: Option<&Path>,
    kg: Option<&Path>,
) -> Result<(), Failure> {
    let engine = if kg.is_some() {
        None
    } else {
        Some(open(folder)?)
    };
    let read = match kg {
        Some(path) => Some(kg::read(&std::fs::read_to_string(path)?)?),
        None => None,
    };
    let Some(graph) = read.as_ref().or(engine.as_ref().map(Engine::graph)) else {
        return Ok(());
    };
    let needs_history = questions
        .iter()
        .any(|question| question.starts_with("next") || question.starts_with("hotspots"));
    let history = if needs_history {
        Some(History::read(&folder.directory, 4_000)?)
    } else {
        None
    };
    let rules = layers.map(std::fs::read_to_string).transpose()?;
    let context = Context {
        graph,
        history: history.as_ref(),
        layer_rules: rules.as_deref(),
    };
    for question in questions {
        let answer = query::ask(&context, question)?;
        if json {
            print(&format!("{}\n", serde_json::to_string(&answer)?))?;
        } else {
            print(&answer.to_string())?;
        }
    }
    Ok(())
}

fn watch(folder: &Folder, snapshots: &Path, pause: Duration) -> Result<(), Failure> {
    let debounce = Debounce {
        pause,
        ..Debounce::default()
    };
    let mut live = LiveGraph::open(
        &folder.directory,
        filter(folder),
        folder.cache.clone(),
        debounce,
    )?;
    loop {
        let path = live.engine_mut().write_snapshot(snapshots)?;
        print(&format!(
            "{} {}\n",
            counts(live.engine().graph()),
            path.display()
        ))?;
        let changes = loop {
            if let Some(changes) = live.next_changes(Instant::now() + Duration::from_secs(3600))? {
                break changes;
            }
        };
        let (added, changed, removed) = (
            changes.added.len(),
            changes.changed.len(),
            changes.removed.len(),
        );
        print(&format!("+{added} ~{changed} -{removed}\n"))?;
    }
}

fn export(folder: &Folder, out: &Path) -> Result<(), Failure> {
    let engine = open(folder)?;
    let export = gnn_export(engine.graph());
    for array in &export.arrays {
        write_atomically(&out.join(array.name), &array.bytes)?;
    }
    write_atomically(
        &out.join("graph.json"),
        serde_json::to_string_pretty(&export.description)?.as_bytes(),
    )?;
    print(&format!("{}\n", out.display()))
}

fn lay_out(folder: &Folder, json: bool) -> Result<(), Failure> {
    let engine = open(folder)?;
    let files = FileGraph::new(engine.graph());
    let count = u32::try_from(files.len())?;
    let edges = (0..count).flat_map(|file| {
        files
            .imports(file)
            .iter()
            .map(move |target| (file, *target))
    });
    let graph = LayoutGraph::new(files.len(), edges);
    let points = layout(&graph, Options::default(), &Backend::Processor);
    let mut text = String::new();
    for (path, point) in files.paths.iter().zip(points) {
        if json {
            text.push_str(&format!(
                "{}\n",
                serde_json::json!({ "path": path, "x": point.x, "y": point.y })
            ));
        } else {
            text.push_str(&format!("{:10.3} {:10.3} {path}\n", point.x, point.y));
        }
    }
    print(&text)
}

fn stats(folder: &Folder, json: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let mut engine = open(folder)?;
    let opened = started.elapsed();
    let started = Instant::now();
    engine.refresh()?;
    let refreshed = started.elapsed();
    let mut pairs = counts(engine.graph());
    let text = kg::write_canonical(engine.graph());
    let started = Instant::now();
    kg::read(&text)?;
    let milliseconds = |time: Duration| serde_json::json!(time.as_secs_f64() * 1e3);
    if let Some(map) = pairs.as_object_mut() {
        map.insert("files".to_owned(), engine.model().paths().count().into());
        map.insert(
            "problems".to_owned(),
            engine.model().problems().count().into(),
        );
        map.insert("kg_bytes".to_owned(), text.len().into());
        map.insert("open_ms".to_owned(), milliseconds(opened));
        map.insert("unchanged_refresh_ms".to_owned(), milliseconds(refreshed));
        map.insert("kg_read_ms".to_owned(), milliseconds(started.elapsed()));
    }
    print_pairs(&pairs, json)
}
