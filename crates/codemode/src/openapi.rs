//! OpenAPI documents as tools: one tool an operation.
//!
//! [`from_spec`] reads a JSON document of OpenAPI 3.0 or 3.1 and tells what it left out and why. The tools' requests go
//! through a [`Transport`]; credentials come from the host's [`Credentials`] for each request and are never part of an
//! input, a result or a message. A request reaches the server of its operation and no other, redirects included.
//!
//! ```
//! use codemode::openapi::{Options, from_spec};
//! let spec = serde_json::json!({
//!     "openapi": "3.1.0", "servers": [{ "url": "https://api.example.org/v1" }],
//!     "paths": { "/pets/{id}": { "get": { "operationId": "pets.get",
//!         "parameters": [{ "in": "path", "name": "id", "required": true, "schema": { "type": "integer" } }],
//!         "responses": { "200": { "content": { "application/json": { "schema": { "type": "object" } } } } } } } }
//! });
//! let api = from_spec(&spec, &Options::default())?;
//! assert_eq!(api.tools[0].path, "pets.get");
//! assert!(api.skipped.is_empty());
//! # Ok::<(), codemode::openapi::SpecError>(())
//! ```

mod body;
mod document;
#[cfg(feature = "http")]
mod http;
mod names;
mod parameters;
mod request;
mod security;
mod transport;

#[cfg(feature = "http")]
pub use http::HttpTransport;
pub use security::{Credential, Credentials, Scheme, SchemeKind};
pub use transport::{RESPONSE_LIMIT, Request, Response, Transport, TransportError};

use crate::host::{Call, Reply, ToolError};
use crate::run::ToolHost;
use crate::tools::Tool;
use body::{Body, Outcomes};
use document::{Direction, Document};
use futures_util::future::{BoxFuture, FutureExt};
use names::Names;
use parameters::Parameter;
use rustc_hash::FxHashMap;
use security::Alternative;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use url::Url;

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// How a document becomes tools.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Server to use instead of the document's.
    pub base_url: Option<String>,
    /// Namespace to put the tools under.
    pub namespace: Option<String>,
    /// Check inputs and results against their schemas.
    pub validate: bool,
}

/// A document that isn't one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub String);

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// An operation that isn't a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// HTTP method in capitals.
    pub method: String,
    /// Path template.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A document's tools.
#[derive(Debug)]
pub struct Api {
    /// One tool for each supported operation, in the document's order.
    pub tools: Vec<Tool>,
    /// The other operations.
    pub skipped: Vec<Skipped>,
    operations: FxHashMap<String, Arc<Operation>>,
}

/// What a request of a tool is made from.
#[derive(Debug)]
struct Operation {
    method: String,
    server: Url,
    path: String,
    parameters: Vec<Parameter>,
    body: Option<Body>,
    security: Vec<Alternative>,
}

/// Reads a document.
///
/// # Errors
/// When it is no OpenAPI 3.0 or 3.1 document. Operations that can't be tools are told in [`Api::skipped`].
pub fn from_spec(spec: &Value, options: &Options) -> Result<Api, SpecError> {
    let version = spec.get("openapi").and_then(Value::as_str);
    if !version.is_some_and(|v| v.starts_with("3.0") || v.starts_with("3.1")) {
        let found = spec.get("openapi").or_else(|| spec.get("swagger"));
        let found = found.map_or("none".to_owned(), Value::to_string);
        return Err(SpecError(format!(
            "the document must be OpenAPI 3.0 or 3.1; its version is {found}"
        )));
    }
    let Some(paths) = spec.get("paths").and_then(Value::as_object) else {
        return Err(SpecError("the document has no paths".to_owned()));
    };
    let document = Document::new(spec);
    let mut api = Api {
        tools: Vec::new(),
        skipped: Vec::new(),
        operations: FxHashMap::default(),
    };
    let mut names = Names::default();
    for (path, item) in paths {
        let Some(item) = document.resolve(item).and_then(Value::as_object) else {
            continue;
        };
        for method in METHODS {
            let Some(operation) = item.get(method) else {
                continue;
            };
            let source = Source {
                document: &document,
                item,
                operation,
                method,
                path,
            };
            match source.build(options) {
                Ok((mut tool, built)) => {
                    let id = operation.get("operationId").and_then(Value::as_str);
                    tool.path = names.take(id, method, path);
                    if let Some(namespace) = &options.namespace {
                        tool.path = format!("{namespace}.{}", tool.path);
                    }
                    api.operations.insert(tool.path.clone(), Arc::new(built));
                    api.tools.push(tool);
                }
                Err(reason) => api.skipped.push(Skipped {
                    method: method.to_uppercase(),
                    path: path.clone(),
                    reason,
                }),
            }
        }
    }
    Ok(api)
}

/// One operation of a document.
struct Source<'d> {
    document: &'d Document<'d>,
    item: &'d Map<String, Value>,
    operation: &'d Value,
    method: &'d str,
    path: &'d str,
}

