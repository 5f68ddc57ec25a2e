//! What an operation needs to be authorised, and the host that has it.

use super::document::Document;
use base64::Engine;
use futures_util::future::BoxFuture;
use serde_json::Value;

/// How a scheme carries its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeKind {
    /// A token in the `Authorization` field: HTTP bearer.
    Bearer,
    /// User and password in the `Authorization` field: HTTP basic.
    Basic,
    /// A key in a header field of this name.
    ApiKeyHeader(String),
    /// A key in a query parameter of this name.
    ApiKeyQuery(String),
    /// A token of OAuth 2.
    OAuth2,
    /// A token of OpenID Connect.
    OpenIdConnect,
}

/// A security scheme of a document, as an operation requires it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Its name in the document.
    pub name: String,
    /// How it carries its credential.
    pub kind: SchemeKind,
    /// The scopes that the operation requires.
    pub scopes: Vec<String>,
}

/// A secret of the host. It can't be printed.
pub enum Credential {
    /// A bearer token; for bearer, OAuth 2 and OpenID Connect.
    Token(String),
    /// User and password; for basic.
    Password {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
    },
    /// A key; for API keys.
    Key(String),
    /// A header field of the host's own choice; for any scheme.
    Header {
        /// The field's name.
        name: String,
        /// The field's value.
        value: String,
    },
}

/// Has the host's secrets.
pub trait Credentials: Send + Sync {
    /// The credential of a scheme for a tool, or nothing when the host has none.
    fn resolve(&self, tool: &str, scheme: &Scheme) -> BoxFuture<'static, Option<Credential>>;
}

/// Schemes that must all be satisfied; none for an anonymous request.
pub(super) type Alternative = Vec<Scheme>;

/// What an operation needs: alternatives in order, none when it needs nothing. The error says why there can be no tool.
pub(super) fn read(document: &Document<'_>, operation: &Value) -> Result<Vec<Alternative>, String> {
    let Some(security) = operation
        .get("security")
        .or_else(|| document.root.get("security"))
    else {
        return Ok(Vec::new());
    };
    let Some(list) = security.as_array() else {
        return Err("its security isn't a list".to_owned());
    };
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let mut alternatives = Vec::new();
    let mut reason = String::new();
    for requirement in list {
        match alternative(document, requirement) {
            Ok(schemes) => alternatives.push(schemes),
            Err(why) => reason = why,
        }
    }
    if alternatives.is_empty() {
        return Err(reason);
    }
    Ok(alternatives)
}

fn alternative(document: &Document<'_>, requirement: &Value) -> Result<Alternative, String> {
    let Some(map) = requirement.as_object() else {
        return Err("its security is malformed".to_owned());
    };
    let mut schemes: Alternative = Vec::new();
    for (name, scopes) in map {
        let described = document
            .root
            .pointer("/components/securitySchemes")
            .and_then(|schemes| schemes.get(name))
            .and_then(|scheme| document.resolve(scheme))
            .ok_or_else(|| format!("the security scheme '{name}' isn't described"))?;
        let kind = kind(name, described)?;
        let scopes = scopes
            .as_array()
            .ok_or("its security is malformed")?
            .iter()
            .map(|scope| scope.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .ok_or("its security is malformed")?;
        if let Some(other) = schemes.iter().find(|s| carrier(&s.kind) == carrier(&kind)) {
            return Err(format!(
                "the security schemes '{}' and '{name}' use the same place",
                other.name
            ));
        }
        schemes.push(Scheme {
            name: name.clone(),
            kind,
            scopes,
        });
    }
    Ok(schemes)
}

fn kind(name: &str, scheme: &Value) -> Result<SchemeKind, String> {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
    let named = |make: fn(String) -> SchemeKind| match text("name") {
        "" => Err(format!("the security scheme '{name}' is malformed")),
        field => Ok(make(field.to_owned())),
    };
    match (text("type"), text("in")) {
        ("http", _) => match text("scheme").to_lowercase().as_str() {
            "bearer" => Ok(SchemeKind::Bearer),
            "basic" => Ok(SchemeKind::Basic),
            other => Err(format!("the security scheme '{name}' is HTTP '{other}'")),
        },
        ("apiKey", "header") => named(SchemeKind::ApiKeyHeader),
        ("apiKey", "query") => named(SchemeKind::ApiKeyQuery),
        ("apiKey", "cookie") => Err(format!("the security scheme '{name}' is a cookie")),
        ("oauth2", _) => Ok(SchemeKind::OAuth2),
        ("openIdConnect", _) => Ok(SchemeKind::OpenIdConnect),
        (other, _) => Err(format!("the security scheme '{name}' is '{other}'")),
    }
}

/// Where a scheme's credential stands, as far as two may not share it.
fn carrier(kind: &SchemeKind) -> (bool, String) {
    match kind {
        SchemeKind::ApiKeyHeader(name) => (false, name.to_lowercase()),
        SchemeKind::ApiKeyQuery(name) => (true, name.clone()),
        _ => (false, "authorization".to_owned()),
    }
}

/// What credentials add to a request.
#[derive(Default)]
pub(super) struct Additions {
    pub(super) headers: Vec<(String, String)>,
    /// Names and values of the query, not encoded.
    pub(super) query: Vec<(String, String)>,
    /// Texts that nobody but the server may see.
    pub(super) secrets: Vec<String>,
}

impl Additions {
    /// Adds a credential; false when it doesn't belong to the scheme.
    pub(super) fn add(&mut self, kind: &SchemeKind, credential: Credential) -> bool {
        let authorization = |value: String| ("Authorization".to_owned(), value);
        match (kind, credential) {
            (_, Credential::Header { name, value }) => {
                self.secrets.push(value.clone());
                if let Some((_, token)) = value.split_once(' ') {
                    self.secrets.push(token.to_owned());
                }
                self.headers.push((name, value));
            }
            (
                SchemeKind::Bearer | SchemeKind::OAuth2 | SchemeKind::OpenIdConnect,
                Credential::Token(token),
            ) => {
                self.headers.push(authorization(format!("Bearer {token}")));
                self.secrets.push(token);
            }
            (SchemeKind::Basic, Credential::Password { user, password }) => {
                let both = format!("{user}:{password}");
                let text = base64::engine::general_purpose::STANDARD.encode(both);
                self.headers.push(authorization(format!("Basic {text}")));
                self.secrets.extend([text, password]);
            }
            (SchemeKind::ApiKeyHeader(name), Credential::Key(key)) => {
                self.headers.push((name.clone(), key.clone()));
                self.secrets.push(key);
            }
            (SchemeKind::ApiKeyQuery(name), Credential::Key(key)) => {
                self.query.push((name.clone(), key.clone()));
                self.secrets.push(super::parameters::encoded(&key));
                self.secrets.push(key);
            }
            _ => return false,
        }
        true
    }
}
