//! The machine and system on which a run takes place.

use super::Roots;
use super::memory::Memory;
use crate::kernel::text;
use iogauge_model::result::Environment;
use std::{fs, io};

/// Describes the machine and system that this process runs on. Unknown values are empty or 0.
///
/// `clock` names the clock that latencies are measured with. Reads a dozen small files.
#[must_use]
pub fn environment(clock: &str) -> Environment {
    let roots = Roots::real();
    let name = rustix::system::uname();
    let cpuinfo = text(&roots.path("proc/cpuinfo")).unwrap_or_default();
    let memory = Memory::read(&roots);
    Environment {
        iogauge: env!("CARGO_PKG_VERSION").to_owned(),
        host: name.nodename().to_string_lossy().into_owned(),
        kernel: name.release().to_string_lossy().into_owned(),
        cpu_model: cpu_model(&cpuinfo)
            .unwrap_or_else(|| name.machine().to_string_lossy().into_owned()),
        cpus: cpus_allowed(),
        memory_bytes: memory.unwrap_or_default().total_bytes,
        clock: clock.to_owned(),
        virtualization: virtualization(&roots, &cpuinfo),
    }
}

/// File with the random identifier that the kernel gave itself when it booted (random(4)).
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Returns the identifier in [`BOOT_ID`]. Hosts with the same one share a kernel.
///
/// # Errors
/// If it cannot be read.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string(BOOT_ID)?.trim().to_owned())
}

/// Returns the number of processors this process may run on (sched_getaffinity(2)).
fn cpus_allowed() -> u32 {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => set.count(),
        // The machine has more processors than the set can hold.
        Err(_) => std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
    }
}

/// Returns the name of the processor. The key is `model name` on x86, `cpu` on POWER and `cpu model` on MIPS. ARM only
/// has numbers.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let named = ["model name", "cpu model", "cpu"].iter().find_map(|key| field(cpuinfo, key));
    named.map(str::to_owned).or_else(|| {
        let implementer = field(cpuinfo, "CPU implementer")?;
        let part = field(cpuinfo, "CPU part")?;
        Some(format!("ARM implementer {implementer} part {part}"))
    })
}

/// Returns the first value of `key : value`.
fn field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// Returns container and hypervisor, such as `docker in KVM (Amazon EC2 m5.large)`, or `none`.
fn virtualization(roots: &Roots, cpuinfo: &str) -> String {
    match (container(roots), hypervisor(roots, cpuinfo)) {
        (None, None) => "none".to_owned(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(container), Some(hypervisor)) => format!("{container} in {hypervisor}"),
    }
}

/// Detects a container by the marks that its manager leaves.
fn container(roots: &Roots) -> Option<String> {
    if let Some(name) = text(&roots.path("run/systemd/container")) {
        return Some(name);
    }
    for (mark, name) in [(".dockerenv", "docker"), ("run/.containerenv", "podman")] {
        if roots.path(mark).exists() {
            return Some(name.to_owned());
        }
    }
    // With cgroup v1, the path of the process's own group shows it.
    let groups = text(&roots.path("proc/self/cgroup")).unwrap_or_default();
    let words = ["kubepods", "docker", "lxc", "containerd"];
    words.iter().find(|word| groups.contains(&format!("/{word}"))).map(|word| (*word).to_owned())
}

/// Detects a hypervisor by the processor's flag, and its name from the firmware tables.
fn hypervisor(roots: &Roots, cpuinfo: &str) -> Option<String> {
    let read = |below: &str| text(&roots.path(below));
    let flags = field(cpuinfo, "flags").unwrap_or_default();
    let flagged = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    let vendor = read("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = read("sys/class/dmi/id/product_name").unwrap_or_default();
    let name = read("sys/hypervisor/type")
        .or_else(|| by_firmware(&vendor, &product).map(str::to_owned))
        .or_else(|| flagged.then(|| "hypervisor".to_owned()))?;
    let machine = format!("{vendor} {product}");
    let machine = machine.trim();
    Some(if machine.is_empty() { name } else { format!("{name} ({machine})") })
}

/// Returns the hypervisor whose firmware reports these names. The names are enough without the processor's flag,
/// because ARM processors have no such flag.
fn by_firmware(vendor: &str, product: &str) -> Option<&'static str> {
    let known = [
        ("QEMU", "KVM"),
        ("KVM", "KVM"),
        ("Amazon EC2", "KVM"),
        ("Google Compute Engine", "KVM"),
        ("OpenStack", "KVM"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("Virtual Machine", "Hyper-V"),
        ("Xen", "Xen"),
        ("Parallels", "Parallels"),
    ];
    // Amazon's bare-metal machines have its vendor name as well.
    if product.contains("metal") {
        return None;
    }
    let has = |word: &str| vendor.contains(word) || product.contains(word);
    known.iter().find(|(word, _)| has(word)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn roots_with(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        for (below, content) in files {
            let path = dir.path().join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let roots = Roots::at(dir.path());
        (dir, roots)
    }

    fn found(files: &[(&str, &str)], cpuinfo: &str) -> String {
        let (_dir, roots) = roots_with(files);
        virtualization(&roots, cpuinfo)
    }

    #[test]
    fn environment_reports_kernel_cpus_and_memory() {
        let here = environment("tsc");
        assert_eq!(here.clock, "tsc");
        assert!(!here.kernel.is_empty() && !here.cpu_model.is_empty() && !here.iogauge.is_empty());
        assert!(here.cpus >= 1 && here.memory_bytes > 1 << 20);
        assert!(!here.virtualization.is_empty());
    }

    #[test]
    fn hypervisors_and_containers_are_detected() {
        const FLAG: &str = "model name\t: EPYC\nflags\t\t: fpu hypervisor sse\n";
        const BARE: &str = "flags\t\t: fpu sse\n";
        let ec2 = [
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m7g.large\n"),
        ];
        assert_eq!(found(&[], BARE), "none");
        assert_eq!(found(&[], FLAG), "hypervisor");
        assert_eq!(found(&ec2, BARE), "KVM (Amazon EC2 m7g.large)");
        assert_eq!(found(&[(".dockerenv", "")], FLAG), "docker in hypervisor");
        assert_eq!(found(&[("run/systemd/container", "lxc\n")], BARE), "lxc");
        assert_eq!(found(&[("proc/self/cgroup", "4:cpu:/kubepods/pod1\n")], BARE), "kubepods");
        assert_eq!(found(&[("sys/hypervisor/type", "xen\n")], BARE), "xen");
        let dell = [("sys/class/dmi/id/sys_vendor", "Dell Inc.\n")];
        assert_eq!(found(&dell, BARE), "none");
        let metal = [
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m5.metal\n"),
        ];
        assert_eq!(found(&metal, BARE), "none");
    }

    #[test]
    fn cpu_model_is_parsed_on_x86_and_arm() {
        assert_eq!(
            cpu_model("processor: 0\nmodel name\t: AMD EPYC\n").as_deref(),
            Some("AMD EPYC")
        );
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(arm).as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        assert_eq!(cpu_model(""), None);
    }

    proptest! {
        #[test]
        fn parsing_cpuinfo_never_panics(text in "(flags|model name|:|\\PC|\n){0,100}") {
            let _ = cpu_model(&text);
            let _ = hypervisor(&Roots::at("/nonexistent"), &text);
        }
    }
}
