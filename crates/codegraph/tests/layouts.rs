//! The layout: the same every time, true to the graph, and steady under change.

use codegraph::layout::{Backend, LayoutGraph, Options, Point, layout, update};

/// A graph as code has them: few files that many import, most edges within groups. The numbers come from a fixed
/// sequence.
fn code_like(count: u32, edges: u32) -> LayoutGraph {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u32::try_from(state % u64::from(below.max(1))).unwrap()
    };
    let tree = (1..count)
        .map(|node| (node, node * 7 / 10))
        .collect::<Vec<_>>();
    let more = (count..edges).map(|_| {
        let from = random(count);
        let near = from.saturating_sub(random(30));
        (from, near)
    });
    LayoutGraph::new(
        count as usize,
        tree.into_iter().chain(more.collect::<Vec<_>>()),
    )
}

fn distance(left: Point, right: Point) -> f32 {
    (left.x - right.x).hypot(left.y - right.y)
}

fn diameter(points: &[Point]) -> f32 {
    let reach = |pick: fn(&Point) -> f32| {
        let values = points.iter().map(pick);
        values.clone().fold(f32::MIN, f32::max) - values.fold(f32::MAX, f32::min)
    };
    reach(|point| point.x).hypot(reach(|point| point.y))
}

#[test]
fn the_same_graph_gives_the_same_places_to_the_bit() {
    let graph = code_like(600, 1_500);
    let bits = |points: Vec<Point>| {
        points
            .into_iter()
            .map(|point| (point.x.to_bits(), point.y.to_bits()))
            .collect::<Vec<_>>()
    };
    let first = bits(layout(&graph, Options::default(), &Backend::Processor));
    assert_eq!(
        first,
        bits(layout(&graph, Options::default(), &Backend::Processor))
    );
    assert!(
        layout(
            &LayoutGraph::new(0, []),
            Options::default(),
            &Backend::Processor
        )
        .is_empty()
    );
    assert_eq!(
        layout(
            &LayoutGraph::new(3, [(0, 0), (0, 9)]),
            Options::default(),
            &Backend::Processor
        )
        .len(),
        3
    );
}

#[test]
fn neighbours_lie_near_and_places_are_finite() {
    let graph = code_like(600, 1_500);
    let points = layout(&graph, Options::default(), &Backend::Processor);
    assert!(
        points
            .iter()
            .all(|point| point.x.is_finite() && point.y.is_finite())
    );
    let edges = (0..graph.len()).flat_map(|node| {
        graph
            .neighbours(node)
            .iter()
            .map(move |other| (node, *other as usize))
    });
    let lengths: Vec<f32> = edges
        .map(|(from, to)| distance(points[from], points[to]))
        .collect();
    #[allow(clippy::cast_precision_loss)]
    let mean = lengths.iter().sum::<f32>() / lengths.len() as f32;
    assert!(
        mean < diameter(&points) / 6.0,
        "an edge is {mean} of {}",
        diameter(&points)
    );
}

#[test]
fn a_path_is_laid_out_as_a_path() {
    let count = 64;
    let graph = LayoutGraph::new(count, (1..64).map(|node| (node - 1, node)));
    let points = layout(&graph, Options::default(), &Backend::Processor);
    let end_to_end = distance(points[0], points[count - 1]);
    assert!(
        end_to_end > diameter(&points) * 0.5,
        "{end_to_end} of {}",
        diameter(&points)
    );
}

#[test]
fn a_new_node_lands_by_its_neighbours_and_the_rest_hardly_moves() {
    let graph = code_like(500, 1_200);
    let before = layout(&graph, Options::default(), &Backend::Processor);
    let edges = (0..500_u32).flat_map(|node| {
        graph
            .neighbours(node as usize)
            .iter()
            .map(move |other| (node, *other))
    });
    let more = [
        (500, 10),
        (500, 11),
        (501, 200),
        (502, 300),
        (503, 400),
        (504, 20),
    ];
    let larger = LayoutGraph::new(505, edges.chain(more).collect::<Vec<_>>());
    let known: Vec<Option<Point>> = before
        .iter()
        .map(|point| Some(*point))
        .chain([None; 5])
        .collect();
    let after = update(
        &larger,
        &known,
        &[7],
        Options::default(),
        &Backend::Processor,
    );
    #[allow(clippy::cast_precision_loss)]
    let mean = before
        .iter()
        .zip(&after)
        .map(|(old, new)| distance(*old, *new))
        .sum::<f32>()
        / before.len() as f32;
    assert!(
        mean < diameter(&before) * 0.02,
        "the rest moved {mean} of {}",
        diameter(&before)
    );
    assert_eq!(before[7], after[7], "a pinned node stays");
    assert!(distance(after[501], after[200]) < diameter(&before) / 5.0);
}

