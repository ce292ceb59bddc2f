//! Facts about several hosts.

use crate::measure::Measured;
use crate::measure::straggler::straggler;
use crate::search::CLIENT_BOUND_PERCENT;
use iogauge_model::Limit;
use iogauge_model::caveat::{Fact, HostFact};
use iogauge_model::result::{Environment, HostResult};
use std::collections::BTreeMap;

/// Returns the facts about the hosts of a measurement: that there are several, if so, and those whose processors limited
/// it.
#[must_use]
pub fn of_hosts(hosts: &[HostResult]) -> Vec<Fact> {
    if hosts.len() < 2 {
        return Vec::new();
    }
    let clock_error_ns = hosts.iter().map(|host| host.clock_error_ns).max().unwrap_or(0);
    let several = HostFact::Several { hosts: hosts.len(), clock_error_ns };
    let one_host = on_one_host(hosts);
    let bound: Vec<(&str, f64)> = hosts.iter().filter_map(client_bound).collect();
    let names: Vec<&str> = bound.iter().map(|(name, _)| *name).collect();
    let percent = bound.iter().map(|(_, percent)| *percent).reduce(f64::min);
    let bound = percent.map(|percent| HostFact::ClientBound { hosts: short(&names), percent });
    std::iter::once(several).chain(one_host).chain(bound).map(Fact::from).collect()
}

/// Returns a fact if several processes ran on the host with the most. Those of one host have its name and a number, as
/// in `a#2`.
fn on_one_host(hosts: &[HostResult]) -> Option<HostFact> {
    let mut processes: BTreeMap<&str, usize> = BTreeMap::new();
    for (host, _) in hosts.iter().filter_map(|host| host.name.split_once('#')) {
        *processes.entry(host).or_default() += 1;
    }
    let (host, processes) = processes.into_iter().max_by_key(|(_, processes)| *processes)?;
    Some(HostFact::OneHost { host: host.to_owned(), processes })
}

/// Returns the name of a host whose workers had no processor time left, and how much of it they used, in percent.
fn client_bound(host: &HostResult) -> Option<(&str, f64)> {
    let percent = host.busy_percent().filter(|percent| *percent >= CLIENT_BOUND_PERCENT)?;
    Some((&host.name, percent.min(100.0)))
}

/// Returns a fact if one host alone decided that a step broke a limit.
#[must_use]
pub fn straggler_of(measured: &Measured, limits: &[Limit]) -> Option<Fact> {
    let names: Vec<String> = measured.result.hosts.iter().map(|host| host.name.clone()).collect();
    let found = straggler(&measured.latencies(), limits, &names);
    found.map(|found| HostFact::Straggler(found).into())
}

/// Returns the facts in which hosts differ: kernel, processors and memory.
#[must_use]
pub fn differences(hosts: &[Environment]) -> Option<Fact> {
    let kinds: [fn(&Environment) -> String; 4] = [
        |host| format!("kernel {}", host.kernel),
        |host| host.cpu_model.clone(),
        |host| format!("{} processor{}", host.cpus, if host.cpus == 1 { "" } else { "s" }),
        // Rounded, because the firmware of equal machines may keep different parts.
        |host| format!("{} GiB of memory", (host.memory_bytes + (1 << 29)) >> 30),
    ];
    let told: Vec<String> = kinds.iter().filter_map(|kind| difference(hosts, *kind)).collect();
    (!told.is_empty()).then(|| HostFact::Differ(told.join("; ")).into())
}

/// Returns which hosts have which of several words; `None` if all have the same.
fn difference(hosts: &[Environment], word_of: fn(&Environment) -> String) -> Option<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for host in hosts {
        let word = word_of(host);
        match groups.iter_mut().find(|(other, _)| *other == word) {
            Some((_, names)) => names.push(&host.host),
            None => groups.push((word, vec![&host.host])),
        }
    }
    let told = groups.iter().map(|(word, names)| format!("{word} on {}", short(names)));
    (groups.len() > 1).then(|| told.collect::<Vec<_>>().join(", "))
}

/// Returns at most three names, or two and the number of the rest.
fn short(names: &[&str]) -> String {
    match names.len() {
        0..=3 => names.join(" and "),
        all => format!("{}, {} and {} more hosts", names[0], names[1], all - 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::caveat::Command;

    fn host(name: &str, kernel: &str, cpus: u32) -> Environment {
        let mut environment = iogauge_io::machine::environment("tsc");
        (environment.host, environment.kernel) = (name.to_owned(), kernel.to_owned());
        environment.cpus = cpus;
        environment
    }

    #[test]
    fn hosts_whose_workers_had_no_processor_left_are_named() {
        let result = |name: &str, cpu_percent| HostResult {
            name: name.to_owned(),
            queue_depth: 8.0,
            processors: 2,
            cpu_percent,
            ..HostResult::default()
        };
        let facts = of_hosts(&[result("a", 198.0), result("b", 20.0), result("c", 194.0)]);
        let caveats: Vec<_> = facts.iter().map(|fact| fact.caveat(Command::default())).collect();
        assert_eq!(caveats.len(), 2);
        assert!(
            caveats[1].message.contains("97 %") && caveats[1].message.contains("a and c"),
            "{caveats:?}"
        );
        assert_eq!(of_hosts(&[result("a", 20.0), result("b", 20.0)]).len(), 1);
        let facts = of_hosts(&[result("a#1", 20.0), result("b", 20.0), result("a#2", 20.0)]);
        let message = facts[1].caveat(Command::default()).message;
        assert!(message.contains("2 of the processes ran on a,"), "{message}");
        assert!(of_hosts(&[result("a", 198.0)]).is_empty());
    }

    #[test]
    fn equal_hosts_do_not_differ() {
        assert_eq!(differences(&[host("a", "6.1", 8), host("b", "6.1", 8)]), None);
        assert_eq!(differences(&[]), None);
    }

    #[test]
    fn hosts_are_grouped_by_what_differs() {
        let hosts = [host("a", "6.1", 8), host("b", "6.1", 8), host("c", "6.9", 1)];
        let message = differences(&hosts).unwrap().caveat(Command::default()).message;
        let expected =
            "kernel 6.1 on a and b, kernel 6.9 on c; 8 processors on a and b, 1 processor on c";
        assert!(message.contains(expected), "{message}");
    }
}
