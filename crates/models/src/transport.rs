//! One HTTP exchange: TLS, proxies, redirects, and transport failures in words.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use reqwest::{Method, Response, StatusCode};
use rustls_platform_verifier::BuilderVerifierExt;
use url::Url;

use crate::endpoint::{Auth, Endpoint, host_of, is_loopback};
use crate::errors::ModelError;

/// Sent with every request, and stable: CLIProxyAPI picks the shape of its model list by it.
pub const USER_AGENT: &str = concat!("folkmoot/", env!("CARGO_PKG_VERSION"));

/// The most redirects that are followed, all of them on the endpoint's own host.
const MAX_REDIRECTS: usize = 3;

/// An idle connection is probed this often, so that a peer that vanished is noticed.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

/// The connections to all endpoints.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    /// Through the system's proxy, where it has one.
    outside: reqwest::Client,
    /// To servers on this machine, past any proxy.
    inside: reqwest::Client,
    /// Why no certificate can be checked here. Plain HTTP works all the same.
    tls_problem: Option<String>,
    connect_timeout: Duration,
}

/// A failed exchange, and whether the same request may be sent again.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    pub(crate) may_retry: bool,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self {
            error,
            may_retry: false,
        }
    }
}

impl Transport {
    pub(crate) fn new(connect_timeout: Duration) -> Result<Self, ModelError> {
        let (tls, tls_problem) = tls_config()?;
        Ok(Self {
            outside: build(tls.clone(), connect_timeout, false)?,
            inside: build(tls, connect_timeout, true)?,
            tls_problem,
            connect_timeout,
        })
    }

    /// Sends a request and returns the answer once its head is there, whatever its status but a redirect.
    pub(crate) async fn exchange(
        &self,
        endpoint: &Endpoint,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Response, Failure> {
        let mut url = endpoint.url(path);
        for _ in 0..=MAX_REDIRECTS {
            let response = self
                .send(endpoint, method.clone(), &url, body.clone())
                .await?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            url = redirect_target(&url, &response)?;
        }
        Err(refused(&url, "itself again and again").into())
    }

    async fn send(
        &self,
        endpoint: &Endpoint,
        method: Method,
        url: &Url,
        body: Option<Bytes>,
    ) -> Result<Response, Failure> {
        if url.scheme() == "https"
            && let Some(reason) = &self.tls_problem
        {
            let (host, reason) = (host_of(url), reason.clone());
            return Err(ModelError::Connect { host, reason }.into());
        }
        let client = if is_loopback(url) {
            &self.inside
        } else {
            &self.outside
        };
        let mut request = client
            .request(method, url.clone())
            .headers(headers(endpoint, body.is_some())?);
        if let Some(body) = body {
            request = request.body(body);
        }
        request
            .send()
            .await
            .map_err(|error| self.failure(url, &error))
    }

    fn failure(&self, url: &Url, error: &reqwest::Error) -> Failure {
        let host = host_of(url);
        if error.is_connect() {
            let reason = if error.is_timeout() {
                format!("no answer within {} s", self.connect_timeout.as_secs())
            } else {
                reason(error)
            };
            return ModelError::Connect { host, reason }.into();
        }
        if error.is_builder() {
            return ModelError::Setup {
                reason: reason(error),
            }
            .into();
        }
        Failure {
            error: ModelError::Disconnected {
                host,
                reason: reason(error),
            },
            may_retry: true,
        }
    }
}

/// The innermost cause, which is the one that says something.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = error.source();
    let mut words = "the request failed".to_owned();
    while let Some(error) = cause {
        words = error.to_string();
        cause = error.source();
    }
    words
}

fn headers(endpoint: &Endpoint, has_body: bool) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/event-stream, application/json"),
        );
    } else {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    }
    if let Auth::Key(key) = &endpoint.auth {
        let mut value =
            HeaderValue::try_from(format!("Bearer {}", key.expose())).map_err(|_| {
                ModelError::UnusableKey {
                    endpoint: endpoint.id.clone(),
                }
            })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

/// Where a redirect leads, if it stays on the host. The method and body go along: an API that moved wants the request.
fn redirect_target(from: &Url, response: &Response) -> Result<Url, ModelError> {
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok());
    let Some(to) = location.and_then(|location| from.join(location).ok()) else {
        return Err(refused(from, "nowhere"));
    };
    // The way up from http to https on the standard ports counts as the same host.
    let upgraded = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port().is_none()
        && to.port().is_none();
    let same = from.host_str() == to.host_str() && (from.origin() == to.origin() || upgraded);
    if !same || response.status() == StatusCode::SEE_OTHER {
        return Err(refused(from, to.as_str()));
    }
    Ok(to)
}

fn refused(from: &Url, to: &str) -> ModelError {
    ModelError::RedirectRefused {
        host: host_of(from),
        to: to.to_owned(),
    }
}

fn build(
    tls: rustls::ClientConfig,
    connect_timeout: Duration,
    inside: bool,
) -> Result<reqwest::Client, ModelError> {
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls)
        // A connection of its own per running reply: to stop is to close it.
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tcp_keepalive(TCP_KEEPALIVE)
        .connect_timeout(connect_timeout);
    if inside {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ModelError::Setup {
        reason: reason(&error),
    })
}

/// TLS on ring, checked by the operating system's certificates. Without any certificates on the machine the
/// configuration trusts nobody, and the second value says so.
fn tls_config() -> Result<(rustls::ClientConfig, Option<String>), ModelError> {
    let setup = |error: rustls::Error| ModelError::Setup {
        reason: error.to_string(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(setup)
    };
    match builder()?.with_platform_verifier() {
        Ok(config) => Ok((config.with_no_client_auth(), None)),
        Err(error) => {
            let config = builder()?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            let reason = format!(
                "no certificates to check it by ({error}); install the package ca-certificates"
            );
            Ok((config, Some(reason)))
        }
    }
}
