//! Programs compiled, and what they are run with.

use crate::compiled::Program;
use crate::data::{BadExtension, Extension, check_names};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::events::EventSender;
use crate::front;
use crate::hooks::Hooks;
use crate::host::{CancelFlag, Environment};
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::realm::realm;
use crate::record::{Player, ReplayError, RunLog, Tape};
use crate::run::{Interrupted, Run, ToolHost};
use crate::state::{HostState, Surroundings};
use crate::tools::ToolSet;
use crate::vm::Vm;
use std::sync::Arc;

/// A program checked and compiled, ready to run any number of times.
#[derive(Clone, Debug)]
pub struct Compiled {
    program: Arc<Program>,
    /// None when it was compiled without one, so that there is no `print` either.
    prelude: Option<Arc<str>>,
}

impl Compiled {
    /// Every unknown name and tool, every written-out input that can't fit its schema, and every read of a property
    /// that a tool's result doesn't have, in the order of the source; fifty at most. Nothing is executed. What the text
    /// doesn't show for certain counts as right.
    pub fn check(&self, tools: &ToolSet) -> Vec<Diagnostic> {
        self.check_with(tools, &[])
    }

    fn check_with(&self, tools: &ToolSet, extensions: &[Extension]) -> Vec<Diagnostic> {
        let globals: Vec<&str> = extensions.iter().map(|e| e.name.as_str()).collect();
        let prelude = self.prelude.as_deref().unwrap_or_default();
        crate::check::check(&self.program, prelude, tools, &globals)
    }
}

/// Parses and compiles a program.
///
/// # Errors
/// All syntax errors found, in the order of the source.
pub fn compile(source: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let program = front::build(source, &realm().names)?;
    Ok(Compiled {
        program: Arc::new(program),
        prelude: None,
    })
}

/// Compiles a program that runs after a prelude in the same scope. `print` is `console.log` in both. Places refer to
/// the program alone.
///
/// # Errors
/// All syntax errors found.
pub fn compile_with_prelude(prelude: &str, source: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let program = front::build_with_prelude(prelude, source, &realm().names)?;
    Ok(Compiled {
        program: Arc::new(program),
        prelude: Some(Arc::from(prelude)),
    })
}

/// Tools and limits for any number of runs. Every run starts from the same clean state.
#[derive(Clone)]
pub struct Runtime {
    tools: Arc<ToolSet>,
    limits: Limits,
    environment: Option<Environment>,
    checks: bool,
    hooks: Option<Arc<dyn Hooks>>,
    extensions: Arc<[Extension]>,
    collects_eagerly: bool,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("tools", &self.tools)
            .field("limits", &self.limits)
            .field("extensions", &self.extensions)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// A runtime over a set of tools.
    pub fn new(tools: ToolSet, limits: Limits) -> Runtime {
        Runtime {
            tools: Arc::new(tools),
            limits,
            environment: None,
            checks: false,
            hooks: None,
            extensions: Arc::from([]),
            collects_eagerly: false,
        }
    }

    /// Checks every program before it runs ([`Compiled::check`]); one with problems isn't run, and its outcome tells all
    /// of them. Off unless asked for: a program that fails in a branch never taken is refused too.
    #[must_use]
    pub fn with_check(mut self, checks: bool) -> Runtime {
        self.checks = checks;
        self
    }

    /// Collects garbage wherever a run can be stopped for it, not only when it is due. No result changes by that, only the
    /// time it takes: for tests of the machine.
    #[must_use]
    pub fn with_eager_collection(mut self) -> Runtime {
        self.collects_eagerly = true;
        self
    }

