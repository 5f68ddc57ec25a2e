//! How the proxy is: one question to its model list, judged without a clock.

use std::time::Duration;

use models::{Client, Endpoint, ModelError, ModelInfo};

use crate::endpoint::SidecarEndpoint;

/// While all is well, the next look comes after this.
const CALM: Duration = Duration::from_secs(30);

/// While a person is likely to be starting the proxy or logging in, looks come this often, and then twice as slowly each time.
const EAGER: Duration = Duration::from_secs(2);

/// A proxy that was well may miss this many looks before it is called gone: it reloads its configuration at times.
const MISSES_BEFORE_RED: u32 = 3;

/// The colour of the status pill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthState {
    /// It answers and offers models.
    Green,
    /// It answers and can't be used yet, or was well a moment ago.
    Amber,
    /// It doesn't run, or something else does in its place.
    Red,
}

/// How the proxy is, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The colour.
    pub state: HealthState,
    /// A sentence for the person: what is the matter and what to do.
    pub detail: String,
    /// The models it offers now.
    pub models: Vec<ModelInfo>,
}

/// Asks the proxy once.
pub async fn check(sidecar: &SidecarEndpoint, client: &Client) -> Health {
    let endpoint = Endpoint::from(sidecar);
    assess(&endpoint.host(), client.list_models(&endpoint).await)
}

/// Judges what the proxy at `host` answered when it was asked for its models.
pub fn assess(host: &str, answer: Result<Vec<ModelInfo>, ModelError>) -> Health {
    let (state, detail, models) = match answer {
        Ok(models) if models.is_empty() => (
            HealthState::Amber,
            format!(
                "CLIProxyAPI runs at {host} and no provider is logged in; log in with one of its login commands"
            ),
            models,
        ),
        Ok(models) => {
            let count = models.len();
            let plural = if count == 1 { "" } else { "s" };
            (
                HealthState::Green,
                format!("CLIProxyAPI at {host} offers {count} model{plural}"),
                models,
            )
        }
        Err(error) => {
            let (state, detail) = trouble(host, &error);
            (state, detail, Vec::new())
        }
    };
    Health {
        state,
        detail,
        models,
    }
}

fn trouble(host: &str, error: &ModelError) -> (HealthState, String) {
    match error {
        ModelError::Connect { reason, .. } => (
            HealthState::Red,
            format!(
                "nothing answers at {host} ({reason}); start CLIProxyAPI, or set sidecar.external_url to where it runs"
            ),
        ),
        _ if error.is_unauthorized() => (
            HealthState::Amber,
            format!(
                "CLIProxyAPI at {host} asks for a client key, and Folkmoot sends it none; empty api-keys in its config.yaml and let it listen on 127.0.0.1 only"
            ),
        ),
        ModelError::NotAnEventStream { .. } | ModelError::RedirectRefused { .. } => (
            HealthState::Red,
            format!(
                "what answers at {host} is not CLIProxyAPI; set sidecar.external_url to where it runs"
            ),
        ),
        ModelError::Provider {
            status: Some(404), ..
        } => (
            HealthState::Red,
            format!(
                "what answers at {host} offers no /v1/models; set sidecar.external_url to where CLIProxyAPI runs"
            ),
        ),
        error => (HealthState::Amber, error.to_string()),
    }
}

/// Follows the proxy's health from look to look.
#[derive(Debug, Clone, Default)]
pub struct HealthTracker {
    last: Option<Health>,
    misses: u32,
    restless: u32,
}

impl HealthTracker {
    /// A tracker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what a look found, and gives what to show. A proxy that was green is amber, with its last models, until it
    /// has been red three looks in a row.
    pub fn observe(&mut self, found: Health) -> &Health {
        self.misses = if found.state == HealthState::Red {
            self.misses + 1
        } else {
            0
        };
        self.restless = if found.state == HealthState::Green {
            0
        } else {
            self.restless.saturating_add(1)
        };
        let kept = self.last.take().filter(|last| {
            found.state == HealthState::Red
                && !last.models.is_empty()
                && self.misses < MISSES_BEFORE_RED
        });
        let shown = match kept {
            Some(last) => Health {
                state: HealthState::Amber,
                detail: found.detail,
                models: last.models,
            },
            None => found,
        };
        self.last.insert(shown)
    }

