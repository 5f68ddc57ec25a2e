//! What a tool is.

use std::borrow::Cow;
use std::sync::Arc;

use commands::Piece;
use serde::Serialize;
use serde_json::{Value, json};
use workspace::StopToken;

use crate::command_bounds::Bounds;
use crate::session::{Grant, Seat};
use crate::{Class, ToolFault, Workbench};

/// A tool: what models are told of it, and what carries it out.
#[derive(Clone)]
pub struct Tool {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Other names it is called by; they are understood and not shown.
    pub aliases: Vec<Cow<'static, str>>,
    /// Other spellings of its parameters, and what is meant.
    pub parameter_aliases: &'static [(&'static str, &'static str)],
    /// What it does, for models.
    pub description: Cow<'static, str>,
    /// What it may do.
    pub class: Class,
    /// JSON Schema of the arguments.
    pub input: Value,
    /// JSON Schema of the result.
    pub output: Value,
    /// What carries it out.
    pub executor: Arc<dyn Executor>,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

/// A tool as a list shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSummary<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// What it may do.
    pub class: Class,
    /// JSON Schema of the arguments.
    pub input: &'a Value,
    /// JSON Schema of the result.
    pub output: &'a Value,
}

impl Tool {
    /// As a list shows it.
    pub fn summary(&self) -> ToolSummary<'_> {
        ToolSummary {
            name: &self.name,
            description: &self.description,
            class: self.class,
            input: &self.input,
            output: &self.output,
        }
    }

    /// As requests to models offer it, in OpenAI's form.
    pub fn offer(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.input,
            },
        })
    }

    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolOutput {
    /// For models: control characters are spelled out, counts and marks of truncation are in it.
    pub text: String,
    /// For programs: fits the output schema.
    pub data: Value,
    /// Whether there is more than was returned; the text says how to get it.
    pub truncated: bool,
}

/// What a call works on: the open folder, and what the seat that calls has seen of it.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The open folder.
    pub workbench: Arc<Workbench>,
    /// The seat on whose behalf the call is made.
    pub seat: Arc<Seat>,
    /// Set when the call is to end.
    pub stop: StopToken,
}

/// What a call is about to do, found out without doing any of it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What must be kept before, so that it can be taken back.
    pub keeps: Keeps,
    /// What the person is asked, if anything.
    pub need: Option<Need>,
    /// Within which bounds a command will run.
    pub bounds: Bounds,
}

/// What a checkpoint keeps before a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keeps {
    /// Nothing: it changes nothing.
    #[default]
    Nothing,
    /// What is at these paths.
    Paths(Vec<String>),
    /// Everything, since it may change anything.
    Tree,
}

/// Why the person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What is about to happen, in a few words.
    pub heading: String,
    /// The exact bytes it is about, what can't be seen spelled out.
    pub exact: Vec<Piece>,
    /// What to look at.
    pub reasons: Vec<String>,
    /// What "allow for this session" would cover; none where only this one call can be allowed.
    pub grant: Option<Grant>,
}

/// Carries out the calls of a tool. Everything here may block.
pub trait Executor: Send + Sync {
    /// What a call would do. Tools that change nothing aren't asked.
    ///
    /// # Errors
    /// It is refused without a question: a rule forbids it, a path leads outside.
    fn plan(&self, arguments: &Value, context: &CallContext) -> Result<Plan, ToolFault> {
        let _ = (arguments, context);
        Ok(Plan::default())
    }

    /// Carries out a call whose arguments fit the schema, whose plan was made, and which was allowed.
    ///
    /// # Errors
    /// It failed; then nothing was changed by half.
    fn run(
        &self,
        arguments: &Value,
        plan: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault>;
}
