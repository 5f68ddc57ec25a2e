//! Laid out blocks, kept between frames within a budget of memory.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use super::markdown::BlockLayout;

/// What a layout depends on besides which block it is of. A layout is used again only when all of it is the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// Changes with the block's content and how it is shown.
    pub revision: u64,
    /// The width there was.
    pub width: f32,
    /// Galleys point into the font atlas, which depends on the scale.
    pub pixels_per_point: f32,
    /// Changes with the theme.
    pub theme_epoch: u64,
}

struct Entry {
    stamp: Stamp,
    layout: Arc<BlockLayout>,
    bytes: usize,
    last_used: u64,
}

/// Layouts by what they are of; the least recently used ones make room.
pub struct LayoutCache<K> {
    entries: HashMap<K, Entry>,
    bytes: usize,
    budget: usize,
    frame: u64,
    atlas_fill: f32,
}

impl<K: Eq + Hash + Copy> LayoutCache<K> {
    /// An empty cache that holds about `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self {
            entries: HashMap::new(),
            bytes: 0,
            budget,
            frame: 0,
            atlas_fill: 0.0,
        }
    }

    /// About how many bytes the layouts take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// Call once a frame, before any layout is asked for.
    ///
    /// When egui's font atlas is full it is emptied, and every galley made before shows the wrong letters from then
    /// on. The only sign of it is that the atlas is less full than it was.
    pub fn begin_frame(&mut self, ctx: &egui::Context) {
        self.frame += 1;
        let fill = ctx.fonts(|fonts| fonts.font_atlas_fill_ratio());
        if fill < self.atlas_fill {
            self.clear();
        }
        self.atlas_fill = fill;
        if self.bytes > self.budget {
            self.evict();
        }
    }

    /// The layout of `key`, made by `make` unless one with the same `stamp` is there.
    pub fn get_or_make(
        &mut self,
        key: K,
        stamp: Stamp,
        make: impl FnOnce() -> BlockLayout,
    ) -> Arc<BlockLayout> {
        if let Some(entry) = self.entries.get_mut(&key)
            && entry.stamp == stamp
        {
            entry.last_used = self.frame;
            return entry.layout.clone();
        }
        let layout = Arc::new(make());
        let bytes = layout.bytes();
        let entry = Entry {
            stamp,
            layout: layout.clone(),
            bytes,
            last_used: self.frame,
        };
        let replaced = self.entries.insert(key, entry);
        self.bytes = self.bytes + bytes - replaced.map_or(0, |old| old.bytes);
        layout
    }

    /// Drops least recently used layouts until a quarter of the budget is free. What this or the last frame used stays.
    fn evict(&mut self) {
        let mut ages: Vec<(u64, usize)> = self
            .entries
            .values()
            .map(|entry| (entry.last_used, entry.bytes))
            .collect();
        ages.sort_unstable();
        let mut excess = self.bytes.saturating_sub(self.budget / 4 * 3);
        let mut cut = 0;
        for (last_used, bytes) in ages {
            if excess == 0 || last_used + 1 >= self.frame {
                break;
            }
            cut = last_used;
            excess = excess.saturating_sub(bytes);
        }
        self.entries.retain(|_, entry| entry.last_used > cut);
        self.bytes = self.entries.values().map(|entry| entry.bytes).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(revision: u64) -> Stamp {
        Stamp {
            revision,
            width: 100.0,
            pixels_per_point: 1.0,
            theme_epoch: 0,
        }
    }

    fn frame(cache: &mut LayoutCache<u32>, ctx: &egui::Context, keys: std::ops::Range<u32>) -> u32 {
        let mut made = 0;
        ctx.run_ui(egui::RawInput::default(), |ui| {
            cache.begin_frame(ui.ctx());
            for key in keys.clone() {
                cache.get_or_make(key, stamp(1), || {
                    made += 1;
                    BlockLayout::default()
                });
            }
        })
        .drop_without_applying_deltas();
        made
    }

    #[test]
    fn a_layout_is_made_once_for_one_stamp() {
        let mut cache = LayoutCache::new(1_000_000);
        let ctx = egui::Context::default();
        assert_eq!(frame(&mut cache, &ctx, 0..10), 10);
        assert_eq!(frame(&mut cache, &ctx, 0..12), 2);
        let mut remade = false;
        cache.get_or_make(3, stamp(2), || {
            remade = true;
            BlockLayout::default()
        });
        assert!(remade);
    }

    #[test]
    fn memory_stays_within_the_budget_and_what_is_in_use_stays() {
        let mut cache = LayoutCache::new(100 * 200);
        let ctx = egui::Context::default();
        for start in 0..50 {
            let keys = start * 20..start * 20 + 40;
            frame(&mut cache, &ctx, keys.clone());
            assert_eq!(frame(&mut cache, &ctx, keys), 0);
        }
        assert!(cache.bytes() <= 100 * 200 + 40 * 200, "{}", cache.bytes());
    }
}