    /// What was shown last, `None` before the first look.
    pub fn current(&self) -> Option<&Health> {
        self.last.as_ref()
    }

    /// How long to wait before the next look: soon while something is the matter, doubling up to the calm pace.
    pub fn next_look(&self) -> Duration {
        match self.restless {
            0 if self.last.is_none() => Duration::ZERO,
            0 => CALM,
            looks => EAGER.saturating_mul(1 << (looks - 1).min(8)).min(CALM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(ids: &[&str]) -> Vec<ModelInfo> {
        let info = |id: &&str| ModelInfo {
            id: (*id).to_owned(),
            owned_by: String::new(),
            context_length: None,
        };
        ids.iter().map(info).collect()
    }

    fn refused(status: u16) -> ModelError {
        ModelError::Provider {
            host: "h".into(),
            status: Some(status),
            code: None,
            message: "Missing API key".to_owned(),
            trace_id: None,
            body: "".into(),
            retry_after: None,
        }
    }

    fn gone() -> ModelError {
        ModelError::Connect {
            host: "h".to_owned(),
            reason: "connection refused".to_owned(),
        }
    }

    #[test]
    fn the_colour_says_whether_it_can_be_used_and_the_detail_what_to_do() {
        let page = ModelError::NotAnEventStream {
            host: "h".to_owned(),
            content_type: None,
            snippet: String::new(),
        };
        for (answer, state, words) in [
            (Ok(models(&["a", "b"])), HealthState::Green, "2 models"),
            (Ok(models(&["a"])), HealthState::Green, "1 model"),
            (Ok(vec![]), HealthState::Amber, "log in"),
            (Err(gone()), HealthState::Red, "start CLIProxyAPI"),
            (Err(refused(401)), HealthState::Amber, "empty api-keys"),
            (Err(refused(404)), HealthState::Red, "sidecar.external_url"),
            (Err(refused(503)), HealthState::Amber, "Missing API key"),
            (Err(page), HealthState::Red, "not CLIProxyAPI"),
        ] {
            let health = assess("h", answer);
            assert_eq!(health.state, state, "{}", health.detail);
            assert!(health.detail.contains(words), "{}", health.detail);
        }
    }

    #[test]
    fn a_proxy_that_was_well_may_miss_two_looks() {
        let mut tracker = HealthTracker::new();
        tracker.observe(assess("h", Ok(models(&["a"]))));
        for _ in 0..2 {
            let shown = tracker.observe(assess("h", Err(gone())));
            assert_eq!((shown.state, shown.models.len()), (HealthState::Amber, 1));
        }
        let shown = tracker.observe(assess("h", Err(gone())));
        assert_eq!((shown.state, shown.models.len()), (HealthState::Red, 0));
        assert_eq!(
            tracker.observe(assess("h", Ok(models(&["a"])))).state,
            HealthState::Green
        );
        assert_eq!(
            tracker.observe(assess("h", Err(gone()))).state,
            HealthState::Amber
        );
    }

    #[test]
    fn a_proxy_that_never_ran_is_red_at_once() {
        let mut tracker = HealthTracker::new();
        assert_eq!(
            tracker.observe(assess("h", Err(gone()))).state,
            HealthState::Red
        );
    }

    #[test]
    fn looks_come_soon_while_something_is_the_matter_and_slow_down() {
        let mut tracker = HealthTracker::new();
        assert_eq!(tracker.next_look(), Duration::ZERO);
        let mut waits = Vec::new();
        for _ in 0..40 {
            tracker.observe(assess("h", Err(gone())));
            waits.push(tracker.next_look().as_secs());
        }
        assert_eq!(waits[..6], [2, 4, 8, 16, 30, 30]);
        assert_eq!(waits[39], 30);
        tracker.observe(assess("h", Ok(models(&["a"]))));
        assert_eq!(tracker.next_look(), CALM);
    }
}
