//! A device and its queue, with what can go wrong on them.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::GpuError;

/// A card that doesn't answer for so long is taken as lost; systems reset it sooner.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often an answer is looked for.
const LOOK: Duration = Duration::from_micros(200);

/// A device and its queue.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
}

impl Card {
    /// What came of a piece of work: errors within come back instead of going to the device's handler.
    pub(super) fn checked<T>(&self, work: impl FnOnce() -> T) -> Result<T, GpuError> {
        let scopes = [
            wgpu::ErrorFilter::Validation,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
        ]
        .map(|filter| self.device.push_error_scope(filter));
        let made = work();
        let mut error = None;
        for scope in scopes.into_iter().rev() {
            error = now(scope.pop()).flatten().or(error);
        }
        match error {
            None => Ok(made),
            Some(error) => Err(GpuError::Failed(error.to_string())),
        }
    }

    /// Waits for an answer without holding the device, which a window may draw with.
    pub(super) fn wait<T>(&self, answer: &Receiver<T>) -> Result<T, GpuError> {
        let started = Instant::now();
        loop {
            self.device
                .poll(wgpu::PollType::Poll)
                .map_err(|error| GpuError::Failed(error.to_string()))?;
            match answer.try_recv() {
                Ok(answer) => return Ok(answer),
                Err(TryRecvError::Disconnected) => return Err(GpuError::Lost),
                Err(TryRecvError::Empty) if started.elapsed() > PATIENCE => {
                    return Err(GpuError::Lost);
                }
                Err(TryRecvError::Empty) => std::thread::sleep(LOOK),
            }
        }
    }

    /// A buffer with contents. Goes by the queue: a mapped buffer of a lost device would panic.
    pub(super) fn filled(&self, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        // A binding can't be empty.
        let contents = if contents.is_empty() {
            &[0; 12]
        } else {
            contents
        };
        let buffer = self.empty(contents.len() as u64, usage | wgpu::BufferUsages::COPY_DST);
        self.queue.write_buffer(&buffer, 0, contents);
        buffer
    }

    /// A buffer of zeros.
    pub(super) fn empty(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("layout"),
            size,
            usage,
            mapped_at_creation: false,
        })
    }
}

/// What a future has at once; outside of browsers error scopes do.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}
