//! Processor time of this process (getrusage(2)) and of the machine (proc_stat(5)).

use iogauge_model::result::{CpuKinds, CpuUse};
use serde::{Deserialize, Serialize};

/// Processor time that this process has used: all threads, including kernel workers of its io_uring instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCpu {
    /// In user mode, in nanoseconds.
    pub user_ns: u64,
    /// In the kernel, in nanoseconds.
    pub system_ns: u64,
}

impl ProcessCpu {
    /// Reads it with one system call.
    #[must_use]
    pub fn now() -> Self {
        Self::of(&usage_of(libc::RUSAGE_SELF))
    }

    fn of(usage: &libc::rusage) -> Self {
        Self { user_ns: timeval_ns(usage.ru_utime), system_ns: timeval_ns(usage.ru_stime) }
    }

    /// Returns what was used since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }

    /// Returns user and system time together, in nanoseconds.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// Processor use of a thread since its start (getrusage(2), `RUSAGE_THREAD`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadUse {
    /// Processor time, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Number of voluntary context switches: the thread went to sleep.
    pub(crate) sleeps: u64,
}

impl ThreadUse {
    /// Reads the use of the calling thread with one system call.
    pub(crate) fn now() -> Self {
        let usage = usage_of(libc::RUSAGE_THREAD);
        Self { cpu_ns: ProcessCpu::of(&usage).total_ns(), sleeps: usage.ru_nvcsw.unsigned_abs() }
    }
}

fn usage_of(who: libc::c_int) -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one rusage to the pointer, which is valid for it. All-zero bytes are a valid rusage, so
    // it is initialized even if the call fails.
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    (time.tv_sec as u64).saturating_mul(1_000_000_000) + time.tv_usec as u64 * 1000
}

/// Processor time of all processors since boot, in clock ticks (usually 10 ms).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineCpu {
    /// User and nice time, without guests.
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Serving interrupts.
    pub irq_ticks: u64,
    /// Serving softirqs: deferred work of interrupts.
    pub softirq_ticks: u64,
    /// Running guests of this machine's hypervisor, including niced ones.
    pub guest_ticks: u64,
    /// Idle with no I/O outstanding.
    pub idle_ticks: u64,
    /// Idle with I/O outstanding.
    pub iowait_ticks: u64,
    /// Ready to run while the hypervisor ran something else.
    pub steal_ticks: u64,
}

/// Shares of the machine's processor time in an interval, in percent of all processors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MachineShare {
    /// Working: user, system, interrupts and guests.
    pub busy_percent: f64,
    /// Taken by the hypervisor.
    pub steal_percent: f64,
    /// Idle with I/O outstanding.
    pub iowait_percent: f64,
    pub kinds: CpuKinds,
}

impl MachineCpu {
    /// Parses the `cpu` line in the text of `/proc/stat`; `None` if there is none with at least the four fields of the
    /// oldest kernels.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // user nice system idle iowait irq softirq steal guest guest_nice
        let mut fields = [0u64; 10];
        let mut given = 0;
        for (field, word) in fields.iter_mut().zip(line.split_ascii_whitespace()) {
            *field = word.parse().ok()?;
            given += 1;
        }
        let [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice] = fields;
        let guests = guest.saturating_add(guest_nice);
        (given >= 4).then_some(Self {
            // The kernel includes guests in user and nice time.
            user_ticks: user.saturating_add(nice).saturating_sub(guests),
            system_ticks: system,
            irq_ticks: irq,
            softirq_ticks: softirq,
            guest_ticks: guests,
            idle_ticks: idle,
            iowait_ticks: iowait,
            steal_ticks: steal,
        })
    }

    /// Returns the shares between `before` and this reading; all 0 if no tick has passed. On some kernels, idle and
    /// iowait may go backwards by a few ticks, which counts as 0.
    #[must_use]
    pub fn share_since(&self, before: &Self) -> MachineShare {
        let grown = |of: fn(&Self) -> u64| of(self).saturating_sub(of(before)) as f64;
        let user = grown(|cpu| cpu.user_ticks);
        let system = grown(|cpu| cpu.system_ticks);
        let irq = grown(|cpu| cpu.irq_ticks);
        let softirq = grown(|cpu| cpu.softirq_ticks);
        let guest = grown(|cpu| cpu.guest_ticks);
        let idle = grown(|cpu| cpu.idle_ticks);
        let iowait = grown(|cpu| cpu.iowait_ticks);
        let steal = grown(|cpu| cpu.steal_ticks);
        let busy = user + system + irq + softirq + guest;
        let total = busy + idle + iowait + steal;
        let percent = |part: f64| if total > 0.0 { 100.0 * part / total } else { 0.0 };
        MachineShare {
            busy_percent: percent(busy),
            steal_percent: percent(steal),
            iowait_percent: percent(iowait),
            kinds: CpuKinds {
                user_percent: percent(user),
                system_percent: percent(system),
                irq_percent: percent(irq),
                softirq_percent: percent(softirq),
                guest_percent: percent(guest),
                idle_percent: percent(idle),
            },
        }
    }
}

