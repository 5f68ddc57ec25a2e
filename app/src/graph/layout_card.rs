//! The window's graphics card, lent to the free layout.

use std::sync::{Arc, OnceLock};

use codegraph::layout::Backend;
use codegraph::layout::gpu::Gpu;
use egui_wgpu::wgpu;

/// A device that is drawn with. Its shaders are made by the layout that first needs them, on that layout's thread.
#[derive(Debug)]
pub struct LayoutCard {
    device: wgpu::Device,
    queue: wgpu::Queue,
    adapter: wgpu::AdapterInfo,
    backend: OnceLock<Backend>,
}

impl LayoutCard {
    /// The card that a window draws with.
    #[must_use]
    pub fn new(state: &egui_wgpu::RenderState) -> Self {
        Self {
            device: state.device.clone(),
            queue: state.queue.clone(),
            adapter: state.adapter.get_info(),
            backend: OnceLock::new(),
        }
    }

    /// What lays out: the card where it is faster than the processor. Takes a while the first time.
    pub(super) fn backend(&self) -> &Backend {
        self.backend.get_or_init(
            || match Gpu::new(&self.device, &self.queue, &self.adapter) {
                Ok(gpu) => Backend::Gpu(Arc::new(gpu)),
                Err(reason) => {
                    log::info!("files are laid out by the processor: {reason}");
                    Backend::Processor
                }
            },
        )
    }
}
