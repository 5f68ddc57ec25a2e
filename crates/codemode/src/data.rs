//! Values on their way between a program and an extension, and the extensions themselves.

use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A value outside the program: a copy, never a view.
pub enum Data {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string; lone surrogates become U+FFFD.
    String(String),
    /// A big integer, in decimal.
    BigInt(String),
    /// An array.
    Array(Vec<Data>),
    /// An object's own enumerable fields.
    Object(Vec<(String, Data)>),
    /// Milliseconds since 1970.
    Date(f64),
    /// A regular expression.
    RegExp {
        /// Its source.
        source: String,
        /// Its flags.
        flags: String,
    },
    /// A URL.
    Url(url::Url),
    /// HTTP header fields.
    Headers(Vec<(String, String)>),
    /// A map's entries.
    Map(Vec<(Data, Data)>),
    /// A set's members.
    Set(Vec<Data>),
    /// A `Uint8Array`.
    Bytes(Vec<u8>),
    /// An error as a value.
    Error(Box<HostError>),
    /// A function of the host; the program calls it like an extension. A function of the program can't leave it.
    Function(HostFunction),
    /// A promise: of the host's when it enters the program, of the program's when it leaves.
    Promise(BoxFuture<'static, Result<Data, HostError>>),
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Data::Undefined => f.write_str("Undefined"),
            Data::Null => f.write_str("Null"),
            Data::Bool(b) => b.fmt(f),
            Data::Number(n) => n.fmt(f),
            Data::String(s) => s.fmt(f),
            Data::BigInt(n) => write!(f, "{n}n"),
            Data::Array(items) => f.debug_list().entries(items).finish(),
            Data::Object(fields) => {
                let fields = fields.iter().map(|(k, v)| (k, v));
                f.debug_map().entries(fields).finish()
            }
            Data::Date(ms) => f.debug_tuple("Date").field(ms).finish(),
            Data::RegExp { source, flags } => write!(f, "/{source}/{flags}"),
            Data::Url(url) => f.debug_tuple("Url").field(&url.as_str()).finish(),
            Data::Headers(list) => f.debug_tuple("Headers").field(list).finish(),
            Data::Map(entries) => f.debug_tuple("Map").field(entries).finish(),
            Data::Set(members) => f.debug_tuple("Set").field(members).finish(),
            Data::Bytes(bytes) => f.debug_tuple("Bytes").field(bytes).finish(),
            Data::Error(error) => error.fmt(f),
            Data::Function(_) => f.write_str("Function"),
            Data::Promise(_) => f.write_str("Promise"),
        }
    }
}

impl Data {
    /// Data of a JSON value.
    pub fn from_json(json: &serde_json::Value) -> Data {
        use serde_json::Value;
        match json {
            Value::Null => Data::Null,
            Value::Bool(b) => Data::Bool(*b),
            Value::Number(n) => Data::Number(n.as_f64().unwrap_or(f64::NAN)),
            Value::String(s) => Data::String(s.clone()),
            Value::Array(items) => Data::Array(items.iter().map(Data::from_json).collect()),
            Value::Object(map) => Data::Object(
                map.iter()
                    .map(|(k, v)| (k.clone(), Data::from_json(v)))
                    .collect(),
            ),
        }
    }

    /// A field of an object.
    pub fn get(&self, name: &str) -> Option<&Data> {
        match self {
            Data::Object(fields) => fields.iter().find(|(k, _)| k == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a number.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Data::Number(n) => Some(*n),
            _ => None,
        }
    }
}

/// An error on its way between a program and an extension. It has no stack.
#[derive(Debug)]
pub struct HostError {
    /// Its name, such as `TypeError`.
    pub name: String,
    /// Its text.
    pub message: String,
    /// What it came from.
    pub cause: Option<Box<Data>>,
    /// Its own data, such as `code`.
    pub fields: Vec<(String, Data)>,
}

impl HostError {
    /// An `Error` of this text.
    pub fn new(message: impl Into<String>) -> HostError {
        HostError {
            name: "Error".to_owned(),
            message: message.into(),
            cause: None,
            fields: Vec::new(),
        }
    }
}

/// A function of the host.
pub type HostFunction = Arc<dyn Fn(Vec<Data>) -> Result<Data, HostError> + Send + Sync>;

/// A function of the host that programs see as a global. It isn't in the catalogue and its calls aren't counted.
#[derive(Clone)]
pub struct Extension {
    /// The global's name.
    pub name: String,
    /// What it does. It runs on the run's own thread; what takes time belongs into a promise.
    pub function: HostFunction,
}

impl Extension {
    /// An extension of this name.
    pub fn new(
        name: impl Into<String>,
        function: impl Fn(Vec<Data>) -> Result<Data, HostError> + Send + Sync + 'static,
    ) -> Extension {
        Extension {
            name: name.into(),
            function: Arc::new(function),
        }
    }
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Extension").field(&self.name).finish()
    }
}

/// An extension whose name can't be a new global.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadExtension(pub String);

impl std::fmt::Display for BadExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an extension can't have the name '{}'", self.0)
    }
}

impl std::error::Error for BadExtension {}

/// Checks that every extension's name is an identifier that no built-in and no other extension has.
pub(crate) fn check_names(extensions: &[Extension]) -> Result<(), BadExtension> {
    for (at, extension) in extensions.iter().enumerate() {
        let name = extension.name.as_str();
        let is_identifier = oxc_syntax::identifier::is_identifier_name(name)
            && !oxc_syntax::keyword::is_reserved_keyword(name);
        let is_built_in = crate::realm::realm()
            .names
            .map
            .get(&crate::text::Text::new(name))
            .is_some_and(|&id| {
                let key = crate::value::Key(id);
                crate::realm::realm().globals.contains_key(&key)
            });
        if !is_identifier || is_built_in || extensions[..at].iter().any(|e| e.name == name) {
            return Err(BadExtension(name.to_owned()));
        }
    }
    Ok(())
}