    /// Fixes the clock and the random source of the runs.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Runtime {
        self.environment = Some(environment);
        self
    }

    /// Looks at every call.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Arc<dyn Hooks>) -> Runtime {
        self.hooks = Some(hooks);
        self
    }

    /// Gives programs functions of the host as globals.
    ///
    /// # Errors
    /// When a name is no identifier, or that of a built-in or of another extension.
    pub fn with_extensions(mut self, extensions: Vec<Extension>) -> Result<Runtime, BadExtension> {
        check_names(&extensions)?;
        self.extensions = Arc::from(extensions);
        Ok(self)
    }

    /// What the check before a run finds in a program, with the extensions known.
    pub fn check(&self, compiled: &Compiled) -> Vec<Diagnostic> {
        compiled.check_with(&self.tools, &self.extensions)
    }

    /// The tools.
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// Compiles and runs a program. CPU work happens on the polling thread; a timeout needs a tokio runtime with time.
    ///
    /// # Errors
    /// When the run was cancelled.
    pub async fn execute(
        &self,
        source: &str,
        host: &dyn ToolHost,
        cancel: &CancelFlag,
    ) -> Result<Outcome, Interrupted> {
        match compile(source) {
            Ok(compiled) => self.run(&compiled, host, cancel).await,
            Err(problems) => Ok(self.not_compiled(problems)),
        }
    }

    /// The outcome of a source that isn't a program: its first problem, or all of them where programs are checked.
    pub fn not_compiled(&self, problems: Vec<Diagnostic>) -> Outcome {
        if self.checks {
            return Outcome::refused(problems);
        }
        let first = problems.into_iter().next();
        Outcome::failed(
            first.unwrap_or_else(|| Diagnostic::new(DiagnosticKind::ParseError, "not a program")),
        )
    }

    /// Runs a compiled program.
    ///
    /// # Errors
    /// When the run was cancelled.
    pub async fn run(
        &self,
        compiled: &Compiled,
        host: &dyn ToolHost,
        cancel: &CancelFlag,
    ) -> Result<Outcome, Interrupted> {
        let (outcome, _) = self.drive(compiled, host, cancel, None, Tape::Off).await?;
        Ok(outcome)
    }

    /// Runs a compiled program whose events somebody reads.
    ///
    /// # Errors
    /// When the run was cancelled.
    pub async fn run_observed(
        &self,
        compiled: &Compiled,
        host: &dyn ToolHost,
        cancel: &CancelFlag,
        events: EventSender,
    ) -> Result<Outcome, Interrupted> {
        let run = self.drive(compiled, host, cancel, Some(events), Tape::Off);
        let (outcome, _) = run.await?;
        Ok(outcome)
    }

    /// Runs a compiled program and keeps the log that [`Runtime::replay`] repeats it from.
    ///
    /// # Errors
    /// When the run was cancelled.
    pub async fn record(
        &self,
        compiled: &Compiled,
        host: &dyn ToolHost,
        cancel: &CancelFlag,
        events: Option<EventSender>,
    ) -> Result<(Outcome, RunLog), Interrupted> {
        let log = RunLog {
            source: compiled.program.source.clone(),
            prelude: compiled.prelude.as_deref().map(str::to_owned),
            ..RunLog::default()
        };
        let tape = Tape::Record(Box::new(log));
        let (outcome, tape) = self.drive(compiled, host, cancel, events, tape).await?;
        let log = match tape {
            Tape::Record(log) => *log,
            Tape::Off | Tape::Replay(_) => RunLog::default(),
        };
        Ok((outcome, log))
    }

    async fn drive(
        &self,
        compiled: &Compiled,
        host: &dyn ToolHost,
        cancel: &CancelFlag,
        events: Option<EventSender>,
        mut tape: Tape,
    ) -> Result<(Outcome, Tape), Interrupted> {
        if self.checks {
            let problems = self.check(compiled);
            if !problems.is_empty() {
                return Ok((Outcome::refused(problems), tape));
            }
        }
        let environment = self.environment.clone().unwrap_or_default();
        if let Tape::Record(log) = &mut tape {
            log.seed = environment.seed;
        }
        let mut run = self.start(compiled, cancel, environment, events, tape);
        let ended = run.drive(host, cancel).await;
        run.finish(ended)
    }

    fn start(
        &self,
        compiled: &Compiled,
        cancel: &CancelFlag,
        environment: Environment,
        events: Option<EventSender>,
        tape: Tape,
    ) -> Run {
        let hooks = self.hooks.clone().filter(|_| !tape.is_replay());
        let state = HostState::new(Surroundings {
            limits: self.limits.clone(),
            tools: Arc::clone(&self.tools),
            cancel: cancel.clone(),
            environment,
            hooks,
            events,
            tape,
        });
        let mut vm = Vm::new(Arc::clone(&compiled.program), state);
        vm.add_extensions(&self.extensions);
        if self.collects_eagerly {
            vm.heap.collect_eagerly();
        }
        Run::new(vm)
    }

    /// Repeats a recorded run to the bit, with the same tools, limits and extensions, but without asking any of them.
    ///
    /// # Errors
    /// When the log's program doesn't compile, when its run was cut off by the time limit while it computed, or when the
    /// run takes another course than its log.
    pub fn replay(&self, log: &RunLog) -> Result<Outcome, ReplayError> {
        if log.cut_off {
            let text = "the run was cut off by its time limit while it computed";
            return Err(ReplayError(text.to_owned()));
        }
        let compiled = match &log.prelude {
            Some(prelude) => compile_with_prelude(prelude, &log.source),
            None => compile(&log.source),
        };
        let compiled = compiled.map_err(|problems| {
            let first = problems.first().map(|p| p.message.clone());
            ReplayError(format!("the log's program: {}", first.unwrap_or_default()))
        })?;
        if self.checks {
            let problems = self.check(&compiled);
            if !problems.is_empty() {
                return Ok(Outcome::refused(problems));
            }
        }
        let environment = Environment {
            now_ms: Arc::new(|| 0.0),
            seed: log.seed,
        };
        let tape = Tape::Replay(Box::new(Player::new(log.clone())));
        let cancel = CancelFlag::default();
        let mut run = self.start(&compiled, &cancel, environment, None, tape);
        let ended = run.play();
        let (outcome, tape) = run
            .finish(ended)
            .map_err(|Interrupted| ReplayError(Interrupted.to_string()))?;
        let Tape::Replay(player) = tape else {
            return Ok(outcome);
        };
        match player.diverged.clone().or_else(|| player.unplayed()) {
            Some(text) => Err(ReplayError(text)),
            None => Ok(outcome),
        }
    }
}
