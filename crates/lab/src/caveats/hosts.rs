//! Facts about several hosts.

use crate::measure::Measured;
use crate::measure::straggler::straggler;
use iogauge_model::Limit;
use iogauge_model::caveat::{Fact, HostFact};
use iogauge_model::result::{Environment, HostResult};

/// Returns the fact that several hosts did the I/O, if so.
#[must_use]
pub fn several(hosts: &[HostResult]) -> Option<Fact> {
    (hosts.len() > 1).then(|| HostFact::Several(hosts.len()).into())
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
