//! The numbers of the layout: integers with a fixed or a floating binary point, and how they round.
//!
//! Every backend works in 32-bit integers (64-bit ones where forces are summed), so that a layout is the same to the bit
//! on every processor and every graphics card. `shaders/layout_fixed.wgsl` says the same as this file.
//!
//! Signs are kept apart from magnitudes where rounding is at stake: a force and its reaction round alike.

/// Bits behind the point of a coordinate; its unit is the natural length of an edge.
pub(super) const UNIT_BITS: i32 = 12;

/// Coordinates stay within ± this, so that the difference of two of them is no overflow.
pub(super) const FARTHEST: i32 = (1 << 30) - 1;

/// What [`scaled`] gives at most: so much can be added to as much again.
const LARGEST: u32 = 1 << 30;

/// A push fades beyond half of an edge's natural length; its logarithm.
const FADING_FROM: i32 = UNIT_BITS - 1;

/// A place or a way in the plane, in steps of 2^-[`UNIT_BITS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) x: i32,
    pub(super) y: i32,
}

/// A positive number of 15 significant bits: `mantissa` · 2^`exponent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    /// 2^13 to 2^15 - 1, or 0 for nothing.
    pub(super) mantissa: u32,
    pub(super) exponent: i32,
}

impl Weight {
    /// The strength of repulsion from the user's number, which is held to what sums can bear.
    pub(super) fn of_strength(strength: f32) -> Self {
        const LARGEST_STRENGTH: f32 = 16.0;
        if strength.is_nan() || strength < 2.0_f32.powi(-12) {
            return Self::default();
        }
        // Within 2^-12 to 2^4: 27 bits behind the point leave no bit out that counts.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let fixed = (f64::from(strength.min(LARGEST_STRENGTH)) * f64::from(1 << 27)) as u32;
        let shift = 17 - fixed.leading_zeros().cast_signed();
        Self {
            mantissa: fixed >> shift.max(0) << (-shift).max(0),
            exponent: shift - 27,
        }
    }

    /// What a mass repels with, given the strength of one.
    pub(super) fn of_mass(mass: u32, strength: Self) -> Self {
        if mass == 0 {
            return Self::default();
        }
        let zeros = mass.leading_zeros();
        Self {
            mantissa: (((mass << zeros) >> 17) * strength.mantissa) >> 15,
            exponent: strength.exponent + 32 - zeros.cast_signed(),
        }
    }
}

/// By how many bits a push over so many bits of distance fades: with every doubling it is halved once more.
///
/// The push falls with the distance, and with its square further out, in steps of a factor of two. In long-ranged
/// fields the leaves of a graph are blown outward in bunches, far from what they hang on; Y. Hu names this the
/// peripheral effect and shortens the range likewise.
#[inline]
pub(super) fn fading(distance_bits: i32) -> i32 {
    (distance_bits - FADING_FROM).max(0)
}

/// `value` · 2^-`shift`, rounded half up; at most 2^30 where the shift is to the left.
#[inline]
pub(super) fn scaled(value: u32, shift: i32) -> u32 {
    if shift > 0 {
        // In two steps: the half to round by can't overflow.
        if shift > 32 {
            0
        } else {
            ((value >> (shift - 1)) + 1) >> 1
        }
    } else {
        let left = (-shift).min(31);
        if value > LARGEST >> left {
            LARGEST
        } else {
            value << left
        }
    }
}

/// `magnitude` with the sign of `like`.
#[inline]
pub(super) fn signed(magnitude: u32, like: i32) -> i32 {
    let sign = like >> 31;
    (magnitude.cast_signed() ^ sign) - sign
}

/// [`scaled`] of a magnitude, with its sign back.
#[inline]
pub(super) fn scaled_signed(value: i32, shift: i32) -> i32 {
    signed(scaled(value.unsigned_abs(), shift), value)
}

/// A way cut to 15 bits: the magnitudes of its parts below 2^15, and the exponent that was cut off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) exponent: i32,
}

impl Narrow {
    #[inline]
    pub(super) fn of(x: u32, y: u32) -> Self {
        let widest = x | y;
        if widest < 1 << 15 {
            return Self { x, y, exponent: 0 };
        }
        let cut = 17 - widest.leading_zeros();
        Self {
            x: x >> cut,
            y: y >> cut,
            exponent: cut.cast_signed(),
        }
    }

    /// The square of the length: below 2^31.
    #[inline]
    pub(super) fn square(self) -> u32 {
        self.x * self.x + self.y * self.y
    }

    /// The length, rounded down: below 2^15.5.
    #[inline]
    pub(super) fn length(self) -> u32 {
        self.square().isqrt()
    }
}

/// A number that tells nothing about the one it is made of: the permutation RXS-M-XS of M. E. O'Neill, PCG (2014).
pub(super) fn shuffled(number: u32) -> u32 {
    let word = number.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((word >> ((word >> 28) + 4)) ^ word).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The cube root, rounded down.
pub(super) fn cube_root(value: u64) -> u64 {
    let (mut low, mut high) = (0_u64, 1 << 21);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if middle * middle * middle <= value {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scaling_rounds_to_the_nearest(value in 0..1_u32 << 31, shift in 1..33_i32) {
            let exact = f64::from(value) / 2.0_f64.powi(shift);
            prop_assert!((f64::from(scaled(value, shift)) - exact).abs() <= 0.5);
        }

        #[test]
        fn a_weight_keeps_14_bits(mass in 1..u32::MAX, strength in 0.001_f32..16.0) {
            let weight = Weight::of_mass(mass, Weight::of_strength(strength));
            let found = f64::from(weight.mantissa) * 2.0_f64.powi(weight.exponent);
            let exact = f64::from(mass) * f64::from(strength);
            prop_assert!((found / exact - 1.0).abs() < 4e-4, "{found} for {exact}");
            prop_assert!(weight.mantissa < 1 << 15);
        }

        #[test]
        fn a_narrowed_way_keeps_its_direction(x in 1..1_u32 << 31, y in 1..1_u32 << 31) {
            let narrow = Narrow::of(x, y);
            prop_assert!(narrow.x < 1 << 15 && narrow.y < 1 << 15);
            let exact = f64::from(x).hypot(f64::from(y));
            let found = f64::from(narrow.length()) * 2.0_f64.powi(narrow.exponent);
            // Two units of the last place of the longer part, where anything was cut off.
            prop_assert!(exact - found >= 0.0 && exact - found <= 3.0 * 2.0_f64.powi(narrow.exponent));
        }
    }

    #[test]
    fn a_shift_to_the_left_ends_at_the_largest_number() {
        assert_eq!(scaled(3, -4), 48);
        assert_eq!(scaled(3, -40), 1 << 30);
        assert_eq!(scaled(0, -40), 0);
        assert_eq!(scaled_signed(-3, 1), -2, "half away from zero, like 3");
        assert_eq!(scaled_signed(3, 1), 2);
    }

    #[test]
    fn a_cube_root_is_rounded_down() {
        assert_eq!([0, 7, 8, 26, 27].map(cube_root), [0, 1, 2, 2, 3]);
    }
}
