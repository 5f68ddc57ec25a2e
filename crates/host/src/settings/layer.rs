//! Reads one settings file onto the layers below it.

use std::path::Path;
use std::time::Duration;

use conversation::RouterMode;
use toml_edit::{Document, Item, TableLike};
use url::Url;

use super::{
    EndpointAuth, EndpointSettings, Layer, ParticipantSettings, Settings, SettingsProblem,
    SidecarMode,
};

const THEMES: [&str; 5] = [
    "system",
    "light",
    "dark",
    "light-high-contrast",
    "dark-high-contrast",
];

/// Applies the text of one settings file to `settings`; returns what was not understood.
pub fn read_layer(
    settings: &mut Settings,
    text: &str,
    path: &Path,
    layer: Layer,
) -> Vec<SettingsProblem> {
    let mut reader = Reader {
        text,
        path,
        problems: Vec::new(),
    };
    match Document::parse(text) {
        Ok(document) => reader.root(settings, document.as_table(), layer),
        Err(error) => {
            let at = error.span().map(|span| span.start);
            let what = error
                .message()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            reader.problem(
                at,
                format!("settings file is not valid TOML: {what}; nothing of it is used until it is corrected"),
            );
            reader
                .problems
                .iter_mut()
                .for_each(|problem| problem.is_fatal = true);
        }
    }
    reader.problems
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    problems: Vec<SettingsProblem>,
}

/// A table with its dotted name, for messages.
struct Section<'a> {
    name: &'a str,
    table: &'a dyn TableLike,
}

