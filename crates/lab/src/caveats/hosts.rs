//! Facts about several hosts.

use crate::measure::Measured;
use crate::measure::straggler::straggler;
use crate::search::client_bound_percent;
use iogauge_model::caveat::{Fact, HostFact};
use iogauge_model::result::{Environment, FileSystemFacts, HostResult};
use iogauge_model::units::Bytes;
use iogauge_model::{Caveat, Limit};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The target on one host, as far as hosts are compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetOnHost {
    /// The file system of each part that is a file.
    pub file_systems: Vec<FileSystemFacts>,
    /// Usable bytes over all parts.
    pub size_bytes: u64,
}

/// Returns the facts about the hosts of a measurement: that there are several, if so, those that did nothing, and those
/// whose processors limited it.
#[must_use]
pub fn of_hosts(hosts: &[HostResult]) -> Vec<Fact> {
    if hosts.len() < 2 {
        return Vec::new();
    }
    let clock_error_ns = hosts.iter().map(|host| host.clock_error_ns).max().unwrap_or(0);
    let several = HostFact::Several { hosts: hosts.len(), clock_error_ns };
    let one_host = on_one_host(hosts);
    let idle: Vec<&str> =
        hosts.iter().filter(|host| host.is_idle()).map(|host| host.name.as_str()).collect();
    let some_are_idle = !idle.is_empty() && idle.len() < hosts.len();
    let idle = some_are_idle.then(|| HostFact::Idle { idle: short(&idle), hosts: hosts.len() });
    let bound: Vec<(&str, f64)> = hosts.iter().filter_map(client_bound).collect();
    let names: Vec<&str> = bound.iter().map(|(name, _)| *name).collect();
    let percent = bound.iter().map(|(_, percent)| *percent).reduce(f64::min);
    let bound = percent.map(|percent| HostFact::ClientBound { hosts: short(&names), percent });
    std::iter::once(several).chain(one_host).chain(idle).chain(bound).map(Fact::from).collect()
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
    Some((&host.name, client_bound_percent(host)?.min(100.0)))
}

/// Returns a fact if one host alone decided that a step broke a limit.
#[must_use]
pub fn straggler_of(measured: &Measured, limits: &[Limit]) -> Option<Fact> {
    let names: Vec<String> = measured.result.hosts.iter().map(|host| host.name.clone()).collect();
    let found = straggler(&measured.latencies(), limits, &names);
    found.map(|found| HostFact::Straggler(found).into())
}

/// Returns the facts in which hosts differ: kernel, processors, memory, and the size and file systems of the target, those
/// of the first host first.
#[must_use]
pub fn differences(hosts: &[Environment], targets: &[TargetOnHost]) -> Option<Fact> {
    let kinds: [fn(&Environment) -> String; 4] = [
        |host| format!("kernel {}", host.kernel),
        |host| host.cpu_model.clone(),
        |host| format!("{} processor{}", host.cpus, if host.cpus == 1 { "" } else { "s" }),
        // Rounded, because the firmware of equal machines may keep different parts.
        |host| format!("{} GiB of memory", (host.memory_bytes + (1 << 29)) >> 30),
    ];
    let names: Vec<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
    let of_machines = kinds.iter().map(|kind| hosts.iter().map(kind).collect::<Vec<_>>());
    let size = |target: &TargetOnHost| format!("a target of {}", Bytes(target.size_bytes));
    let of_targets = [targets.iter().map(size).collect(), kinds_of(targets), options_of(targets)];
    let words = of_machines.chain(of_targets);
    let told: Vec<String> = words.filter_map(|words| difference(&names, words)).collect();
    (!told.is_empty()).then(|| HostFact::Differ(told.join("; ")).into())
}

/// Returns the file systems of each host.
fn kinds_of(targets: &[TargetOnHost]) -> Vec<String> {
    let kinds = |target: &TargetOnHost| {
        let kinds: Vec<&str> =
            target.file_systems.iter().map(|mount| mount.name.as_str()).collect();
        kinds.join(" and ")
    };
    targets.iter().map(kinds).collect()
}

