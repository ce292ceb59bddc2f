//! I/Os that fio counts although they moved no data: reads beyond the end of a file that became shorter.

use iogauge_model::result::{FioDirection, FioLatency, FioResult};

/// fio reads the bytes and the latencies of a running job at slightly different times. If fewer I/Os than this are
/// missing in an interval, or a smaller share of the completed ones, nothing is wrong.
const FEWEST: u64 = 64;
const SMALLEST_PART: u64 = 8;
/// After this many, fio is ended, as a worker would be.
const MOST: u64 = 1000;
/// Engines whose I/Os move all the requested data or fail.
const ENGINES: &[&str] = &["io_uring", "libaio", "posixaio", "psync", "sync", "pvsync", "pvsync2"];

/// Detects empty I/Os in the documents of one fio.
#[derive(Debug, Default)]
pub(super) struct EmptyIos {
    /// The last document without empty I/Os.
    sound: Vec<FioResult>,
    newest: Vec<FioResult>,
    /// True if the newest document seems wrong.
    doubted: bool,
    /// I/Os that moved no data, once that is certain.
    certain: u64,
}

impl EmptyIos {
    /// Returns the document to show. If it has empty I/Os, that is what was measured before them, with the empty I/Os
    /// as failed ones.
    pub(super) fn see(&mut self, results: Vec<FioResult>) -> Vec<FioResult> {
        let doubted = self.seems_wrong(&results);
        let is_certain = self.certain > 0 || (self.doubted && self.is_confirmed_by(&results));
        (self.doubted, self.newest) = (doubted, results);
        if is_certain {
            return self.failing();
        }
        if !doubted {
            self.sound.clone_from(&self.newest);
        }
        self.sound.clone()
    }

    /// Returns the last document again if fio has ended by itself and the document has empty I/Os. Its counts are
    /// exact.
    pub(super) fn at_end(&mut self) -> Option<Vec<FioResult>> {
        let is_wrong = |result: &FioResult| {
            let bytes: u64 = directions(result).map(|d| d.bytes).sum();
            let outstanding = u64::from(result.queue_depth().unwrap_or(1));
            let empty = empty_of(result);
            empty > outstanding || (empty > 0 && bytes == 0)
        };
        let told = self.certain > 0;
        (!told && self.newest.iter().any(is_wrong)).then(|| self.failing())
    }

    /// Returns true if it is useless to let fio continue.
    pub(super) fn are_many(&self) -> bool {
        self.certain >= MOST
    }

    /// Describes the empty I/Os, if there are any.
    pub(super) fn words(&self) -> Option<String> {
        let n = self.certain;
        (n > 0).then(|| {
            format!("{n} I/Os of fio moved no data, since a file or device ended before them")
        })
    }

    /// Returns true if a large share of what was completed since the last document is empty.
    fn seems_wrong(&self, results: &[FioResult]) -> bool {
        let nothing = FioResult::default();
        results.iter().enumerate().any(|(number, result)| {
            let before = self.newest.get(number).unwrap_or(&nothing);
            let (now, then) = (completed_of(result), completed_of(before));
            // fio restarts its counts after its ramp time.
            let (then, empty) = if then > now { (0, 0) } else { (then, empty_of(before)) };
            let more = empty_of(result).saturating_sub(empty);
            more >= FEWEST && more >= (now - then) / SMALLEST_PART
        })
    }

    /// Returns true if a document shows that I/Os of the previous one were empty. Its bytes were read after those I/Os
    /// were counted, however busy the machine is.
    fn is_confirmed_by(&self, results: &[FioResult]) -> bool {
        let is_short = |(now, before): (&FioResult, &FioResult)| {
            let counted = completed_of(before);
            let outstanding = u64::from(now.queue_depth().unwrap_or(1));
            let moved: u64 = directions(now).map(moved).sum();
            completed_of(now) >= counted && counted > moved.saturating_add(outstanding)
        };
        results.iter().zip(&self.newest).any(is_short)
    }

    /// Returns the last sound document, with the empty I/Os of the newest one as failed ones.
    fn failing(&mut self) -> Vec<FioResult> {
        self.certain = self.newest.iter().map(empty_of).sum();
        let failing = |(number, newest): (usize, &FioResult)| {
            // While fio ramps up, it reports bytes but no latencies. Nothing of such a document is shown.
            let is_timed = |d: &FioDirection| d.latency().is_some_and(|lat| lat.max_ns > 0);
            let measured =
                |result: &&FioResult| directions(result).any(|d| d.bytes > 0 && is_timed(d));
            let sound = self.sound.get(number).filter(measured).cloned();
            let mut result = sound.unwrap_or_else(|| without_figures(newest));
            result.failed_ios = newest.failed_ios.saturating_add(empty_of(newest));
            result
        };
        self.newest.iter().enumerate().map(failing).collect()
    }
}

fn directions(result: &FioResult) -> impl Iterator<Item = &FioDirection> {
    let is_checked = ENGINES.contains(&result.engine.as_str());
    result.directions().map(|(_, direction)| direction).filter(move |_| is_checked)
}

fn completed_of(result: &FioResult) -> u64 {
    directions(result).map(completed).sum()
}

fn empty_of(result: &FioResult) -> u64 {
    directions(result).map(empty).sum()
}

/// Returns the number of I/Os with a latency; the others are outstanding. fio reports the bins of `clat`, or those of
/// `lat` if a job asks for its percentiles.
fn completed(direction: &FioDirection) -> u64 {
    let count = |latency: &FioLatency| latency.bins.iter().map(|(_, n)| n).sum();
    let told = [&direction.lat, &direction.clat].into_iter().flatten().map(count);
    told.max().filter(|n| *n > 0).unwrap_or(direction.ios)
}

