//! The graphics card's backend of the layout: the passes of `shaders/layout_*.wgsl` on a device that the caller opened.
//!
//! A run is handed over in pieces of few steps, and each is waited for without a lock on the device: a window that draws
//! on the same device goes on drawing. What fails on the card is said once, and the processor takes over from where the
//! run began, to the same positions.

mod card;
mod data;
mod passes;
mod run;

use std::sync::OnceLock;

use super::fixed::Place;
use super::step::{Body, Rules, Stride};
use card::Card;
use passes::Passes;

/// Runs of fewer nodes are sooner done on the processor than handed over.
const WORTHWHILE: usize = 4_000;

/// Why a graphics card doesn't lay out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// The adapter is a processor, which runs our own code faster than shaders.
    #[error("the adapter is a processor")]
    Processor,
    /// Compute shaders or as many storage buffers as a pass needs aren't there.
    #[error("the adapter has no compute shaders with {0} storage buffers")]
    NoStorage(u32),
    /// The card refused or failed, in its own words.
    #[error("the layout failed on the graphics card: {0}")]
    Failed(String),
    /// The card doesn't answer any more.
    #[error("the graphics card is lost or hangs")]
    Lost,
}

/// A device, ready to lay out.
#[derive(Debug)]
pub struct Gpu {
    card: Card,
    passes: Passes,
    /// Nodes that a run has at least.
    least: usize,
    failure: OnceLock<GpuError>,
}

impl Gpu {
    /// Makes the passes on a device of a card. Fails where the processor is faster, or the device can't.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        adapter: &wgpu::AdapterInfo,
    ) -> Result<Self, GpuError> {
        if adapter.device_type == wgpu::DeviceType::Cpu {
            return Err(GpuError::Processor);
        }
        Ok(Self {
            least: WORTHWHILE,
            ..Self::for_every_run(device, queue)?
        })
    }

    /// The same on whatever adapter, and for runs however small: for comparing the backends.
    pub fn for_every_run(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Self, GpuError> {
        let card = Card {
            device: device.clone(),
            queue: queue.clone(),
        };
        Ok(Self {
            passes: Passes::new(&card)?,
            card,
            least: 0,
            failure: OnceLock::new(),
        })
    }

    /// What went wrong on the card, if anything did; since then the processor lays out.
    #[must_use]
    pub fn failure(&self) -> Option<&GpuError> {
        self.failure.get()
    }

    /// Takes the steps, unless it is not worth it or the card fails: then says no, and leaves the places as they are.
    pub(super) fn relax(
        &self,
        body: Body<'_>,
        rules: Rules,
        strides: &[Stride],
        places: &mut [Place],
    ) -> bool {
        if places.is_empty() || places.len() < self.least || self.failure.get().is_some() {
            return false;
        }
        match run::run(&self.card, &self.passes, (body, rules), strides, places) {
            Ok(()) => true,
            Err(error) => {
                log::warn!("{error}; the processor lays out from here");
                // Another thread's failure is as good.
                let _first = self.failure.set(error);
                false
            }
        }
    }
}