#[test]
fn parts_without_an_edge_between_them_do_not_overlap() {
    // A ring, a star, a pair, and nodes by themselves.
    let ring = (0..40_u32).map(|node| (node, (node + 1) % 40));
    let star = (41..60_u32).map(|node| (40, node));
    let graph = LayoutGraph::new(70, ring.chain(star).chain([(60, 61)]));
    let points = layout(&graph, Options::default(), &Backend::Processor);
    let bounds = |nodes: std::ops::Range<usize>| {
        let points = &points[nodes];
        let reach = |at: fn(&Point) -> f32| {
            let values = points.iter().map(at);
            (
                values.clone().fold(f32::MAX, f32::min),
                values.fold(f32::MIN, f32::max),
            )
        };
        (reach(|point| point.x), reach(|point| point.y))
    };
    let singles = (62..70).map(|node| bounds(node..node + 1));
    let boxes: Vec<_> = [bounds(0..40), bounds(40..60), bounds(60..62)]
        .into_iter()
        .chain(singles)
        .collect();
    for (index, (x, y)) in boxes.iter().enumerate() {
        for (other_x, other_y) in &boxes[index + 1..] {
            let is_beside =
                x.1 < other_x.0 || other_x.1 < x.0 || y.1 < other_y.0 || other_y.1 < y.0;
            assert!(is_beside, "{x:?} {y:?} and {other_x:?} {other_y:?}");
        }
    }
}

#[test]
fn leaves_lie_by_what_they_hang_on() {
    // A tree of three branches each; the nearest node of a leaf is its parent, seldom a leaf of another branch.
    let count = 1_093_u32;
    let graph = LayoutGraph::new(
        count as usize,
        (1..count).map(|node| (node, (node - 1) / 3)),
    );
    let points = layout(&graph, Options::default(), &Backend::Processor);
    let leaves = (0..graph.len()).filter(|node| graph.neighbours(*node).len() == 1);
    let (mut near, mut all) = (0, 0);
    for leaf in leaves {
        let parent = graph.neighbours(leaf)[0];
        let nearest = (0..graph.len())
            .filter(|node| *node != leaf)
            .min_by(|left, right| {
                let to = |node: usize| distance(points[leaf], points[node]);
                to(*left).total_cmp(&to(*right))
            });
        let is_family = nearest.is_some_and(|nearest| {
            nearest == parent as usize || graph.neighbours(nearest).first() == Some(&parent)
        });
        near += usize::from(is_family);
        all += 1;
    }
    assert!(near * 10 > all * 8, "{near} of {all}");
}

#[test]
fn what_is_far_out_or_no_number_is_held_to_the_plane() {
    let graph = LayoutGraph::new(6, [(0, 1), (1, 2), (2, 3), (4, 5)]);
    let far = |x: f32, y: f32| Some(Point { x, y });
    let before = [
        far(1e30, -1e30),
        far(-1e30, 1e30),
        far(f32::NAN, f32::INFINITY),
        None,
        far(1e30, 1e30),
        None,
    ];
    for anchor in [0.0, 0.5, 1.0, f32::NAN] {
        let options = Options {
            anchor,
            ..Options::default()
        };
        let points = update(&graph, &before, &[0], options, &Backend::Processor);
        for point in points {
            let reach = point.x.abs().max(point.y.abs());
            assert!(reach <= 262_144.0, "{point:?} with anchor {anchor}");
        }
    }
}

#[test]
fn a_crowd_in_one_place_is_drawn_apart() {
    let graph = LayoutGraph::new(400, (1..400).map(|node| (0, node)));
    let before = vec![Some(Point::default()); 400];
    let free = Options {
        anchor: 0.0,
        ..Options::default()
    };
    let points = update(&graph, &before, &[], free, &Backend::Processor);
    let mut spots: Vec<(u32, u32)> = points
        .iter()
        .map(|point| (point.x.to_bits(), point.y.to_bits()))
        .collect();
    spots.sort_unstable();
    spots.dedup();
    assert!(spots.len() > 300, "{} places for 400 nodes", spots.len());
}
