//! Binary data: buffers, the element types of typed arrays, and views into buffers (ECMA-262 25.1 and 10.4.5).

use crate::value::ObjId;
use num_bigint::BigInt;

/// Contents of an `ArrayBuffer`.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferData {
    pub(crate) bytes: Vec<u8>,
    /// The length that a resizable buffer may grow to.
    pub(crate) max: Option<usize>,
    pub(crate) detached: bool,
}

/// A typed array or a `DataView`: a window on a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) buffer: ObjId,
    /// Bytes before the window.
    pub(crate) offset: usize,
    /// Its length in elements (bytes for a `DataView`); none when it follows the buffer's length.
    pub(crate) length: Option<usize>,
    pub(crate) element: Element,
}

/// Type of the elements of a typed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Int8,
    Uint8,
    Uint8Clamped,
    Int16,
    Uint16,
    Int32,
    Uint32,
    BigInt64,
    BigUint64,
    Float16,
    Float32,
    Float64,
}

/// A number as it lies in a buffer.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    Num(f64),
    Big(BigInt),
}

impl Element {
    pub(crate) const ALL: [Element; 12] = [
        Element::Int8,
        Element::Uint8,
        Element::Uint8Clamped,
        Element::Int16,
        Element::Uint16,
        Element::Int32,
        Element::Uint32,
        Element::BigInt64,
        Element::BigUint64,
        Element::Float16,
        Element::Float32,
        Element::Float64,
    ];

    /// Bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Element::Int8 | Element::Uint8 | Element::Uint8Clamped => 1,
            Element::Int16 | Element::Uint16 | Element::Float16 => 2,
            Element::Int32 | Element::Uint32 | Element::Float32 => 4,
            Element::BigInt64 | Element::BigUint64 | Element::Float64 => 8,
        }
    }

    pub(crate) fn is_big(self) -> bool {
        matches!(self, Element::BigInt64 | Element::BigUint64)
    }

    /// Name of the constructor.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Element::Int8 => "Int8Array",
            Element::Uint8 => "Uint8Array",
            Element::Uint8Clamped => "Uint8ClampedArray",
            Element::Int16 => "Int16Array",
            Element::Uint16 => "Uint16Array",
            Element::Int32 => "Int32Array",
            Element::Uint32 => "Uint32Array",
            Element::BigInt64 => "BigInt64Array",
            Element::BigUint64 => "BigUint64Array",
            Element::Float16 => "Float16Array",
            Element::Float32 => "Float32Array",
            Element::Float64 => "Float64Array",
        }
    }

    /// Reads the first element of little-endian bytes.
    pub(crate) fn read(self, bytes: &[u8]) -> Option<Raw> {
        fn first<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
            bytes.first_chunk::<N>().copied()
        }
        Some(Raw::Num(match self {
            Element::Int8 => f64::from(*bytes.first()? as i8),
            Element::Uint8 | Element::Uint8Clamped => f64::from(*bytes.first()?),
            Element::Int16 => f64::from(i16::from_le_bytes(first(bytes)?)),
            Element::Uint16 => f64::from(u16::from_le_bytes(first(bytes)?)),
            Element::Int32 => f64::from(i32::from_le_bytes(first(bytes)?)),
            Element::Uint32 => f64::from(u32::from_le_bytes(first(bytes)?)),
            Element::Float16 => half_to_f64(u16::from_le_bytes(first(bytes)?)),
            Element::Float32 => f64::from(f32::from_le_bytes(first(bytes)?)),
            Element::Float64 => f64::from_le_bytes(first(bytes)?),
            Element::BigInt64 => {
                return Some(Raw::Big(i64::from_le_bytes(first(bytes)?).into()));
            }
            Element::BigUint64 => {
                return Some(Raw::Big(u64::from_le_bytes(first(bytes)?).into()));
            }
        }))
    }

    /// The little-endian bytes of a number, cut to the element's range; the first [`Element::size`] of them count.
    pub(crate) fn write(self, value: &Raw) -> [u8; 8] {
        let mut out = [0; 8];
        let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
        match value {
            Raw::Big(big) => {
                let low = big.to_signed_bytes_le();
                let fill = if big.sign() == num_bigint::Sign::Minus {
                    0xFF
                } else {
                    0
                };
                let mut bytes = [fill; 8];
                for (to, from) in bytes.iter_mut().zip(low) {
                    *to = from;
                }
                put(&bytes);
            }
            Raw::Num(n) => {
                let n = *n;
                let int = crate::number::to_int32(n);
                match self {
                    Element::Int8 | Element::Uint8 => put(&[int as u8]),
                    Element::Uint8Clamped => put(&[n.clamp(0.0, 255.0).round_ties_even() as u8]),
                    Element::Int16 | Element::Uint16 => put(&(int as u16).to_le_bytes()),
                    Element::Int32 | Element::Uint32 => put(&int.to_le_bytes()),
                    Element::Float16 => put(&f64_to_half(n).to_le_bytes()),
                    Element::Float32 => put(&(n as f32).to_le_bytes()),
                    Element::Float64 | Element::BigInt64 | Element::BigUint64 => {
                        put(&n.to_le_bytes());
                    }
                }
            }
        }
        out
    }
}

/// IEEE 754 binary16 to `f64`.
pub(crate) fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1F);
    let fraction = f64::from(bits & 0x3FF);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

/// The nearest IEEE 754 binary16, ties to even.
pub(crate) fn f64_to_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    if value.is_nan() {
        return 0x7E00;
    }
    if size >= 65_520.0 {
        return sign | 0x7C00;
    }
    if size < 2f64.powi(-14) {
        // Below the normal numbers: a multiple of 2^-24.
        return sign | (size * 2f64.powi(24)).round_ties_even() as u16;
    }
    let exponent = ((size.to_bits() >> 52) as i32 & 0x7FF) - 1023;
    let fraction = (size / 2f64.powi(exponent) - 1.0) * 1024.0;
    // A fraction that rounds up to 1024 carries into the exponent.
    sign | ((((exponent + 15) as u16) << 10) + fraction.round_ties_even() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_reads_back_as_itself() {
        for bits in 0..=u16::MAX {
            let value = half_to_f64(bits);
            if value.is_nan() {
                assert_eq!(f64_to_half(value), 0x7E00);
            } else {
                assert_eq!(f64_to_half(value), bits, "{bits:04x}");
            }
        }
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(f64_to_half(1.0 + 2f64.powi(-11)), 0x3C00);
        assert_eq!(f64_to_half(1.0 + 3.0 * 2f64.powi(-11)), 0x3C02);
        assert_eq!(f64_to_half(65_519.999), 0x7BFF);
        assert_eq!(f64_to_half(2f64.powi(-25)), 0);
    }
}
