//! One run of steps on the card: the order of the passes, and what comes back.

use std::sync::mpsc::channel;

use super::GpuError;
use super::card::Card;
use super::data::{RawTurn, buffers, level_turns, number};
use super::passes::{self, Passes};
use crate::layout::fixed::Place;
use crate::layout::grid::side_for;
use crate::layout::step::{Body, Rules, Stride};

/// Threads of a workgroup, the same in every pass.
pub(super) const GROUP: u32 = 64;

/// Nodes that one thread takes the bounds of.
const BOUNDED: u32 = 16;

/// Node-steps in one submission at most, so that a frame of the window waits a few milliseconds at most; and steps.
const SUBMITTED_NODES: usize = 400_000;
const SUBMITTED_STEPS: usize = 16;

/// Takes the steps of a run; where that fails, the places stay as they are.
pub(super) fn run(
    card: &Card,
    passes: &Passes,
    (body, rules): (Body<'_>, Rules),
    strides: &[Stride],
    places: &mut [Place],
) -> Result<(), GpuError> {
    let run = card.checked(|| Run::new(card, passes, (body, rules), strides, places))?;
    let steps = (SUBMITTED_NODES / places.len()).clamp(1, SUBMITTED_STEPS);
    for first in (0..strides.len()).step_by(steps) {
        let turns = first..(first + steps).min(strides.len());
        card.checked(|| run.submit(card, passes, turns))?;
        let (send, receive) = channel();
        card.queue.on_submitted_work_done(move || {
            // Nobody waits any more where patience has ended.
            let _gone = send.send(());
        });
        card.wait(&receive)?;
    }
    run.read(card, places)
}

/// A level of the pyramid: its turn when summing, its turn when working down, and its cells.
struct Level {
    sum: wgpu::BindGroup,
    work_down: wgpu::BindGroup,
    cells: u32,
}

struct Run {
    places: wgpu::Buffer,
    bin: wgpu::BindGroup,
    pyramid: wgpu::BindGroup,
    attract: wgpu::BindGroup,
    repel: wgpu::BindGroup,
    integrate: wgpu::BindGroup,
    /// Finest first.
    levels: Vec<Level>,
    strides: Vec<wgpu::BindGroup>,
    nodes: u32,
    rows: u32,
}

impl Run {
    fn new(
        card: &Card,
        passes: &Passes,
        (body, rules): (Body<'_>, Rules),
        strides: &[Stride],
        places: &[Place],
    ) -> Self {
        let (level_turns, cells) = level_turns(side_for(places.len()));
        let stride_turns = strides.iter().map(RawTurn::from);
        let turns: Vec<RawTurn> = level_turns.iter().copied().chain(stride_turns).collect();
        let mut groups = turn_groups(card, passes, &turns).into_iter();
        let levels = level_turns
            .chunks_exact(2)
            .filter_map(|turns| {
                Some(Level {
                    sum: groups.next()?,
                    work_down: groups.next()?,
                    cells: turns[0].side * turns[0].side,
                })
            })
            .collect();
        let (buffers, rows) = buffers(card, body, rules, places, cells);
        let device = &card.device;
        Self {
            bin: passes.bin.bind(device, &buffers),
            pyramid: passes.pyramid.bind(device, &buffers),
            attract: passes.attract.bind(device, &buffers),
            repel: passes.repel.bind(device, &buffers),
            integrate: passes.integrate.bind(device, &buffers),
            levels,
            strides: groups.collect(),
            nodes: number(places.len()),
            rows,
            places: buffers[passes::PLACES as usize].clone(),
        }
    }

    fn submit(&self, card: &Card, passes: &Passes, turns: std::ops::Range<usize>) {
        let mut encoder = card
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor {
                label: Some("layout"),
            });
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("layout"),
                timestamp_writes: None,
            });
            for stride in &self.strides[turns] {
                self.step(&mut pass, passes, stride);
            }
        }
        card.queue.submit([encoder.finish()]);
    }

    fn step(&self, pass: &mut wgpu::ComputePass<'_>, passes: &Passes, stride: &wgpu::BindGroup) {
        let cells = self.levels.first().map_or(0, |finest| finest.cells);
        let nodes = self.nodes;
        let [clear, bound, count, allot, scatter] = &passes.bin.pipelines;
        let [sum, work_down] = &passes.pyramid.pipelines;
        let ([pull], [push]) = (&passes.attract.pipelines, &passes.repel.pipelines);
        let [integrate] = &passes.integrate.pipelines;
        pass.set_bind_group(1, stride, &[]);
        pass.set_bind_group(0, &self.bin, &[]);
        dispatch(pass, clear, cells.max(nodes));
        dispatch(pass, bound, nodes.div_ceil(BOUNDED));
        dispatch(pass, count, nodes);
        dispatch(pass, allot, cells);
        dispatch(pass, scatter, nodes);
        pass.set_bind_group(0, &self.pyramid, &[]);
        for level in &self.levels {
            pass.set_bind_group(1, &level.sum, &[]);
            dispatch(pass, sum, level.cells);
        }
        for level in self.levels.iter().rev() {
            pass.set_bind_group(1, &level.work_down, &[]);
            dispatch(pass, work_down, level.cells);
        }
        pass.set_bind_group(1, stride, &[]);
        pass.set_bind_group(0, &self.attract, &[]);
        dispatch(pass, pull, self.rows);
        pass.set_bind_group(0, &self.repel, &[]);
        dispatch(pass, push, nodes);
        pass.set_bind_group(0, &self.integrate, &[]);
        dispatch(pass, integrate, nodes);
    }

    /// Brings the places back.
    fn read(&self, card: &Card, places: &mut [Place]) -> Result<(), GpuError> {
        let size = self.places.size();
        let copy = card.checked(|| {
            let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
            let copy = card.empty(size, usage);
            let mut encoder = card
                .device
                .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(&self.places, 0, &copy, 0, size);
            card.queue.submit([encoder.finish()]);
            copy
        })?;
        let (send, receive) = channel();
        copy.map_async(wgpu::MapMode::Read, .., move |result| {
            // Nobody waits any more where patience has ended.
            let _gone = send.send(result);
        });
        card.wait(&receive)?.map_err(|_lost| GpuError::Lost)?;
        let mapped = copy
            .get_mapped_range(..)
            .map_err(|error| GpuError::Failed(error.to_string()))?;
        let found: &[[i32; 2]] = bytemuck::try_cast_slice(&mapped)
            .map_err(|error| GpuError::Failed(error.to_string()))?;
        for (place, [x, y]) in places.iter_mut().zip(found) {
            *place = Place { x: *x, y: *y };
        }
        Ok(())
    }
}