/// Returns the processor use in an interval of `wall_ns` in which `ios` I/Os were done.
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
        machine_percent: Some(machine.busy_percent),
        steal_percent: machine.steal_percent,
        iowait_percent: machine.iowait_percent,
        wait_percent: 0.0,
        polled_percent: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_summary_cpu_line_of_proc_stat_is_parsed() {
        let text = "cpu  100 20 30 400 50 6 7 8 90 9\ncpu0 1 2 3 4\nintr 5\n";
        let cpu = MachineCpu::parse(text).unwrap();
        // 99 of the user and nice ticks belong to guests.
        assert_eq!((cpu.user_ticks, cpu.guest_ticks), (21, 99));
        assert_eq!((cpu.system_ticks, cpu.irq_ticks, cpu.softirq_ticks), (30, 6, 7));
        assert_eq!((cpu.idle_ticks, cpu.iowait_ticks, cpu.steal_ticks), (400, 50, 8));
        assert_eq!(MachineCpu::parse("cpu0 1 2 3 4\n"), None);
        assert_eq!(MachineCpu::parse("cpu 1 2 3\n"), None);
        assert!(MachineCpu::parse("cpu 1 2 3 4\n").is_some());
    }

    #[test]
    fn cpu_shares_are_relative_to_elapsed_ticks() {
        let before = MachineCpu::parse("cpu 10 0 0 10 5 0 0 0 0 0\n").unwrap();
        let after = MachineCpu::parse("cpu 20 20 10 40 4 4 6 20 5 5\n").unwrap();
        let share = after.share_since(&before);
        let kinds = CpuKinds {
            user_percent: 20.0,
            system_percent: 10.0,
            irq_percent: 4.0,
            softirq_percent: 6.0,
            guest_percent: 10.0,
            idle_percent: 30.0,
        };
        assert_eq!(share.kinds, kinds);
        assert_eq!(
            (share.busy_percent, share.steal_percent, share.iowait_percent),
            (50.0, 20.0, 0.0)
        );
        assert_eq!(after.share_since(&after), MachineShare::default());
    }

    #[test]
    fn process_cpu_use_is_per_wall_time_and_per_io() {
        let before = ProcessCpu { user_ns: 100, system_ns: 100 };
        let after = ProcessCpu { user_ns: 600, system_ns: 1100 };
        let used = cpu_use((before, after), MachineShare::default(), 1000, 3);
        assert_eq!((used.user_percent, used.system_percent, used.ns_per_io), (50.0, 100.0, 500.0));
        let nothing = CpuUse { machine_percent: Some(0.0), ..CpuUse::default() };
        assert_eq!(cpu_use((before, after), MachineShare::default(), 0, 0), nothing);
    }

    #[test]
    fn process_cpu_time_increases_with_work() {
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
        fn parsing_proc_stat_cpu_never_panics(text in "(cpu )?(\\PC|\n|[0-9 ]){0,200}") {
            let _ = MachineCpu::parse(&text);
        }

        #[test]
        fn cpu_shares_stay_within_0_to_100_percent(a in any::<[u32; 8]>(), b in any::<[u32; 8]>()) {
            let of = |t: [u32; 8]| {
                let [user_ticks, system_ticks, irq_ticks, softirq_ticks, guest_ticks, idle_ticks,
                    iowait_ticks, steal_ticks] = t.map(u64::from);
                MachineCpu { user_ticks, system_ticks, irq_ticks, softirq_ticks, guest_ticks,
                    idle_ticks, iowait_ticks, steal_ticks }
            };
            let share = of(b).share_since(&of(a));
            let sum = share.busy_percent + share.steal_percent + share.iowait_percent
                + share.kinds.idle_percent;
            prop_assert!(sum == 0.0 || (sum - 100.0).abs() < 1e-9, "{}", sum);
        }
    }
}
