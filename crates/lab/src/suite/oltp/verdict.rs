//! The verdict of the matrix.

use super::matrix::{Entry, Test};
use crate::suite::kit::{NOTHING, Total, counted, step_of, whole};
use iogauge_model::result::{DirectionResult, SuiteStepResult};
use iogauge_model::units::{Bandwidth, Bytes, Latency};
use serde_json::{Value, json};

/// Figures of at least this share of the highest count as the highest.
const AS_GOOD: f64 = 0.98;

/// A measured entry.
#[derive(Debug, Clone)]
pub(super) struct Point<'a> {
    entry: Entry,
    total: Total,
    read: Option<&'a DirectionResult>,
    write: Option<&'a DirectionResult>,
}

/// Returns the entries of the matrix with their figures. Omits those in which nothing completed.
pub(super) fn points<'a>(entries: &[Entry], steps: &'a [SuiteStepResult]) -> Vec<Point<'a>> {
    let point = |entry: &Entry| {
        let step = step_of(steps, &entry.key())?;
        let (read, write) = (step.read.as_ref(), step.write.as_ref());
        Some(Point { entry: *entry, total: step.total()?, read, write })
    };
    entries.iter().filter_map(point).collect()
}

/// Returns the verdict. Its first sentence can be read alone.
pub(super) fn sentences(points: &[Point<'_>]) -> Vec<String> {
    let mut sentences = Vec::new();
    for test in Test::ALL {
        for curve in curves(points, test) {
            sentences.extend(match test {
                Test::ReadRand => random(&curve),
                Test::RandRw => mixed(&curve),
                Test::Read | Test::Write => Vec::new(),
            });
        }
        let of_test: Vec<&Point<'_>> = of(points, test).collect();
        sentences.extend(match test {
            Test::Read => scan(&of_test),
            Test::Write => redo(&of_test),
            Test::ReadRand | Test::RandRw => None,
        });
    }
    if sentences.is_empty() {
        sentences.push(NOTHING.to_owned());
    }
    sentences
}

fn of<'p, 'a>(points: &'p [Point<'a>], test: Test) -> impl Iterator<Item = &'p Point<'a>> {
    points.iter().filter(move |point| point.entry.test == test)
}