impl Reader<'_> {
    fn problem(&mut self, at: Option<usize>, message: String) {
        let line = at.map(|at| 1 + self.text[..at.min(self.text.len())].matches('\n').count());
        self.problems.push(SettingsProblem {
            path: self.path.to_owned(),
            line,
            message,
            is_fatal: false,
        });
    }

    fn root(&mut self, settings: &mut Settings, root: &dyn TableLike, layer: Layer) {
        let known = [
            "sidecar",
            "endpoints",
            "participants",
            "router",
            "prompt",
            "streaming",
            "context",
            "providers",
            "journal",
            "appearance",
        ];
        self.report_unknown(
            &Section {
                name: "",
                table: root,
            },
            &known,
        );
        if layer == Layer::Project {
            for key in ["sidecar", "endpoints", "providers"] {
                if let Some(item) = root.get(key) {
                    let why =
                        format!("{key} is for the person's own settings; ignored in a project");
                    self.problem(item.span().map(|s| s.start), why);
                }
            }
        } else {
            self.sidecar(settings, root);
            self.endpoints(settings, root);
            self.section(
                root,
                "providers",
                &["subscriptions_only"],
                |reader, section| {
                    reader.boolean(
                        section,
                        "subscriptions_only",
                        &mut settings.subscriptions_only,
                    );
                },
            );
        }
        self.participants(settings, root);
        self.section(root, "router", &["default_mode"], |reader, section| {
            let choices = [
                ("manual", RouterMode::Manual),
                ("roundRobin", RouterMode::RoundRobin),
            ];
            reader.choice(
                section,
                "default_mode",
                &choices,
                &mut settings.default_mode,
            );
        });
        self.section(root, "prompt", &["soft_limit_chars"], |reader, section| {
            reader.integer(
                section,
                "soft_limit_chars",
                1_000..=100_000_000,
                &mut settings.soft_limit_chars,
            );
        });
        let keys = ["first_byte_timeout_secs", "stall_timeout_secs"];
        self.section(root, "streaming", &keys, |reader, section| {
            reader.seconds(section, keys[0], &mut settings.first_byte_timeout);
            reader.seconds(section, keys[1], &mut settings.stall_timeout);
        });
        self.section(
            root,
            "context",
            &["auto_include_active_file"],
            |reader, section| {
                reader.boolean(
                    section,
                    "auto_include_active_file",
                    &mut settings.auto_include_active_file,
                );
                if settings.auto_include_active_file {
                    let why =
                        "this version has no editor whose file could be included, so nothing is";
                    reader.bad(section, "auto_include_active_file", why);
                }
            },
        );
        self.section(root, "journal", &["enabled"], |reader, section| {
            reader.boolean(section, "enabled", &mut settings.journal_enabled);
        });
        self.section(
            root,
            "appearance",
            &["theme", "reduced_motion"],
            |reader, section| {
                let choices = THEMES.map(|name| (name, name.to_owned()));
                reader.choice(section, "theme", &choices, &mut settings.theme);
                reader.boolean(section, "reduced_motion", &mut settings.reduced_motion);
            },
        );
    }

    fn sidecar(&mut self, settings: &mut Settings, root: &dyn TableLike) {
        let keys = ["mode", "external_url", "port", "binary_path"];
        self.section(root, "sidecar", &keys, |reader, section| {
            let sidecar = &mut settings.sidecar;
            let modes = [
                ("external", SidecarMode::External),
                ("managed", SidecarMode::Managed),
            ];
            reader.choice(section, "mode", &modes, &mut sidecar.mode);
            if sidecar.mode == SidecarMode::Managed {
                let why = "this version can't run the proxy itself, so it talks to the one at external_url";
                reader.bad(section, "mode", why);
            }
            if let Some(url) = reader.url(section, "external_url") {
                sidecar.external_url = url;
            }
            reader.integer(section, "port", 1..=65_535, &mut sidecar.port);
            if let Some(path) = reader.text(section, "binary_path") {
                sidecar.binary_path = path;
            }
        });
    }

    fn endpoints(&mut self, settings: &mut Settings, root: &dyn TableLike) {
        let mut endpoints: Vec<EndpointSettings> = Vec::new();
        let listed = self.entries(
            root,
            "endpoints",
            &["id", "url", "auth"],
            |reader, section| {
                let id = reader.name(section, endpoints.iter().map(|e| e.id.as_str()))?;
                if matches!(id.as_str(), "sidecar" | "rehearsal") {
                    reader.bad(section, "id", "the name is taken by a built-in endpoint");
                    return None;
                }
                let Some(url) = reader.url(section, "url") else {
                    reader.missing(section, "url", "http://127.0.0.1:8080/v1");
                    return None;
                };
                let mut auth = EndpointAuth::None;
                let choices = [("none", EndpointAuth::None), ("vault", EndpointAuth::Vault)];
                reader.choice(section, "auth", &choices, &mut auth);
                endpoints.push(EndpointSettings { id, url, auth });
                Some(())
            },
        );
        if listed {
            settings.endpoints = endpoints;
        }
    }

    fn participants(&mut self, settings: &mut Settings, root: &dyn TableLike) {
        let keys = [
            "id",
            "display_name",
            "color",
            "endpoint",
            "model",
            "effort",
            "system_prompt",
            "enabled",
        ];
        let mut seats: Vec<ParticipantSettings> = Vec::new();
        let listed = self.entries(root, "participants", &keys, |reader, section| {
            let id = reader.name(section, seats.iter().map(|s| s.id.as_str()))?;
            if matches!(id.to_lowercase().as_str(), "user" | "system" | "all") {
                reader.bad(
                    section,
                    "id",
                    "the name has a meaning of its own at the table",
                );
                return None;
            }
            let Some(model) = reader
                .text(section, "model")
                .filter(|m| !m.trim().is_empty())
            else {
                reader.missing(section, "model", "claude-opus-4-8");
                return None;
            };
            let mut enabled = true;
            reader.boolean(section, "enabled", &mut enabled);
            let filled = |text: Option<String>| text.filter(|t| !t.trim().is_empty());
            let mut display_name = filled(reader.text(section, "display_name"));
            if display_name
                .take_if(|name| name.contains(char::is_control))
                .is_some()
            {
                // It labels what the seat says, line by line.
                reader.bad(
                    section,
                    "display_name",
                    "must be one line of visible characters",
                );
            }
            seats.push(ParticipantSettings {
                display_name: display_name.unwrap_or_else(|| id.clone()),
                color: reader.color(section, "color"),
                endpoint: filled(reader.text(section, "endpoint"))
                    .unwrap_or_else(|| "sidecar".to_owned()),
                effort: filled(reader.text(section, "effort")),
                system_prompt: reader.text(section, "system_prompt").unwrap_or_default(),
                id,
                model,
                enabled,
            });
            Some(())
        });
        if listed {
            settings.participants = seats;
        }
    }

    fn section(
        &mut self,
        root: &dyn TableLike,
        name: &str,
        keys: &[&str],
        read: impl FnOnce(&mut Self, &Section<'_>),
    ) {
        let Some(item) = root.get(name) else { return };
        match item.as_table_like() {
            Some(table) => {
                let section = Section { name, table };
                self.report_unknown(&section, keys);
                read(self, &section);
            }
            None => {
                let at = item.span().map(|span| span.start);
                self.problem(
                    at,
                    format!("{name} must be a table, written as [{name}]; ignored"),
                );
            }
        }
    }

    /// Reads a list of tables; returns whether there is one.
    fn entries(
        &mut self,
        root: &dyn TableLike,
        name: &str,
        keys: &[&str],
        mut read: impl FnMut(&mut Self, &Section<'_>) -> Option<()>,
    ) -> bool {
        let Some(item) = root.get(name) else {
            return false;
        };
        let tables: Vec<&dyn TableLike> = match item {
            Item::ArrayOfTables(list) => list.iter().map(|table| table as &dyn TableLike).collect(),
            _ => match item.as_array() {
                Some(list) => list
                    .iter()
                    .filter_map(|v| v.as_inline_table().map(|t| t as _))
                    .collect(),
                None => {
                    let at = item.span().map(|span| span.start);
                    self.problem(
                        at,
                        format!("{name} must be a list, written as [[{name}]]; ignored"),
                    );
                    return false;
                }
            },
        };
        for table in tables {
            let section = Section { name, table };
            self.report_unknown(&section, keys);
            let _skipped = read(self, &section);
        }
        true
    }

    fn report_unknown(&mut self, section: &Section<'_>, known: &[&str]) {
        for (key, item) in section.table.iter() {
            if known.contains(&key) {
                continue;
            }
            let at = section
                .table
                .key(key)
                .and_then(toml_edit::Key::span)
                .or_else(|| item.span());
            let full = if section.name.is_empty() {
                key.to_owned()
            } else {
                format!("{}.{key}", section.name)
            };
            let hint =
                nearest(key, known).map_or(String::new(), |near| format!("; did you mean {near}?"));
            self.problem(
                at.map(|span| span.start),
                format!("unknown setting {full}{hint}"),
            );
        }
    }

    fn bad(&mut self, section: &Section<'_>, key: &str, why: &str) {
        let at = section
            .table
            .get(key)
            .and_then(Item::span)
            .map(|span| span.start);
        self.problem(at, format!("{}.{key}: {why}; ignored", section.name));
    }

    fn missing(&mut self, section: &Section<'_>, key: &str, example: &str) {
        if section.table.contains_key(key) {
            return;
        }
        let at = section
            .table
            .get("id")
            .and_then(Item::span)
            .map(|span| span.start);
        self.problem(
            at,
            format!(
                "{}: entry without {key} is ignored (for example {key} = \"{example}\")",
                section.name
            ),
        );
    }

    fn text(&mut self, section: &Section<'_>, key: &str) -> Option<String> {
        let item = section.table.get(key)?;
        let text = item.as_str().map(str::to_owned);
        if text.is_none() {
            self.bad(section, key, "must be text in quotes");
        }
        text
    }

    /// The `id` of a list entry: present, well formed, not used by an earlier entry.
    fn name<'s>(
        &mut self,
        section: &Section<'_>,
        used: impl Iterator<Item = &'s str>,
    ) -> Option<String> {
        let Some(id) = self.text(section, "id") else {
            let at = section
                .table
                .iter()
                .next()
                .and_then(|(_, item)| item.span())
                .map(|span| span.start);
            self.problem(at, format!("{}: entry without id is ignored", section.name));
            return None;
        };
        let well_formed = !id.is_empty()
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        if !well_formed {
            self.bad(section, "id", "must be made of letters, digits, _ and -");
            return None;
        }
        if used
            .into_iter()
            .any(|other| other.eq_ignore_ascii_case(&id))
        {
            self.bad(section, "id", "is used twice");
            return None;
        }
        Some(id)
    }

    fn url(&mut self, section: &Section<'_>, key: &str) -> Option<Url> {
        let text = self.text(section, key)?;
        match Url::parse(text.trim()) {
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                let why =
                    "must hold no name or password; use auth = \"vault\" and store the key there";
                self.bad(section, key, why);
                None
            }
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => {
                Some(url)
            }
            _ => {
                self.bad(
                    section,
                    key,
                    "must be an address such as http://127.0.0.1:8317",
                );
                None
            }
        }
    }

    fn color(&mut self, section: &Section<'_>, key: &str) -> Option<String> {
        let text = self.text(section, key)?;
        let hex = text
            .strip_prefix('#')
            .is_some_and(|h| h.len() == 6 && h.bytes().all(|b| b.is_ascii_hexdigit()));
        if !hex && !text.is_empty() {
            self.bad(section, key, "must be a colour such as #D97706");
        }
        hex.then_some(text)
    }

    fn boolean(&mut self, section: &Section<'_>, key: &str, value: &mut bool) {
        let Some(item) = section.table.get(key) else {
            return;
        };
        match item.as_bool() {
            Some(given) => *value = given,
            None => self.bad(
                section,
                key,
                &format!("must be true or false, using {value}"),
            ),
        }
    }

    fn integer<T: TryFrom<i64> + std::fmt::Display + Copy>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        range: std::ops::RangeInclusive<i64>,
        value: &mut T,
    ) {
        let Some(item) = section.table.get(key) else {
            return;
        };
        let given = item
            .as_integer()
            .filter(|n| range.contains(n))
            .and_then(|n| T::try_from(n).ok());
        match given {
            Some(given) => *value = given,
            None => {
                let why = format!(
                    "must be a number from {} to {}, using {value}",
                    range.start(),
                    range.end()
                );
                self.bad(section, key, &why);
            }
        }
    }

    fn seconds(&mut self, section: &Section<'_>, key: &str, value: &mut Duration) {
        let mut secs = value.as_secs();
        self.integer(section, key, 1..=86_400, &mut secs);
        *value = Duration::from_secs(secs);
    }

    fn choice<T: Clone>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        choices: &[(&str, T)],
        value: &mut T,
    ) {
        let Some(item) = section.table.get(key) else {
            return;
        };
        match choices.iter().find(|(name, _)| item.as_str() == Some(name)) {
            Some((_, chosen)) => *value = chosen.clone(),
            None => {
                let names: Vec<String> = choices
                    .iter()
                    .map(|(name, _)| format!("\"{name}\""))
                    .collect();
                self.bad(
                    section,
                    key,
                    &format!("must be one of {}", names.join(", ")),
                );
            }
        }
    }
}

/// The known name that `word` is most likely a slip of: at most a third of its letters differ.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|name| (edit_distance(word, name), *name))
        .filter(|(distance, name)| *distance <= name.len() / 3)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein distance in bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
