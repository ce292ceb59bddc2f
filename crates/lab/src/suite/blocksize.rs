//! `blocksize`: at which block sizes IOPS bound a device, and at which its bandwidth.
//!
//! Each size is measured at a queue depth of 1, which shows how much a transfer adds to the
//! latency, and at a larger one, which shows the maximum of the device. While IOPS bound a device,
//! larger blocks have the same rate; once bandwidth does, larger blocks only wait longer.

use super::kit::{NOTHING, latency_if_any, step_of, table, whole, words};
use super::{Needs, Own, OwnStep, Site, Suite, SuiteError, SuiteOptions, SuiteStep};
use iogauge_model::Caveat;
use iogauge_model::load::{Load, Pattern};
use iogauge_model::result::{Cell, Conclusion, SuiteStepResult, SuiteTable};
use iogauge_model::units::{Bandwidth, Bytes, Latency};
use serde_json::json;

/// Figures of at least this share of the largest one count as the largest one.
const AS_GOOD: f64 = 0.9;

#[derive(Debug)]
struct BlockSize {
    /// The steps at a queue depth of 1, then those at the larger queue depth, if it differs.
    own: Own,
    rw: Pattern,
    queue_depth: u32,
}

pub(super) fn build(own: Own, options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let last = own.last_load();
    let (rw, queue_depth) = (last.rw, last.iodepth);
    if rw.is_mixed() {
        let reason = "one direction at a time; hint: use randread or randwrite";
        return Err(SuiteError::option("rw", reason));
    }
    if options.sizes_bytes("bs")?.len() < 2 {
        let reason = "one size shows no difference; hint: use 4k,64k,1m";
        return Err(SuiteError::option("bs", reason));
    }
    Ok(Box::new(BlockSize { own, rw, queue_depth }))
}

impl Suite for BlockSize {
    fn needs(&self) -> Needs {
        self.own.needs
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        let mut steps = self.own.plan(site)?;
        steps.retain(|step| site.takes(step.asked().jobs[0].load.block.largest()));
        Ok(steps)
    }

    fn conclude(&self, _site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let points = self.points(steps);
        let bound = Bound::of(&points);
        let mut table = table(
            format!("{} by block size", self.rw),
            &points,
            &[
                ("block", &|point| Cell::SizeBytes(point.block_bytes)),
                ("IOPS", &|point| Cell::Iops(point.iops)),
                ("bandwidth", &|point| Cell::BytesPerSec(point.bytes_per_sec())),
                ("mean", &|point| Cell::LatencyNs(point.mean_ns)),
                ("one at a time", &|point| latency_if_any(point.single_mean_ns)),
                ("#bound by", &|point| words(bound.word(point))),
            ],
        );
        let queue_depth = self.queue_depth;
        if points.iter().any(|point| bound.word(point) == "neither") {
            table.notes.push(
                "neither: both IOPS and bandwidth are more than 10 % below the highest of the table.".to_owned(),
            );
        }
        table.notes.push(match queue_depth {
            1 => "One I/O at a time.".to_owned(),
            _ => format!("{queue_depth} I/Os outstanding, and one at a time for comparison."),
        });
        let conclusion = Conclusion {
            verdict: verdict(&points, &bound),
            tables: vec![SuiteTable::Own(table)],
            findings: json!({
                "iops_max": bound.iops_max,
                "bytes_per_sec_max": bound.bytes_per_sec_max,
                "iops_bound_to_bytes": bound.iops_bound_to(&points),
                "bandwidth_bound_from_bytes": bound.bandwidth_bound_from(&points),
            }),
        };
        (conclusion, Vec::new())
    }
}

impl BlockSize {
    /// Returns the sizes that were measured at the larger queue depth.
    fn points(&self, steps: &[SuiteStepResult]) -> Vec<Point> {
        let of = |own: &OwnStep| step_of(steps, &own.key)?.total();
        let sized = |queue_depth: u32| {
            let own = self.own.steps.iter().map(|own| (own, own.load()));
            own.filter(move |(_, load)| load.iodepth == queue_depth)
        };
        let point = |(own, load): (&OwnStep, &Load)| {
            let many = of(own)?;
            let single = sized(1).find(|(_, single)| single.block == load.block);
            Some(Point {
                block_bytes: load.block.largest(),
                iops: many.iops,
                mean_ns: many.mean_ns,
                single_mean_ns: single.and_then(|(own, _)| Some(of(own)?.mean_ns)),
            })
        };
        sized(self.queue_depth).filter_map(point).collect()
    }
}

