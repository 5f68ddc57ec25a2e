//! Changes a settings file in place: comments, order and unknown keys stay.

use thiserror::Error;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::{EndpointAuth, EndpointSettings, ParticipantSettings};

/// One change that the person made in the window or on the command line.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsEdit {
    /// Points to another proxy.
    SidecarUrl(String),
    /// Adds an endpoint or replaces the one with the same id.
    PutEndpoint(EndpointSettings),
    /// Removes an endpoint.
    RemoveEndpoint(String),
    /// Adds a seat or replaces the one with the same id.
    PutParticipant(ParticipantSettings),
    /// Removes a seat.
    RemoveParticipant(String),
    /// `manual` or `roundRobin`.
    RouterMode(String),
    /// `system`, `light`, `dark`, `light-high-contrast`, `dark-high-contrast`.
    Theme(String),
    /// Budget of a prompt in characters.
    SoftLimitChars(usize),
    /// Longest wait for the first byte, in seconds.
    FirstByteTimeoutSecs(u64),
    /// Longest silence in a reply, in seconds.
    StallTimeoutSecs(u64),
    /// Removes keyed endpoints altogether.
    SubscriptionsOnly(bool),
    /// Whether the run journal is written.
    JournalEnabled(bool),
    /// Turns all motion off.
    ReducedMotion(bool),
}

/// Why a settings file could not be edited. It is untouched.
#[derive(Debug, Error)]
pub enum SettingsEditError {
    /// Editing a file with syntax errors could lose what the person wrote.
    #[error("settings file has an error, correct it first: {0}")]
    NotToml(String),
    /// A key holds something else than a table.
    #[error("{0} in the settings file is not a table, correct it first")]
    NotATable(&'static str),
}

/// The text of the settings file after the change.
///
/// # Errors
/// When the text is not TOML, or a table's name is used for something else.
pub fn apply_edit(text: &str, edit: &SettingsEdit) -> Result<String, SettingsEditError> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|e: toml_edit::TomlError| SettingsEditError::NotToml(e.to_string()))?;
    match edit {
        SettingsEdit::SidecarUrl(url) => set(&mut document, "sidecar", "external_url", value(url))?,
        SettingsEdit::PutEndpoint(endpoint) => {
            fill_endpoint(entry(&mut document, "endpoints", &endpoint.id)?, endpoint);
        }
        SettingsEdit::RemoveEndpoint(id) => remove(&mut document, "endpoints", id)?,
        SettingsEdit::PutParticipant(seat) => {
            fill_participant(entry(&mut document, "participants", &seat.id)?, seat);
        }
        SettingsEdit::RemoveParticipant(id) => remove(&mut document, "participants", id)?,
        SettingsEdit::RouterMode(mode) => {
            set(&mut document, "router", "default_mode", value(mode))?;
        }
        SettingsEdit::Theme(theme) => set(&mut document, "appearance", "theme", value(theme))?,
        SettingsEdit::SoftLimitChars(chars) => {
            set(
                &mut document,
                "prompt",
                "soft_limit_chars",
                value(clamped(*chars as u64)),
            )?;
        }
        SettingsEdit::FirstByteTimeoutSecs(secs) => {
            set(
                &mut document,
                "streaming",
                "first_byte_timeout_secs",
                value(clamped(*secs)),
            )?;
        }
        SettingsEdit::StallTimeoutSecs(secs) => {
            set(
                &mut document,
                "streaming",
                "stall_timeout_secs",
                value(clamped(*secs)),
            )?;
        }
        SettingsEdit::SubscriptionsOnly(on) => {
            set(&mut document, "providers", "subscriptions_only", value(*on))?;
        }
        SettingsEdit::JournalEnabled(on) => set(&mut document, "journal", "enabled", value(*on))?,
        SettingsEdit::ReducedMotion(on) => {
            set(&mut document, "appearance", "reduced_motion", value(*on))?;
        }
    }
    Ok(document.to_string())
}

fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn set(
    document: &mut DocumentMut,
    section: &'static str,
    key: &str,
    mut new: Item,
) -> Result<(), SettingsEditError> {
    let table = document
        .entry(section)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .ok_or(SettingsEditError::NotATable(section))?;
    put(table, key, &mut new);
    Ok(())
}

/// Replaces a value and keeps the comment that stands behind it.
fn put(table: &mut dyn toml_edit::TableLike, key: &str, new: &mut Item) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            if let Item::Value(new) = new {
                *new.decor_mut() = old.decor().clone();
                *old = new.clone();
            }
        }
        _ => {
            table.insert(key, new.clone());
        }
    }
}

