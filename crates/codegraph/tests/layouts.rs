//! The layout: the same every time, true to the graph, and steady under change.

use codegraph::layout::{LayoutGraph, Options, Point, layout, update};

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
    let first = bits(layout(&graph, Options::default()));
    assert_eq!(first, bits(layout(&graph, Options::default())));
    assert!(layout(&LayoutGraph::new(0, []), Options::default()).is_empty());
    assert_eq!(
        layout(&LayoutGraph::new(3, [(0, 0), (0, 9)]), Options::default()).len(),
        3
    );
}

#[test]
fn neighbours_lie_near_and_places_are_finite() {
    let graph = code_like(600, 1_500);
    let points = layout(&graph, Options::default());
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
    let points = layout(&graph, Options::default());
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
    let before = layout(&graph, Options::default());
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
    let after = update(&larger, &known, &[7], Options::default());
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
