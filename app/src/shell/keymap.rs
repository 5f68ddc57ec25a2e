//! Which keys start which command: the defaults, and the person's `keymap.toml` on top.
//!
//! ```toml
//! [[bindings]]
//! keys = "Ctrl+K Ctrl+T"      # a chord: one after the other
//! command = "theme.dark"
//!
//! [[bindings]]
//! keys = "F2"
//! command = "none"            # takes a default away
//! ```

use std::path::{Path, PathBuf};

use egui::{Event, Key, Modifiers};
use serde::Deserialize;

use super::command::{COMMANDS, Command};

/// One press: a key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Press {
    /// Ctrl, or Command on macOS.
    pub command: bool,
    /// Shift.
    pub shift: bool,
    /// Alt, or Option on macOS.
    pub alt: bool,
    /// The key.
    pub key: Key,
}

impl Press {
    /// Reads `Ctrl+Shift+P`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut press = Self {
            command: false,
            shift: false,
            alt: false,
            key: Key::Escape,
        };
        let (modifiers, key) = match text.strip_suffix("++") {
            Some(modifiers) => (modifiers, "+"),
            None => text.rsplit_once('+').unwrap_or(("", text)),
        };
        for modifier in modifiers.split('+').filter(|m| !m.is_empty()) {
            match modifier.trim().to_lowercase().as_str() {
                "ctrl" | "cmd" | "command" => press.command = true,
                "shift" => press.shift = true,
                "alt" | "option" => press.alt = true,
                _ => return None,
            }
        }
        press.key = Key::from_name(key.trim())?;
        Some(press)
    }

    fn from_event(key: Key, modifiers: Modifiers) -> Self {
        Self {
            command: modifiers.command,
            shift: modifiers.shift,
            alt: modifiers.alt,
            key,
        }
    }

    /// As shown to a person on this system.
    pub fn label(self) -> String {
        let names = if cfg!(target_os = "macos") {
            ["⌘", "⇧", "⌥"]
        } else {
            ["Ctrl+", "Shift+", "Alt+"]
        };
        let flags = [self.command, self.shift, self.alt];
        let mut label: String = names
            .iter()
            .zip(flags)
            .filter(|(_, on)| *on)
            .map(|(n, _)| *n)
            .collect();
        label.push_str(self.key.symbol_or_name());
        label
    }
}

/// One or two presses that start a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The presses, one after the other.
    pub presses: Vec<Press>,
    /// What they start.
    pub command: Command,
    /// Whether it comes from the person's file.
    pub is_own: bool,
}

/// Keys and their commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
    pending: Option<Press>,
}

/// What a key press came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// Nothing of the keymap.
    None,
    /// The first press of a chord.
    Pending,
    /// A command.
    Command(Command),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeymapFile {
    #[serde(default)]
    bindings: Vec<BindingEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BindingEntry {
    keys: toml::Spanned<String>,
    command: toml::Spanned<String>,
}

impl Default for Keymap {
    fn default() -> Self {
        let bindings = COMMANDS
            .iter()
            .flat_map(|info| {
                info.default_keys
                    .iter()
                    .map(move |keys| (info.command, *keys))
            })
            .filter_map(|(command, keys)| {
                Some(Binding {
                    presses: parse_presses(keys)?,
                    command,
                    is_own: false,
                })
            })
            .collect();
        Self {
            bindings,
            pending: None,
        }
    }
}

impl Keymap {
    /// Where the person's file lies.
    pub fn path(home: &Path) -> PathBuf {
        home.join("keymap.toml")
    }

    /// The defaults with the person's file on top, and what in it was not understood.
    pub fn load(home: &Path) -> (Self, Vec<String>) {
        let path = Self::path(home);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                (Self::default(), Vec::new())
            }
            Err(error) => (
                Self::default(),
                vec![format!(
                    "keymap could not be read: {error} ({})",
                    path.display()
                )],
            ),
        }
    }

    /// Puts the bindings of `text` on top of the defaults.
    pub fn parse(text: &str, path: &Path) -> (Self, Vec<String>) {
        let mut keymap = Self::default();
        let place = |at: usize| {
            format!(
                "{}:{}",
                path.display(),
                1 + text[..at].matches('\n').count()
            )
        };
        let file: KeymapFile = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                return (
                    keymap,
                    vec![format!(
                        "keymap: {}; using the defaults ({})",
                        error.message(),
                        place(at)
                    )],
                );
            }
        };
        let mut problems = Vec::new();
        for entry in file.bindings {
            let Some(presses) = parse_presses(entry.keys.get_ref()) else {
                let keys = entry.keys.get_ref();
                problems.push(format!(
                    "keymap: no such keys: {keys} ({})",
                    place(entry.keys.span().start)
                ));
                continue;
            };
            let name = entry.command.get_ref();
            let command = Command::from_id(name);
            if command.is_none() && name != "none" {
                problems.push(format!(
                    "keymap: no such command: {name} ({})",
                    place(entry.command.span().start)
                ));
                continue;
            }
            if let Some(taken) = keymap
                .bindings
                .iter()
                .find(|b| b.is_own && b.presses == presses)
            {
                let title = taken.command.info().title;
                problems.push(format!(
                    "keymap: {} is bound twice, first to \"{title}\" ({})",
                    entry.keys.get_ref(),
                    place(entry.keys.span().start)
                ));
            }
            keymap.bindings.retain(|b| b.presses != presses);
            keymap.bindings.extend(command.map(|command| Binding {
                presses,
                command,
                is_own: true,
            }));
        }
        (keymap, problems)
    }

    /// All bindings.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// The keys of a command as shown to a person; the person's own first.
    pub fn label(&self, command: Command) -> Option<String> {
        let mut of_command = self.bindings.iter().filter(|b| b.command == command);
        let first = of_command
            .clone()
            .find(|b| b.is_own)
            .or_else(|| of_command.next())?;
        Some(
            first
                .presses
                .iter()
                .map(|p| p.label())
                .collect::<Vec<_>>()
                .join(" "),
        )
    }

    /// Takes the keymap's presses out of the frame's input and returns what they start.
    pub fn consume(&mut self, input: &mut egui::InputState) -> Vec<Command> {
        let mut started = Vec::new();
        input.events.retain(|event| {
            let Event::Key {
                key,
                modifiers,
                pressed: true,
                repeat,
                ..
            } = event
            else {
                return true;
            };
            match self.press(Press::from_event(*key, *modifiers)) {
                Match::None => true,
                Match::Pending => false,
                Match::Command(command) => {
                    if !repeat
                        || matches!(
                            command,
                            Command::ZoomIn | Command::ZoomOut | Command::FindNext
                        )
                    {
                        started.push(command);
                    }
                    false
                }
            }
        });
        started
    }

    /// What a press comes to, given the presses before it.
    pub fn press(&mut self, press: Press) -> Match {
        let sequence: Vec<Press> = self.pending.take().into_iter().chain([press]).collect();
        if let Some(binding) = self
            .bindings
            .iter()
            .rev()
            .find(|b| same(&b.presses, &sequence))
        {
            return Match::Command(binding.command);
        }
        let begins_chord = |b: &Binding| b.presses.len() == 2 && same(&b.presses[..1], &[press]);
        if sequence.len() == 1 && self.bindings.iter().any(begins_chord) {
            self.pending = Some(press);
            return Match::Pending;
        }
        Match::None
    }
}

