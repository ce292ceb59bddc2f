//! Memory of the machine (proc_meminfo(5)) and of this process (proc_pid_status(5)).

use super::Roots;
use crate::kernel::text;
use iogauge_model::result::MemoryKinds;

/// Memory of the machine at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Physical memory, in bytes.
    pub total_bytes: u64,
    /// Memory that programs could still use without swapping, in bytes.
    pub available_bytes: u64,
    /// Page cache that still has to be written back, in bytes.
    pub dirty_bytes: u64,
    /// Memory by kind.
    pub kinds: MemoryKinds,
}

impl Memory {
    /// Reads `proc/meminfo` under the roots; `None` if it is missing.
    #[must_use]
    pub fn read(roots: &Roots) -> Option<Self> {
        Self::parse(&text(&roots.path("proc/meminfo"))?)
    }

    /// Parses the text of `/proc/meminfo`; `None` without a total. Kernels before 3.14 do not report available memory;
    /// free memory is used instead.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let total_bytes = field_bytes(text, "MemTotal:")?;
        let available = field_bytes(text, "MemAvailable:");
        let bytes = |name| field_bytes(text, name).unwrap_or(0);
        let free_bytes = bytes("MemFree:");
        Some(Self {
            total_bytes,
            available_bytes: available.unwrap_or(free_bytes),
            dirty_bytes: bytes("Dirty:"),
            kinds: MemoryKinds {
                free_bytes,
                cached_bytes: bytes("Cached:").saturating_add(bytes("Buffers:")),
                writeback_bytes: bytes("Writeback:"),
                swap_used_bytes: bytes("SwapTotal:").saturating_sub(bytes("SwapFree:")),
            },
        })
    }
}

/// Returns the peak resident memory of this process, in bytes; `None` if the kernel does not report it.
#[must_use]
pub fn peak_rss_bytes() -> Option<u64> {
    field_bytes(&text(&Roots::real().path("proc/self/status"))?, "VmHWM:")
}

/// Returns the value of a line `NAME:   123 kB`. The kernel's kB is 1024 bytes.
fn field_bytes(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = value.trim().trim_end_matches("kB").trim_end().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn meminfo_values_are_converted_to_bytes() {
        let text = "MemTotal:  24684092 kB\nMemFree:  5 kB\nMemAvailable:  7 kB\nDirty:  3 kB\n";
        let memory = Memory::parse(text).unwrap();
        assert_eq!(memory.total_bytes, 24_684_092 * 1024);
        assert_eq!((memory.available_bytes, memory.dirty_bytes), (7 * 1024, 3 * 1024));
        assert_eq!(
            Memory::parse("MemTotal: 9 kB\nMemFree: 5 kB\n").unwrap().available_bytes,
            5 * 1024
        );
        assert_eq!(Memory::parse("MemFree: 5 kB\n"), None);
    }

    #[test]
    fn memory_use_is_reported_by_kind() {
        let text = "MemTotal: 99 kB\nMemFree: 5 kB\nBuffers: 2 kB\nCached: 30 kB\nSwapCached: 7 kB\n\
                    SwapTotal: 20 kB\nSwapFree: 12 kB\nDirty: 3 kB\nWriteback: 4 kB\n";
        let kinds = Memory::parse(text).unwrap().kinds;
        let kib =
            [kinds.free_bytes, kinds.cached_bytes, kinds.writeback_bytes, kinds.swap_used_bytes];
        assert_eq!(kib.map(|bytes| bytes / 1024), [5, 32, 4, 8]);
    }

    #[test]
    fn peak_rss_includes_touched_memory() {
        let touched = vec![1u8; 32 << 20];
        assert!(std::hint::black_box(&touched).len() as u64 <= peak_rss_bytes().unwrap());
    }

    proptest! {
        #[test]
        fn parsing_meminfo_never_panics(text in "(MemTotal:|Dirty:|\\PC|\n|[0-9 ]){0,200}") {
            let _ = Memory::parse(&text);
        }
    }
}
