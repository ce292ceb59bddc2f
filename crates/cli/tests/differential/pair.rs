//! One job file run by both tools, and what must be the same.

use crate::reports::Report;
use crate::seen::{Op, Seen};
use crate::statistics::alike;

/// What one tool did: the I/Os that the devices saw, and its report.
pub struct Run {
    pub seen: Seen,
    pub report: Report,
}

impl Run {
    /// Asserts that the report agrees with what the devices saw. Syncs are left out: the two tools count different
    /// ones, and a device that caches nothing sees none.
    #[track_caller]
    pub fn says_what_it_did(&self, tool: &str) {
        let (seen, report) = (&self.seen, &self.report);
        assert!(!seen.ios.is_empty(), "{tool}: the devices saw nothing; {report:?}");
        let ios = [Op::Read, Op::Write].map(|op| seen.count(op));
        let bytes = [Op::Read, Op::Write].map(|op| seen.bytes(op));
        assert_eq!((ios, bytes), (report.ios, report.bytes), "{tool}: seen, said");
    }
}

/// The same job file run by both tools.
pub struct Pair {
    pub fio: Run,
    pub iogauge: Run,
}

impl Pair {
    fn each(&self) -> [&Seen; 2] {
        [&self.fio.seen, &self.iogauge.seen]
    }

    /// Asserts that a property of the I/Os is the same.
    #[track_caller]
    pub fn same<T: PartialEq + std::fmt::Debug>(&self, what: &str, of: impl Fn(&Seen) -> T) {
        let [fio, iogauge] = self.each().map(of);
        assert_eq!(fio, iogauge, "{what}: fio, iogauge");
    }

    /// Asserts that lists of I/Os are the same, entry by entry.
    #[track_caller]
    pub fn same_list<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        of: impl Fn(&Seen) -> Vec<T>,
    ) {
        let [fio, iogauge] = self.each().map(of);
        assert_same_list(what, &fio, &iogauge);
    }

    /// Asserts that counts may be samples of one distribution.
    #[track_caller]
    pub fn alike(&self, what: &str, counts: impl Fn(&Seen) -> Vec<u64>) {
        let [fio, iogauge] = self.each().map(counts);
        assert!(alike(&fio, &iogauge), "{what}: fio {fio:?}, iogauge {iogauge:?}");
    }

    /// Asserts that each report agrees with what the devices saw.
    #[track_caller]
    pub fn reports(&self) {
        self.fio.says_what_it_did("fio");
        self.iogauge.says_what_it_did("iogauge");
    }

    /// Asserts that the numbers of reads, writes and flushes are the same, and their bytes.
    #[track_caller]
    pub fn same_amounts(&self) {
        self.reports();
        let ops = [Op::Read, Op::Write, Op::Flush];
        self.same("I/Os and bytes", |seen| ops.map(|op| (seen.count(op), seen.bytes(op))));
    }

    /// Asserts that the total of I/Os is the same and that the shares of reads and writes may come from one mix.
    #[track_caller]
    pub fn same_mix(&self) {
        self.reports();
        self.same("I/Os", |seen| seen.moves().count());
        self.alike("mix", |seen| vec![seen.count(Op::Read), seen.count(Op::Write)]);
    }

    /// Asserts that the block sizes are the same and that their shares may come from one split.
    #[track_caller]
    pub fn same_sizes(&self, op: Op) {
        self.same("block sizes", |seen| seen.sizes(op).into_keys().collect::<Vec<_>>());
        self.alike("shares of block sizes", |seen| seen.sizes(op).into_values().collect());
    }

    /// Asserts that both tools stay within the range, spread their I/Os alike over it, and place each I/O at a multiple
    /// of the alignment from its start.
    #[track_caller]
    pub fn same_places(&self, range: (u64, u64), alignment: u64) {
        for (seen, tool) in self.each().into_iter().zip(["fio", "iogauge"]) {
            let (first, end) = seen.range();
            assert!(first >= range.0 && end <= range.1, "{tool}: {first} to {end} in {range:?}");
            let is_aligned = |offset: u64| (offset - range.0).is_multiple_of(alignment);
            let odd = seen.moves().find(|io| !is_aligned(io.offset_bytes));
            assert!(odd.is_none(), "{tool}: {odd:?}");
        }
        self.alike("places", |seen| seen.spread(range, 32));
    }
}

/// Asserts that two lists are the same. Shows their first difference.
#[track_caller]
pub fn assert_same_list<T: PartialEq + std::fmt::Debug>(what: &str, fio: &[T], iogauge: &[T]) {
    let Some(at) = (0..fio.len().max(iogauge.len())).find(|at| fio.get(*at) != iogauge.get(*at))
    else {
        return;
    };
    let around = |list: &[T]| {
        format!("{:?}", &list[at.saturating_sub(3).min(list.len())..(at + 4).min(list.len())])
    };
    panic!(
        "{what} differ at {at} of {} and {}:\nfio     {}\niogauge {}",
        fio.len(),
        iogauge.len(),
        around(fio),
        around(iogauge)
    );
}
