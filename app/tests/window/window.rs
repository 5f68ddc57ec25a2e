//! A window driven as a person drives it: by keys, by clicks on what has a name, and by looking at the
//! accessibility tree.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use eframe::App;
use egui::accesskit::{Role, Toggled};
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, Node};
use folkmoot::shell::{Shell, StartOptions};
use folkmoot::theme::{ThemeName, fonts};
use host::{EndpointState, Host, HostOptions};
use models::VaultKind;

use crate::table::PATIENCE;

/// Ctrl as winit reports it on Linux and Windows.
pub(crate) const CTRL: Modifiers = Modifiers {
    ctrl: true,
    command: true,
    ..Modifiers::NONE
};
/// Ctrl and Shift.
pub(crate) const CTRL_SHIFT: Modifiers = Modifiers {
    shift: true,
    ..CTRL
};
/// What the composer's field is called.
pub(crate) const COMPOSER: &str = "Message to the table";

/// A window on a host of its own.
pub(crate) struct Window {
    pub(crate) harness: Harness<'static, Shell>,
    /// Gets a word whenever a frame is asked for.
    pub(crate) woken: Receiver<Duration>,
}

/// A message as a screen reader has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Speaker, time, state.
    pub(crate) name: String,
    /// The source text.
    pub(crate) text: String,
}

impl Window {
    /// Opens a window on a data folder and waits until the endpoints have answered.
    pub(crate) fn open(home: &Path) -> Self {
        Self::open_as(home, ThemeName::Dark, egui::vec2(1280.0, 800.0))
    }

    /// As [`Self::open`], with a theme and a size.
    pub(crate) fn open_as(home: &Path, theme: ThemeName, size: egui::Vec2) -> Self {
        Self::open_on(home, None, theme, size)
    }

    /// As [`Self::open_as`], on a folder.
    pub(crate) fn open_on(
        home: &Path,
        folder: Option<&Path>,
        theme: ThemeName,
        size: egui::Vec2,
    ) -> Self {
        let host = Host::start(HostOptions {
            vault: VaultKind::File,
            folder: folder.map(Path::to_owned),
            ..HostOptions::new(home.to_owned())
        })
        .unwrap();
        let options = StartOptions {
            fonts: fonts::definitions_for_tests(),
            theme: Some(theme),
            ..StartOptions::new(home.to_owned())
        };
        let system = match theme {
            ThemeName::Light | ThemeName::LightHighContrast => egui::Theme::Light,
            ThemeName::Dark | ThemeName::DarkHighContrast => egui::Theme::Dark,
        };
        let harness = Harness::builder()
            .with_size(size)
            .with_theme(system)
            .with_max_steps(20)
            .with_render_cursor(false)
            .build_eframe(|cc| {
                let options = StartOptions {
                    target_format: cc.wgpu_render_state.as_ref().map(|s| s.target_format),
                    ..options
                };
                Shell::new(&cc.egui_ctx, host, options)
            });
        let (wake, woken) = channel();
        harness.ctx.set_request_repaint_callback(move |info| {
            // The window may be gone by now.
            let _gone = wake.send(info.delay);
        });
        let mut window = Self { harness, woken };
        window.until("the endpoints' answers", |w| {
            let model = w.shell().model();
            let known = |e: &host::EndpointStatus| e.state != EndpointState::Checking;
            model.is_ready && !model.endpoints.is_empty() && model.endpoints.iter().all(known)
        });
        window
    }

    /// Closes it as a person does: everything is saved, nothing runs on.
    pub(crate) fn close(mut self) {
        self.harness.state_mut().on_exit();
    }

    /// The window's own state.
    pub(crate) fn shell(&self) -> &Shell {
        self.harness.state()
    }

