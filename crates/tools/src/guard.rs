//! The one way to carry out a call, for every door: the agent loop, programs of code mode, MCP, the command line.
//!
//! A call is known, its arguments fit, the tier and the trust allow it, the policy has been asked and if need be the
//! person, what it changes is kept, and only then is it carried out. Leaving a tool out of a list protects nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use commands::Enforcement;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use workspace::StopToken;

use crate::approval::Question;
use crate::arguments;
use crate::command_bounds::Bounds;
use crate::text;
use crate::tool::{CallContext, Need, Plan};
use crate::{
    Answer, Approval, Asker, Class, FaultKind, Registry, Session, Tier, Tool, ToolFault,
    ToolOutput, Workbench,
};

/// A call as it comes through a door.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRequest {
    /// What the door calls it, so that a question can be shown beside its call; may be empty.
    pub call_id: String,
    /// The tool's name, or one of its aliases.
    pub tool: String,
    /// The arguments; an object, if they are right.
    pub arguments: Value,
    /// The seat on whose behalf it is made.
    pub seat: String,
    /// What the seat is allowed in this turn.
    pub tier: Tier,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallReport {
    /// The tool's own name; the name that was called, shortened, if there is no such tool.
    pub tool: String,
    /// What the tool may do; none if there is no such tool.
    pub class: Option<Class>,
    /// The result.
    pub result: Result<ToolOutput, ToolFault>,
    /// How it came to be allowed; none if it never came to that.
    pub approval: Option<Approval>,
    /// How long the person was waited for.
    pub asked_ms: u64,
    /// How long it took to carry out, what had to be kept included.
    pub ran_ms: u64,
}

impl CallReport {
    /// What a model is told.
    pub fn text(&self) -> String {
        match &self.result {
            Ok(output) => output.text.clone(),
            Err(fault) => fault.text(),
        }
    }
}

/// The registry in front of an open folder.
#[derive(Clone, Debug)]
pub struct Guard {
    registry: Arc<Registry>,
    workbench: Arc<Workbench>,
}

/// Ends what runs in the background when nobody waits for it any more.
struct StopOnDrop(Option<StopToken>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(stop) = &self.0 {
            stop.stop();
        }
    }
}

/// What is known of a call while it passes.
struct Passage<'a> {
    tool: &'a Tool,
    context: CallContext,
    session: &'a Arc<Session>,
    asker: &'a dyn Asker,
    cancel: &'a CancellationToken,
    call_id: &'a str,
    approval: Option<Approval>,
    asked: Duration,
    ran: Duration,
}

impl Guard {
    /// A guard.
    pub fn new(registry: Registry, workbench: Arc<Workbench>) -> Self {
        Self {
            registry: Arc::new(registry),
            workbench,
        }
    }

    /// The tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The open folder.
    pub fn workbench(&self) -> &Arc<Workbench> {
        &self.workbench
    }

    /// The tools that a call of this tier would not be refused for what they are: what a request offers.
    pub fn allowed(&self, tier: Tier) -> Vec<&Tool> {
        let settings = self.workbench.settings();
        if !settings.tools_enabled {
            return Vec::new();
        }
        let tier = if self.workbench.is_trusted() {
            tier
        } else {
            Tier::Read
        };
        self.registry
            .allowed(tier, settings.commands_enabled)
            .collect()
    }

    /// Carries out a call, or says why not. It ends when `cancel` does, with everything that was started; also when
    /// the future is dropped.
    pub async fn call(
        &self,
        request: &CallRequest,
        session: &Arc<Session>,
        asker: &dyn Asker,
        cancel: &CancellationToken,
    ) -> CallReport {
        let tool = match self.registry.find(&request.tool) {
            Ok(tool) => tool,
            Err(fault) => return refused_unknown(&request.tool, fault),
        };
        let mut passage = Passage {
            tool,
            context: CallContext {
                workbench: Arc::clone(&self.workbench),
                seat: session.seat(&request.seat),
                stop: StopToken::default(),
            },
            session,
            asker,
            cancel,
            call_id: &request.call_id,
            approval: None,
            asked: Duration::ZERO,
            ran: Duration::ZERO,
        };
        let result = passage.pass(request).await;
        CallReport {
            tool: tool.name.to_string(),
            class: Some(tool.class),
            result,
            approval: passage.approval,
            asked_ms: millis(passage.asked),
            ran_ms: millis(passage.ran),
        }
    }
}

