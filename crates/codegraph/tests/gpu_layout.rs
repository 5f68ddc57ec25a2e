//! Both backends of the layout put every node in the same place, to the bit.

use std::sync::Arc;

use codegraph::layout::gpu::{Gpu, GpuError};
use codegraph::layout::{Backend, LayoutGraph, Options, Point, layout, update};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn adapter() -> wgpu::Adapter {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let options = wgpu::RequestAdapterOptions::default();
    pollster::block_on(instance.request_adapter(&options))
        .expect("an adapter, such as Mesa's software renderer")
}

fn device(adapter: &wgpu::Adapter, limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: limits,
        ..wgpu::DeviceDescriptor::default()
    };
    pollster::block_on(adapter.request_device(&descriptor)).expect("a device")
}

/// A device that is used for runs however small, and the backend on it.
fn gpu() -> (wgpu::Device, Arc<Gpu>) {
    let (device, queue) = device(&adapter(), wgpu::Limits::default());
    let gpu = Gpu::for_every_run(&device, &queue).expect("the passes");
    (device, Arc::new(gpu))
}

fn bits(points: &[Point]) -> Vec<(u32, u32)> {
    points
        .iter()
        .map(|point| (point.x.to_bits(), point.y.to_bits()))
        .collect()
}

/// Lays out on both backends.
fn assert_same(name: &str, graph: &LayoutGraph, options: Options, gpu: &Arc<Gpu>) -> Vec<Point> {
    let on_processor = layout(graph, options, &Backend::Processor);
    let on_card = layout(graph, options, &Backend::Gpu(gpu.clone()));
    assert_eq!(gpu.failure(), None, "{name}");
    assert_eq!(bits(&on_processor), bits(&on_card), "{name}");
    on_card
}

fn chain(count: u32) -> LayoutGraph {
    LayoutGraph::new(count as usize, (1..count).map(|node| (node - 1, node)))
}

fn star(count: u32) -> LayoutGraph {
    LayoutGraph::new(count as usize, (1..count).map(|node| (0, node)))
}

fn grid(side: u32) -> LayoutGraph {
    let right = (0..side).flat_map(|y| (1..side).map(move |x| (y * side + x - 1, y * side + x)));
    let down = (1..side).flat_map(|y| (0..side).map(move |x| ((y - 1) * side + x, y * side + x)));
    LayoutGraph::new((side * side) as usize, right.chain(down))
}

#[test]
fn chains_stars_grids_and_separate_parts_lie_the_same() {
    let (_device, gpu) = gpu();
    let apart = (0..40).flat_map(|part| (1..5).map(move |node| (part * 5, part * 5 + node)));
    let graphs = [
        ("empty", LayoutGraph::new(0, [])),
        ("one node", LayoutGraph::new(1, [])),
        ("two nodes", LayoutGraph::new(2, [(0, 1)])),
        ("no edges", LayoutGraph::new(30, [])),
        ("chain", chain(300)),
        ("star", star(500)),
        ("grid", grid(16)),
        ("separate parts", LayoutGraph::new(210, apart)),
    ];
    for (name, graph) in graphs {
        let points = assert_same(name, &graph, Options::default(), &gpu);
        assert_eq!(points.len(), graph.len(), "{name}");
    }
}

#[test]
fn random_graphs_lie_the_same_under_any_option() {
    let (_device, gpu) = gpu();
    let graphs = (2..160_u32, 0.0_f32..20.0).prop_flat_map(|(count, repulsion)| {
        let edges = prop::collection::vec((0..count, 0..count), 0..400);
        (Just(count), edges, Just(repulsion))
    });
    // Shaders run slowly on a processor.
    let mut runner = TestRunner::new(Config::with_cases(6));
    let result = runner.run(&graphs, |(count, edges, repulsion)| {
        let graph = LayoutGraph::new(count as usize, edges);
        let options = Options {
            repulsion,
            ..Options::default()
        };
        assert_same("random", &graph, options, &gpu);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn pinned_anchored_and_crowded_nodes_move_the_same() {
    let (_device, gpu) = gpu();
    let graph = star(300);
    // Most in a few places, some far away, some new; beyond the farthest place and no number at all.
    let before: Vec<Option<Point>> = (0..300_u16)
        .map(|node| match node % 7 {
            0 => None,
            1 => Some(Point {
                x: f32::from(node) * 1e6,
                y: -1e30,
            }),
            2 => Some(Point {
                x: f32::NAN,
                y: 3.0,
            }),
            _ => Some(Point {
                x: f32::from(node % 3),
                y: 0.5,
            }),
        })
        .collect();
    for anchor in [0.0, 0.8, 1.0] {
        let options = Options {
            anchor,
            ..Options::default()
        };
        let pinned = [3, 4, 299, 4_000];
        let on_processor = update(&graph, &before, &pinned, options, &Backend::Processor);
        let on_card = update(
            &graph,
            &before,
            &pinned,
            options,
            &Backend::Gpu(gpu.clone()),
        );
        assert_eq!(gpu.failure(), None);
        assert_eq!(bits(&on_processor), bits(&on_card), "anchor {anchor}");
        assert_eq!(before[3], Some(on_card[3]), "a pinned node stays");
    }
}

#[test]
fn every_run_on_the_card_gives_the_same() {
    let (_device, gpu) = gpu();
    let graph = grid(20);
    let backend = Backend::Gpu(gpu);
    let first = bits(&layout(&graph, Options::default(), &backend));
    for _ in 0..3 {
        assert_eq!(first, bits(&layout(&graph, Options::default(), &backend)));
    }
}

#[test]
fn a_lost_device_leaves_the_layout_to_the_processor_and_says_so() {
    let (device, gpu) = gpu();
    device.destroy();
    let graph = grid(9);
    let on_processor = layout(&graph, Options::default(), &Backend::Processor);
    let backend = Backend::Gpu(gpu.clone());
    let found = layout(&graph, Options::default(), &backend);
    assert_eq!(bits(&on_processor), bits(&found));
    let failure = gpu.failure().expect("a failure").to_string();
    assert!(failure.contains("graphics card"), "{failure}");
}

#[test]
fn a_processor_and_a_device_without_storage_buffers_are_refused() {
    let adapter = adapter();
    let limits = wgpu::Limits {
        max_storage_buffers_per_shader_stage: 4,
        ..wgpu::Limits::default()
    };
    let (device, queue) = device(&adapter, limits);
    let refused = Gpu::for_every_run(&device, &queue).map(drop);
    assert_eq!(refused, Err(GpuError::NoStorage(7)));
    let info = wgpu::AdapterInfo {
        device_type: wgpu::DeviceType::Cpu,
        ..adapter.get_info()
    };
    let refused = Gpu::new(&device, &queue, &info).map(drop);
    assert_eq!(refused, Err(GpuError::Processor));
}