impl Source<'_> {
    fn build(&self, options: &Options) -> Result<(Tool, Operation), String> {
        if self.operation.get("x-websocket").is_some() {
            return Err("it is a WebSocket".to_owned());
        }
        let server = self.server(options)?;
        let mut parameters = parameters::read(self.document, self.item, self.operation, self.path)?;
        let mut body = body::read(self.document, self.operation)?;
        let outcomes = Outcomes::read(self.document, self.operation)?;
        let security = security::read(self.document, self.operation)?;
        names::separate(&mut parameters, &mut body);
        let input = self.input(&parameters, body.as_ref());
        let text = |key: &str| self.operation.get(key).and_then(Value::as_str);
        let description = [text("summary"), text("description")]
            .into_iter()
            .flatten()
            .map(str::trim)
            .filter(|t| !t.is_empty())
            .collect::<Vec<_>>();
        let description = match description.as_slice() {
            [] => format!("{} {}", self.method.to_uppercase(), self.path),
            [a, b] if a == b => (*a).to_owned(),
            list => list.join("\n\n"),
        };
        let tool = Tool {
            path: String::new(),
            description,
            input: Some(input),
            output: Some(outcomes.schema(self.document)),
            validate: options.validate,
        };
        let operation = Operation {
            method: self.method.to_uppercase(),
            server,
            path: self.path.to_owned(),
            parameters,
            body,
            security,
        };
        Ok((tool, operation))
    }

    fn server(&self, options: &Options) -> Result<Url, String> {
        let first = |owner: Option<&Value>| -> Option<String> {
            let servers = owner?.as_array()?;
            Some(servers.first()?.get("url")?.as_str()?.to_owned())
        };
        let text = options
            .base_url
            .clone()
            .or_else(|| first(self.operation.get("servers")))
            .or_else(|| first(self.item.get("servers")))
            .or_else(|| first(self.document.root.get("servers")))
            .ok_or("it has no server")?;
        if text.contains(['{', '}']) {
            return Err("its server's URL is a template".to_owned());
        }
        let url = Url::parse(&text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or("its server's URL is not an absolute http or https URL")?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err("its server's URL has a query or a fragment".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its server's URL has credentials".to_owned());
        }
        Ok(url)
    }

    fn input(&self, parameters: &[Parameter], body: Option<&Body>) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut schemas = self.document.schemas(Direction::Request);
        for parameter in parameters {
            let mut schema = schemas.convert(&parameter.schema);
            if let (Some(text), Some(map)) = (&parameter.description, schema.as_object_mut()) {
                map.entry("description").or_insert_with(|| json!(text));
            }
            if parameter.required {
                required.push(json!(parameter.field));
            }
            properties.insert(parameter.field.clone(), schema);
        }
        match body {
            Some(Body::Whole {
                field,
                schema,
                required: is_required,
                ..
            }) => {
                if *is_required {
                    required.push(json!(field));
                }
                properties.insert(field.clone(), schemas.convert(schema));
            }
            Some(Body::Fields { fields, .. }) => {
                for field in fields {
                    if schemas.is_hidden(&field.schema) {
                        continue;
                    }
                    if field.required {
                        required.push(json!(field.field));
                    }
                    properties.insert(field.field.clone(), schemas.convert(&field.schema));
                }
            }
            None => {}
        }
        let mut input = json!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            input["required"] = Value::Array(required);
        }
        schemas.finish(input)
    }
}

impl Api {
    /// Makes the requests of the tools.
    pub fn host(&self, transport: Arc<dyn Transport>) -> ApiHost {
        ApiHost {
            operations: self.operations.clone(),
            transport,
            credentials: None,
            headers: Vec::new(),
        }
    }
}

/// Answers calls of an API's tools by requests.
#[derive(Clone)]
pub struct ApiHost {
    operations: FxHashMap<String, Arc<Operation>>,
    transport: Arc<dyn Transport>,
    credentials: Option<Arc<dyn Credentials>>,
    headers: Vec<(String, String)>,
}

impl std::fmt::Debug for ApiHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.operations.len();
        f.debug_struct("ApiHost")
            .field("operations", &count)
            .finish_non_exhaustive()
    }
}

impl ApiHost {
    /// Resolves what operations need to be authorised.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Arc<dyn Credentials>) -> ApiHost {
        self.credentials = Some(credentials);
        self
    }

    /// Sends header fields with every request. Their values count as secrets.
    #[must_use]
    pub fn with_headers(mut self, headers: Vec<(String, String)>) -> ApiHost {
        self.headers = headers;
        self
    }

    /// Whether a tool's path is one of this API's.
    pub fn has(&self, path: &str) -> bool {
        self.operations.contains_key(path)
    }
}

impl ToolHost for ApiHost {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let Some(operation) = self.operations.get(&call.path) else {
            let message = format!("no operation has the path '{}'", call.path);
            return async { Err(ToolError { message }) }.boxed();
        };
        let exchange = request::Exchange {
            operation: Arc::clone(operation),
            transport: Arc::clone(&self.transport),
            credentials: self.credentials.clone(),
            headers: self.headers.clone(),
            tool: call.path,
        };
        exchange.run(call.input).boxed()
    }
}