/// The list, with a list of inline tables turned into a list of tables, which can be edited with comments.
fn list<'a>(
    document: &'a mut DocumentMut,
    name: &'static str,
) -> Result<&'a mut ArrayOfTables, SettingsEditError> {
    let item = document
        .entry(name)
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if item.is_array() {
        let inline = std::mem::take(item);
        *item = match inline.into_array_of_tables() {
            Ok(tables) => Item::ArrayOfTables(tables),
            Err(other) => other,
        };
    }
    item.as_array_of_tables_mut()
        .ok_or(SettingsEditError::NotATable(name))
}

fn entry<'a>(
    document: &'a mut DocumentMut,
    name: &'static str,
    id: &str,
) -> Result<&'a mut Table, SettingsEditError> {
    let tables = list(document, name)?;
    let known = tables.iter().position(|table| has_id(table, id));
    let place = known.unwrap_or(tables.len());
    if known.is_none() {
        tables.push(Table::new());
    }
    tables
        .get_mut(place)
        .ok_or(SettingsEditError::NotATable(name))
}

fn remove(
    document: &mut DocumentMut,
    name: &'static str,
    id: &str,
) -> Result<(), SettingsEditError> {
    let tables = list(document, name)?;
    tables.retain(|table| !has_id(table, id));
    if tables.is_empty() {
        document.remove(name);
    }
    Ok(())
}

fn has_id(table: &Table, id: &str) -> bool {
    table.get("id").and_then(Item::as_str) == Some(id)
}

fn fill_endpoint(table: &mut Table, endpoint: &EndpointSettings) {
    put(table, "id", &mut value(&endpoint.id));
    put(table, "url", &mut value(endpoint.url.as_str()));
    let auth = match endpoint.auth {
        EndpointAuth::None => "none",
        EndpointAuth::Vault => "vault",
    };
    put(table, "auth", &mut value(auth));
}

fn fill_participant(table: &mut Table, seat: &ParticipantSettings) {
    put(table, "id", &mut value(&seat.id));
    put(table, "display_name", &mut value(&seat.display_name));
    match &seat.color {
        Some(color) => put(table, "color", &mut value(color)),
        None => drop(table.remove("color")),
    }
    put(table, "endpoint", &mut value(&seat.endpoint));
    put(table, "model", &mut value(&seat.model));
    match &seat.effort {
        Some(effort) => put(table, "effort", &mut value(effort)),
        None => drop(table.remove("effort")),
    }
    if seat.system_prompt.is_empty() {
        table.remove("system_prompt");
    } else {
        put(table, "system_prompt", &mut value(&seat.system_prompt));
    }
    put(table, "enabled", &mut value(seat.enabled));
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn an_edit_keeps_comments_order_and_unknown_keys() {
        let text =
            "# mine\n[sidecar] # proxy\nexternal_url = \"http://a\" # old\nodd = 1\n\n[router]\n";
        let edited = apply_edit(text, &SettingsEdit::SidecarUrl("http://b".into())).unwrap();
        assert_eq!(edited, text.replace("http://a", "http://b"));
    }

    #[test]
    fn an_endpoint_is_added_replaced_and_removed() {
        let endpoint = |url: &str| {
            SettingsEdit::PutEndpoint(EndpointSettings {
                id: "local".into(),
                url: Url::parse(url).unwrap(),
                auth: EndpointAuth::None,
            })
        };
        let one = apply_edit("", &endpoint("http://a/v1")).unwrap();
        assert_eq!(
            one,
            "[[endpoints]]\nid = \"local\"\nurl = \"http://a/v1\"\nauth = \"none\"\n"
        );
        let two = apply_edit(&one, &endpoint("http://b/v1")).unwrap();
        assert_eq!(two, one.replace("http://a", "http://b"));
        assert_eq!(
            apply_edit(&two, &SettingsEdit::RemoveEndpoint("local".into())).unwrap(),
            ""
        );
    }

    #[test]
    fn a_list_of_inline_tables_is_edited_too() {
        let text = "endpoints = [{ id = \"x\", url = \"http://a\" }]\n";
        let edited = apply_edit(text, &SettingsEdit::RemoveEndpoint("x".into())).unwrap();
        assert!(!edited.contains("http://a"), "{edited}");
    }

    #[test]
    fn a_file_with_errors_is_not_touched() {
        assert!(apply_edit("[x", &SettingsEdit::Theme("dark".into())).is_err());
        assert!(apply_edit("router = 1", &SettingsEdit::RouterMode("manual".into())).is_err());
    }
}
