//! Endpoints: which there are, how they are, and the seats that follow from them.

use std::collections::HashMap;
use std::sync::Arc;

use models::{
    Auth, Endpoint, EndpointKind, ModelError, ModelInfo, Profile, SecretString, VaultError,
};
use rehearsal::{Options, Rehearsal, Script};
use sidecar::{Health, HealthState, HealthTracker, SidecarEndpoint};
use tokio::time::Instant;
use url::Url;

use super::{Core, Inbound};
use crate::folder;
use crate::protocol::{EndpointState, EndpointStatus, Event, Severity};
use crate::seats;
use crate::settings::{EndpointAuth, EndpointSettings, SettingsEdit};

pub(super) const CHECKING: EndpointState = EndpointState::Checking;

/// An endpoint on this machine is looked at again and again: the person starts and stops it beside the window.
#[derive(Default)]
pub(super) struct Look {
    tracker: HealthTracker,
    pub(super) next: Option<Instant>,
}

/// What an endpoint answered when it was asked how it is.
pub(crate) struct EndpointAnswer {
    id: String,
    /// Which asking this answers; an older one is out of date.
    check: u64,
    state: EndpointState,
    detail: String,
    models: Vec<ModelInfo>,
}

impl Core {
    /// Makes the list of endpoints anew from the settings and asks each how it is.
    pub(super) async fn configure_endpoints(&mut self) {
        self.retired_demos.extend(self.demo.take());
        self.drop_retired_demos();
        let old = std::mem::take(&mut self.endpoints);
        let status = |id: &str, kind: EndpointKind, url: &Url, has_key: bool| {
            let url = with_v1(url, kind).to_string();
            let known = old.iter().find(|e| e.id == id && e.url == url);
            EndpointStatus {
                id: id.to_owned(),
                kind,
                state: CHECKING,
                detail: String::new(),
                models: known.map(|e| e.models.clone()).unwrap_or_default(),
                has_key,
                url,
            }
        };
        let mut endpoints = vec![status(
            "sidecar",
            EndpointKind::Sidecar,
            &self.settings.sidecar.external_url,
            false,
        )];
        if !self.settings.subscriptions_only {
            endpoints.extend(self.settings.endpoints.iter().map(|e| {
                status(
                    &e.id,
                    EndpointKind::Keyed,
                    &e.url,
                    self.keys.contains_key(&e.id),
                )
            }));
        }
        self.endpoints = Arc::new(endpoints);
        self.looks.clear();
        if self.demo_when_empty && seats::needs_demo(&self.settings, &self.endpoints) {
            self.start_demo().await;
        }
        self.check_endpoints(None);
    }

    /// Asks an endpoint, or all, how they are.
    pub(super) fn check_endpoints(&mut self, which: Option<&str>) {
        let asked: Vec<String> = self
            .endpoints
            .iter()
            .filter(|e| e.kind != EndpointKind::Rehearsal && which.is_none_or(|id| e.id == id))
            .map(|e| e.id.clone())
            .collect();
        for id in asked {
            self.change_endpoint(&id, |status| status.state = CHECKING);
            self.ask_endpoint(id);
        }
        self.publish_endpoints();
        self.resolve_seats();
    }

    /// Asks those endpoints whose next look is due, without a word unless something changed.
    pub(super) fn look_again(&mut self, now: Instant) {
        let is_due = |look: &mut Look| look.next.take_if(|at| *at <= now).is_some();
        let due: Vec<String> = self
            .looks
            .iter_mut()
            .filter_map(|(id, look)| is_due(look).then(|| id.clone()))
            .collect();
        for id in due {
            self.ask_endpoint(id);
        }
    }

    fn ask_endpoint(&mut self, id: String) {
        self.last_check += 1;
        let check = self.last_check;
        self.endpoint_checks.insert(id.clone(), check);
        let core = self.inbox.clone();
        let client = self.client.clone();
        let endpoint = self.endpoint(&id);
        tokio::spawn(async move {
            let answer = match endpoint {
                Ok(endpoint) => ask(&client, endpoint, check).await,
                Err(error) => failed(id, check, &error),
            };
            let _ended = core.send(Inbound::Endpoint(answer)).await;
        });
    }

    /// Takes an answer of an endpoint on this machine into account with those before it, and plans the next look.
    fn in_context(&mut self, answer: EndpointAnswer) -> EndpointAnswer {
        let is_local = self.endpoint(&answer.id).is_ok_and(|e| e.is_loopback());
        if !is_local {
            return answer;
        }
        let look = self.looks.entry(answer.id.clone()).or_default();
        let shown = look.tracker.observe(Health {
            state: match answer.state {
                EndpointState::Green => HealthState::Green,
                EndpointState::Amber => HealthState::Amber,
                EndpointState::Red | EndpointState::Checking => HealthState::Red,
            },
            detail: answer.detail,
            models: answer.models,
        });
        let answer = EndpointAnswer {
            state: state_of(shown.state),
            detail: shown.detail.clone(),
            models: shown.models.clone(),
            ..answer
        };
        look.next = Some(Instant::now() + look.tracker.next_look());
        answer
    }

