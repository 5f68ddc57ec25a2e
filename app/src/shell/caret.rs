//! The blinking of the caret. It ends a while after the last input, as a window in which nothing happens draws nothing.

use egui::Context;

/// How long the caret goes on blinking after the last input, in seconds; what GTK takes.
const BLINK_SECS: f64 = 10.0;

/// When the person did something last.
#[derive(Default)]
pub(super) struct Caret {
    last_input: f64,
}

impl Caret {
    /// Lets the caret blink while the person is there, and not at all where they want no motion.
    pub(super) fn update(&mut self, ctx: &Context, reduced_motion: bool) {
        let (now, has_input) = ctx.input(|i| (i.time, !i.events.is_empty()));
        if has_input {
            self.last_input = now;
        }
        let blinks = !reduced_motion && now - self.last_input < BLINK_SECS;
        if ctx.global_style().visuals.text_cursor.blink != blinks {
            ctx.all_styles_mut(|style| style.visuals.text_cursor.blink = blinks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(ctx: &Context, caret: &mut Caret, time: f64, events: Vec<egui::Event>) -> bool {
        let input = egui::RawInput {
            time: Some(time),
            events,
            ..egui::RawInput::default()
        };
        let mut output = ctx.run_ui(input, |ui| caret.update(ui.ctx(), false));
        output.textures_delta.clear();
        ctx.global_style().visuals.text_cursor.blink
    }

    #[test]
    fn the_caret_rests_when_nobody_is_there_and_blinks_again_when_somebody_is() {
        let (ctx, mut caret) = (Context::default(), Caret::default());
        let key = || vec![egui::Event::Text("a".to_owned())];
        assert!(frame(&ctx, &mut caret, 1.0, key()));
        assert!(frame(&ctx, &mut caret, 10.5, Vec::new()));
        assert!(!frame(&ctx, &mut caret, 11.5, Vec::new()));
        assert!(frame(&ctx, &mut caret, 99.0, key()));
    }
}
