//! The open folder with all it takes to work in it: files, their history, commands, and what the person chose.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use commands::{
    CommandSpec, Enforcement, EnvironmentPolicy, Helper, RuleError, RuleSet, Runner, SandboxPolicy,
};
use workspace::{EditCounters, History, Recovery, TreeWatch, Workspace, WorkspaceError};

use crate::command_bounds::{Bounds, Sandboxing};

/// What the person chose for tools.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// Whether there are tools at all.
    pub tools_enabled: bool,
    /// Whether commands are run.
    pub commands_enabled: bool,
    /// Within which bounds commands run.
    pub sandboxing: Sandboxing,
    /// Which commands are allowed, asked about, forbidden.
    pub rules: RuleSet,
    /// What commands see of the environment.
    pub environment: EnvironmentPolicy,
    /// After this long a command is handed back as a job.
    pub hand_back_after: Duration,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            tools_enabled: true,
            commands_enabled: true,
            sandboxing: Sandboxing::default(),
            rules: RuleSet::default(),
            environment: EnvironmentPolicy::default(),
            hand_back_after: Duration::from_secs(10),
        }
    }
}

impl ToolSettings {
    /// Adds rules of the person's own, a TOML file's text, to the default ones. The strictest that speaks wins.
    ///
    /// # Errors
    /// The text isn't one of rules, or an example in it comes out differently.
    pub fn with_rules(mut self, text: &str) -> Result<Self, RuleError> {
        self.rules = self.rules.and(RuleSet::parse(text)?);
        Ok(self)
    }
}

/// An open folder. It isn't trusted until somebody says so: then it is only read.
#[derive(Debug)]
pub struct Workbench {
    /// Its files.
    pub workspace: Arc<Workspace>,
    /// What can be taken back.
    pub history: Arc<History>,
    /// Its commands.
    pub runner: Arc<Runner>,
    /// How edits fared.
    pub edits: EditCounters,
    settings: RwLock<Arc<ToolSettings>>,
    trusted: AtomicBool,
    enforcement: OnceLock<Enforcement>,
    /// Whether something that a command left behind may have changed files since they were last looked at.
    pub(crate) jobs_ran: AtomicBool,
    /// The watch over the tree, once a command was run. Held while checkpoints are written.
    pub(crate) watch: Mutex<Option<TreeWatch>>,
}

/// Why a folder can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder, or its history.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The place for the output of commands.
    #[error("cannot keep the output of commands: {source}: {}", path.display())]
    Outputs {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Workbench {
    /// Puts a workbench together.
    pub fn new(workspace: Workspace, history: History, runner: Runner) -> Self {
        Self {
            workspace: Arc::new(workspace),
            history: Arc::new(history),
            runner: Arc::new(runner),
            edits: EditCounters::default(),
            settings: RwLock::default(),
            trusted: AtomicBool::new(false),
            enforcement: OnceLock::new(),
            jobs_ran: AtomicBool::new(false),
            watch: Mutex::default(),
        }
    }

    /// Opens a workspace with its history and the output of its commands in a folder of the program's data, and undoes
    /// what a crash left half done.
    ///
    /// # Errors
    /// The data folder can't be used, or what was left can't be undone.
    pub fn open(
        workspace: Workspace,
        data: &Path,
        helper: Option<Helper>,
    ) -> Result<(Self, Recovery), OpenError> {
        let history = History::open(&data.join("history"))?;
        let recovery = history.recover(&workspace)?;
        let path = data.join("outputs");
        let runner = Runner::open(&path, helper);
        let runner = runner.map_err(|source| OpenError::Outputs { path, source })?;
        Ok((Self::new(workspace, history, runner), recovery))
    }

    /// What the person chose.
    pub fn settings(&self) -> Arc<ToolSettings> {
        let settings = self.settings.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&settings)
    }

    /// Calls from now on go by these settings.
    pub fn set_settings(&self, settings: ToolSettings) {
        let mut held = self
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *held = Arc::new(settings);
    }

    /// Whether the person trusts the folder.
    pub fn is_trusted(&self) -> bool {
        self.trusted.load(Ordering::Acquire)
    }

    /// Trusts the folder, or no longer.
    pub fn set_trusted(&self, trusted: bool) {
        self.trusted.store(trusted, Ordering::Release);
    }

    /// Where commands run.
    pub fn command_folder(&self) -> PathBuf {
        self.workspace
            .folders()
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    /// What of a sandbox the system enforces here: found out once, by running a command that does nothing. Blocks.
    pub fn enforcement(&self) -> &Enforcement {
        self.enforcement.get_or_init(|| {
            let mut spec = CommandSpec::new(":", self.command_folder());
            spec.sandbox = Some(SandboxPolicy::workspace_write(&spec.folder));
            spec.time_limit = Some(Duration::from_secs(5));
            match self.runner.run(&spec, &Arc::default()) {
                Ok(result) if result.exit_code == Some(0) => result.sandbox,
                Ok(result) => {
                    log::warn!("the sandbox can't be made here: {}", result.stderr.trim());
                    Enforcement::default()
                }
                Err(error) => {
                    log::info!("there is no sandbox here: {error}");
                    Enforcement::default()
                }
            }
        })
    }

    /// What a command that runs within bounds may do; none where there are no bounds.
    pub(crate) fn sandbox_policy(&self, bounds: &Bounds) -> Option<SandboxPolicy> {
        let Bounds::Sandbox { network } = bounds else {
            return None;
        };
        let mut policy = SandboxPolicy::read_only();
        for folder in self.workspace.folders() {
            let of_folder = SandboxPolicy::workspace_write(&folder);
            policy.writable.extend(of_folder.writable);
            policy.protected.extend(of_folder.protected);
        }
        policy.network = *network;
        Some(policy.hiding(self.workspace.secret_paths()))
    }
}