fn refused_unknown(name: &str, fault: ToolFault) -> CallReport {
    CallReport {
        tool: name.chars().take(80).collect(),
        class: None,
        result: Err(fault),
        approval: None,
        asked_ms: 0,
        ran_ms: 0,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Passage<'_> {
    async fn pass(&mut self, request: &CallRequest) -> Result<ToolOutput, ToolFault> {
        let tool = self.tool;
        let given = request.arguments.clone();
        let arguments = arguments::normalise(&tool.input, tool.parameter_aliases, given);
        arguments::check(&tool.name, &tool.input, &arguments)?;
        self.refuse_by_class(request.tier)?;
        let arguments = Arc::new(arguments);
        // Changes happen one after the other, questions about them included.
        let changing = if tool.class.is_read_only() {
            None
        } else {
            let turn = Arc::clone(&self.session.changing).lock_owned();
            Some(self.unless_cancelled(turn).await?)
        };
        let plan = if tool.class.is_read_only() {
            Plan::default()
        } else {
            self.plan(&arguments).await?
        };
        self.approve(&plan).await?;
        let began = Instant::now();
        let result = self.carry_out(&arguments, plan, changing).await;
        self.ran = began.elapsed();
        text::bounded(result?)
    }

    /// Whether tools of this class may be called now, by this caller, in this folder.
    fn refuse_by_class(&self, tier: Tier) -> Result<(), ToolFault> {
        let (name, class) = (&self.tool.name, self.tool.class);
        let settings = self.context.workbench.settings();
        let refuse = |why: String| Err(ToolFault::new(FaultKind::NotAllowed, why));
        if !settings.tools_enabled {
            return refuse("tools are switched off in the settings".into());
        }
        if class == Class::Command && !settings.commands_enabled {
            return refuse(format!("{name} is switched off in the settings: commands"));
        }
        if !tier.allows(class) {
            return refuse(format!(
                "{name} needs full access, and this turn has read access; say what you would do, and let the person \
                 unlock it"
            ));
        }
        if !class.is_read_only() && !self.context.workbench.is_trusted() {
            return refuse(format!(
                "{name} is not allowed in this folder, which the person has not trusted yet; it can only be read"
            ));
        }
        Ok(())
    }

    async fn plan(&self, arguments: &Arc<Value>) -> Result<Plan, ToolFault> {
        let (executor, context) = (Arc::clone(&self.tool.executor), self.context.clone());
        let arguments = Arc::clone(arguments);
        self.in_background(move || executor.plan(&arguments, &context))
            .await
    }

    /// Asks the person, unless nothing is to be asked or it was allowed for the session.
    async fn approve(&mut self, plan: &Plan) -> Result<(), ToolFault> {
        let Some(need) = plan.need.clone() else {
            self.approval = Some(match plan.bounds {
                Bounds::Sandbox { .. } => Approval::Sandbox,
                Bounds::None => Approval::NotNeeded,
            });
            return Ok(());
        };
        if let Some(grant) = need.grant.filter(|grant| self.session.holds(*grant)) {
            self.approval = Some(Approval::Grant { grant });
            return Ok(());
        }
        let question = self.question(need, plan).await?;
        let generation = self.session.grant_generation();
        let began = Instant::now();
        let answer = self
            .unless_cancelled(self.asker.ask(question.clone()))
            .await;
        self.asked = began.elapsed();
        let answer = answer?;
        let grant = question.grant;
        self.approval = Some(Approval::Person {
            question: Box::new(question),
            answer: answer.clone(),
        });
        match answer {
            Answer::AllowOnce => Ok(()),
            Answer::AllowSession => {
                if let Some(grant) = grant {
                    self.session.allow(grant, generation);
                }
                Ok(())
            }
            Answer::Deny { why } => {
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                let message = format!("the person said no{why}; do not try it in another way");
                Err(ToolFault::new(FaultKind::Denied, message))
            }
        }
    }

    async fn question(&self, need: Need, plan: &Plan) -> Result<Question, ToolFault> {
        let enforcement = match plan.bounds {
            Bounds::None => Enforcement::default(),
            Bounds::Sandbox { .. } => {
                let workbench = Arc::clone(&self.context.workbench);
                self.in_background(move || Ok(workbench.enforcement().clone()))
                    .await?
            }
        };
        let asked = Question {
            call_id: self.call_id.to_owned(),
            tool: self.tool.name.to_string(),
            class: self.tool.class,
            seat: self.context.seat.name.clone(),
            heading: need.heading,
            exact: need.exact,
            reasons: need.reasons,
            bounds: plan.bounds.clone(),
            enforcement,
            grant: need.grant,
        };
        Ok(asked)
    }

    /// Keeps what will change, does it, and keeps what has changed. Other changes wait for its end also where nobody
    /// waits for the call any more.
    async fn carry_out(
        &self,
        arguments: &Arc<Value>,
        plan: Plan,
        changing: Option<OwnedMutexGuard<()>>,
    ) -> Result<ToolOutput, ToolFault> {
        let executor = Arc::clone(&self.tool.executor);
        let (context, session) = (self.context.clone(), Arc::clone(self.session));
        let arguments = Arc::clone(arguments);
        self.in_background(move || {
            let _until_it_ends = changing;
            let workbench = &context.workbench;
            workbench.keep_before(&session, &plan.keeps)?;
            let result = executor.run(&arguments, &plan, &context);
            match workbench.keep_after(&session, &plan.keeps) {
                Ok(_) => result,
                Err(error) => result.map(|mut output| {
                    log::error!("what a call changed is not recorded: {error}");
                    let told = format!("\n[what this changed could not be recorded: {error}]\n");
                    output.text.push_str(&told);
                    output
                }),
            }
        })
        .await
    }

    /// Runs what blocks beside the runtime. When the call is cancelled it is told to stop, and waited for.
    async fn in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ToolFault> + Send + 'static,
    ) -> Result<T, ToolFault> {
        if self.cancel.is_cancelled() {
            return Err(ToolFault::cancelled());
        }
        let mut stop_when_dropped = StopOnDrop(Some(self.context.stop.clone()));
        let mut working = spawn_blocking(work);
        let ended = tokio::select! {
            ended = &mut working => ended,
            () = self.cancel.cancelled() => {
                self.context.stop.stop();
                working.await
            }
        };
        // It ended: the token must not reach what the call does next.
        stop_when_dropped.0 = None;
        match ended {
            Ok(Err(_)) if self.cancel.is_cancelled() => Err(ToolFault::cancelled()),
            Ok(result) => result,
            Err(error) => {
                log::error!("a tool broke: {}: {error}", self.tool.name);
                let message = format!("{} broke, which is a fault of the program", self.tool.name);
                Err(ToolFault::new(
                    FaultKind::Of(workspace::ErrorKind::Io),
                    message,
                ))
            }
        }
    }

    async fn unless_cancelled<T>(&self, waiting: impl Future<Output = T>) -> Result<T, ToolFault> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ToolFault::cancelled()),
            result = waiting => Ok(result),
        }
    }
}
