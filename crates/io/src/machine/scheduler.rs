//! Activity of the scheduler (proc_stat(5)).

use iogauge_model::result::Tasks;

/// Counters of the scheduler since boot, and the current numbers of running and waiting tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SchedulerCounters {
    context_switches: u64,
    interrupts: u64,
    runnable: u64,
    blocked: u64,
}

impl SchedulerCounters {
    /// Parses the text of `/proc/stat`. Counters that the kernel does not report are 0.
    pub fn parse(text: &str) -> Self {
        let mut counters = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let counter = match words.next() {
                Some("ctxt") => &mut counters.context_switches,
                Some("intr") => &mut counters.interrupts,
                Some("procs_running") => &mut counters.runnable,
                Some("procs_blocked") => &mut counters.blocked,
                _ => continue,
            };
            *counter = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        }
        counters
    }

    /// Returns the rates from `before` to this reading `seconds` later.
    pub fn since(&self, before: &Self, seconds: f64) -> Tasks {
        let rate = |after: u64, before: u64| after.saturating_sub(before) as f64 / seconds;
        Tasks {
            // Excludes the reading thread, which is running.
            runnable: self.runnable.saturating_sub(1) as f64,
            blocked: self.blocked as f64,
            context_switches_per_sec: rate(self.context_switches, before.context_switches),
            interrupts_per_sec: rate(self.interrupts, before.interrupts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text of kernel 6.18, with a shortened line of interrupts.
    const STAT: &str = "cpu  14330 15 5120 99022 2010 0 130 77 0 0\ncpu0 7110 7 2600 49000 1000 0 70 40 0 0\n\
                        intr 1234567 0 9 0 0 0\nctxt 9876543\nbtime 1795000000\nprocesses 5210\n\
                        procs_running 4\nprocs_blocked 2\nsoftirq 700000 0 1 2\n";

    #[test]
    fn scheduler_counters_are_parsed() {
        let after = SchedulerCounters::parse(STAT);
        let before =
            SchedulerCounters { context_switches: 9_876_043, interrupts: 1_234_467, ..after };
        let tasks = after.since(&before, 2.0);
        assert_eq!((tasks.runnable, tasks.blocked), (3.0, 2.0));
        assert_eq!((tasks.context_switches_per_sec, tasks.interrupts_per_sec), (250.0, 50.0));
    }

    proptest! {
        #[test]
        fn parsing_scheduler_counters_never_panics(text in "((ctxt|intr|procs_running|\\PC) ?[0-9]{0,30}\n){0,20}") {
            let _ = SchedulerCounters::parse(&text).since(&SchedulerCounters::default(), 1.0);
        }
    }
}
