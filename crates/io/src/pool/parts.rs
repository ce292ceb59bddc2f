//! The part of a load that each of several hosts has.

/// The part of a load that each of several hosts has, as weights. A host of weight 0 takes no part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    weights: Vec<u64>,
}

impl Parts {
    /// Gives each host an equal part.
    #[must_use]
    pub fn equal(hosts: usize) -> Self {
        Self { weights: vec![1; hosts] }
    }

    /// Gives each host a part in proportion to its weight.
    #[must_use]
    pub fn weighted(weights: Vec<u64>) -> Self {
        Self { weights }
    }

    /// Gives all to one of several hosts.
    #[must_use]
    pub fn only(host: usize, hosts: usize) -> Self {
        Self { weights: (0..hosts).map(|index| u64::from(index == host)).collect() }
    }

    /// Returns the same proportions for the first hosts. The others take no part.
    #[must_use]
    pub fn first(&self, hosts: usize) -> Self {
        let weight = |(index, weight): (usize, &u64)| if index < hosts { *weight } else { 0 };
        Self { weights: self.weights.iter().enumerate().map(weight).collect() }
    }

    /// Returns the number of hosts, with those that take no part.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.weights.len()
    }

    /// Returns the indices of the hosts that take part.
    pub fn active(&self) -> impl Iterator<Item = usize> + '_ {
        let weights = self.weights.iter().enumerate();
        weights.filter(|(_, weight)| **weight > 0).map(|(index, _)| index)
    }

    fn sum(&self) -> u128 {
        self.weights.iter().map(|weight| u128::from(*weight)).sum::<u128>().max(1)
    }

    /// Returns each host's part of a whole number. Each is rounded up or down, and the sum is exact: the hosts with the
    /// largest remainders get one more, of equal ones the first.
    #[must_use]
    pub fn of(&self, total: u32) -> Vec<u32> {
        let sum = self.sum();
        let exact = |weight: &u64| u128::from(total) * u128::from(*weight);
        let mut parts: Vec<u32> = self.weights.iter().map(|w| (exact(w) / sum) as u32).collect();
        let mut by_remainder: Vec<usize> = self.active().collect();
        by_remainder.sort_by_key(|index| std::cmp::Reverse(exact(&self.weights[*index]) % sum));
        let left = total.saturating_sub(parts.iter().sum());
        for index in by_remainder.into_iter().take(left as usize) {
            parts[index] += 1;
        }
        parts
    }

    /// Returns a host's part of a rate.
    #[must_use]
    pub fn of_rate(&self, rate: f64, host: usize) -> f64 {
        rate * self.weights[host] as f64 / self.sum() as f64
    }

    /// Returns the largest number of which a host gets `most` or less.
    #[must_use]
    pub fn largest_total(&self, host: usize, most: u32) -> u32 {
        let weight = u128::from(self.weights[host]).max(1);
        u32::try_from(u128::from(most) * self.sum() / weight).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::super::share;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_follow_the_weights() {
        let parts = Parts::weighted(vec![1000, 700, 300]);
        assert_eq!(parts.of(20), [10, 7, 3]);
        assert_eq!(parts.of(1), [1, 0, 0]);
        assert_eq!(parts.first(2).of(17), [10, 7, 0]);
        assert_eq!(parts.first(2).active().count(), 2);
        assert_eq!(Parts::only(1, 3).of(5), [0, 5, 0]);
        assert_eq!(parts.of_rate(1000.0, 1), 350.0);
        assert_eq!(Parts::equal(3).largest_total(0, 5), 15);
    }

    proptest! {
        #[test]
        fn parts_sum_up_and_are_rounded(total in 0u32..100_000, weights in prop::collection::vec(0u64..1 << 40, 1..60)) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let parts = Parts::weighted(weights.clone());
            let of = parts.of(total);
            prop_assert_eq!(of.iter().sum::<u32>(), total);
            for (index, part) in of.iter().enumerate() {
                let exact = parts.of_rate(f64::from(total), index);
                prop_assert!((f64::from(*part) - exact).abs() < 1.0 + 1e-6);
                prop_assert!(weights[index] > 0 || *part == 0);
            }
        }

        #[test]
        fn equal_parts_are_shared_out_one_by_one(total in 0u32..100_000, hosts in 1u32..200) {
            let one_by_one: Vec<u32> = (0..hosts).map(|index| share(total, hosts, index)).collect();
            prop_assert_eq!(Parts::equal(hosts as usize).of(total), one_by_one);
        }

        #[test]
        fn no_host_gets_more_than_it_can(most in 1u32..10_000, weights in prop::collection::vec(1u64..1 << 40, 1..20)) {
            let parts = Parts::weighted(weights.clone());
            for host in 0..weights.len() {
                let total = parts.largest_total(host, most);
                prop_assume!(total < u32::MAX);
                prop_assert!(parts.of(total)[host] <= most);
            }
        }
    }
}