/// One block size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    block_bytes: u64,
    iops: f64,
    mean_ns: f64,
    single_mean_ns: Option<f64>,
}

impl Point {
    fn bytes_per_sec(&self) -> f64 {
        self.iops * self.block_bytes as f64
    }
}

/// The maxima of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    iops_max: f64,
    bytes_per_sec_max: f64,
}

impl Bound {
    fn of(points: &[Point]) -> Self {
        let most = |figure: fn(&Point) -> f64| points.iter().map(figure).fold(0.0, f64::max);
        Self { iops_max: most(|p| p.iops), bytes_per_sec_max: most(Point::bytes_per_sec) }
    }

    fn is_by_ios(&self, point: &Point) -> bool {
        point.iops >= AS_GOOD * self.iops_max
    }

    fn is_by_bytes(&self, point: &Point) -> bool {
        point.bytes_per_sec() >= AS_GOOD * self.bytes_per_sec_max
    }

    fn word(&self, point: &Point) -> &'static str {
        match (self.is_by_ios(point), self.is_by_bytes(point)) {
            (true, false) => "I/Os",
            (false, true) => "bandwidth",
            (true, true) => "either",
            (false, false) => "neither",
        }
    }

    /// Returns the largest size with the full rate, if every smaller size has it, too.
    fn iops_bound_to(&self, points: &[Point]) -> Option<u64> {
        points.iter().take_while(|point| self.is_by_ios(point)).last().map(|p| p.block_bytes)
    }

    /// Returns the smallest size with the full bandwidth, if every larger size has it, too.
    fn bandwidth_bound_from(&self, points: &[Point]) -> Option<u64> {
        points.iter().rev().take_while(|p| self.is_by_bytes(p)).last().map(|p| p.block_bytes)
    }
}

/// Returns the sizes with fewer IOPS than a smaller and a larger one, each with the larger one that has the most.
fn outliers(points: &[Point]) -> impl Iterator<Item = (&Point, &Point)> {
    points.iter().enumerate().filter_map(move |(index, point)| {
        let is_more = |other: &&Point| point.iops < AS_GOOD * other.iops;
        points[..index].iter().find(is_more)?;
        let larger = points[index + 1..].iter().filter(is_more);
        Some((point, larger.max_by(|a, b| a.iops.total_cmp(&b.iops))?))
    })
}

