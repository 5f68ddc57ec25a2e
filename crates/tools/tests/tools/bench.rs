//! A folder to work in, and the shortest way to make a call.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ::commands::Helper;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tools::{
    Answer, AnswerWith, Approval, Asker, CallReport, CallRequest, Guard, Question, Registry,
    Session, Tier, ToolOutput, ToolSettings, TurnMessage, Workbench,
};
use workspace::{Trash, Workspace};

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    _data: TempDir,
    pub(crate) guard: Guard,
    pub(crate) session: Arc<Session>,
    pub(crate) tier: Tier,
    pub(crate) asked: Arc<Mutex<Vec<Question>>>,
    pub(crate) answer: Answer,
    pub(crate) cancel: CancellationToken,
}

pub(crate) fn message(id: &str) -> TurnMessage {
    TurnMessage {
        id: id.into(),
        at_millis: 1_000,
    }
}

impl Bench {
    /// A trusted folder with these files, full access, and a person who says yes once.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with_helper(files, None)
    }

    pub(crate) fn with_helper(files: &[(&str, &str)], helper: Option<Helper>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let data = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(&[folder.path()]).unwrap();
        let workspace = workspace.with_trash(Trash::at(data.path().join("trash")));
        let (workbench, _) = Workbench::open(workspace, data.path(), helper).unwrap();
        workbench.set_trusted(true);
        Self {
            guard: Guard::new(Registry::built_in(), Arc::new(workbench)),
            folder,
            _data: data,
            session: Arc::new(Session::new(message("m1"))),
            tier: Tier::Full,
            asked: Arc::default(),
            answer: Answer::AllowOnce,
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut ToolSettings)) {
        let bench = self.guard.workbench();
        let mut settings = (*bench.settings()).clone();
        change(&mut settings);
        bench.set_settings(settings);
    }

    pub(crate) fn asker(&self) -> impl Asker + use<> {
        let (asked, answer) = (Arc::clone(&self.asked), self.answer.clone());
        AnswerWith(move |question: &Question| {
            asked.lock().unwrap().push(question.clone());
            answer.clone()
        })
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallReport {
        let request = CallRequest {
            call_id: "c1".into(),
            tool: tool.into(),
            arguments,
            seat: "ann".into(),
            tier: self.tier,
        };
        let asker = self.asker();
        self.guard
            .call(&request, &self.session, &asker, &self.cancel)
            .await
    }

    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> ToolOutput {
        let report = self.call(tool, arguments.clone()).await;
        match report.result {
            Ok(output) => output,
            Err(fault) => panic!("{tool} {arguments}: {}", fault.text()),
        }
    }

    /// The kind and text of the fault a call ends in.
    pub(crate) async fn fault(&self, tool: &str, arguments: Value) -> (&'static str, String) {
        let report = self.call(tool, arguments.clone()).await;
        match report.result {
            Ok(output) => panic!("{tool} {arguments} went through: {}", output.text),
            Err(fault) => (fault.kind.name(), fault.message),
        }
    }

    pub(crate) fn questions(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }
}

pub(crate) fn by(report: &CallReport) -> &'static str {
    match &report.approval {
        None => "nothing",
        Some(Approval::NotNeeded) => "no need",
        Some(Approval::Sandbox) => "the sandbox",
        Some(Approval::Grant { .. }) => "a grant",
        Some(Approval::Person { .. }) => "the person",
    }
}
