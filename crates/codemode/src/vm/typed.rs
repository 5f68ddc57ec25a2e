//! Elements of typed arrays (ECMA-262 10.4.5).

use super::Vm;
use crate::binary::{BufferData, Element, Raw, Window};
use crate::object::Kind;
use crate::value::{Key, ObjId, Res, Value};

impl Vm {
    /// Contents of an `ArrayBuffer`.
    pub(crate) fn buffer(&self, id: ObjId) -> Option<&BufferData> {
        match self.heap.kind(id) {
            Kind::Buffer(data) => Some(data),
            _ => None,
        }
    }

    pub(crate) fn buffer_mut(&mut self, id: ObjId) -> Option<&mut BufferData> {
        match self.heap.kind_mut(id) {
            Kind::Buffer(data) => Some(data),
            _ => None,
        }
    }

    /// The window of a typed array.
    pub(crate) fn typed(&self, id: ObjId) -> Option<Window> {
        match self.heap.kind(id) {
            Kind::Typed(window) => Some(**window),
            _ => None,
        }
    }

    /// Elements that a window shows; none when its buffer is detached or became too short.
    pub(crate) fn window_len(&self, window: &Window) -> Option<usize> {
        let buffer = self.buffer(window.buffer)?;
        if buffer.detached {
            return None;
        }
        let size = window.element.size();
        match window.length {
            Some(len) => (window.offset + len * size <= buffer.bytes.len()).then_some(len),
            None => Some(buffer.bytes.len().checked_sub(window.offset)? / size),
        }
    }

    /// The bytes that a typed array shows.
    pub(crate) fn typed_bytes(&self, id: ObjId) -> Option<&[u8]> {
        let window = self.typed(id)?;
        let len = self.window_len(&window)? * window.element.size();
        self.buffer(window.buffer)?
            .bytes
            .get(window.offset..window.offset + len)
    }

    pub(crate) fn typed_bytes_mut(&mut self, id: ObjId) -> Option<&mut [u8]> {
        let window = self.typed(id)?;
        let len = self.window_len(&window)? * window.element.size();
        let buffer = self.buffer_mut(window.buffer)?;
        buffer.bytes.get_mut(window.offset..window.offset + len)
    }

    /// The bytes of a `Uint8Array`.
    pub(crate) fn uint8_bytes(&self, id: ObjId) -> Option<&[u8]> {
        let window = self.typed(id)?;
        if window.element != Element::Uint8 {
            return None;
        }
        // A window whose buffer is gone shows nothing.
        Some(self.typed_bytes(id).unwrap_or_default())
    }

    pub(crate) fn typed_get(&mut self, id: ObjId, index: usize) -> Option<Value> {
        let element = self.typed(id)?.element;
        let size = element.size();
        let bytes = self
            .typed_bytes(id)?
            .get(index * size..(index + 1) * size)?;
        Some(match element.read(bytes)? {
            Raw::Num(n) => Value::Num(n),
            Raw::Big(big) => self.heap.big(big),
        })
    }

    /// A value as an element's number.
    pub(crate) fn to_raw(&mut self, element: Element, value: Value) -> Res<Raw> {
        if element.is_big() {
            return self.to_big(value).map(Raw::Big);
        }
        self.to_number(value).map(Raw::Num)
    }

    /// Writes an element; outside of the array nothing happens.
    pub(crate) fn typed_put(&mut self, id: ObjId, index: Option<usize>, value: Value) -> Res<()> {
        let Some(window) = self.typed(id) else {
            return Ok(());
        };
        let raw = self.to_raw(window.element, value)?;
        if let Some(index) = index {
            self.typed_store(id, index, window.element, &raw);
        }
        Ok(())
    }

    pub(crate) fn typed_store(&mut self, id: ObjId, index: usize, element: Element, raw: &Raw) {
        let size = element.size();
        let bytes = element.write(raw);
        if let Some(all) = self.typed_bytes_mut(id)
            && let Some(start) = index.checked_mul(size)
            && let Some(place) = all.get_mut(start..start + size)
        {
            place.copy_from_slice(&bytes[..size]);
        }
    }

    /// What a key means to a typed array: none when it is no numeric string, else the index that it names, if it names one
    /// (`CanonicalNumericIndexString`).
    pub(crate) fn numeric_key(&self, key: Key) -> Option<Option<usize>> {
        if let Some(index) = key.as_index() {
            return Some(Some(index as usize));
        }
        if key.is_symbol() {
            return None;
        }
        let text = self.atoms.text(key).units();
        let first = text.get(0)?;
        if !matches!(first, 0x2D | 0x30..=0x39 | 0x49 | 0x4E) {
            return None;
        }
        if text.is("-0") {
            return Some(None);
        }
        let number = crate::number::from_text(text);
        if !text.is(&crate::number::to_string(number)) {
            return None;
        }
        let whole = number >= 0.0 && number.trunc() == number && number < 9e15;
        Some(whole.then_some(number as usize))
    }
}
