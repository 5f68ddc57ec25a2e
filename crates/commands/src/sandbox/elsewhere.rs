//! Systems for which there is no sandbox yet.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Child;

use super::{Enforcement, Helper, SandboxPolicy};

/// Nothing needs to be held.
pub(crate) type Tether = ();

/// Refuses, in words for the person.
pub(crate) fn launch(
    _: &Helper,
    _: &SandboxPolicy,
    _: &str,
    _: &Path,
    _: BTreeMap<OsString, OsString>,
) -> io::Result<(Child, Enforcement, Tether)> {
    let why = "there is no sandbox on this system; commands run after approval only";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}
