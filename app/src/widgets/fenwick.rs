//! A Fenwick tree: prefix sums over a list of numbers that keep changing.

/// Sums of non-negative values with O(log n) update, prefix sum and search.
///
/// P. M. Fenwick, "A new data structure for cumulative frequency tables", 1994.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fenwick {
    /// `tree[i]` holds the sum of the `lowest_bit(i + 1)` values that end with value `i`.
    tree: Vec<i64>,
}

fn lowest_bit(n: usize) -> usize {
    n & n.wrapping_neg()
}

impl FromIterator<i64> for Fenwick {
    /// Builds the tree in O(n).
    fn from_iter<I: IntoIterator<Item = i64>>(values: I) -> Self {
        let mut tree: Vec<i64> = values.into_iter().collect();
        for i in 0..tree.len() {
            let parent = i + lowest_bit(i + 1);
            if parent < tree.len() {
                tree[parent] += tree[i];
            }
        }
        Self { tree }
    }
}

impl Fenwick {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The sum of the first `count` values; all of them when `count` is beyond the end.
    pub fn prefix(&self, count: usize) -> i64 {
        let mut at = count.min(self.tree.len());
        let mut sum = 0;
        while at > 0 {
            sum += self.tree[at - 1];
            at -= lowest_bit(at);
        }
        sum
    }

    /// The sum of all values.
    pub fn total(&self) -> i64 {
        self.prefix(self.tree.len())
    }

    /// Adds `delta` to the value at `index`; does nothing beyond the end.
    pub fn add(&mut self, index: usize, delta: i64) {
        let mut at = index + 1;
        while at <= self.tree.len() {
            self.tree[at - 1] += delta;
            at += lowest_bit(at);
        }
    }

    /// Appends a value.
    pub fn push(&mut self, value: i64) {
        let end = self.tree.len() + 1;
        let covered_from = end - lowest_bit(end);
        let covered = self.prefix(end - 1) - self.prefix(covered_from);
        self.tree.push(covered + value);
    }

    /// The value that `offset` falls into, and how far into it: the last index whose prefix sum is at most `offset`.
    ///
    /// Beyond the total, the answer is `(len, rest)`. Values of zero are passed over.
    pub fn find(&self, offset: i64) -> (usize, i64) {
        let mut at = 0;
        let mut rest = offset;
        let mut step = (self.tree.len() + 1).next_power_of_two();
        while step > 0 {
            if at + step <= self.tree.len() && self.tree[at + step - 1] <= rest {
                at += step;
                rest -= self.tree[at - 1];
            }
            step /= 2;
        }
        (at, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(
            mut values in prop::collection::vec(0..1_000_i64, 0..200),
            updates in prop::collection::vec((0..200_usize, 0..1_000_i64), 0..50),
            pushed in prop::collection::vec(0..1_000_i64, 0..50),
        ) {
            let mut tree: Fenwick = values.iter().copied().collect();
            for (index, value) in updates {
                if let Some(old) = values.get_mut(index) {
                    tree.add(index, value - *old);
                    *old = value;
                }
            }
            for value in pushed {
                tree.push(value);
                values.push(value);
            }
            let mut sum = 0;
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(tree.prefix(index), sum);
                if *value > 0 {
                    prop_assert_eq!(tree.find(sum), (index, 0));
                    prop_assert_eq!(tree.find(sum + value - 1), (index, value - 1));
                }
                sum += value;
            }
            prop_assert_eq!(tree.total(), sum);
            prop_assert_eq!(tree.find(sum + 7), (values.len(), 7));
        }
    }
}
