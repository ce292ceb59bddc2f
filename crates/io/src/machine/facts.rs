//! Facts about the machine that affect measurements, for `iogauge doctor`.

use super::memory::Memory;
use super::{GroupLimits, Roots};
use crate::kernel::{entries, text};
use iogauge_model::result::MachineFacts;
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeSet;

/// Returns what the kernel reports about processors, memory and the limits of this process. The caller adds the
/// environment, engines and limits on I/O.
#[must_use]
pub fn machine(roots: &Roots, groups: &GroupLimits) -> MachineFacts {
    let memory = Memory::read(roots);
    let online = text(&roots.path("sys/devices/system/cpu/online"));
    MachineFacts {
        cpus_online: online.and_then(|list| count(&list)),
        cpu_quota: groups.processors.as_ref().map(|bound| bound.value),
        governor: governors(roots),
        deepest_idle: deepest_idle(roots),
        memory_available_bytes: memory.unwrap_or_default().available_bytes,
        memory_limit_bytes: groups.memory_bytes.as_ref().map(|bound| bound.value),
        locked_memory_bytes: getrlimit(Resource::Memlock).current,
        protection: crate::confine::protection().to_string(),
        ..MachineFacts::default()
    }
}

/// Returns how many numbers are in a list such as `0-3,8`.
fn count(list: &str) -> Option<u32> {
    list.split(',').try_fold(0u32, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// Returns the frequency governors in use (kernel documentation, admin-guide/pm/cpufreq).
fn governors(roots: &Roots) -> Option<String> {
    let policies = entries(&roots.path("sys/devices/system/cpu/cpufreq"));
    let names: BTreeSet<String> =
        policies.iter().filter_map(|policy| text(&policy.join("scaling_governor"))).collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

/// Returns the deepest enabled idle state of the first processor, with its exit latency in microseconds (kernel
/// documentation, admin-guide/pm/cpuidle).
fn deepest_idle(roots: &Roots) -> Option<String> {
    let states = entries(&roots.path("sys/devices/system/cpu/cpu0/cpuidle"));
    let enabled =
        states.iter().filter(|state| text(&state.join("disable")).as_deref() != Some("1"));
    let deepest = enabled.filter_map(|state| {
        let latency_us: u64 = text(&state.join("latency"))?.parse().ok()?;
        Some((latency_us, text(&state.join("name"))?))
    });
    deepest.max().map(|(latency_us, name)| format!("{name}, {latency_us} µs to wake"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn cpu_governors_and_idle_states_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let write = |below: &str, content: &str| {
            let path = dir.path().join("sys/devices/system/cpu").join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("online", "0-2,4\n");
        write("cpufreq/policy0/scaling_governor", "powersave\n");
        write("cpufreq/policy1/scaling_governor", "powersave\n");
        for (state, name, latency, disable) in
            [("state0", "POLL", "0", "0"), ("state1", "C1", "2", "0"), ("state2", "C6", "133", "1")]
        {
            write(&format!("cpu0/cpuidle/{state}/name"), name);
            write(&format!("cpu0/cpuidle/{state}/latency"), latency);
            write(&format!("cpu0/cpuidle/{state}/disable"), disable);
        }
        let facts = machine(&Roots::at(dir.path()), &GroupLimits::default());
        assert_eq!(facts.cpus_online, Some(4));
        assert_eq!(facts.governor.as_deref(), Some("powersave"));
        assert_eq!(facts.deepest_idle.as_deref(), Some("C1, 2 µs to wake"));
        assert_eq!(facts.cpu_quota, None);
    }

    proptest! {
        #[test]
        fn parsing_cpu_lists_never_panics(list in "[0-9,-]{0,20}") {
            let _ = count(&list);
        }
    }
}