    pub(super) async fn endpoint_answer(&mut self, answer: EndpointAnswer) {
        if self.endpoint_checks.get(&answer.id) != Some(&answer.check) {
            return;
        }
        let answer = self.in_context(answer);
        let is_known = self.endpoints.iter().any(|status| {
            status.id == answer.id
                && status.state == answer.state
                && status.detail == answer.detail
                && status.models == answer.models
        });
        if is_known {
            return;
        }
        self.change_endpoint(&answer.id, |status| {
            status.state = answer.state;
            status.detail.clone_from(&answer.detail);
            status.models.clone_from(&answer.models);
        });
        let needed = seats::needs_demo(&self.settings, &self.endpoints);
        if needed && self.demo_when_empty && self.demo.is_none() {
            self.start_demo().await;
        }
        // Seats first: whoever waits for the endpoints to be known wants the seats to be known by then.
        self.resolve_seats();
        self.publish_endpoints();
        if self.endpoints.iter().all(|e| e.state != CHECKING) {
            for message in std::mem::take(&mut self.waiting_sends) {
                self.send(message);
            }
        }
    }

    fn change_endpoint(&mut self, id: &str, change: impl FnOnce(&mut EndpointStatus)) {
        if let Some(status) = Arc::make_mut(&mut self.endpoints)
            .iter_mut()
            .find(|e| e.id == id)
        {
            change(status);
        }
    }

    pub(super) fn publish_endpoints(&mut self) {
        let event = Event::Endpoints(Arc::clone(&self.endpoints));
        self.publish(&event);
    }

    /// Works out who sits at the table.
    pub(super) fn resolve_seats(&mut self) {
        let views = seats::resolve(&self.settings, &self.endpoints, &self.state.seat_overrides);
        if views == *self.seats {
            return;
        }
        self.table = views.iter().map(|view| view.seat.clone()).collect();
        self.seats = Arc::new(views);
        let event = Event::Seats(Arc::clone(&self.seats));
        self.publish(&event);
        let must_show = self.must_show_terms();
        self.publish(&Event::TermsNotice(must_show));
    }

    /// Starts the demo table's model server inside the program, on a free port of this machine.
    async fn start_demo(&mut self) {
        let facts = match self.folder.clone() {
            Some(folder) => tokio::task::spawn_blocking(move || folder::facts(&folder))
                .await
                .unwrap_or_default(),
            None => std::collections::BTreeMap::new(),
        };
        let options = Options {
            port: 0,
            facts,
            strict: false,
        };
        match Rehearsal::start(Script::demo(), options).await {
            Ok(server) => {
                let status = EndpointStatus {
                    id: "rehearsal".to_owned(),
                    kind: EndpointKind::Rehearsal,
                    url: server.base_url(),
                    state: EndpointState::Green,
                    detail: "the built-in demo: scripted, not an AI".to_owned(),
                    models: ["demo-scout", "demo-critic"].map(demo_model).to_vec(),
                    has_key: false,
                };
                self.demo = Some(server);
                Arc::make_mut(&mut self.endpoints).push(status);
            }
            Err(error) => {
                self.notice(
                    Severity::Error,
                    format!("The demo table could not be started: {error}"),
                    false,
                );
            }
        }
    }

    /// Ends the servers that nobody talks to any more.
    pub(super) fn drop_retired_demos(&mut self) {
        if self.threads.values().all(|live| live.requests.is_empty()) {
            self.retired_demos.clear();
        }
    }

    /// Everything that a request to an endpoint takes.
    ///
    /// # Errors
    /// When there is no such endpoint, or it needs a key that the vault does not have.
    pub(super) fn endpoint(&self, id: &str) -> Result<Endpoint, ModelError> {
        let setup = |reason: String| ModelError::NotConfigured { reason };
        let status = self
            .endpoints
            .iter()
            .find(|e| e.id == id)
            .ok_or_else(|| setup(format!("the settings have no endpoint called {id}")))?;
        let base_url =
            Url::parse(&status.url).map_err(|e| setup(format!("{e}: {}", status.url)))?;
        if status.kind == EndpointKind::Sidecar {
            let sidecar =
                SidecarEndpoint::new(base_url.as_str()).map_err(|e| setup(e.to_string()))?;
            return Ok(Endpoint::from(&sidecar));
        }
        let configured = self.settings.endpoints.iter().find(|e| e.id == id);
        let auth = match configured.map(|e| e.auth) {
            Some(EndpointAuth::Vault) => match self.keys.get(id) {
                Some(key) => Auth::Key(key.clone()),
                None => {
                    return Err(setup(format!(
                        "no key is stored for {id}; enter it in Settings, or run `folkmoot key set {id}`"
                    )));
                }
            },
            Some(EndpointAuth::None) | None => Auth::None,
        };
        let profile = Profile::of(status.kind, &base_url);
        Ok(Endpoint {
            id: id.to_owned(),
            kind: status.kind,
            base_url,
            auth,
            profile,
        })
    }

