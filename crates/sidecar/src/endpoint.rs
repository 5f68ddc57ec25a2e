//! The proxy's address.

use models::{Auth, Endpoint, EndpointKind, Profile};
use url::Url;

/// Where CLIProxyAPI listens unless it is told otherwise.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8317";

/// Why an address can't be the sidecar's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SidecarError {
    /// It is no address of a web server.
    #[error("the sidecar's address must look like {DEFAULT_URL}: {url}")]
    NoAddress {
        /// What was given.
        url: String,
    },
    /// It carries a user, a password or a query, which is where keys hide.
    #[error(
        "the sidecar's address must hold no credentials: its logins are its own; use {DEFAULT_URL} or the like"
    )]
    HoldsCredentials,
}

/// A running CLIProxyAPI. There is no field for a key, and none fits into the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidecarEndpoint {
    base_url: Url,
}

impl SidecarEndpoint {
    /// The sidecar at an address, with or without its `/v1`.
    ///
    /// # Errors
    /// [`SidecarError`] for an address that is none, or that holds credentials.
    pub fn new(url: &str) -> Result<Self, SidecarError> {
        let no_address = || SidecarError::NoAddress {
            url: url.to_owned(),
        };
        let mut base_url = Url::parse(url.trim()).map_err(|_| no_address())?;
        // Checked first, so that no error quotes a password.
        let credentials = !base_url.username().is_empty() || base_url.password().is_some();
        if credentials || base_url.query().is_some() || base_url.fragment().is_some() {
            return Err(SidecarError::HoldsCredentials);
        }
        if !matches!(base_url.scheme(), "http" | "https") || base_url.host().is_none() {
            return Err(no_address());
        }
        let path = base_url
            .path()
            .trim_end_matches('/')
            .trim_end_matches("/v1")
            .to_owned();
        base_url.set_path(&format!("{path}/v1"));
        Ok(Self { base_url })
    }

    /// The address that requests go under, ending in `/v1`.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }
}

impl From<&SidecarEndpoint> for Endpoint {
    /// The endpoint `sidecar`, without credentials. The proxy translates to each provider's form by itself, so it gets
    /// messages as they are; usage is read where it comes and never asked for.
    fn from(sidecar: &SidecarEndpoint) -> Endpoint {
        Endpoint {
            id: EndpointKind::Sidecar.as_str().to_owned(),
            kind: EndpointKind::Sidecar,
            base_url: sidecar.base_url.clone(),
            auth: Auth::None,
            profile: Profile::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_with_and_without_its_version() {
        for url in [
            "http://127.0.0.1:8317",
            "http://127.0.0.1:8317/",
            " http://127.0.0.1:8317/v1/ ",
        ] {
            let endpoint = Endpoint::from(&SidecarEndpoint::new(url).expect("an address"));
            assert_eq!(endpoint.base_url.as_str(), "http://127.0.0.1:8317/v1");
            assert_eq!(endpoint.kind, EndpointKind::Sidecar);
            assert!(matches!(endpoint.auth, Auth::None));
        }
        let behind = SidecarEndpoint::new("https://box.example/proxy").expect("an address");
        assert_eq!(behind.base_url().as_str(), "https://box.example/proxy/v1");
    }

    #[test]
    fn no_key_hides_in_the_address_and_no_error_quotes_one() {
        for url in [
            "http://:sk-planted@127.0.0.1:8317",
            "http://sk-planted@127.0.0.1:8317",
            "http://127.0.0.1:8317?key=sk-planted",
            "http://127.0.0.1:8317/v1?auth_token=sk-planted",
            "ftp://u:sk-planted@127.0.0.1",
        ] {
            let error = SidecarEndpoint::new(url).expect_err("credentials");
            assert_eq!(error, SidecarError::HoldsCredentials, "{url}");
            assert!(!format!("{error} {error:?}").contains("planted"));
        }
    }

    #[test]
    fn what_is_no_address_is_told_with_an_example() {
        for url in [
            "",
            "8317",
            "127.0.0.1:8317",
            "ftp://127.0.0.1",
            "file:///etc/passwd",
        ] {
            let error = SidecarEndpoint::new(url)
                .expect_err("no address")
                .to_string();
            assert!(
                error.contains(DEFAULT_URL) && error.ends_with(url),
                "{error}"
            );
        }
    }
}
