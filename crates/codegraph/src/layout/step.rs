//! Steps of a force layout: repulsion by the pyramid, springs along edges, pins and anchors, cooling.

use super::LayoutGraph;
use super::pyramid::Pyramid;

/// A place in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f32,
    /// Down.
    pub y: f32,
}

/// How strongly forces pull and push.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Repulsion against springs; Hu's constant C.
    pub repulsion: f32,
    /// How strongly nodes of an earlier layout are held, from 0 to 1.
    pub anchor: f32,
    /// Pull to the middle, so that parts without an edge between them stay in sight.
    pub gravity: f32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            repulsion: 0.2,
            anchor: 0.8,
            gravity: 0.02,
        }
    }
}

/// Nearest distance that forces are worked out for; nodes in one place would push without bound.
const NEAREST: f32 = 0.05;

/// The share of the step length that is kept from step to step.
const COOLING: f32 = 0.94;

/// Nodes of a crowded neighbourhood that repel exactly; the rest are left to the spread of the next steps.
const CROWD: u32 = 128;

/// A layout in the making.
pub struct Relaxation<'g> {
    graph: &'g LayoutGraph,
    points: Vec<Point>,
    start: Vec<Point>,
    weights: Vec<u32>,
    anchored: Vec<bool>,
    pinned: Vec<bool>,
    options: Options,
    forces: Vec<Point>,
}

impl<'g> Relaxation<'g> {
    /// Starts from given places; missing ones are the origin.
    #[must_use]
    pub fn new(graph: &'g LayoutGraph, mut points: Vec<Point>, options: Options) -> Self {
        let count = graph.len();
        points.resize(count, Point::default());
        Self {
            graph,
            start: points.clone(),
            forces: vec![Point::default(); count],
            points,
            weights: vec![1; count],
            anchored: vec![false; count],
            pinned: vec![false; count],
            options,
        }
    }

    /// Gives nodes masses: a coarse node repels for all that it stands for.
    #[must_use]
    pub fn with_weights(mut self, weights: &[u32]) -> Self {
        self.weights = weights.to_vec();
        self.weights.resize(self.graph.len(), 1);
        self
    }

    /// Holds nodes near their start.
    #[must_use]
    pub fn with_anchors(mut self, anchored: &[bool]) -> Self {
        self.anchored = anchored.to_vec();
        self.anchored.resize(self.graph.len(), false);
        self
    }

    /// Keeps nodes at their start.
    #[must_use]
    pub fn with_pins(mut self, pinned: &[u32]) -> Self {
        for node in pinned {
            if let Some(pin) = self.pinned.get_mut(*node as usize) {
                *pin = true;
            }
        }
        self
    }

    /// Takes steps, the first of at most `heat` units.
    pub fn run(&mut self, steps: u32, heat: f32) {
        let mut length = heat;
        for _ in 0..steps {
            self.step(length);
            length *= COOLING;
        }
    }

    /// The places as they are.
    #[must_use]
    pub fn into_points(self) -> Vec<Point> {
        self.points
    }

    /// One step of at most `length`.
    pub fn step(&mut self, length: f32) {
        if self.points.is_empty() {
            return;
        }
        let pyramid = Pyramid::build(&self.points, &self.weights, 1.5);
        for node in 0..self.points.len() {
            self.forces[node] = if self.pinned[node] {
                Point::default()
            } else {
                self.force(&pyramid, node)
            };
        }
        for node in 0..self.points.len() {
            let force = self.forces[node];
            let size = force.x.hypot(force.y);
            if size > 0.0 {
                let scale = length.min(size) / size;
                let point = &mut self.points[node];
                point.x += force.x * scale;
                point.y += force.y * scale;
                if self.anchored[node] {
                    let start = self.start[node];
                    point.x += (start.x - point.x) * self.options.anchor;
                    point.y += (start.y - point.y) * self.options.anchor;
                }
            }
        }
    }

    fn force(&self, pyramid: &Pyramid, node: usize) -> Point {
        let here = self.points[node];
        let repulsion = self.options.repulsion;
        let mut force = Point {
            x: -here.x * self.options.gravity,
            y: -here.y * self.options.gravity,
        };
        let push = |from: Point, mass: f32| {
            let (x, y) = (here.x - from.x, here.y - from.y);
            let strength = repulsion * mass / (x * x + y * y).max(NEAREST * NEAREST);
            (x * strength, y * strength)
        };
        let (mut near, mut far) = (Point::default(), Point::default());
        let mut crowd = 0;
        pyramid.visit(
            node,
            |other| {
                crowd += 1;
                if crowd <= CROWD && other as usize != node {
                    #[allow(clippy::cast_precision_loss)]
                    let mass = self.weights[other as usize] as f32;
                    let from = self.points[other as usize];
                    // Two nodes in one place part by their numbers.
                    let nudge = if from == here {
                        if (other as usize) < node {
                            NEAREST
                        } else {
                            -NEAREST
                        }
                    } else {
                        0.0
                    };
                    let from = Point {
                        x: from.x - nudge,
                        y: from.y,
                    };
                    let (x, y) = push(from, mass);
                    near.x += x;
                    near.y += y;
                }
            },
            |mass, from| {
                let (x, y) = push(from, mass);
                far.x += x;
                far.y += y;
            },
        );
        force.x += near.x + far.x;
        force.y += near.y + far.y;
        for neighbour in self.graph.neighbours(node) {
            let there = self.points[*neighbour as usize];
            let (x, y) = (there.x - here.x, there.y - here.y);
            let distance = x.hypot(y);
            force.x += x * distance;
            force.y += y * distance;
        }
        force
    }
}