fn verdict(points: &[Point], bound: &Bound) -> Vec<String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return vec![NOTHING.to_owned()];
    };
    let to = bound.iops_bound_to(points).map(|bytes| {
        format!("bound by I/Os up to {}, at {} IOPS", Bytes(bytes), whole(bound.iops_max))
    });
    let from = bound.bandwidth_bound_from(points).map(|bytes| {
        format!("by bandwidth from {} on, at {}", Bytes(bytes), Bandwidth(bound.bytes_per_sec_max))
    });
    let mut sentences = vec![match (to, from) {
        (Some(to), Some(from)) => format!("The target is {to}, and {from}."),
        (Some(to), None) => {
            format!("The target is {to}; its bandwidth does not hold for the largest sizes.")
        }
        (None, Some(from)) => format!("The target is bound {from}."),
        (None, None) => "The target is bound by neither I/Os nor bandwidth alone.".to_owned(),
    }];
    for (point, larger) in outliers(points) {
        sentences.push(format!(
            "{} has fewer IOPS than {}, {} instead of {} or more: repeat its measurement, as something may have \
             slowed it down.",
            Bytes(point.block_bytes),
            Bytes(larger.block_bytes),
            whole(point.iops),
            whole(larger.iops)
        ));
    }
    if let (Some(small_ns), Some(large_ns)) = (first.single_mean_ns, last.single_mean_ns) {
        sentences.push(format!(
            "One at a time, {} takes {} and {} takes {}: {:.1} times as long.",
            Bytes(first.block_bytes),
            Latency(small_ns),
            Bytes(last.block_bytes),
            Latency(large_ns),
            large_ns / small_ns
        ));
    }
    let Some(full) = bound.bandwidth_bound_from(points) else { return sentences };
    let saturated = points.iter().find(|point| point.block_bytes == full);
    if let Some(point) = saturated.filter(|point| point.block_bytes > first.block_bytes) {
        sentences.push(format!(
            "At {}, which uses all the bandwidth, the latency is {}, {:.1} times that of {}.",
            Bytes(full),
            Latency(point.mean_ns),
            point.mean_ns / first.mean_ns,
            Bytes(first.block_bytes)
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::made_up;

    /// A device with these IOPS behind a bus with this bandwidth.
    fn points(iops: f64, bus: f64, sizes: &[u64]) -> Vec<Point> {
        let point = |block_bytes: &u64| Point {
            block_bytes: *block_bytes,
            iops: iops.min(bus / *block_bytes as f64),
            mean_ns: 1.0,
            single_mean_ns: None,
        };
        sizes.iter().map(point).collect()
    }

    #[test]
    fn verdict_finds_block_size_where_bandwidth_limits() {
        let all = points(80_000.0, 1e9, &[512, 4096, 8192, 12_500, 16_384, 1 << 20]);
        let bound = Bound::of(&all);
        let words: Vec<&str> = all.iter().map(|point| bound.word(point)).collect();
        assert_eq!(words, ["I/Os", "I/Os", "I/Os", "either", "bandwidth", "bandwidth"]);
        assert_eq!(bound.iops_bound_to(&all), Some(12_500));
        assert_eq!(bound.bandwidth_bound_from(&all), Some(12_500));
        assert!(verdict(&all, &bound)[0].contains("at 80,000 IOPS, and by bandwidth"));
    }

    #[test]
    fn verdict_allows_neither_iops_nor_bandwidth_bound() {
        // The smallest and the largest size are both slow.
        let rates = [(512, 100.0), (4096, 1000.0), (1 << 20, 1.0)];
        let point = |(block_bytes, iops): (u64, f64)| Point {
            block_bytes,
            iops,
            mean_ns: 1.0,
            single_mean_ns: None,
        };
        let all: Vec<Point> = rates.map(point).to_vec();
        let bound = Bound::of(&all);
        assert_eq!((bound.iops_bound_to(&all), bound.bandwidth_bound_from(&all)), (None, None));
        assert!(verdict(&all, &bound)[0].contains("neither"));
        assert_eq!(verdict(&[], &Bound::of(&[])), ["Nothing was measured."]);
    }

    #[test]
    fn verdict_names_a_block_size_that_is_slower_than_a_larger_one() {
        let mut all = points(18_700.0, 1e12, &[512, 4096, 8192, 16_384]);
        assert_eq!(outliers(&all).count(), 0);
        (all[1].iops, all[2].iops) = (15_700.0, 871.0);
        let bound = Bound::of(&all);
        assert_eq!(bound.word(&all[2]), "neither");
        let sentences = verdict(&all, &bound).join(" ");
        assert!(sentences.contains("8 KiB has fewer IOPS than 16 KiB, 871 instead"), "{sentences}");
        // A device with a block of 4 KiB reads it whole for 512 bytes.
        all[2].iops = 18_700.0;
        all[0].iops = 9000.0;
        all[1].iops = 18_700.0;
        assert_eq!(outliers(&all).count(), 0);
    }

    #[test]
    fn blocksize_rejects_meaningless_options() {
        let built = |name: &str, text: &str| {
            let built = made_up::build("blocksize", &[(name, text)]);
            built.map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(built("iodepth", "1"), Ok(()));
        assert!(built("rw", "randrw").unwrap_err().contains("one direction at a time"));
        assert!(built("bs", "4k").unwrap_err().contains("shows no difference"));
    }
}