fn dispatch(pass: &mut wgpu::ComputePass<'_>, pipeline: &wgpu::ComputePipeline, threads: u32) {
    // As many groups along a side as every adapter has.
    const MOST: u32 = 65_535;
    let groups = threads.div_ceil(GROUP);
    if groups > 0 {
        pass.set_pipeline(pipeline);
        pass.dispatch_workgroups(groups.min(MOST), groups.div_ceil(MOST), 1);
    }
}

/// A bind group for each turn, all in one buffer.
fn turn_groups(card: &Card, passes: &Passes, turns: &[RawTurn]) -> Vec<wgpu::BindGroup> {
    let alignment = card.device.limits().min_uniform_buffer_offset_alignment;
    let stride = size_of::<RawTurn>().next_multiple_of(alignment as usize);
    let mut bytes = vec![0; stride * turns.len()];
    for (slot, turn) in bytes.chunks_exact_mut(stride).zip(turns) {
        slot[..size_of::<RawTurn>()].copy_from_slice(bytemuck::bytes_of(turn));
    }
    let buffer = card.filled(&bytes, wgpu::BufferUsages::UNIFORM);
    (0..turns.len())
        .map(|turn| {
            card.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("layout turn"),
                layout: &passes.turn,
                entries: &[wgpu::BindGroupEntry {
                    binding: 0,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &buffer,
                        offset: (turn * stride) as u64,
                        size: wgpu::BufferSize::new(size_of::<RawTurn>() as u64),
                    }),
                }],
            })
        })
        .collect()
}