    /// Draws frames until something holds, then checks that every control has a name.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.harness.step();
            if holds(self) {
                break;
            }
            assert!(
                Instant::now() < deadline,
                "{what} did not come; the window has\n{}",
                self.outline()
            );
            // The host wakes the window; what waits for the clock alone is looked at every so often.
            let _timed_out = self.woken.recv_timeout(Duration::from_millis(20));
        }
        self.harness.run_ok();
        self.harness.check_accessibility();
    }

    /// Draws frames until nothing asks for more at once.
    #[track_caller]
    pub(crate) fn settle(&mut self) {
        self.harness.run();
    }

    /// Waits until a text is seen somewhere.
    #[track_caller]
    pub(crate) fn until_seen(&mut self, text: &str) {
        self.until(&format!("{text:?}"), |w| w.sees(text));
    }

    /// Waits until a text is seen nowhere.
    #[track_caller]
    pub(crate) fn until_gone(&mut self, text: &str) {
        self.until(&format!("the end of {text:?}"), |w| !w.sees(text));
    }

    /// Whether a name or a value in the tree contains a text.
    pub(crate) fn sees(&self, text: &str) -> bool {
        self.harness.root().children_recursive().any(|node| {
            let node = node.accesskit_node();
            let texts = [node.label(), node.value(), node.description()];
            texts
                .into_iter()
                .flatten()
                .any(|found| found.contains(text))
        })
    }

    /// The one control of a role with a name.
    #[track_caller]
    pub(crate) fn control<'a>(&'a self, role: Role, name: &'a str) -> Node<'a> {
        let mut found = self.harness.query_all_by_role_and_label(role, name);
        match (found.next(), found.next()) {
            (Some(node), None) => node,
            (None, _) => panic!(
                "no {role:?} called {name:?}; the window has\n{}",
                self.outline()
            ),
            _ => panic!(
                "several {role:?} called {name:?}; the window has\n{}",
                self.outline()
            ),
        }
    }

    /// Everything that has a name or a value, a line each.
    pub(crate) fn outline(&self) -> String {
        let mut outline = String::new();
        for node in self.harness.root().children_recursive() {
            let node = node.accesskit_node();
            let (label, value) = (node.label(), node.value());
            if label.is_some() || value.is_some() {
                let focus = if node.is_focused() { "* " } else { "  " };
                let value = value.map(|v| v.chars().take(200).collect::<String>());
                outline += &format!("{focus}{:?} {label:?} {value:?}\n", node.role());
            }
        }
        outline
    }

    /// Whether there is a control of a role with a name.
    pub(crate) fn has(&self, role: Role, name: &str) -> bool {
        self.harness
            .query_all_by_role_and_label(role, name)
            .next()
            .is_some()
    }

    /// Clicks the one button with a name.
    #[track_caller]
    pub(crate) fn click(&mut self, name: &str) {
        self.control(Role::Button, name).click();
        self.harness.step();
        self.harness.remove_cursor();
        self.settle();
    }

    /// Clicks the one button with a name even where it is scrolled out of view.
    #[track_caller]
    pub(crate) fn click_wherever(&mut self, name: &str) {
        self.control(Role::Button, name).scroll_to_me();
        self.settle();
        self.click(name);
    }

    /// Clicks a place while modifiers are held.
    pub(crate) fn click_with(&mut self, modifiers: Modifiers, at: egui::Pos2) {
        self.harness.hover_at(at);
        self.harness.step();
        for pressed in [true, false] {
            self.harness.event_modifiers(
                egui::Event::PointerButton {
                    pos: at,
                    button: egui::PointerButton::Primary,
                    pressed,
                    modifiers,
                },
                modifiers,
            );
        }
        self.harness.step();
        self.harness.remove_cursor();
        self.settle();
    }

    /// Clicks a place.
    pub(crate) fn click_at(&mut self, at: egui::Pos2) {
        self.harness.hover_at(at);
        self.harness.drag_at(at);
        self.harness.drop_at(at);
        self.harness.step();
    }

    /// The middle of each button with a name, from the top.
    pub(crate) fn buttons(&self, name: &str) -> Vec<egui::Pos2> {
        let found = self.harness.query_all_by_role_and_label(Role::Button, name);
        found.map(|node| node.rect().center()).collect()
    }

    /// Whether the one button with a name can't be pressed now.
    #[track_caller]
    pub(crate) fn is_off(&self, name: &str) -> bool {
        self.control(Role::Button, name)
            .accesskit_node()
            .is_disabled()
    }

    /// Pastes into whatever has the focus.
    pub(crate) fn paste(&mut self, text: &str) {
        self.harness.event(egui::Event::Paste(text.to_owned()));
        self.harness.step();
    }

    /// Types into whatever has the focus.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.harness.event(egui::Event::Text(text.to_owned()));
        self.harness.step();
    }

    /// Shows what an input method is composing.
    pub(crate) fn compose(&mut self, text: &str) {
        let text = text.to_owned();
        let preedit = egui::ImeEvent::Preedit {
            text,
            active_range_chars: None,
        };
        self.harness.event(egui::Event::Ime(preedit));
        self.harness.step();
    }

    /// Ends what an input method composed with this text.
    pub(crate) fn commit(&mut self, text: &str) {
        let commit = egui::ImeEvent::Commit(text.to_owned());
        self.harness.event(egui::Event::Ime(commit));
        self.harness.step();
    }

    /// Presses and releases a key.
    #[track_caller]
    pub(crate) fn press(&mut self, key: Key) {
        self.press_with(Modifiers::NONE, key);
    }

    /// Presses and releases a key while others are held.
    #[track_caller]
    pub(crate) fn press_with(&mut self, modifiers: Modifiers, key: Key) {
        if modifiers.is_none() {
            self.harness.key_press(key);
        } else {
            self.harness.key_press_modifiers(modifiers, key);
        }
        self.harness.step();
        self.harness.step();
    }

    /// Writes a message and sends it, by keyboard.
    #[track_caller]
    pub(crate) fn say(&mut self, text: &str) {
        assert!(
            self.control(Role::MultilineTextInput, COMPOSER)
                .is_focused(),
            "the composer has the focus"
        );
        self.type_text(text);
        self.press(Key::Enter);
    }

    /// What the composer holds.
    pub(crate) fn draft(&self) -> String {
        self.control(Role::MultilineTextInput, COMPOSER)
            .value()
            .unwrap_or_default()
    }

    /// The messages near the view, as a screen reader has them.
    pub(crate) fn messages(&self) -> Vec<Heard> {
        self.harness
            .query_all_by_role(Role::ListItem)
            .map(|node| Heard {
                name: node.accesskit_node().label().unwrap_or_default(),
                text: node.value().unwrap_or_default(),
            })
            .collect()
    }

    /// Waits until no frame is asked for, and nobody wakes the window for two seconds.
    #[track_caller]
    pub(crate) fn until_at_rest(&mut self) {
        let rest = Duration::from_secs(2);
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.settle();
            while self.woken.try_recv().is_ok() {}
            let viewport = &self.harness.output().viewport_output[&egui::ViewportId::ROOT];
            let asked = viewport.repaint_delay;
            let causes = self.harness.ctx.repaint_causes();
            if asked > rest && self.woken.recv_timeout(rest) == Err(RecvTimeoutError::Timeout) {
                assert_eq!(asked, Duration::MAX, "{causes:?}");
                return;
            }
            assert!(
                Instant::now() < deadline,
                "no rest: asked again after {asked:?} because of {causes:?}"
            );
        }
    }

    /// The name of what has the keyboard.
    pub(crate) fn focused(&self) -> Option<String> {
        let mut nodes = self.harness.root().children_recursive();
        let focused = nodes.find(|node| node.accesskit_node().is_focused())?;
        let node = focused.accesskit_node();
        node.label().or_else(|| node.value())
    }

    /// Goes from part to part of the window until the messages have the keyboard.
    #[track_caller]
    pub(crate) fn focus_messages(&mut self) {
        let is_there = |w: &Self| {
            w.has(Role::List, "Messages") && w.control(Role::List, "Messages").is_focused()
        };
        for _ in 0..8 {
            if is_there(self) {
                return;
            }
            self.press(Key::F6);
        }
        panic!("the messages don't get the focus:\n{}", self.outline());
    }

    /// Moves the pointer over the last message, so that its actions are seen.
    #[track_caller]
    pub(crate) fn hover_last_message(&mut self) {
        let last = self.harness.query_all_by_role(Role::ListItem).next_back();
        last.expect("there is a message").hover();
        self.harness.run_steps(2);
    }

    /// From the top of the first message in view to the end of the last.
    pub(crate) fn list_height(&self) -> f32 {
        let messages = self.harness.query_all_by_role(Role::ListItem);
        let whole = messages.fold(egui::Rect::NOTHING, |whole, node| whole.union(node.rect()));
        whole.height()
    }

    /// Waits until the last message ends in this text and no turn runs.
    #[track_caller]
    pub(crate) fn until_answered(&mut self, text: &str) {
        self.until(&format!("the answer {text:?}"), |w| {
            let rests = !w.shell().model().turn().is_generating;
            rests && w.messages().last().is_some_and(|m| m.text.ends_with(text))
        });
    }

    /// The titles in the list of threads, and whether each is the open one.
    pub(crate) fn threads(&self) -> Vec<(String, bool)> {
        self.harness
            .query_all_by_role(Role::ListBoxOption)
            .map(|node| {
                let node = node.accesskit_node();
                (
                    node.label().unwrap_or_default(),
                    node.toggled() == Some(Toggled::True),
                )
            })
            .collect()
    }
}