fn parse_presses(keys: &str) -> Option<Vec<Press>> {
    let presses: Vec<Press> = keys
        .split_whitespace()
        .map(Press::parse)
        .collect::<Option<_>>()?;
    (1..=2).contains(&presses.len()).then_some(presses)
}

fn same(bound: &[Press], pressed: &[Press]) -> bool {
    bound.len() == pressed.len() && bound.iter().zip(pressed).all(|(b, p)| matches(*b, *p))
}

/// Signs such as `+` need Shift on some keyboards and not on others, so Shift doesn't count for them.
fn matches(bound: Press, pressed: Press) -> bool {
    let is_sign = matches!(
        bound.key,
        Key::Plus | Key::Equals | Key::Minus | Key::Comma | Key::Num0
    );
    let shift = bound.shift == pressed.shift || (is_sign && !bound.shift);
    shift && (bound.command, bound.alt, bound.key) == (pressed.command, pressed.alt, pressed.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(text: &str) -> Press {
        Press::parse(text).unwrap()
    }

    #[test]
    fn every_default_key_is_understood_and_bound_once() {
        let keymap = Keymap::default();
        let listed: usize = COMMANDS.iter().map(|c| c.default_keys.len()).sum();
        assert_eq!(keymap.bindings().len(), listed);
        for (i, binding) in keymap.bindings().iter().enumerate() {
            for other in &keymap.bindings()[i + 1..] {
                assert_ne!(
                    binding.presses, other.presses,
                    "{:?} {:?}",
                    binding.command, other.command
                );
            }
        }
    }

    #[test]
    fn shift_tells_two_bindings_apart() {
        let mut keymap = Keymap::default();
        assert_eq!(
            keymap.press(press("Ctrl+P")),
            Match::Command(Command::SwitchThread)
        );
        assert_eq!(
            keymap.press(press("Ctrl+Shift+P")),
            Match::Command(Command::OpenPalette)
        );
        assert_eq!(
            keymap.press(press("Ctrl++")),
            Match::Command(Command::ZoomIn)
        );
        assert_eq!(keymap.press(press("P")), Match::None);
    }

    #[test]
    fn the_persons_file_rebinds_unbinds_and_makes_chords() {
        let text = "[[bindings]]\nkeys = \"Ctrl+K Ctrl+T\"\ncommand = \"theme.dark\"\n[[bindings]]\nkeys = \"F2\"\ncommand = \"none\"\n";
        let (mut keymap, problems) = Keymap::parse(text, Path::new("keymap.toml"));
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(keymap.press(press("Ctrl+K")), Match::Pending);
        assert_eq!(
            keymap.press(press("Ctrl+T")),
            Match::Command(Command::ThemeDark)
        );
        assert_eq!(keymap.press(press("Ctrl+K")), Match::Pending);
        assert_eq!(
            keymap.press(press("F3")),
            Match::None,
            "a chord that goes nowhere is dropped"
        );
        assert_eq!(keymap.press(press("F2")), Match::None);
        assert_eq!(keymap.label(Command::RenameThread), None);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let text = "[[bindings]]\nkeys = \"Hyper+Q\"\ncommand = \"app.quit\"\n[[bindings]]\nkeys = \"F9\"\ncommand = \"app.fly\"\n[[bindings]]\nkeys = \"F9\"\ncommand = \"app.quit\"\n[[bindings]]\nkeys = \"F9\"\ncommand = \"thread.new\"\n";
        let (_, problems) = Keymap::parse(text, Path::new("k.toml"));
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("k.toml:2") && problems[1].contains("k.toml:6"));
        assert!(problems[2].contains("bound twice") && problems[2].contains("k.toml:11"));
        assert!(Keymap::parse("bindings = 3", Path::new("k.toml")).1[0].contains("k.toml:1"));
    }
}
