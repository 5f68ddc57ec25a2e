//! Where a seat's requests go.

use url::{Host, Url};

use crate::profile::Profile;
use crate::secret::SecretString;

/// How an endpoint wants to be addressed as its user.
#[derive(Debug, Clone)]
pub enum Auth {
    /// Requests carry no credentials at all.
    None,
    /// `Authorization: Bearer <key>`.
    Key(SecretString),
}

/// Which kind of endpoint it is: what may be sent there, and what the person is told about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// A running CLIProxyAPI over the person's subscriptions. Never holds a key.
    Sidecar,
    /// A server the person added, with a key from the vault or without one.
    Keyed,
    /// The built-in scripted model.
    Rehearsal,
}

impl EndpointKind {
    /// The name used in settings and in a message's route.
    pub fn as_str(self) -> &'static str {
        match self {
            EndpointKind::Sidecar => "sidecar",
            EndpointKind::Keyed => "keyed",
            EndpointKind::Rehearsal => "rehearsal",
        }
    }
}

/// An OpenAI-compatible server.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The id that settings and the vault know it by.
    pub id: String,
    /// Its kind.
    pub kind: EndpointKind,
    /// The address that `/models` and `/chat/completions` hang under, usually ending in `/v1`.
    pub base_url: Url,
    /// Its credentials.
    pub auth: Auth,
    /// Its habits.
    pub profile: Profile,
}

impl Endpoint {
    /// The host as errors name it, with the port where it isn't the scheme's own.
    pub fn host(&self) -> String {
        host_of(&self.base_url)
    }

    /// The address of an API path, such as `chat/completions`.
    pub fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let full = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&full);
        url
    }

    /// Everything in this endpoint that must not appear in any text: the key, and what a user hid in the address.
    pub fn secrets(&self) -> Vec<SecretString> {
        let key = match &self.auth {
            Auth::Key(key) => Some(key.clone()),
            Auth::None => None,
        };
        let password = self.base_url.password();
        let query = self.base_url.query_pairs();
        let hidden = query
            .filter(|(name, _)| is_credential(name))
            .map(|(_, value)| SecretString::new(value.into_owned()));
        key.into_iter()
            .chain(password.map(SecretString::new))
            .chain(password.map(|password| SecretString::new(percent_decoded(password))))
            .chain(hidden)
            .filter(|secret| !secret.is_empty())
            .collect()
    }

    /// Whether the server runs on this machine, so that no proxy stands between.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.base_url)
    }
}

/// Whether a query parameter of this name carries a credential rather than a version number.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "sig", "auth", "pass"]
        .iter()
        .any(|word| name.contains(word))
}

fn percent_decoded(text: &str) -> String {
    // A plus means itself outside of forms.
    let form = format!("={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(form.as_bytes())
        .map(|(_, value)| value)
        .collect()
}

/// The host of an address, with its port where it isn't the scheme's own.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or("unknown host");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Whether an address points at this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        let base_url = Url::parse(url).expect("valid");
        Endpoint {
            id: "x".to_owned(),
            kind: EndpointKind::Keyed,
            profile: Profile::for_url(&base_url),
            base_url,
            auth: Auth::Key(SecretString::new("sk-planted")),
        }
    }

    #[test]
    fn paths_hang_under_the_base_with_or_without_its_slash() {
        for base in [
            "https://a.example/v1",
            "https://a.example/v1/",
            "https://a.example/v1?api-version=2",
        ] {
            assert_eq!(endpoint(base).url("models").path(), "/v1/models");
        }
        assert_eq!(
            endpoint("https://a.example/v1?k=2").url("models").query(),
            Some("k=2")
        );
        assert_eq!(
            endpoint("http://a.example").url("models").as_str(),
            "http://a.example/models"
        );
    }

    #[test]
    fn the_key_the_password_and_the_query_are_secrets() {
        let secrets = endpoint("https://u:p%40ss+x@a.example/v1?key=qqq&api-version=2").secrets();
        let exposed: Vec<&str> = secrets.iter().map(SecretString::expose).collect();
        assert_eq!(exposed, ["sk-planted", "p%40ss+x", "p@ss+x", "qqq"]);
        assert!(!format!("{:?}", endpoint("https://a.example").auth).contains("planted"));
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        for (url, here) in [
            ("http://127.0.0.1:1/v1", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:1/", true),
            ("http://localhost/", true),
            ("http://localhost.example/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(endpoint(url).is_loopback(), here, "{url}");
        }
    }
}
