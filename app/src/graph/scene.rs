//! What a mode of the graph view shows: marks and links for the graphics card, and what each mark stands for.

use std::sync::Arc;

use codegraph::graph::NodeIndex;
use egui::{Align2, Color32, Pos2, Rect};

use super::camera::center_and_half;
use super::gpu::{Link, Mark, Picture};

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A directory, file or symbol.
    Node(NodeIndex),
    /// Several nodes that are shown as one, by the number of the group in its scene.
    Group(u32),
    /// A cell of the matrix: from one group to another.
    Cell(u32, u32),
}

/// A mark that can be pointed at.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it stands for.
    pub subject: Subject,
    /// Where it is, in units of the layout.
    pub area: Rect,
    /// What it is called, in full: for tooltips and screen readers.
    pub name: String,
}

/// A text beside or inside of a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The text.
    pub text: String,
    /// What it belongs to, in units of the layout; the text stays inside.
    pub area: Rect,
    /// Where in the area it stands.
    pub align: Align2,
    /// Larger is placed first.
    pub importance: f32,
    /// Its colour.
    pub color: Color32,
    /// Whether it is set stronger.
    pub is_strong: bool,
}

/// What a mode shows.
#[derive(Clone, Debug)]
pub struct Scene {
    /// For the graphics card.
    pub picture: Arc<Picture>,
    /// What can be pointed at, containers before what they hold.
    pub items: Vec<Item>,
    /// The texts.
    pub labels: Vec<Label>,
    /// Everything.
    pub bounds: Rect,
    /// What to say in place of an empty picture.
    pub notice: Option<String>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            picture: Arc::default(),
            items: Vec::new(),
            labels: Vec::new(),
            bounds: Rect::from_center_size(Pos2::ZERO, egui::Vec2::splat(1.0)),
            notice: None,
        }
    }
}

impl Scene {
    /// The innermost item at a place of the layout.
    pub fn item_at(&self, place: Pos2) -> Option<&Item> {
        let mut items = self.items.iter().rev();
        items.find(|item| item.area.contains(place))
    }

    /// The item of a subject.
    pub fn item_of(&self, subject: Subject) -> Option<&Item> {
        self.items.iter().find(|item| item.subject == subject)
    }
}

/// How a mark looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkStyle {
    /// What it is filled with.
    pub fill: Color32,
    /// Its outline; transparent for none.
    pub stroke: Color32,
    /// Radius of its corners, in units of the layout.
    pub corner: f32,
}

/// Puts a scene together.
#[derive(Default)]
pub(super) struct SceneBuilder {
    picture: Picture,
    items: Vec<Item>,
    labels: Vec<Label>,
    bounds: Option<Rect>,
}

impl SceneBuilder {
    /// Adds a mark.
    pub(super) fn mark(&mut self, area: Rect, style: MarkStyle) {
        let (center, half_size) = center_and_half(area);
        self.picture.marks.push(Mark {
            center,
            half_size,
            corner: style.corner,
            outline: if style.stroke == Color32::TRANSPARENT {
                0.0
            } else {
                1.0
            },
            fill: style.fill.into(),
            stroke: style.stroke.into(),
        });
        self.bounds = Some(self.bounds.map_or(area, |bounds| bounds.union(area)));
    }

    /// Adds a mark that can be pointed at.
    pub(super) fn item(
        &mut self,
        subject: Subject,
        area: Rect,
        name: impl Into<String>,
        style: MarkStyle,
    ) {
        self.mark(area, style);
        self.items.push(Item {
            subject,
            area,
            name: name.into(),
        });
    }

    /// Adds a text.
    pub(super) fn label(&mut self, label: Label) {
        self.labels.push(label);
    }

    /// Adds a link that leaves `from` to the right and arrives at `to` from the left.
    pub(super) fn sideways_link(&mut self, from: Pos2, to: Pos2, colors: [Color32; 2], width: f32) {
        let bend = ((to.x - from.x) / 2.0).abs().max(12.0);
        let first = egui::pos2(from.x + bend, from.y);
        let second = egui::pos2(to.x - bend, to.y);
        self.curve([from, first, second, to], colors, width);
    }

    /// Adds a cubic curve.
    pub(super) fn curve(&mut self, points: [Pos2; 4], colors: [Color32; 2], width: f32) {
        self.picture.links.push(Link {
            points: points.map(Into::into),
            start_color: colors[0].into(),
            end_color: colors[1].into(),
            width,
        });
    }

    /// The scene; `generation` must be another number for each.
    pub(super) fn finish(mut self, generation: u64) -> Scene {
        self.picture.generation = generation;
        let empty = Scene::default();
        Scene {
            picture: Arc::new(self.picture),
            items: self.items,
            labels: self.labels,
            bounds: self.bounds.unwrap_or(empty.bounds),
            notice: None,
        }
    }
}