/// Returns the mount options of each host that not all hosts have.
fn options_of(targets: &[TargetOnHost]) -> Vec<String> {
    /// Names and addresses of the client itself.
    const OF_CLIENT: [&str; 3] = ["clientaddr=", "fd=", "name="];
    let is_of_client = |option: &str| OF_CLIENT.iter().any(|start| option.starts_with(start));
    let options = |target: &TargetOnHost| {
        let all = target
            .file_systems
            .iter()
            .flat_map(|mount| mount.options.split(',').map(str::to_owned));
        all.filter(|option| !is_of_client(option)).collect::<BTreeSet<String>>()
    };
    let each: Vec<BTreeSet<String>> = targets.iter().map(options).collect();
    let own = |options: &BTreeSet<String>| {
        let is_of_all = |option: &&String| each.iter().all(|other| other.contains(*option));
        let own: Vec<&str> =
            options.iter().filter(|option| !is_of_all(option)).map(String::as_str).collect();
        if own.is_empty() {
            "none of these".to_owned()
        } else {
            format!("mount options {}", own.join(","))
        }
    };
    each.iter().map(own).collect()
}

/// Returns which hosts have which of several words; `None` if all have the same.
fn difference(hosts: &[&str], words: Vec<String>) -> Option<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (host, word) in hosts.iter().zip(words) {
        match groups.iter_mut().find(|(other, _)| *other == word) {
            Some((_, names)) => names.push(host),
            None => groups.push((word, vec![host])),
        }
    }
    let told = groups.iter().map(|(word, names)| format!("{word} on {}", short(names)));
    (groups.len() > 1).then(|| told.collect::<Vec<_>>().join(", "))
}

/// Joins the caveats that each host finds about its target. Those that differ only in their figures become one, with the figures
/// of the first host and the names of the hosts; no names if all hosts find the same.
#[must_use]
pub fn merged(hosts: &[String], of_each: &[Vec<Caveat>]) -> Vec<Caveat> {
    let mut groups: Vec<Vec<(&str, &Caveat)>> = Vec::new();
    for (host, caveats) in hosts.iter().zip(of_each) {
        for caveat in caveats {
            let is_like = |group: &&mut Vec<(&str, &Caveat)>| {
                let first = group[0].1;
                first.code == caveat.code && pattern(&first.message) == pattern(&caveat.message)
            };
            match groups.iter_mut().find(is_like) {
                Some(group) => group.push((host, caveat)),
                None => groups.push(vec![(host, caveat)]),
            }
        }
    }
    groups.iter().map(|group| joined(group, hosts.len())).collect()
}

fn joined(group: &[(&str, &Caveat)], all: usize) -> Caveat {
    let mut names: Vec<&str> = group.iter().map(|(host, _)| *host).collect();
    names.dedup();
    // One host in doubt puts the answer in doubt.
    let (host, told) =
        group.iter().find(|(_, caveat)| caveat.is_doubt()).copied().unwrap_or(group[0]);
    let is_same = group.iter().all(|(_, caveat)| caveat.message == told.message);
    let message = match (names.len() == all, is_same) {
        (true, true) => told.message.clone(),
        (true, false) => format!("on all hosts, as on {host}: {}", told.message),
        (false, true) => format!("on {}: {}", short(&names), told.message),
        (false, false) if names.len() == 1 => format!("on {host}: {}", told.message),
        (false, false) => format!("on {}, as on {host}: {}", short(&names), told.message),
    };
    Caveat { message, ..told.clone() }
}

