//! Standard error of an estimate, from its interval.

use super::student_t::t_quantile;
use iogauge_model::result::Estimate;

/// Quantile of the standard normal distribution for a 95 % interval: its half-width in standard errors.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// Returns the standard error from which an estimate's 95 % CI was made, assuming Student's t with n − 1 degrees of
/// freedom; `None` if n is less than 2 and the error unknown. If the values depend on each other, the CI has fewer
/// degrees of freedom than n − 1, and the result is too large.
#[must_use]
pub fn standard_error(estimate: &Estimate) -> Option<f64> {
    let freedom = (estimate.n.checked_sub(1)?) as f64;
    (freedom > 0.0).then(|| estimate.reach() / t_quantile(0.975, freedom))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_divides_half_width_by_t_quantile() {
        let of = |n| standard_error(&Estimate { mean: 10.0, ci95: [9.0, 11.0], n });
        assert_eq!((of(0), of(1)), (None, None));
        assert!((of(2).unwrap() - 1.0 / 12.706).abs() < 1e-5);
        assert!((of(1_000_000).unwrap() - 1.0 / NORMAL_95).abs() < 1e-5);
    }
}
