//! Icons: the codepoints of the Phosphor font that the program uses, and the button that shows one.

use egui::{Align2, CornerRadius, FontId, Rect, Response, Role, Sense, Ui, Vec2, WidgetInfo, pos2};

use crate::theme::{Tokens, focus_ring, fonts::Families};

/// Threads.
pub const CHAT: char = '\u{e168}';
/// A folder, the files view.
pub const FOLDER: char = '\u{e24a}';
/// A file.
pub const FILE: char = '\u{e23a}';
/// Search.
pub const SEARCH: char = '\u{e30c}';
/// A branch, source control.
pub const GIT_BRANCH: char = '\u{e278}';
/// The dependency graph.
pub const GRAPH: char = '\u{eb58}';
/// Review of changes.
pub const REVIEW: char = '\u{eadc}';
/// History, a moment in time.
pub const CLOCK: char = '\u{e1a0}';
/// Settings.
pub const GEAR: char = '\u{e270}';
/// Something new.
pub const PLUS: char = '\u{e3d4}';
/// Less.
pub const MINUS: char = '\u{e32a}';
/// Close, dismiss.
pub const X: char = '\u{e4f6}';
/// Copy.
pub const COPY: char = '\u{e1ca}';
/// Done, chosen.
pub const CHECK: char = '\u{e182}';
/// To the latest.
pub const ARROW_DOWN: char = '\u{e03e}';
/// Once more.
pub const RETRY: char = '\u{e036}';
/// Delete.
pub const TRASH: char = '\u{e4a6}';
/// Fork a thread.
pub const GIT_FORK: char = '\u{e27e}';
/// Open; it is open.
pub const CARET_DOWN: char = '\u{e136}';
/// It can be opened.
pub const CARET_RIGHT: char = '\u{e13a}';
/// Close; upwards.
pub const CARET_UP: char = '\u{e13c}';
/// Stop what runs.
pub const STOP: char = '\u{e46c}';
/// Send.
pub const SEND: char = '\u{e396}';
/// Locked, read only.
pub const LOCK: char = '\u{e2fa}';
/// Unlocked.
pub const LOCK_OPEN: char = '\u{e306}';
/// Something needs a look.
pub const WARNING: char = '\u{e4e0}';
/// Something failed.
pub const ERROR: char = '\u{e4e2}';
/// Something to know.
pub const INFO: char = '\u{e2ce}';
/// Something went well.
pub const OK: char = '\u{e184}';
/// Attach.
pub const PAPERCLIP: char = '\u{e39a}';
/// Mention.
pub const AT: char = '\u{e0ac}';
/// A menu, a list.
pub const LIST: char = '\u{e2f0}';
/// More actions.
pub const DOTS: char = '\u{e1fe}';
/// Edit.
pub const PENCIL: char = '\u{e3b4}';
/// Look at it.
pub const EYE: char = '\u{e220}';
/// Wrap lines.
pub const WRAP: char = '\u{e07e}';
/// Not done.
pub const SQUARE: char = '\u{e45e}';
/// Done.
pub const CHECK_SQUARE: char = '\u{e186}';
/// The person.
pub const USER: char = '\u{e4c2}';
/// A seat.
pub const ROBOT: char = '\u{e762}';
/// Code.
pub const CODE: char = '\u{e1bc}';
/// As Markdown.
pub const MARKDOWN: char = '\u{e508}';
/// Reasoning.
pub const THINKING: char = '\u{e74e}';
/// Quick, at once.
pub const LIGHTNING: char = '\u{e2de}';
/// Bonfire.
pub const FIRE: char = '\u{e242}';
/// A connection.
pub const PLUG: char = '\u{eb5a}';
/// A terminal.
pub const TERMINAL: char = '\u{eae8}';
/// Download, export.
pub const DOWNLOAD: char = '\u{e20c}';
/// Put away.
pub const ARCHIVE: char = '\u{e00c}';
/// The side panel.
pub const SIDEBAR: char = '\u{ec24}';
/// A state.
pub const CIRCLE: char = '\u{e18a}';
/// A key, a secret.
pub const KEY: char = '\u{e2d6}';
/// Switch on or off.
pub const POWER: char = '\u{e3da}';
/// Waiting.
pub const HOURGLASS: char = '\u{e2b2}';
/// Opens outside.
pub const EXTERNAL: char = '\u{e5de}';
/// Pinned.
pub const PIN: char = '\u{e3e2}';
/// A filter.
pub const FUNNEL: char = '\u{e266}';

/// An icon as text, to stand in a line with labels.
pub fn icon_text(icon: char, tokens: &Tokens) -> egui::RichText {
    egui::RichText::new(icon)
        .family(Families::default().icons)
        .size(tokens.metrics.size.icon)
}

/// A button that shows only an icon; `label` is its accessible name and, with `key` when it has one, its tooltip.
///
/// Its hit target has the size the design asks for, its paint is the icon and, under the pointer, a soft background.
pub fn icon_button(
    ui: &mut Ui,
    tokens: &Tokens,
    icon: char,
    label: &str,
    key: Option<&str>,
) -> Response {
    let side = tokens.metrics.size.hit_target_min;
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(side), Sense::click());
    finish_icon_button(ui, tokens, icon, label, key, rect, response)
}

/// Like [`icon_button`], at a given place instead of the next free one.
pub fn icon_button_at(
    ui: &mut Ui,
    tokens: &Tokens,
    icon: char,
    label: &str,
    rect: Rect,
    id: egui::Id,
) -> Response {
    let response = ui.interact(rect, id, Sense::click());
    finish_icon_button(ui, tokens, icon, label, None, rect, response)
}

fn finish_icon_button(
    ui: &Ui,
    tokens: &Tokens,
    icon: char,
    label: &str,
    key: Option<&str>,
    rect: Rect,
    response: Response,
) -> Response {
    response.widget_info(|| WidgetInfo::labeled(Role::Button, ui.is_enabled(), label));
    if ui.is_rect_visible(rect) {
        let active = response.hovered() || response.has_focus();
        let color = match () {
            () if !ui.is_enabled() => tokens.text.disabled,
            () if active => tokens.text.primary,
            () => tokens.text.secondary,
        };
        if response.hovered() {
            let radius = CornerRadius::same(tokens.metrics.radius.control as u8);
            ui.painter().rect_filled(rect, radius, tokens.surface.hover);
        }
        paint_icon(ui, rect, icon, tokens.metrics.size.icon, color);
        if response.has_focus() {
            focus_ring(
                ui.painter(),
                rect.shrink(tokens.metrics.size.focus_ring_offset),
                tokens,
            );
        }
    }
    let tooltip = key.map_or_else(|| label.to_owned(), |key| format!("{label}  ({key})"));
    response.on_hover_text(tooltip)
}

/// Paints `icon` in the middle of `rect`, `size` points high.
pub fn paint_icon(ui: &Ui, rect: Rect, icon: char, size: f32, color: egui::Color32) {
    let font = FontId::new(size, Families::default().icons);
    let galley = ui.painter().layout_no_wrap(icon.to_string(), font, color);
    let at = Align2::CENTER_CENTER
        .anchor_size(rect.center(), galley.size())
        .min;
    let snap = 1.0 / ui.pixels_per_point();
    let snapped = pos2((at.x / snap).round() * snap, (at.y / snap).round() * snap);
    ui.painter().galley(snapped, galley, color);
}
