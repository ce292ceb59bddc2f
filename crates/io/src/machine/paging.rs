//! Pages moved between memory and devices (proc_vmstat(5)).

use iogauge_model::result::Paging;

/// Page counters since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PageCounters {
    /// Read from block devices, in KiB.
    in_kib: u64,
    /// Written to block devices, in KiB.
    out_kib: u64,
    swap_in_pages: u64,
    swap_out_pages: u64,
    major_faults: u64,
}

impl PageCounters {
    /// Parses the text of `/proc/vmstat`. Counters that the kernel does not report are 0.
    pub fn parse(text: &str) -> Self {
        let mut counters = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            let counter = match name {
                "pgpgin" => &mut counters.in_kib,
                "pgpgout" => &mut counters.out_kib,
                "pswpin" => &mut counters.swap_in_pages,
                "pswpout" => &mut counters.swap_out_pages,
                "pgmajfault" => &mut counters.major_faults,
                _ => continue,
            };
            *counter = value.trim().parse().unwrap_or(0);
        }
        counters
    }

    /// Returns the rates from `before` to this reading `seconds` later, with pages of `page_bytes`.
    pub fn since(&self, before: &Self, seconds: f64, page_bytes: usize) -> Paging {
        let rate = |after: u64, before: u64| after.saturating_sub(before) as f64 / seconds;
        let page = page_bytes as f64;
        Paging {
            in_bytes_per_sec: rate(self.in_kib, before.in_kib) * 1024.0,
            out_bytes_per_sec: rate(self.out_kib, before.out_kib) * 1024.0,
            swap_in_bytes_per_sec: rate(self.swap_in_pages, before.swap_in_pages) * page,
            swap_out_bytes_per_sec: rate(self.swap_out_pages, before.swap_out_pages) * page,
            major_faults_per_sec: rate(self.major_faults, before.major_faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paging_is_reported_in_bytes_per_second() {
        let before =
            "nr_free_pages 5\npgpgin 1000\npgpgout 500\npswpin 3\npswpout 4\npgmajfault 10\n";
        let after =
            "nr_free_pages 9\npgpgin 1400\npgpgout 502\npswpin 5\npswpout 4\npgmajfault 30\n";
        let paging = PageCounters::parse(after).since(&PageCounters::parse(before), 2.0, 4096);
        assert_eq!((paging.in_bytes_per_sec, paging.out_bytes_per_sec), (204_800.0, 1024.0));
        assert_eq!((paging.swap_in_bytes_per_sec, paging.swap_out_bytes_per_sec), (4096.0, 0.0));
        assert_eq!(paging.major_faults_per_sec, 10.0);
    }

    proptest! {
        #[test]
        fn parsing_vmstat_never_panics(text in "((pgpgin|pswpin|\\PC) ?[0-9]{0,30}\n){0,20}") {
            let _ = PageCounters::parse(&text).since(&PageCounters::default(), 1.0, 4096);
        }
    }
}
