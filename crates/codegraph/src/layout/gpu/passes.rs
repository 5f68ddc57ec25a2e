//! The compute passes of a step, and which buffers each of them sees.

use super::GpuError;
use super::card::Card;

/// What comes before each pass.
const FIXED: &str = include_str!("../../../../../shaders/layout_fixed.wgsl");

/// Storage buffers of the pass that has the most.
const MOST_STORAGE: u32 = 7;

/// The bindings that passes share by their numbers.
pub(super) const RULES: u32 = 0;
pub(super) const NODES: u32 = 1;
pub(super) const PLACES: u32 = 2;
pub(super) const WAYS: u32 = 3;
pub(super) const FORCES: u32 = 4;
pub(super) const BOUNDS: u32 = 5;
pub(super) const BINS: u32 = 6;
pub(super) const SUMS: u32 = 7;
pub(super) const SOURCES: u32 = 8;
pub(super) const LOCALS: u32 = 9;
pub(super) const MEMBERS: u32 = 10;
pub(super) const ROWS: u32 = 11;
pub(super) const TARGETS: u32 = 12;
/// How many there are.
pub(super) const BINDINGS: usize = 13;

/// A shader's file: its bindings to read, those to write, and its entry points.
struct File {
    name: &'static str,
    source: &'static str,
    read: &'static [u32],
    written: &'static [u32],
}

const BIN: File = File {
    name: "layout_bin",
    source: include_str!("../../../../../shaders/layout_bin.wgsl"),
    read: &[NODES, PLACES],
    written: &[FORCES, BOUNDS, BINS, SUMS, MEMBERS],
};

const PYRAMID: File = File {
    name: "layout_pyramid",
    source: include_str!("../../../../../shaders/layout_pyramid.wgsl"),
    read: &[BOUNDS],
    written: &[SUMS, SOURCES, LOCALS],
};

const ATTRACT: File = File {
    name: "layout_attract",
    source: include_str!("../../../../../shaders/layout_attract.wgsl"),
    read: &[PLACES, ROWS, TARGETS],
    written: &[FORCES],
};

const REPEL: File = File {
    name: "layout_repel",
    source: include_str!("../../../../../shaders/layout_repel.wgsl"),
    read: &[BOUNDS, BINS, SUMS, SOURCES, LOCALS, MEMBERS],
    written: &[FORCES],
};

const INTEGRATE: File = File {
    name: "layout_integrate",
    source: include_str!("../../../../../shaders/layout_integrate.wgsl"),
    read: &[NODES, FORCES],
    written: &[PLACES, WAYS],
};

/// The passes of one file.
#[derive(Debug)]
pub(super) struct Group<const ENTRIES: usize> {
    layout: wgpu::BindGroupLayout,
    bindings: Vec<u32>,
    pub(super) pipelines: [wgpu::ComputePipeline; ENTRIES],
}

impl<const ENTRIES: usize> Group<ENTRIES> {
    fn new(
        device: &wgpu::Device,
        turn: &wgpu::BindGroupLayout,
        file: &File,
        entries: [&str; ENTRIES],
    ) -> Self {
        let storage = |read_only: bool| wgpu::BufferBindingType::Storage { read_only };
        let read = file.read.iter().map(|binding| (*binding, storage(true)));
        let written = file
            .written
            .iter()
            .map(|binding| (*binding, storage(false)));
        let kinds: Vec<_> = [(RULES, wgpu::BufferBindingType::Uniform)]
            .into_iter()
            .chain(read)
            .chain(written)
            .collect();
        let layout = bind_group_layout(device, file.name, &kinds);
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(file.name),
            source: wgpu::ShaderSource::Wgsl([FIXED, file.source].concat().into()),
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(file.name),
            bind_group_layouts: &[Some(&layout), Some(turn)],
            immediate_size: 0,
        });
        let pipelines = entries.map(|entry| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        });
        Self {
            layout,
            bindings: kinds.into_iter().map(|(binding, _)| binding).collect(),
            pipelines,
        }
    }

    /// The buffers of this file's passes, out of all by their numbers.
    pub(super) fn bind(
        &self,
        device: &wgpu::Device,
        buffers: &[wgpu::Buffer; BINDINGS],
    ) -> wgpu::BindGroup {
        let entries: Vec<_> = self
            .bindings
            .iter()
            .map(|binding| wgpu::BindGroupEntry {
                binding: *binding,
                resource: buffers[*binding as usize].as_entire_binding(),
            })
            .collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("layout"),
            layout: &self.layout,
            entries: &entries,
        })
    }
}

/// All passes of a step.
#[derive(Debug)]
pub(super) struct Passes {
    /// What changes from dispatch to dispatch.
    pub(super) turn: wgpu::BindGroupLayout,
    /// `clear`, `bound`, `count`, `allot`, `scatter`.
    pub(super) bin: Group<5>,
    /// `sum`, `work_down`.
    pub(super) pyramid: Group<2>,
    pub(super) attract: Group<1>,
    pub(super) repel: Group<1>,
    pub(super) integrate: Group<1>,
}

impl Passes {
    pub(super) fn new(card: &Card) -> Result<Self, GpuError> {
        let device = &card.device;
        let limits = device.limits();
        if limits.max_storage_buffers_per_shader_stage < MOST_STORAGE
            || limits.max_compute_invocations_per_workgroup < super::run::GROUP
        {
            return Err(GpuError::NoStorage(MOST_STORAGE));
        }
        card.checked(|| {
            let uniform = [(0, wgpu::BufferBindingType::Uniform)];
            let turn = bind_group_layout(device, "layout turn", &uniform);
            let entries = ["clear", "bound", "count", "allot", "scatter"];
            Self {
                bin: Group::new(device, &turn, &BIN, entries),
                pyramid: Group::new(device, &turn, &PYRAMID, ["sum", "work_down"]),
                attract: Group::new(device, &turn, &ATTRACT, ["pull"]),
                repel: Group::new(device, &turn, &REPEL, ["push"]),
                integrate: Group::new(device, &turn, &INTEGRATE, ["integrate"]),
                turn,
            }
        })
    }
}

fn bind_group_layout(
    device: &wgpu::Device,
    label: &str,
    kinds: &[(u32, wgpu::BufferBindingType)],
) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = kinds
        .iter()
        .map(|(binding, kind)| wgpu::BindGroupLayoutEntry {
            binding: *binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: *kind,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(label),
        entries: &entries,
    })
}
