//! fio's engines: those iogauge has, and why not the others.

use super::value::Wrong;
use crate::load::EngineKind;

/// Words of fio's `ioengine` that are carried out, with the engine that does it.
pub(super) const HANDLED: &[(&str, EngineKind)] = &[
    ("io_uring", EngineKind::IoUring),
    ("libaio", EngineKind::Libaio),
    ("psync", EngineKind::Psync),
    // The same calls at other entry points: one buffer at an offset.
    ("sync", EngineKind::Psync),
    ("pvsync", EngineKind::Psync),
    ("pvsync2", EngineKind::Psync),
    ("mmap", EngineKind::Mmap),
    ("null", EngineKind::Null),
];

/// fio's other engines by what they do instead.
pub(super) const UNSUPPORTED: &[(&str, &[&str])] = &[
    (
        "it makes no I/O to a file or block device",
        &[
            "cpuio",
            "exec",
            "falloc",
            "ftruncate",
            "filecreate",
            "filestat",
            "filedelete",
            "e4defrag",
            "cpp_null",
        ],
    ),
    (
        "it reaches storage over a network or a library of its own",
        &[
            "net",
            "netsplice",
            "rdma",
            "rados",
            "rbd",
            "http",
            "gfapi",
            "gfapi_async",
            "libhdfs",
            "libiscsi",
            "nbd",
            "nfs",
            "dfs",
            "ime_psync",
            "ime_psyncv",
            "ime_aio",
            "librpma_apm_client",
            "librpma_apm_server",
            "librpma_gpspm_client",
            "librpma_gpspm_server",
            "libblkio",
        ],
    ),
    (
        "it goes past the kernel's block layer",
        &[
            "io_uring_cmd",
            "sg",
            "mtd",
            "libzbc",
            "xnvme",
            "libcufile",
            "pmemblk",
            "dev-dax",
            "libpmem",
        ],
    ),
    (
        "it issues I/O in another way than any engine here; right would be psync or io_uring",
        &["vsync", "posixaio", "splice", "solarisaio", "windowsaio", "external"],
    ),
];

/// Options that only engines without a counterpart here have, with their engine.
pub(super) const OPTIONS: &[(&str, &[&str])] = &[
    ("cpuio", &["cpuload", "cpuchunks", "cpumode", "exit_on_io_done"]),
    ("exec", &["program", "arguments", "grace_time", "std_redirect"]),
    ("e4defrag", &["donorname", "inplace"]),
    ("filestat", &["stat_type"]),
    (
        "net",
        &[
            "hostname",
            "port",
            "protocol",
            "proto",
            "nodelay",
            "listen",
            "pingpong",
            "interface",
            "ttl",
            "window_size",
            "mss",
        ],
    ),
    ("rdma", &["verb", "bindname", "gpu_dev_id"]),
    (
        "rados",
        &["clustername", "pool", "clientname", "conf", "busy_poll", "touch_objects", "rbdname"],
    ),
    (
        "http",
        &[
            "http_host",
            "http_user",
            "http_pass",
            "http_s3_key",
            "http_s3_keyid",
            "http_s3_region",
            "http_s3_sse_customer_key",
            "http_s3_sse_customer_algorithm",
            "http_s3_storage_class",
            "http_swift_auth_token",
            "http_mode",
            "http_verbose",
            "https",
        ],
    ),
    ("gfapi", &["volume", "brick", "single_instance"]),
    ("libhdfs", &["namenode", "hdfsdirectory", "chunk_size"]),
    ("nbd", &["uri"]),
    ("nfs", &["nfs_url"]),
    ("dfs", &["cont", "object_class"]),
    ("librpma", &["serverip", "direct_write_to_pmem", "busy_wait_polling"]),
    ("io_uring_cmd", &["cmd_type"]),
    ("sg", &["readfua", "writefua", "sg_write_mode", "stream_id"]),
    ("mtd", &["skip_bad"]),
    ("xnvme", &["xnvme_async", "xnvme_sync", "xnvme_admin", "xnvme_dev_nsid", "xnvme_iovec"]),
    ("libcufile", &["gpu_dev_ids", "cuda_io"]),
];

/// Engines without a counterpart here that read and write the files and devices a job names.
const OF_FILES: &[&str] = &["vsync", "posixaio", "splice"];
/// Engines without a counterpart here that keep many I/Os outstanding in one thread.
const ASYNCHRONOUS: &[&str] = &[
    "posixaio",
    "io_uring_cmd",
    "sg",
    "xnvme",
    "libblkio",
    "rados",
    "rbd",
    "nbd",
    "nfs",
    "libiscsi",
    "gfapi_async",
    "dfs",
    "ime_aio",
    "rdma",
    "librpma_apm_client",
    "librpma_gpspm_client",
    "cpp_null",
    "external",
];

/// What an engine of fio's reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The files and block devices that its job names.
    Files,
    /// Something that a job reads without changing it, and that iogauge cannot look at.
    Elsewhere,
    /// Anything.
    Unknown,
}

/// What an engine reaches.
pub(super) fn reach(word: &str) -> Reach {
    if HANDLED.iter().any(|(name, _)| *name == word) || OF_FILES.contains(&word) {
        return Reach::Files;
    }
    let elsewhere = &UNSUPPORTED[1..3];
    let is_it = elsewhere.iter().any(|(_, engines)| engines.contains(&word));
    if is_it { Reach::Elsewhere } else { Reach::Unknown }
}

/// True where an engine has one I/O outstanding in each thread.
pub(super) fn is_synchronous(word: &str) -> bool {
    let base = word.split(':').next().unwrap_or("");
    match HANDLED.iter().find(|(name, _)| *name == word) {
        Some((_, engine)) => engine.is_synchronous(),
        None => !ASYNCHRONOUS.contains(&base),
    }
}

/// Why an engine of fio's cannot be asked for by its name alone, where fio has it and iogauge lacks
/// it.
pub fn foreign(word: &str) -> Option<&'static str> {
    let base = word.split(':').next().unwrap_or("");
    UNSUPPORTED.iter().find(|(_, engines)| engines.contains(&base)).map(|(why, _)| *why)
}

/// The engine of a word.
pub(super) fn engine(word: &str) -> Result<EngineKind, Wrong> {
    if let Some((_, engine)) = HANDLED.iter().find(|(name, _)| *name == word) {
        return Ok(*engine);
    }
    let base = word.split(':').next().unwrap_or("");
    let words = HANDLED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    match UNSUPPORTED.iter().find(|(_, engines)| engines.contains(&base)) {
        Some((why, _)) => Err(Wrong::unsupported(format!("{why}; there are {words}"))),
        None => Err(Wrong::value(format!("\"{word}\" is no engine of fio; there are {words}"))),
    }
}

/// The name of an option as the table spells it, and its engine, where only an engine without a
/// counterpart here has it.
pub(super) fn option(name: &str) -> Option<(&'static str, &'static str)> {
    OPTIONS.iter().find_map(|(engine, options)| {
        options.iter().find(|option| **option == name).map(|option| (*option, *engine))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_engines_here_or_say_why_not() {
        assert_eq!(engine("sync"), Ok(EngineKind::Psync));
        for (_, words) in UNSUPPORTED {
            for word in *words {
                assert!(matches!(engine(word), Err(Wrong::Unsupported(_))), "{word}");
            }
        }
        assert!(matches!(engine("external:./my.so"), Err(Wrong::Unsupported(_))));
        assert!(matches!(engine("uringg"), Err(Wrong::Value(_))));
    }
}