/// Returns the points of a test, in ascending order of users, as one list for each block size.
fn curves<'p, 'a>(points: &'p [Point<'a>], test: Test) -> Vec<Vec<&'p Point<'a>>> {
    let mut sizes: Vec<u64> = of(points, test).map(|point| point.entry.block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let curve = |bytes: &u64| {
        let same = |point: &&Point<'_>| point.entry.block_bytes == *bytes;
        let mut curve: Vec<&Point<'_>> = of(points, test).filter(same).collect();
        curve.sort_by_key(|point| point.entry.users);
        curve
    };
    sizes.iter().map(curve).collect()
}

/// Returns the point with the fewest users whose figure is as good as the highest.
fn peak<'p, 'a>(points: &[&'p Point<'a>], figure: fn(&Point<'_>) -> f64) -> Option<&'p Point<'a>> {
    let most = points.iter().map(|point| figure(point)).fold(0.0, f64::max);
    let as_good = |point: &&&Point<'_>| figure(point) >= AS_GOOD * most;
    points.iter().filter(as_good).min_by_key(|point| point.entry.users).copied()
}

fn iops(point: &Point<'_>) -> f64 {
    point.total.iops
}

fn bytes_per_sec(point: &Point<'_>) -> f64 {
    point.total.bytes_per_sec
}

/// Returns the first two adjacent points of a curve between which latency grows by a larger factor
/// than IOPS.
fn outgrown<'p, 'a>(curve: &[&'p Point<'a>]) -> Option<(&'p Point<'a>, &'p Point<'a>)> {
    let grows = |pair: &&[&Point<'_>]| {
        let (from, to) = (pair[0].total, pair[1].total);
        to.mean_ns / from.mean_ns > to.iops / from.iops
    };
    curve.windows(2).find(grows).map(|pair| (pair[0], pair[1]))
}

fn random(curve: &[&Point<'_>]) -> Vec<String> {
    let Some(peak) = peak(curve, iops) else { return Vec::new() };
    let mut sentences = vec![format!(
        "Random reads of {} reach {} IOPS with {}, at a mean of {}.",
        Bytes(peak.entry.block_bytes),
        whole(peak.total.iops),
        counted(peak.entry.users, "user"),
        Latency(peak.total.mean_ns)
    )];
    let Some(last) = curve.last().filter(|_| curve.len() > 1) else { return sentences };
    sentences.push(match outgrown(curve) {
        Some((from, to)) => format!(
            "Latency grows faster than throughput from {} on: {} get {:.1} times the IOPS at {:.1} \
             times the latency.",
            counted(from.entry.users, "user"),
            to.entry.users,
            to.total.iops / from.total.iops,
            to.total.mean_ns / from.total.mean_ns
        ),
        None => format!(
            "Up to {}, throughput grows faster than latency: more users may raise it further.",
            counted(last.entry.users, "user")
        ),
    });
    sentences
}

/// Describes the bandwidth of the largest blocks with the fewest users, and the highest of any number of users.
fn scan(points: &[&Point<'_>]) -> Option<String> {
    let first = points
        .iter()
        .min_by_key(|point| (point.entry.users, std::cmp::Reverse(point.entry.block_bytes)))?;
    let most = peak(points, bytes_per_sec)?;
    let mut sentence = format!(
        "{} in sequence at {}, {} at a time",
        if first.entry.users == 1 {
            "One user reads".to_owned()
        } else {
            format!("{} users read", first.entry.users)
        },
        Bandwidth(first.total.bytes_per_sec),
        Bytes(first.entry.block_bytes)
    );
    if most.entry != first.entry && bytes_per_sec(most) > bytes_per_sec(first) {
        sentence.push_str(&format!(
            "; the highest is {} with {}",
            Bandwidth(most.total.bytes_per_sec),
            counted(most.entry.users, "user")
        ));
        if most.entry.block_bytes != first.entry.block_bytes {
            sentence.push_str(&format!(" with {}", Bytes(most.entry.block_bytes)));
        }
    } else if points.len() > 1 {
        sentence.push_str("; nothing else is faster");
    }
    Some(sentence + ".")
}

/// Describes the smallest write by the fewest writers, which a commit waits for, and the highest
/// IOPS of that size.
fn redo(points: &[&Point<'_>]) -> Option<String> {
    let first = points.iter().min_by_key(|point| (point.entry.users, point.entry.block_bytes))?;
    let size = first.entry.block_bytes;
    let alike: Vec<&Point<'_>> =
        points.iter().filter(|point| point.entry.block_bytes == size).copied().collect();
    let most = peak(&alike, iops)?;
    let p99 = first.write.map_or_else(String::new, |write| {
        format!(" (p99 {})", Latency(write.service_ns.p99 as f64))
    });
    let mut sentence = format!(
        "A redo write of {} takes {}{p99} with {}, {} of them a second",
        Bytes(size),
        Latency(first.total.mean_ns),
        counted(first.entry.users, "user"),
        whole(first.total.iops)
    );
    if most.entry != first.entry {
        sentence.push_str(&format!(
            "; {} make {} at {}",
            counted(most.entry.users, "user"),
            whole(most.total.iops),
            Latency(most.total.mean_ns)
        ));
    }
    Some(sentence + ".")
}

fn mixed(curve: &[&Point<'_>]) -> Vec<String> {
    let Some(peak) = peak(curve, iops) else { return Vec::new() };
    let mut sentence = format!(
        "Reads and writes of {} mixed 80/20 reach {} IOPS with {}",
        Bytes(peak.entry.block_bytes),
        whole(peak.total.iops),
        counted(peak.entry.users, "user")
    );
    if let (Some(read), Some(write)) = (peak.read, peak.write) {
        sentence.push_str(&format!(
            "; reads take {}, writes {}",
            Latency(read.service_ns.mean),
            Latency(write.service_ns.mean)
        ));
    }
    vec![sentence + "."]
}

/// Returns the figures of the verdict, for programs.
pub(super) fn findings(points: &[Point<'_>], left_out_bytes: &[u64]) -> Value {
    let random = |test: Test| -> Vec<Value> {
        let curves = curves(points, test);
        let one = |curve: &Vec<&Point<'_>>| {
            let pair = outgrown(curve).map(|(from, to)| [from.entry.users, to.entry.users]);
            json!({ "peak": peak(curve, iops).map(figures), "latency_outgrows_iops": pair })
        };
        curves.iter().map(one).collect()
    };
    let read: Vec<&Point<'_>> = of(points, Test::Read).collect();
    let write: Vec<&Point<'_>> = of(points, Test::Write).collect();
    json!({
        "readrand": random(Test::ReadRand),
        "read_peak": peak(&read, bytes_per_sec).map(figures),
        "write_peak": peak(&write, iops).map(figures),
        "randrw": random(Test::RandRw),
        "matrix": points.iter().map(figures).collect::<Vec<_>>(),
        "left_out_bytes": left_out_bytes,
    })
}

/// Returns an entry with its figures.
fn figures(point: &Point<'_>) -> Value {
    let side = |side: Option<&DirectionResult>| {
        side.map(|d| json!({ "iops": d.iops.mean, "mean_ns": d.service_ns.mean, "p99_ns": d.service_ns.p99 }))
    };
    let Entry { test, block_bytes, users } = point.entry;
    json!({
        "test": test.word(),
        "block_bytes": block_bytes,
        "users": users,
        "iops": point.total.iops,
        "bytes_per_sec": point.total.bytes_per_sec,
        "mean_ns": point.total.mean_ns,
        "max_ns": point.total.max_ns,
        "read": side(point.read),
        "write": side(point.write),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::oltp::matrix::Entry;

    /// A device with `channels` parallel channels that take 100 µs per I/O, and users that each
    /// wait for one I/O.
    fn point(test: Test, users: u32, channels: u32, block_bytes: u64) -> Point<'static> {
        let iops = f64::from(users.min(channels)) * 10_000.0;
        let total = Total {
            iops,
            bytes_per_sec: iops * block_bytes as f64,
            mean_ns: f64::from(users) / iops * 1e9,
            max_ns: 0,
        };
        Point { entry: Entry { test, block_bytes, users }, total, read: None, write: None }
    }

    fn curve(test: Test, channels: u32) -> Vec<Point<'static>> {
        [1, 8, 16, 32, 64].map(|users| point(test, users, channels, 8192)).to_vec()
    }

    #[test]
    fn peak_is_reported_at_fewest_users_reaching_it() {
        let points = curve(Test::ReadRand, 8);
        let told = sentences(&points);
        assert_eq!(
            told,
            [
                "Random reads of 8 KiB reach 80,000 IOPS with 8 users, at a mean of 100 µs.",
                "Latency grows faster than throughput from 8 users on: 16 get 1.0 times the IOPS at \
                 2.0 times the latency."
            ]
        );
        let told = sentences(&curve(Test::ReadRand, 100));
        assert!(told[1].starts_with("Up to 64 users, throughput"), "{told:?}");
        // 64 users get 1.25 times the IOPS of 32, at 1.6 times the latency.
        let told = sentences(&curve(Test::ReadRand, 40));
        assert!(told[1].contains("from 32 users on: 64 get 1.2"), "{told:?}");
        let findings = findings(&points, &[]);
        assert_eq!(findings["readrand"][0]["peak"]["users"], 8);
        assert_eq!(findings["readrand"][0]["latency_outgrows_iops"], json!([8, 16]));
        assert_eq!(findings["matrix"].as_array().unwrap().len(), 5);
        assert_eq!(findings["write_peak"], Value::Null);
    }

    #[test]
    fn single_point_yields_a_one_sentence_verdict() {
        for (test, first) in [
            (Test::ReadRand, "Random reads of 8 KiB reach 10,000 IOPS with 1 user, at a mean of"),
            (Test::Read, "One user reads in sequence at 81.9 MB/s, 8 KiB at a time."),
            (
                Test::Write,
                "A redo write of 8 KiB takes 100 µs with 1 user, 10,000 of them a second.",
            ),
            (Test::RandRw, "Reads and writes of 8 KiB mixed 80/20 reach 10,000 IOPS with 1 user"),
        ] {
            let told = sentences(&[point(test, 1, 8, 8192)]);
            assert!(told.len() == 1 && told[0].starts_with(first), "{told:?}");
            assert!(told[0].ends_with('.'), "{told:?}");
        }
        assert_eq!(sentences(&[]), ["Nothing was measured."]);
    }

    #[test]
    fn scan_and_redo_verdicts_state_one_user_and_maximum() {
        let scan = [(1, 8192), (1, 1 << 20), (16, 1 << 20), (64, 1 << 20)]
            .map(|(users, bytes)| point(Test::Read, users, 8, bytes));
        assert_eq!(
            sentences(&scan),
            [
                "One user reads in sequence at 10.5 GB/s, 1 MiB at a time; the highest is 83.9 GB/s with 16 \
              users."
            ]
        );
        let redo = [(1, 1024), (1, 8192), (16, 1024)]
            .map(|(users, bytes)| point(Test::Write, users, 8, bytes));
        assert_eq!(
            sentences(&redo),
            [
                "A redo write of 1 KiB takes 100 µs with 1 user, 10,000 of them a second; 16 users make \
              80,000 at 200 µs."
            ]
        );
        let mixed = sentences(&curve(Test::RandRw, 8));
        assert!(mixed[0].contains("80,000 IOPS with 8 users"), "{mixed:?}");
    }
}
