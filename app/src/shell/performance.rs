//! The performance panel: how long frames take, what caused them, how the start went, how much memory is used.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use egui::{Rect, RichText, Sense, Ui, pos2, vec2};

use crate::theme::{Tokens, fonts::Families};

/// Frames remembered.
const FRAMES: usize = 240;
/// Hitches remembered.
const HITCHES: usize = 20;
/// A frame that takes longer is a hitch.
const HITCH: Duration = Duration::from_millis(50);

/// One frame.
#[derive(Clone, Debug)]
struct FrameRecord {
    cpu: Duration,
    causes: Vec<String>,
}

/// What was measured since the start.
pub struct Performance {
    started: Instant,
    phases: Vec<(&'static str, Duration)>,
    frames: VecDeque<FrameRecord>,
    hitches: VecDeque<(Duration, Duration, Vec<String>)>,
    frame_count: u64,
    frame_began: Option<Instant>,
    /// Whether the panel is seen.
    pub is_open: bool,
}

impl Performance {
    /// Begins to measure; `started` is when the program began.
    pub fn new(started: Instant) -> Self {
        Self {
            started,
            phases: Vec::new(),
            frames: VecDeque::with_capacity(FRAMES),
            hitches: VecDeque::new(),
            frame_count: 0,
            frame_began: None,
            is_open: false,
        }
    }

    /// Notes the end of a phase of the start.
    pub fn phase(&mut self, name: &'static str) {
        if !self.phases.iter().any(|(known, _)| *known == name) {
            let since_start = self.started.elapsed();
            log::info!("start: {name} after {since_start:.0?}");
            self.phases.push((name, since_start));
        }
    }

    /// Frames drawn since the start.
    pub fn frame_count(&self) -> u64 {
        self.frame_count
    }

    /// Time of the last frame in milliseconds.
    pub fn last_frame_ms(&self) -> Option<f32> {
        self.frames
            .back()
            .map(|frame| frame.cpu.as_secs_f32() * 1e3)
    }

    /// A frame begins.
    pub fn begin_frame(&mut self) {
        self.frame_began = Some(Instant::now());
    }

    /// The frame's work is done. `causes` says why it was drawn.
    pub fn end_frame(&mut self, causes: Vec<String>) {
        let Some(began) = self.frame_began.take() else {
            return;
        };
        let cpu = began.elapsed();
        self.frame_count += 1;
        self.phase("first frame");
        if cpu > HITCH {
            log::warn!(
                "a frame took {cpu:.0?}, drawn because of {}",
                causes.join(", ")
            );
            self.hitches
                .push_back((self.started.elapsed(), cpu, causes.clone()));
            if self.hitches.len() > HITCHES {
                self.hitches.pop_front();
            }
        }
        if self.frames.len() == FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back(FrameRecord { cpu, causes });
    }

    /// Draws the panel.
    pub fn performance_ui(&self, ui: &mut Ui, tokens: &Tokens) {
        ui.heading("Performance");
        let mono = |text: String| {
            RichText::new(text)
                .family(Families::default().tabular)
                .size(tokens.metrics.typ.secondary)
        };
        self.histogram_ui(ui, tokens);
        let mut sorted: Vec<Duration> = self.frames.iter().map(|f| f.cpu).collect();
        sorted.sort();
        let at = |share: f64| {
            sorted.get(((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1)))
        };
        if let (Some(p50), Some(p99)) = (at(0.5), at(0.99)) {
            ui.label(mono(format!(
                "frame p50 {p50:.1?}, p99 {p99:.1?}, {} frames so far",
                self.frame_count
            )));
        }
        if let Some(bytes) = resident_bytes() {
            ui.label(mono(format!(
                "resident memory {:.0} MB",
                bytes as f64 / 1e6
            )));
        }
        ui.add_space(tokens.metrics.space.related);
        for (name, after) in &self.phases {
            ui.label(mono(format!("{name} after {after:.0?}")));
        }
        ui.add_space(tokens.metrics.space.related);
        ui.label(RichText::new("Why the last frames were drawn").color(tokens.text.secondary));
        for frame in self.frames.iter().rev().take(8) {
            ui.label(mono(format!(
                "{:.1?}  {}",
                frame.cpu,
                frame.causes.join(", ")
            )));
        }
        ui.add_space(tokens.metrics.space.related);
        ui.label(RichText::new(format!("Frames over {HITCH:.0?}")).color(tokens.text.secondary));
        for (when, cpu, causes) in self.hitches.iter().rev() {
            ui.label(mono(format!(
                "at {when:.1?}: {cpu:.0?}  {}",
                causes.join(", ")
            )));
        }
    }

    fn histogram_ui(&self, ui: &mut Ui, tokens: &Tokens) {
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 64.0), Sense::hover());
        let painter = ui.painter_at(rect);
        painter.rect_filled(rect, tokens.metrics.radius.control, tokens.surface.raised);
        let full = 16.7;
        let step = rect.width() / FRAMES as f32;
        for (i, frame) in self.frames.iter().enumerate() {
            let ms = frame.cpu.as_secs_f32() * 1e3;
            let height = (ms / full).min(1.0) * rect.height();
            let color = match ms {
                0.0..8.3 => tokens.state.ok,
                8.3..16.7 => tokens.state.warn,
                _ => tokens.state.error,
            };
            let x = rect.left() + i as f32 * step;
            let bar = Rect::from_min_max(
                pos2(x, rect.bottom() - height),
                pos2(x + step, rect.bottom()),
            );
            painter.rect_filled(bar, 0.0, color);
        }
    }
}

/// Memory of the process that lies in RAM, in bytes, where the system tells.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
