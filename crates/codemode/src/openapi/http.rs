//! Requests over HTTP.

use super::transport::{RESPONSE_LIMIT, Request, Response, Transport, TransportError};
use futures_util::future::{BoxFuture, FutureExt};
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends requests with reqwest, TLS by rustls and the operating system's certificates. Follows no redirect.
#[derive(Clone, Debug)]
pub struct HttpTransport {
    client: reqwest::Client,
}

impl HttpTransport {
    /// A transport with a pool of connections of its own.
    ///
    /// # Errors
    /// When TLS can't be set up.
    pub fn new() -> Result<HttpTransport, TransportError> {
        let setup = |error: &dyn Error| TransportError(format!("can't set up TLS: {error}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_platform_verifier())
            .map_err(|error| setup(&error))?
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map_err(|error| setup(&error))?;
        Ok(HttpTransport { client })
    }
}

/// The innermost cause: the outer ones name the address, which may hold a key.
fn reason(error: &reqwest::Error) -> TransportError {
    let mut cause = error.source();
    let mut words = "the request failed".to_owned();
    while let Some(error) = cause {
        words = error.to_string();
        cause = error.source();
    }
    TransportError(words)
}

fn too_long() -> TransportError {
    TransportError(format!("the answer is longer than {RESPONSE_LIMIT} bytes"))
}

impl Transport for HttpTransport {
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, TransportError>> {
        let client = self.client.clone();
        async move {
            let method = reqwest::Method::from_bytes(request.method.as_bytes())
                .map_err(|_| TransportError("unknown method".to_owned()))?;
            let mut builder = client.request(method, request.url);
            for (name, value) in &request.headers {
                builder = builder.header(name, value);
            }
            if let Some(body) = request.body {
                builder = builder.body(body);
            }
            let mut response = builder.send().await.map_err(|error| reason(&error))?;
            if response
                .content_length()
                .is_some_and(|n| n > RESPONSE_LIMIT as u64)
            {
                return Err(too_long());
            }
            let headers = response
                .headers()
                .iter()
                .map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                    (name.as_str().to_owned(), value)
                })
                .collect();
            let status = response.status().as_u16();
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(|error| reason(&error))? {
                if body.len() + chunk.len() > RESPONSE_LIMIT {
                    return Err(too_long());
                }
                body.extend_from_slice(&chunk);
            }
            Ok(Response {
                status,
                headers,
                body,
            })
        }
        .boxed()
    }
}
