//! From an input to a request, and from an answer to a result.

use super::Operation;
use super::body::is_json;
use super::parameters::{Place, Written, encoded};
use super::security::{Additions, Alternative, Credentials};
use super::transport::{RESPONSE_LIMIT, Request, Response, Transport};
use crate::host::{Output, Reply, ToolError};
use serde_json::{Map, Value};
use std::sync::Arc;
use url::Url;

/// Characters of an unsuccessful answer that the program sees.
const SHOWN: usize = 1_024;
const REDIRECTS: usize = 5;
const REDACTED: &str = "[redacted]";
/// Header fields of the host that are no secrets.
const PLAIN: [&str; 5] = [
    "accept",
    "accept-language",
    "content-type",
    "user-agent",
    "cache-control",
];

/// One call on its way.
pub(super) struct Exchange {
    pub(super) operation: Arc<Operation>,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) credentials: Option<Arc<dyn Credentials>>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) tool: String,
}

/// A request without credentials.
struct Draft {
    url: Url,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Exchange {
    pub(super) async fn run(self, input: Value) -> Reply {
        // Whatever is wrong with the input is found before any secret is asked for.
        let draft = self.draft(&input).map_err(failure)?;
        let additions = self.authorise(&draft).await.map_err(failure)?;
        let mut secrets = additions.secrets.clone();
        let own = self
            .headers
            .iter()
            .filter(|(name, _)| !PLAIN.contains(&name.to_lowercase().as_str()));
        for (_, value) in own {
            secrets.push(value.clone());
            secrets.extend(value.split_once(' ').map(|(_, token)| token.to_owned()));
        }
        let escaped = |secret: &String| Value::from(secret.as_str()).to_string();
        let escaped: Vec<String> = secrets
            .iter()
            .map(|secret| escaped(secret).trim_matches('"').to_owned())
            .collect();
        secrets.extend(escaped);
        let reply = self.exchange(draft, &additions).await;
        let redact = |text: &str| redacted(text, &secrets);
        match reply {
            Ok(response) => result(&response, &redact),
            Err(message) => Err(failure(redact(&message))),
        }
    }

    fn draft(&self, input: &Value) -> Result<Draft, String> {
        let empty = Map::new();
        let input = input.as_object().unwrap_or(&empty);
        let mut path = self.operation.path.clone();
        let mut query = Vec::new();
        let mut headers = Vec::new();
        for parameter in &self.operation.parameters {
            let value = input.get(&parameter.field).filter(|v| !v.is_null());
            let Some(value) = value else {
                if parameter.required {
                    return Err(format!("'{}' is required", parameter.field));
                }
                continue;
            };
            match (parameter.place, parameter.write(value)?) {
                (Place::Path, Written::Text(text)) => {
                    path = path.replace(&format!("{{{}}}", parameter.name), &text);
                }
                (_, Written::Text(text)) => headers.push((parameter.name.clone(), text)),
                (_, Written::Pairs(pairs)) => query.extend(pairs),
            }
        }
        let body = match &self.operation.body {
            Some(body) => body.write(input),
            None => None,
        };
        let body = body.map(|(media, bytes)| {
            headers.push(("Content-Type".to_owned(), media));
            bytes
        });
        headers.push((
            "Accept".to_owned(),
            "application/json, text/*;q=0.8".to_owned(),
        ));
        Ok(Draft {
            url: self.address(&path)?,
            query,
            headers,
            body,
        })
    }

    /// The address of a path below the operation's server; nothing that would leave it.
    fn address(&self, path: &str) -> Result<Url, String> {
        let server = &self.operation.server;
        let base = server.path().trim_end_matches('/');
        let whole = format!("{base}/{}", path.trim_start_matches('/'));
        let mut url = server.clone();
        url.set_path(&whole);
        let stays = url.origin() == server.origin()
            && url.path().starts_with(base)
            && url.path().split('/').count() == whole.split('/').count();
        if stays {
            Ok(url)
        } else {
            Err("the path leads out of its server".to_owned())
        }
    }

    /// The credentials of the first alternative that the host can satisfy.
    async fn authorise(&self, draft: &Draft) -> Result<Additions, String> {
        if self.operation.security.is_empty() {
            return Ok(Additions::default());
        }
        for alternative in &self.operation.security {
            if let Some(additions) = self.resolve(alternative).await
                && !clashes(&additions, draft)
            {
                return Ok(additions);
            }
        }
        Err(format!("the host has no credentials for '{}'", self.tool))
    }

    async fn resolve(&self, alternative: &Alternative) -> Option<Additions> {
        let mut additions = Additions::default();
        for scheme in alternative {
            let credentials = self.credentials.as_ref()?;
            let credential = credentials.resolve(&self.tool, scheme).await?;
            if !additions.add(&scheme.kind, credential) {
                return None;
            }
        }
        Some(additions)
    }

    async fn exchange(&self, draft: Draft, additions: &Additions) -> Result<Response, String> {
        let mut url = draft.url;
        let pairs = additions
            .query
            .iter()
            .map(|(k, v)| (encoded(k), encoded(v)));
        let query: Vec<String> = draft
            .query
            .into_iter()
            .chain(pairs)
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        if !query.is_empty() {
            url.set_query(Some(&query.join("&")));
        }
        let mut headers = self.headers.clone();
        for (name, value) in draft.headers.into_iter().chain(additions.headers.clone()) {
            headers.retain(|(n, _)| !n.eq_ignore_ascii_case(&name));
            headers.push((name, value));
        }
        let method = &self.operation.method;
        for _ in 0..=REDIRECTS {
            let request = Request {
                method: method.clone(),
                url: url.clone(),
                headers: headers.clone(),
                body: draft.body.clone(),
            };
            let response = self.transport.send(request).await;
            let response = response.map_err(|error| error.to_string())?;
            if response.body.len() > RESPONSE_LIMIT {
                return Err(format!("the answer is longer than {RESPONSE_LIMIT} bytes"));
            }
            match self.redirect(&url, &response)? {
                Some(next) => url = next,
                None => return Ok(response),
            }
        }
        Err(format!("the server redirected more than {REDIRECTS} times"))
    }

    /// Where an answer sends the request on to: only within the server, and only what changes nothing.
    fn redirect(&self, from: &Url, response: &Response) -> Result<Option<Url>, String> {
        if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = response.header("location") else {
            return Ok(None);
        };
        let to = from
            .join(location)
            .map_err(|_| "the server redirected to no address".to_owned())?;
        if to.origin() != self.operation.server.origin() {
            return Err("the server redirected to another host, which isn't followed".to_owned());
        }
        if !matches!(self.operation.method.as_str(), "GET" | "HEAD") {
            return Err(format!(
                "the server redirected a {}, which isn't followed",
                self.operation.method
            ));
        }
        Ok(Some(to))
    }
}

/// Whether a credential would stand where the input already stands, or another credential.
fn clashes(additions: &Additions, draft: &Draft) -> bool {
    let header = |name: &str| name.to_lowercase();
    let mut headers: Vec<String> = draft.headers.iter().map(|(n, _)| header(n)).collect();
    let mut query: Vec<String> = draft.query.iter().map(|(n, _)| n.clone()).collect();
    for (name, _) in &additions.headers {
        if headers.contains(&header(name)) {
            return true;
        }
        headers.push(header(name));
    }
    for (name, _) in &additions.query {
        if query.contains(&encoded(name)) {
            return true;
        }
        query.push(encoded(name));
    }
    false
}

fn failure(message: String) -> ToolError {
    ToolError { message }
}

/// A text without the secrets in it.
fn redacted(text: &str, secrets: &[String]) -> String {
    let mut list: Vec<&String> = secrets.iter().filter(|s| !s.is_empty()).collect();
    // The longest first, so that no part of a secret is left standing.
    list.sort_by_key(|s| std::cmp::Reverse(s.len()));
    let mut text = text.to_owned();
    for secret in list {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), REDACTED);
        }
    }
    text
}

fn result(response: &Response, redact: &dyn Fn(&str) -> String) -> Reply {
    let text = String::from_utf8_lossy(&response.body);
    if !(200..300).contains(&response.status) {
        let text = redact(&text);
        let shown: String = text.chars().take(SHOWN).collect();
        let message = format!("HTTP {}: {shown}", response.status);
        return Err(failure(message.trim_end_matches([':', ' ']).to_owned()));
    }
    if text.trim().is_empty() {
        return Ok(Output::Json(Value::Null));
    }
    let media = response.header("content-type").unwrap_or_default();
    let text = redact(&text);
    if !is_json(media) {
        return Ok(Output::Json(Value::String(text)));
    }
    match serde_json::from_str::<&serde_json::value::RawValue>(&text) {
        Ok(_) => Ok(Output::Text(text)),
        Err(error) => Err(failure(format!("the server's JSON is malformed: {error}"))),
    }
}
