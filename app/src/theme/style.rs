//! egui's own style, made of the tokens, so that stock widgets fit in.

use egui::{
    Color32, CornerRadius, FontId, Margin, Painter, Rect, Shadow, Stroke, StrokeKind, Style,
    TextStyle, Visuals, style::WidgetVisuals, vec2,
};

use super::{Mode, Tokens, color::mix, fonts::Families};

/// Makes `tokens` the look of everything in `ctx`, in both of egui's themes.
///
/// Fonts are separate: install [`super::fonts::definitions`] once at the start.
pub fn apply(ctx: &egui::Context, tokens: &Tokens) {
    let style = std::sync::Arc::new(egui_style(tokens));
    for theme in [egui::Theme::Dark, egui::Theme::Light] {
        ctx.set_style_of(theme, style.clone());
    }
}

/// egui's style for `tokens`.
pub fn egui_style(tokens: &Tokens) -> Style {
    let families = Families::default();
    let typ = &tokens.metrics.typ;
    let space = &tokens.metrics.space;
    let mut style = Style {
        visuals: visuals(tokens),
        animation_time: tokens.metrics.motion.open_ms / 1000.0,
        ..Style::default()
    };
    style.text_styles = [
        (
            TextStyle::Small,
            FontId::new(typ.secondary, families.regular.clone()),
        ),
        (TextStyle::Body, FontId::new(typ.ui, families.regular)),
        (TextStyle::Button, FontId::new(typ.ui, families.medium)),
        (
            TextStyle::Heading,
            FontId::new(typ.heading, families.semibold),
        ),
        (TextStyle::Monospace, FontId::new(typ.code, families.mono)),
    ]
    .into();
    style.spacing.item_spacing = vec2(space.related, space.inside_chip);
    style.spacing.button_padding = vec2(space.related, space.inside_chip);
    style.spacing.interact_size.y = tokens.metrics.size.hit_target_min;
    style.spacing.icon_width = tokens.metrics.size.icon;
    style.spacing.window_margin = Margin::same(space.inside_card as i8);
    style.spacing.menu_margin = Margin::same(space.inside_chip as i8);
    style.interaction.tooltip_delay = 0.4;
    style
}

fn visuals(tokens: &Tokens) -> Visuals {
    let control = CornerRadius::same(tokens.metrics.radius.control as u8);
    let card = CornerRadius::same(tokens.metrics.radius.card as u8);
    let border = |color| Stroke::new(1.0, color);
    let widget = |fill: Color32, stroke: Stroke, text: Color32| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: stroke,
        corner_radius: control,
        fg_stroke: Stroke::new(1.0, text),
        expansion: 0.0,
    };
    let strength = if tokens.mode == Mode::Dark {
        0.06
    } else {
        0.05
    };
    let control_fill = mix(tokens.surface.raised, tokens.text.primary, strength);
    let hover_fill = mix(tokens.surface.raised, tokens.text.primary, strength * 2.0);
    let shadow = Shadow {
        offset: [0, 4],
        blur: 16,
        spread: 0,
        color: tokens.surface.shadow,
    };
    let mut visuals = match tokens.mode {
        Mode::Dark => Visuals::dark(),
        Mode::Light => Visuals::light(),
    };
    let widgets = &mut visuals.widgets;
    widgets.noninteractive = widget(
        tokens.surface.base,
        border(tokens.border.subtle),
        tokens.text.primary,
    );
    widgets.inactive = widget(control_fill, Stroke::NONE, tokens.text.primary);
    widgets.hovered = widget(
        hover_fill,
        border(tokens.border.strong),
        tokens.text.primary,
    );
    widgets.active = widget(hover_fill, border(tokens.accent), tokens.text.primary);
    widgets.open = widgets.hovered;
    visuals.weak_text_color = Some(tokens.text.secondary);
    visuals.selection.bg_fill = tokens.surface.selected;
    visuals.selection.stroke = Stroke::new(tokens.metrics.size.focus_ring, tokens.accent);
    visuals.hyperlink_color = tokens.accent;
    visuals.faint_bg_color = tokens.surface.hover;
    visuals.extreme_bg_color = tokens.surface.base;
    visuals.code_bg_color = control_fill;
    visuals.text_edit_bg_color = Some(control_fill);
    visuals.warn_fg_color = tokens.state.warn;
    visuals.error_fg_color = tokens.state.error;
    visuals.window_corner_radius = card;
    visuals.menu_corner_radius = card;
    visuals.window_fill = tokens.surface.overlay;
    visuals.window_stroke = border(tokens.border.strong);
    visuals.window_shadow = shadow;
    visuals.popup_shadow = shadow;
    visuals.panel_fill = tokens.surface.base;
    visuals.text_cursor.stroke = Stroke::new(2.0, tokens.accent);
    visuals
}

/// Draws the focus ring around `rect`.
pub fn focus_ring(painter: &Painter, rect: Rect, tokens: &Tokens) {
    let size = &tokens.metrics.size;
    painter.rect_stroke(
        rect.expand(size.focus_ring_offset),
        tokens.metrics.radius.control,
        Stroke::new(size.focus_ring, tokens.accent),
        StrokeKind::Outside,
    );
}
