//! Processor time: of this process (`getrusage(2)`), of the machine (`proc_stat(5)`).

use iogauge_model::result::CpuUse;

/// Processor time this process has used, all threads together, kernel workers of its io_uring
/// included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessCpu {
    /// In user mode, in nanoseconds.
    pub user_ns: u64,
    /// In the kernel, in nanoseconds.
    pub system_ns: u64,
}

impl ProcessCpu {
    /// Reads it: one system call.
    #[must_use]
    pub fn now() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: getrusage writes one rusage to the pointer, which is valid for it; all-zero
        // bytes are a valid rusage, so that it is initialised even if the call failed.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        Self { user_ns: timeval_ns(usage.ru_utime), system_ns: timeval_ns(usage.ru_stime) }
    }

    /// What was used between an earlier reading and this one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }

    /// User and system time together, in nanoseconds.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    (time.tv_sec as u64).saturating_mul(1_000_000_000) + time.tv_usec as u64 * 1000
}

/// Processor time of all processors since boot, in clock ticks (usually 10 ms).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCpu {
    /// Working: user, nice, system, interrupts. Guests' time is within user.
    pub busy_ticks: u64,
    /// Idle with no I/O outstanding.
    pub idle_ticks: u64,
    /// Idle with I/O outstanding.
    pub iowait_ticks: u64,
    /// Wanted to work while the hypervisor let others.
    pub steal_ticks: u64,
}

/// How the machine's processor time was shared out over a span, in percent of all processors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MachineShare {
    /// Working.
    pub busy_percent: f64,
    /// Taken by the hypervisor.
    pub steal_percent: f64,
    /// Idle with I/O outstanding.
    pub iowait_percent: f64,
}

impl MachineCpu {
    /// Reads the `cpu` line of the text of `/proc/stat`; `None` where there is none with at
    /// least the four fields of the oldest kernels.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // user nice system idle iowait irq softirq steal
        let mut fields = [0u64; 8];
        let mut given = 0;
        for (field, word) in fields.iter_mut().zip(line.split_ascii_whitespace()) {
            *field = word.parse().ok()?;
            given += 1;
        }
        let [user, nice, system, idle, iowait, irq, softirq, steal] = fields;
        let busy = [nice, system, irq, softirq].into_iter().fold(user, u64::saturating_add);
        (given >= 4).then_some(Self {
            busy_ticks: busy,
            idle_ticks: idle,
            iowait_ticks: iowait,
            steal_ticks: steal,
        })
    }

    /// The shares between `before` and this reading; all 0 where no tick has passed. Idle and
    /// iowait may run backwards by a few ticks on some kernels: that counts as none.
    #[must_use]
    pub fn share_since(&self, before: &Self) -> MachineShare {
        let busy = self.busy_ticks.saturating_sub(before.busy_ticks) as f64;
        let idle = self.idle_ticks.saturating_sub(before.idle_ticks) as f64;
        let iowait = self.iowait_ticks.saturating_sub(before.iowait_ticks) as f64;
        let steal = self.steal_ticks.saturating_sub(before.steal_ticks) as f64;
        let total = busy + idle + iowait + steal;
        let percent = |part: f64| if total > 0.0 { 100.0 * part / total } else { 0.0 };
        MachineShare {
            busy_percent: percent(busy),
            steal_percent: percent(steal),
            iowait_percent: percent(iowait),
        }
    }
}

/// Processor time over a span of `wall_ns` in which `ios` I/Os were made.
pub(super) fn cpu_use(
    (process_before, process_after): (ProcessCpu, ProcessCpu),
    machine: MachineShare,
    wall_ns: u64,
    ios: u64,
) -> CpuUse {
    let user_ns = process_after.user_ns.saturating_sub(process_before.user_ns);
    let system_ns = process_after.system_ns.saturating_sub(process_before.system_ns);
    let percent = |part: u64| if wall_ns == 0 { 0.0 } else { 100.0 * part as f64 / wall_ns as f64 };
    CpuUse {
        user_percent: percent(user_ns),
        system_percent: percent(system_ns),
        ns_per_io: if ios == 0 { 0.0 } else { (user_ns + system_ns) as f64 / ios as f64 },
        machine_percent: machine.busy_percent,
        steal_percent: machine.steal_percent,
        iowait_percent: machine.iowait_percent,
        wait_percent: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_summary_line_is_read_and_not_a_processors() {
        let text = "cpu  100 20 30 400 50 6 7 8 90 9\ncpu0 1 2 3 4\nintr 5\n";
        let cpu = MachineCpu::parse(text).unwrap();
        assert_eq!(cpu.busy_ticks, 163);
        assert_eq!((cpu.idle_ticks, cpu.iowait_ticks, cpu.steal_ticks), (400, 50, 8));
        assert_eq!(MachineCpu::parse("cpu0 1 2 3 4\n"), None);
        assert_eq!(MachineCpu::parse("cpu 1 2 3\n"), None);
        assert!(MachineCpu::parse("cpu 1 2 3 4\n").is_some());
    }

    #[test]
    fn shares_are_of_the_time_passed() {
        let before = MachineCpu { busy_ticks: 10, idle_ticks: 10, iowait_ticks: 5, steal_ticks: 0 };
        let after = MachineCpu { busy_ticks: 60, idle_ticks: 40, iowait_ticks: 4, steal_ticks: 20 };
        let share = after.share_since(&before);
        assert_eq!(
            (share.busy_percent, share.steal_percent, share.iowait_percent),
            (50.0, 20.0, 0.0)
        );
        assert_eq!(after.share_since(&after), MachineShare::default());
    }

    #[test]
    fn own_time_is_per_wall_time_and_per_io() {
        let before = ProcessCpu { user_ns: 100, system_ns: 100 };
        let after = ProcessCpu { user_ns: 600, system_ns: 1100 };
        let used = cpu_use((before, after), MachineShare::default(), 1000, 3);
        assert_eq!((used.user_percent, used.system_percent, used.ns_per_io), (50.0, 100.0, 500.0));
        assert_eq!(cpu_use((before, after), MachineShare::default(), 0, 0), CpuUse::default());
    }

    #[test]
    fn own_time_grows_with_work() {
        let before = ProcessCpu::now();
        let begun = std::time::Instant::now();
        let mut x = 1u64;
        let used =
            |now: ProcessCpu| now.user_ns + now.system_ns - before.user_ns - before.system_ns;
        while used(ProcessCpu::now()) < 20_000_000 {
            assert!(begun.elapsed().as_secs() < 20, "20 ms of work have to show within 20 s");
            for _ in 0..10_000 {
                x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(cpu )?(\\PC|\n|[0-9 ]){0,200}") {
            let _ = MachineCpu::parse(&text);
        }

        #[test]
        fn shares_stay_within_percent(a in any::<[u32; 4]>(), b in any::<[u32; 4]>()) {
            let of = |t: [u32; 4]| MachineCpu {
                busy_ticks: t[0].into(), idle_ticks: t[1].into(),
                iowait_ticks: t[2].into(), steal_ticks: t[3].into(),
            };
            let share = of(b).share_since(&of(a));
            let sum = share.busy_percent + share.steal_percent + share.iowait_percent;
            prop_assert!((0.0..=100.0 + 1e-9).contains(&sum), "{}", sum);
        }
    }
}
