//! The picture as a file: SVG made of the scene, PNG of what the window drew.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use egui::{Color32, ColorImage, Context, Pos2, Rect};

use super::canvas::PlacedText;
use super::gpu::Rgba8;
use super::{GraphAction, GraphView};
use crate::theme::Tokens;

/// A file to be saved.
#[derive(Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// The name that is proposed.
    pub name: &'static str,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for ExportedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

/// What is to be exported, and a picture of the window on its way for that.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) wants_svg: bool,
    pub(super) wants_png: bool,
    /// The picture, and the part of it that is wanted: where, and pixels for each point.
    screenshot: Option<(Receiver<Arc<ColorImage>>, Rect, f32)>,
}

impl GraphView {
    /// Makes the files that were asked for, of what was just drawn.
    pub(super) fn export(
        &mut self,
        ctx: &Context,
        tokens: &Tokens,
        texts: &[PlacedText],
        view: Rect,
        actions: &mut Vec<GraphAction>,
    ) {
        if std::mem::take(&mut self.export.wants_svg) {
            actions.push(GraphAction::Save(ExportedFile {
                name: "graph.svg",
                bytes: self.svg(texts, tokens, view).into_bytes(),
            }));
        }
        if std::mem::take(&mut self.export.wants_png) {
            let (sender, receiver) = channel();
            let waker = ctx.clone();
            ctx.request_screenshot(move |image| {
                // The view may be gone by now.
                let _gone = sender.send(image);
                waker.request_repaint();
            });
            self.export.screenshot = Some((receiver, view, ctx.pixels_per_point()));
        }
    }

    /// Takes in the picture of the window, once it is there.
    pub(super) fn take_screenshot(&mut self, actions: &mut Vec<GraphAction>) {
        let Some((receiver, view, pixels_per_point)) = &self.export.screenshot else {
            return;
        };
        let Ok(image) = receiver.try_recv() else {
            return;
        };
        actions.push(match png(&image, *view, *pixels_per_point) {
            Ok(bytes) => GraphAction::Save(ExportedFile {
                name: "graph.png",
                bytes,
            }),
            Err(error) => GraphAction::Warn(error),
        });
        self.export.screenshot = None;
    }

    /// What is seen in `view`, as an SVG document in points.
    pub(super) fn svg(&self, texts: &[PlacedText], tokens: &Tokens, view: Rect) -> String {
        let mut svg = String::new();
        let (width, height) = (view.width(), view.height());
        // Writing into a string has no way to fail.
        let _ = writeln!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="Inter, sans-serif">"#
        );
        let background = paint(tokens.surface.base);
        let _ = writeln!(
            svg,
            r#"<rect width="{width}" height="{height}" fill="{}"/>"#,
            background.0
        );
        let at = |place: [f32; 2]| self.camera.to_screen(Pos2::from(place), view) - view.min;
        for link in &self.scene.picture.links {
            let [a, b, c, d] = link.points.map(at);
            let (stroke, opacity) = paint(color(link.end_color));
            let _ = writeln!(
                svg,
                r#"<path d="M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}" fill="none" stroke="{stroke}" stroke-opacity="{opacity:.2}" stroke-width="{:.1}"/>"#,
                a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y, link.width
            );
        }
        for mark in &self.scene.picture.marks {
            let middle = at(mark.center);
            let half = egui::Vec2::from(mark.half_size) * self.camera.scale;
            let corner = (mark.corner * self.camera.scale).min(half.min_elem());
            let area = Rect::from_center_size(middle.to_pos2(), half * 2.0);
            if !area.intersects(Rect::from_min_size(Pos2::ZERO, view.size())) {
                continue;
            }
            let (fill, fill_opacity) = paint(color(mark.fill));
            let (stroke, stroke_opacity) = paint(color(mark.stroke));
            let _ = writeln!(
                svg,
                r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" rx="{corner:.1}" fill="{fill}" fill-opacity="{fill_opacity:.2}" stroke="{stroke}" stroke-opacity="{stroke_opacity:.2}" stroke-width="{:.1}"/>"#,
                area.left(),
                area.top(),
                area.width(),
                area.height(),
                mark.outline
            );
        }
        for text in texts {
            let place = text.place.translate(-view.min.to_vec2());
            let (fill, _) = paint(text.color);
            let weight = if text.is_strong { 600 } else { 400 };
            let _ = writeln!(
                svg,
                r#"<text x="{:.1}" y="{:.1}" font-size="{:.1}" font-weight="{weight}" fill="{fill}" dominant-baseline="central" textLength="{:.1}" lengthAdjust="spacingAndGlyphs">{}</text>"#,
                place.left(),
                place.center().y,
                text.size,
                place.width(),
                escaped(text.galley.text())
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// A part of a picture of the whole window as a PNG file; `view` is in points.
///
/// # Errors
/// When the part is empty.
pub(super) fn png(
    image: &ColorImage,
    view: Rect,
    pixels_per_point: f32,
) -> Result<Vec<u8>, String> {
    let [width, height] = image.size.map(|side| side as f32 / pixels_per_point);
    let window = Rect::from_min_size(Pos2::ZERO, egui::vec2(width, height));
    let view = view.intersect(window);
    if !view.is_positive() {
        return Err("the picture is empty".to_owned());
    }
    let part = image.region(&view, Some(pixels_per_point));
    let [width, height] = part
        .size
        .map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> = part
        .pixels
        .iter()
        .flat_map(|p| p.to_srgba_unmultiplied())
        .collect();
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(|error| format!("the picture could not be made: {error}"))?;
    Ok(bytes)
}

fn color(color: Rgba8) -> Color32 {
    let [r, g, b, a] = color.0;
    Color32::from_rgba_premultiplied(r, g, b, a)
}

/// A colour as SVG has it: without its alpha, and that from 0 to 1.
fn paint(color: Color32) -> (String, f32) {
    let [r, g, b, a] = color.to_srgba_unmultiplied();
    (format!("#{r:02x}{g:02x}{b:02x}"), f32::from(a) / 255.0)
}

/// Text for XML: markup escaped, and what XML 1.0 can't hold left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_window_becomes_a_png_of_its_own() {
        let mut image = ColorImage::filled([40, 20], Color32::BLACK);
        image.pixels[5 * 40 + 11] = Color32::from_rgb(200, 100, 50);
        let view = Rect::from_min_max(egui::pos2(5.0, 2.0), egui::pos2(15.0, 8.0));
        let bytes = png(&image, view, 2.0).unwrap();
        let decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height), (20, 12));
        // Pixel (11, 5) of the window is (1, 1) of the part.
        assert_eq!(pixels[(20 + 1) * 4..][..4], [200, 100, 50, 255]);
    }

    #[test]
    fn names_cannot_break_the_document() {
        assert_eq!(escaped("a<b>&\"c\u{1b}\u{7}"), "a&lt;b&gt;&amp;&quot;c");
    }
}