    /// Reads the keys of all endpoints that have one from the vault.
    pub(super) async fn load_keys(&mut self) {
        let ids: Vec<String> = self
            .settings
            .endpoints
            .iter()
            .filter(|e| e.auth == EndpointAuth::Vault && !self.settings.subscriptions_only)
            .map(|e| e.id.clone())
            .collect();
        if ids.is_empty() {
            self.keys.clear();
            return;
        }
        let vault = Arc::clone(&self.vault);
        let read = move || -> (HashMap<String, SecretString>, Vec<VaultError>) {
            let (mut keys, mut errors) = (HashMap::new(), Vec::new());
            for id in ids {
                match vault.get(&id) {
                    Ok(Some(key)) => drop(keys.insert(id, key)),
                    Ok(None) => {}
                    Err(error) => errors.push(error),
                }
            }
            (keys, errors)
        };
        let Ok((keys, errors)) = tokio::task::spawn_blocking(read).await else {
            return;
        };
        self.keys = keys;
        for error in errors {
            self.notice(
                Severity::Error,
                format!("A key could not be read: {error}"),
                false,
            );
        }
    }

    /// Stores or removes a key in the vault.
    pub(super) async fn change_key(&mut self, endpoint: &str, key: Option<SecretString>) {
        let vault = Arc::clone(&self.vault);
        let id = endpoint.to_owned();
        let change = move || match key {
            Some(key) => vault.set(&id, &key),
            None => vault.remove(&id),
        };
        match tokio::task::spawn_blocking(change).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                self.notice(
                    Severity::Error,
                    format!("The key of {endpoint} was not changed: {error}"),
                    false,
                );
            }
            Err(_panicked) => log::error!("the vault panicked"),
        }
    }

    /// Stores or removes a key and asks the endpoint again. An endpoint that took no key takes one from now on.
    pub(super) async fn set_key(&mut self, endpoint: String, key: Option<SecretString>) {
        let is_given = key.is_some();
        self.change_key(&endpoint, key).await;
        let configured = self.settings.endpoints.iter().find(|e| e.id == endpoint);
        if let Some(keyless) = configured.filter(|e| is_given && e.auth == EndpointAuth::None) {
            let keyed = EndpointSettings {
                auth: EndpointAuth::Vault,
                ..keyless.clone()
            };
            self.edit_settings(&SettingsEdit::PutEndpoint(keyed)).await;
        }
        self.load_keys().await;
        let has_key = self.keys.contains_key(&endpoint);
        self.change_endpoint(&endpoint, |status| status.has_key = has_key);
        self.check_endpoints(Some(&endpoint));
    }
}

/// The base that requests are made under: the proxy's address is given without `/v1`.
fn with_v1(url: &Url, kind: EndpointKind) -> Url {
    let mut url = url.clone();
    if kind == EndpointKind::Sidecar && !url.path().trim_end_matches('/').ends_with("/v1") {
        let path = format!("{}/v1", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    url
}

fn demo_model(id: &str) -> ModelInfo {
    ModelInfo {
        id: id.to_owned(),
        owned_by: "rehearsal".to_owned(),
        context_length: None,
    }
}

async fn ask(client: &models::Client, endpoint: Endpoint, check: u64) -> EndpointAnswer {
    let id = endpoint.id.clone();
    if endpoint.kind == EndpointKind::Sidecar {
        let sidecar = match SidecarEndpoint::new(endpoint.base_url.as_str()) {
            Ok(sidecar) => sidecar,
            Err(error) => {
                return failed(
                    id,
                    check,
                    &ModelError::NotConfigured {
                        reason: error.to_string(),
                    },
                );
            }
        };
        let health = sidecar::check(&sidecar, client).await;
        return EndpointAnswer {
            id,
            check,
            state: state_of(health.state),
            detail: health.detail,
            models: health.models,
        };
    }
    match client.list_models(&endpoint).await {
        Ok(models) => {
            let in_the_clear = matches!(endpoint.auth, Auth::Key(_))
                && endpoint.base_url.scheme() == "http"
                && !endpoint.is_loopback();
            let (state, detail) = if in_the_clear {
                (
                    EndpointState::Amber,
                    "the key travels unencrypted; use https".to_owned(),
                )
            } else if models.is_empty() {
                (
                    EndpointState::Amber,
                    "it answers, but offers no models".to_owned(),
                )
            } else {
                (EndpointState::Green, String::new())
            };
            EndpointAnswer {
                id,
                check,
                state,
                detail,
                models,
            }
        }
        Err(error) => failed(id, check, &error),
    }
}

fn state_of(health: HealthState) -> EndpointState {
    match health {
        HealthState::Green => EndpointState::Green,
        HealthState::Amber => EndpointState::Amber,
        HealthState::Red => EndpointState::Red,
    }
}

fn failed(id: String, check: u64, error: &ModelError) -> EndpointAnswer {
    EndpointAnswer {
        id,
        check,
        state: EndpointState::Red,
        detail: error.to_string(),
        models: Vec::new(),
    }
}
