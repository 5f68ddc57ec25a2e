//! The local subscription proxy (CLIProxyAPI) as an endpoint that has no place for a key.
//!
//! The proxy holds the logins; Folkmoot knows its address and nothing else. In external mode, the only one so far, a
//! person runs the proxy: [`SidecarEndpoint`] is its address, [`check`] says how it is, [`HealthTracker`] when to ask.

mod endpoint;
mod health;

pub use endpoint::{DEFAULT_URL, SidecarEndpoint, SidecarError};
pub use health::{Health, HealthState, HealthTracker, assess, check};
