//! Shell commands.