/// Returns a message without its figures.
fn pattern(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
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
    fn hosts_that_did_nothing_are_named() {
        let result = |name: &str, ios| HostResult {
            name: name.to_owned(),
            ios,
            queue_depth: ios as f64,
            ..HostResult::default()
        };
        let facts = of_hosts(&[result("a", 1), result("b", 0), result("c", 0)]);
        let caveat = facts[1].caveat(Command::default());
        assert!(caveat.message.starts_with("b and c did no I/O, because "), "{caveat:?}");
        assert_eq!(of_hosts(&[result("a", 1), result("b", 1)]).len(), 1);
        assert_eq!(of_hosts(&[result("a", 0), result("b", 0)]).len(), 1);
    }

    #[test]
    fn equal_hosts_do_not_differ() {
        assert_eq!(differences(&[host("a", "6.1", 8), host("b", "6.1", 8)], &[]), None);
        assert_eq!(differences(&[], &[]), None);
    }

    #[test]
    fn hosts_are_grouped_by_what_differs() {
        let hosts = [host("a", "6.1", 8), host("b", "6.1", 8), host("c", "6.9", 1)];
        let message = differences(&hosts, &[]).unwrap().caveat(Command::default()).message;
        let expected =
            "kernel 6.1 on a and b, kernel 6.9 on c; 8 processors on a and b, 1 processor on c";
        assert!(message.contains(expected), "{message}");
    }

    fn mount(name: &str, options: &str) -> TargetOnHost {
        let file_systems = vec![FileSystemFacts {
            name: name.to_owned(),
            mount_point: "/mnt".to_owned(),
            options: options.to_owned(),
            total_bytes: 1,
            available_bytes: 1,
            reserve_bytes: 1,
        }];
        TargetOnHost { file_systems, ..TargetOnHost::default() }
    }

    #[test]
    fn file_systems_and_mount_options_are_compared() {
        let hosts = [host("a", "6.1", 8), host("b", "6.1", 8), host("c", "6.1", 8)];
        let told = |mounts: &[TargetOnHost]| {
            differences(&hosts, mounts).map(|fact| fact.caveat(Command::default()).message)
        };
        let nfs = |version: &str, own: &str| {
            mount("nfs4", &format!("rw,vers={version},hard,clientaddr={own}"))
        };
        let equal = [nfs("4.2", "10.0.0.1"), nfs("4.2", "10.0.0.2"), nfs("4.2", "10.0.0.3")];
        assert_eq!(told(&equal), None);
        let older = [nfs("4.2", "1"), nfs("4.0", "2"), nfs("4.2", "3")];
        let message = told(&older).unwrap();
        let expected = "mount options vers=4.2 on a and c, mount options vers=4.0 on b";
        assert!(message.contains(expected), "{message}");
        let local = [nfs("4.2", "1"), mount("ext4", "rw,vers=4.2,hard"), nfs("4.2", "3")];
        let message = told(&local).unwrap();
        assert!(message.contains("nfs4 on a and c, ext4 on b"), "{message}");
        let sized = |size_bytes| TargetOnHost { size_bytes, ..TargetOnHost::default() };
        let message = told(&[sized(4096), sized(4096), sized(1 << 20)]).unwrap();
        let expected = "a target of 4 KiB on a and b, a target of 1 MiB on c";
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn caveats_of_hosts_become_one_with_their_names() {
        use iogauge_model::{CaveatCode, Impact};
        let holes = |host: u32, percent: f64| {
            let text = format!("/d/iogauge-host-{host}.dat: 1 MiB ({percent} %) are holes");
            Caveat::new(CaveatCode::SparseHoles, text, "h").weighed(percent / 100.0)
        };
        let cache = || Caveat::new(CaveatCode::PageCache, "it is cached", "h");
        let of_each = |own: [Vec<Caveat>; 3]| merged(&["a", "b", "c"].map(str::to_owned), &own);
        let all = of_each([vec![cache()], vec![cache()], vec![cache()]]);
        assert_eq!(all, [cache()]);
        let some = of_each([vec![], vec![cache()], vec![cache()]]);
        assert_eq!(some.len(), 1);
        assert_eq!(some[0].message, "on b and c: it is cached");
        let worst = of_each([vec![holes(1, 5.0)], vec![cache()], vec![holes(3, 50.0)]]);
        assert_eq!(worst.len(), 2, "{worst:?}");
        assert_eq!(worst[0].impact, Impact::Doubt);
        let expected = "on a and c, as on c: /d/iogauge-host-3.dat: 1 MiB (50 %) are holes";
        assert_eq!(worst[0].message, expected);
        assert_eq!(worst[1].message, "on b: it is cached");
    }
}