/// Returns the minimum number of completed I/Os that moved no data.
fn empty(direction: &FioDirection) -> u64 {
    completed(direction).saturating_sub(moved(direction))
}

/// Returns the maximum number of I/Os that moved data.
fn moved(direction: &FioDirection) -> u64 {
    let least_bytes = direction.block.map_or(1, |block| block.min_bytes.max(1));
    direction.bytes.div_ceil(least_bytes).saturating_add(direction.short_ios)
}

fn without_figures(result: &FioResult) -> FioResult {
    let without = |direction: &Option<FioDirection>| {
        direction.as_ref().map(|d| FioDirection { block: d.block, ..FioDirection::default() })
    };
    FioResult {
        read: without(&result.read),
        write: without(&result.write),
        trim: without(&result.trim),
        mixed: without(&result.mixed),
        sync: None,
        shares: Vec::new(),
        ..result.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::result::BlockRange;

    /// Returns a document of one job, with this many reads and blocks moved.
    fn document(ios: u64, blocks: u64) -> Vec<FioResult> {
        let lat = FioLatency { bins: vec![(1000, ios)], max_ns: 1000, ..FioLatency::default() };
        let read = FioDirection {
            ios,
            bytes: blocks * 4096,
            block: Some(BlockRange { min_bytes: 4096, max_bytes: 4096 }),
            lat: Some(lat),
            ..FioDirection::default()
        };
        let engine = "libaio".to_owned();
        vec![FioResult {
            read: Some(read),
            engine,
            iodepth: Some(8),
            users: Some(1),
            ..FioResult::default()
        }]
    }

    fn shown(results: &[FioResult]) -> (u64, u64) {
        (results[0].read.as_ref().unwrap().ios, results[0].failed_ios)
    }

    #[test]
    fn bytes_of_ramp_time_are_not_reported_as_measured() {
        let mut empty = EmptyIos::default();
        let mut ramp = document(0, 5000);
        ramp[0].read.as_mut().unwrap().lat = None;
        empty.see(ramp);
        empty.see(document(90_000, 5000));
        let told = empty.see(document(100_000, 5000));
        assert_eq!(shown(&told), (0, 95_000));
        assert_eq!(told[0].read.as_ref().unwrap().bytes, 0);
    }

    #[test]
    fn results_before_end_of_file_are_kept() {
        let mut seen = EmptyIos::default();
        for (ios, blocks, wanted) in [
            (500, 490, (500, 0)),
            (900, 880, (900, 0)),
            // Doubted once, and a second time.
            (1900, 1000, (900, 0)),
            (2500, 1000, (900, 1500)),
            (2600, 1000, (900, 1600)),
        ] {
            assert_eq!(shown(&seen.see(document(ios, blocks))), wanted, "{ios}");
        }
        assert!(seen.are_many() && seen.at_end().is_none());
        assert!(seen.words().unwrap().starts_with("1600 I/Os"));
        // Bytes that were read too early are in the next document.
        let mut seen = EmptyIos::default();
        for (ios, blocks) in [(1000, 1000), (1400, 1200), (2000, 1600), (2600, 2100), (2600, 2600)]
        {
            seen.see(document(ios, blocks));
        }
        assert_eq!((seen.at_end(), seen.words()), (None, None));
        // Also with a few empty reads among many.
        let mut seen = EmptyIos::default();
        seen.see(document(10_000, 10_000));
        seen.see(document(20_000, 19_900));
        assert_eq!(seen.at_end().map(|results| shown(&results)), Some((20_000, 100)));
    }

    /// As in most job files.
    #[test]
    fn empty_ios_are_detected_with_clat_bins_only() {
        let mut seen = EmptyIos::default();
        for (ios, blocks) in [(900, 900), (1900, 1000), (2500, 1000)] {
            let mut told = document(ios, blocks);
            let read = told[0].read.as_mut().unwrap();
            read.clat = read.lat.clone();
            read.lat.as_mut().unwrap().bins.clear();
            read.ios += 5;
            seen.see(told);
        }
        assert_eq!(seen.words().map(|words| words.starts_with("1500 I/Os")), Some(true));
        assert_eq!(seen.sound[0].read.as_ref().unwrap().bytes, 900 * 4096);
        assert_eq!(seen.failing()[0].read.as_ref().unwrap().bytes, 900 * 4096);
    }

    #[test]
    fn run_with_only_empty_ios_has_no_results() {
        let mut seen = EmptyIos::default();
        let first = seen.see(document(40, 0));
        assert_eq!(shown(&first), (40, 0), "few may be outstanding");
        assert_eq!(seen.at_end().map(|results| shown(&results)), Some((0, 40)));
        let mut seen = EmptyIos::default();
        assert!(seen.see(document(5000, 0)).is_empty());
        let ended = seen.at_end().unwrap();
        assert_eq!(shown(&ended), (0, 5000));
        assert!(ended[0].read.as_ref().unwrap().lat.is_none());
    }

    #[test]
    fn valid_results_are_passed_unchanged() {
        let mut seen = EmptyIos::default();
        for (ios, blocks) in [(934, 0), (10_000, 9_995), (10, 10), (20, 12), (20_000, 19_992)] {
            seen.see(document(ios, blocks));
        }
        assert_eq!((seen.at_end(), seen.words()), (None, None));
        // I/Os of different sizes, and engines that move whatever data there is.
        let mut varied = document(1000, 2000);
        let mut sockets = document(5000, 10);
        sockets[0].engine = "net".to_owned();
        varied[0].read.as_mut().unwrap().block =
            Some(BlockRange { min_bytes: 4096, max_bytes: 65536 });
        for document in [varied, sockets] {
            let mut seen = EmptyIos::default();
            seen.see(document);
            assert_eq!(seen.at_end(), None);
        }
    }
}
