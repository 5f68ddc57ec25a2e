//! The local subscription proxy (CLIProxyAPI) as an endpoint that has no place for a key.
