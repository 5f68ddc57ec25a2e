//! A seat with tools at a scripted endpoint.

use std::path::Path;
use std::sync::{Arc, Mutex};

use agent::{CallRecord, EndpointModel, LoopEvent, LoopOptions, SeatTools, TurnOutcome, run_turn};
use models::{
    Auth, ChatMessage, ChatRequest, Client, Endpoint, EndpointKind, Profile, StreamEvent, Timeouts,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tools::{Answer, AnswerWith, Guard, Question, Registry, Session, Tier, TurnMessage, Workbench};
use workspace::{Trash, Workspace};

use crate::server::Server;

pub(crate) struct Table {
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
    _data: TempDir,
    pub(crate) seat: SeatTools,
    pub(crate) options: LoopOptions,
    pub(crate) cancel: CancellationToken,
    /// What happened, one word or two each.
    pub(crate) course: Arc<Mutex<Vec<String>>>,
    pub(crate) records: Arc<Mutex<Vec<CallRecord>>>,
}

impl Table {
    pub(crate) fn new(script: &str, files: &[(&str, &str)]) -> Self {
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (path, text) in files {
            std::fs::write(folder.path().join(path), text).unwrap();
        }
        let workspace = Workspace::open(&[folder.path()]).unwrap();
        let workspace = workspace.with_trash(Trash::at(data.path().join("trash")));
        let (workbench, _) = Workbench::open(workspace, data.path(), None).unwrap();
        workbench.set_trusted(true);
        let guard = Guard::new(Registry::built_in(), Arc::new(workbench));
        let registry = guard.registry().clone();
        let message = TurnMessage {
            id: "m1".into(),
            at_millis: 1,
        };
        Self {
            server: Server::start(script),
            seat: SeatTools {
                guard,
                session: Arc::new(Session::new(message)),
                seat: "ann".into(),
                tier: Tier::Full,
                asker: Arc::new(AnswerWith(|_: &Question| Answer::AllowOnce)),
            },
            options: LoopOptions::new(move |name| registry.is_read_only(name)),
            folder,
            _data: data,
            cancel: CancellationToken::new(),
            course: Arc::default(),
            records: Arc::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    pub(crate) fn model(&self) -> EndpointModel {
        let endpoint = Endpoint {
            id: "rehearsal".into(),
            kind: EndpointKind::Rehearsal,
            base_url: self.server.base_url.parse().unwrap(),
            auth: Auth::None,
            profile: Profile::default(),
        };
        EndpointModel {
            client: Client::new(Timeouts::default()).unwrap(),
            endpoint,
            request: ChatRequest::new("m", Vec::new()),
            tools: self.seat.offers(),
        }
    }

    pub(crate) async fn turn(&self, prompt: Vec<ChatMessage>) -> TurnOutcome {
        let model = self.model();
        let (course, records) = (Arc::clone(&self.course), Arc::clone(&self.records));
        let mut observer = move |event: LoopEvent<'_>| {
            note(
                &event,
                &mut course.lock().unwrap(),
                &mut records.lock().unwrap(),
            );
        };
        let options = self.options.clone();
        let offer = !model.tools.is_empty();
        run_turn(
            options,
            prompt,
            offer,
            &model,
            &self.seat,
            &mut observer,
            &self.cancel,
        )
        .await
    }
}

fn note(event: &LoopEvent<'_>, course: &mut Vec<String>, records: &mut Vec<CallRecord>) {
    match event {
        LoopEvent::Asked { offer_tools, .. } => course.push(format!("asked {offer_tools}")),
        LoopEvent::Piece(StreamEvent::Content(piece)) => course.push(format!("said {piece}")),
        LoopEvent::Narrated(text) => course.push(format!("narrated {text}")),
        LoopEvent::Started { key, call } => {
            course.push(format!("started {}", call.name));
            records.push(CallRecord::started(*key, call));
        }
        LoopEvent::Called { key, call, called } => {
            let outcome = called
                .report
                .as_ref()
                .is_some_and(|report| report.result.is_ok());
            course.push(format!(
                "{} {}",
                if outcome { "done" } else { "failed" },
                call.name
            ));
            records.push(CallRecord::ended(*key, call, called));
        }
        LoopEvent::Notice(notice) => course.push(format!("{notice:?}")),
        LoopEvent::Piece(_) | LoopEvent::Replied(_) => {}
    }
}
