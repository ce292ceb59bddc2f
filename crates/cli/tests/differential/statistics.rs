//! Whether two samples may come from one distribution.

/// The distance, in standard deviations, that samples of one distribution exceed less than once in a million cases.
const FAR: f64 = 4.75;
/// Minimum number of I/Os that a class needs in both samples together, so that its share is nearly normal.
const LEAST: u64 = 20;

/// Returns the distance between the counts of two samples in the same classes, in standard deviations of the distance
/// of samples of one distribution: the two-sample chi-square statistic by the approximation of Wilson and Hilferty
/// (1931). Classes with too few I/Os are merged.
pub fn distance(a: &[u64], b: &[u64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut classes = vec![(0, 0)];
    for (a, b) in a.iter().zip(b) {
        if classes.last().is_some_and(|(a, b)| a + b >= LEAST) {
            classes.push((0, 0));
        }
        if let Some(last) = classes.last_mut() {
            *last = (last.0 + a, last.1 + b);
        }
    }
    if classes.len() > 1 && classes.last().is_some_and(|(a, b)| a + b < LEAST) {
        let (a, b) = classes.pop().unwrap();
        let last = classes.last_mut().unwrap();
        *last = (last.0 + a, last.1 + b);
    }
    if classes.len() < 2 {
        return 0.0;
    }
    let (all_a, all_b) =
        classes.iter().fold((0, 0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
    if all_a == 0 || all_b == 0 {
        return f64::INFINITY;
    }
    let scale = (all_b as f64 / all_a as f64).sqrt();
    let square =
        |&(a, b): &(u64, u64)| (a as f64 * scale - b as f64 / scale).powi(2) / (a + b) as f64;
    let square: f64 = classes.iter().map(square).sum();
    let freedom = (classes.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    ((square / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Returns true if the samples may come from one distribution.
pub fn alike(a: &[u64], b: &[u64]) -> bool {
    distance(a, b) < FAR
}

/// Sums the counts by rank, largest first: of the first place, the next two, the next four and so on. The result shows
/// a skew wherever the places are.
pub fn by_rank(mut counts: Vec<u64>) -> Vec<u64> {
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let mut classes = vec![0; 40];
    for (rank, count) in counts.iter().enumerate() {
        classes[(rank + 1).ilog2() as usize] += count;
    }
    classes
}

#[test]
fn distribution_comparison_detects_differences() {
    assert!(alike(&[500, 300, 200], &[1020, 590, 390]));
    assert!(alike(&[7000, 3000], &[6950, 3050]));
    assert!(!alike(&[7000, 3000], &[6500, 3500]));
    assert!(!alike(&[500, 300, 200], &[200, 300, 500]));
    assert!(!alike(&[100, 0], &[0, 100]));
    assert!(!alike(&[100, 100], &[0, 0]));
    // Classes with almost no I/Os do not count.
    assert!(alike(&[1000, 3, 1], &[1000, 0, 0]));
    assert_eq!(by_rank(vec![1, 9, 2, 4, 3])[..4], [9, 7, 3, 0]);
}
