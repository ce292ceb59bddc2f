//! fio's engines in jobs that fio runs: what each one reaches, and its options.

use super::via::Via;
use iogauge_model::load::options::{Dialect, KbBase, Wrong};
use iogauge_model::load::{EngineKind, REMOTE_ENGINES};

const SOCKETS: Via = Via::Only {
    values: &["tcp", "tcpv6", "udp", "udpv6"],
    why: "a socket in the file system would take the place of a file; hint: use protocol=tcp",
};
/// For options of an engine that fio is not allowed to use.
const NEVER: Via = Via::Only { values: &[], why: "iogauge does not let fio use its engine" };
const CONFIGURATION: Via = Via::Only {
    values: &[],
    why: "a configuration may name files to write; hint: use the library's default",
};

/// Options that only engines without an equivalent in iogauge have, with their engine and what happens to
/// them in jobs that fio runs.
pub const OPTIONS: &[(&str, Via, &[&str])] = &[
    ("cpuio", NEVER, &["cpuload", "cpuchunks", "cpumode", "exit_on_io_done"]),
    ("exec", NEVER, &["program", "arguments", "grace_time", "std_redirect"]),
    ("e4defrag", NEVER, &["donorname", "inplace"]),
    ("filestat", NEVER, &["stat_type"]),
    (
        "net",
        Via::Pass,
        &[
            "hostname",
            "port",
            "nodelay",
            "listen",
            "pingpong",
            "interface",
            "ttl",
            "window_size",
            "mss",
        ],
    ),
    ("net", SOCKETS, &["protocol", "proto"]),
    ("rdma", NEVER, &["verb", "bindname", "gpu_dev_id"]),
    (
        "rados",
        Via::Pass,
        &["clustername", "pool", "clientname", "busy_poll", "touch_objects", "rbdname"],
    ),
    ("rados", CONFIGURATION, &["conf"]),
    (
        "http",
        Via::Pass,
        &[
            "http_host",
            "http_user",
            "http_pass",
            "http_s3_key",
            "http_s3_keyid",
            "http_s3_region",
            "http_s3_security_token",
            "http_s3_sse_customer_key",
            "http_s3_sse_customer_algorithm",
            "http_s3_storage_class",
            "http_swift_auth_token",
            "http_mode",
            "http_object_mode",
            "http_verbose",
            "https",
        ],
    ),
    ("gfapi", Via::Pass, &["volume", "brick", "single_instance"]),
    (
        "libhdfs",
        Via::Pass,
        &["namenode", "hdfsdirectory", "chunk_size", "chunck_size", "hdfs_use_direct"],
    ),
    ("nbd", Via::Pass, &["uri"]),
    ("nfs", Via::Pass, &["nfs_url"]),
    ("dfs", Via::Pass, &["cont", "object_class", "svcl"]),
    ("librpma", NEVER, &["serverip", "direct_write_to_pmem", "busy_wait_polling"]),
    ("rbd", Via::Pass, &["rbd_encryption_format", "rbd_encryption_passphrase"]),
    ("libiscsi", Via::Pass, &["initiator"]),
    (
        "io_uring_cmd",
        NEVER,
        &[
            "cmd_type",
            "write_mode",
            "verify_mode",
            "read_mode",
            "cdb_len",
            "verify_bytchk",
            "md_per_io_size",
            "pi_act",
            "pi_chk",
            "apptag",
            "apptag_mask",
            "deac",
        ],
    ),
    (
        "libblkio",
        NEVER,
        &[
            "libblkio_driver",
            "libblkio_path",
            "libblkio_pre_connect_props",
            "libblkio_num_entries",
            "libblkio_queue_size",
            "libblkio_pre_start_props",
            "libblkio_vectored",
            "libblkio_write_zeroes_on_trim",
            "libblkio_wait_mode",
            "libblkio_force_enable_completion_eventfd",
        ],
    ),
    ("sg", NEVER, &["readfua", "writefua", "sg_write_mode", "stream_id"]),
    ("mtd", NEVER, &["skip_bad"]),
    (
        "xnvme",
        NEVER,
        &[
            "xnvme_async",
            "xnvme_sync",
            "xnvme_admin",
            "xnvme_dev_nsid",
            "xnvme_dev_subnqn",
            "xnvme_iovec",
            "xnvme_be",
            "xnvme_mem",
        ],
    ),
    ("libcufile", NEVER, &["gpu_dev_ids", "cuda_io"]),
    ("libhipfile", NEVER, &["rocm_io"]),
];

/// Engines without an equivalent in iogauge that read and write the files and devices of a job.
const OF_FILES: &[&str] = &["vsync", "posixaio", "splice"];
/// Engines without an equivalent in iogauge that keep many I/Os outstanding in one thread.
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

/// What an engine reaches in jobs that fio runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The files and block devices of its job.
    Files,
    /// Something on a network, by names that are not file names.
    Remote,
    /// Nothing.
    Nothing,
}

/// Returns what an engine reaches.
///
/// # Errors
/// Says why fio must not use the engine, or that fio has no such engine.
pub(super) fn reach(word: &str) -> Result<Reach, Wrong> {
    if word == "null" {
        return Ok(Reach::Nothing);
    }
    if word == "cpuio" {
        return Err(Wrong::unsupported(
            "it makes no I/O, and there is nothing to measure; hint: use fio itself beside iogauge",
        ));
    }
    if EngineKind::FIO_NAMES.iter().any(|(name, _)| *name == word) || OF_FILES.contains(&word) {
        return Ok(Reach::Files);
    }
    if REMOTE_ENGINES.contains(&word) {
        return Ok(Reach::Remote);
    }
    match EngineKind::parse(word, Dialect::Fio(KbBase::Old)) {
        Err(Wrong::Unsupported(_)) => Err(Wrong::unsupported(
            "through fio it would reach files and devices that the guards cannot judge; hint: use \
             psync, libaio or io_uring",
        )),
        other => other.map(|_| Reach::Files),
    }
}

/// Returns the engine of iogauge that resembles fio's most in outstanding I/Os and in use of caches.
pub(super) fn nearest_kind(word: &str) -> EngineKind {
    let base = word.split(':').next().unwrap_or("");
    match EngineKind::FIO_NAMES.iter().find(|(name, _)| *name == word) {
        Some((_, engine)) => *engine,
        None if ASYNCHRONOUS.contains(&base) => EngineKind::Libaio,
        None => EngineKind::Psync,
    }
}

/// Returns true if an engine has one I/O outstanding in each thread.
pub(super) fn is_synchronous(word: &str) -> bool {
    nearest_kind(word).is_synchronous()
}

/// Looks up an option that only engines without an equivalent in iogauge have. Returns its name as spelled
/// in the table, its engine, and what happens to it in jobs that fio runs.
pub(super) fn option(name: &str) -> Option<(&'static str, &'static str, Via)> {
    OPTIONS.iter().find_map(|(engine, via, options)| {
        options.iter().find(|option| **option == name).map(|option| (*option, *engine, *via))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_engines_with_checkable_targets_are_passed_to_fio() {
        for word in
            EngineKind::FIO_NAMES.iter().map(|(word, _)| *word).chain(OF_FILES.iter().copied())
        {
            let reaches = if word == "null" { Reach::Nothing } else { Reach::Files };
            assert_eq!(reach(word), Ok(reaches), "{word}");
        }
        // An engine without I/O has no figures.
        assert!(matches!(reach("cpuio"), Err(Wrong::Unsupported(_))));
        assert_eq!(reach("http"), Ok(Reach::Remote));
        for word in ["exec", "filecreate", "filedelete", "ftruncate", "falloc", "e4defrag", "sg"] {
            assert!(matches!(reach(word), Err(Wrong::Unsupported(_))), "{word}");
        }
        for word in ["external:./x.so", "./x.so", "dev-dax", "pmemblk", "io_uring_cmd"] {
            assert!(reach(word).is_err(), "{word}");
        }
        assert_eq!(option("protocol").unwrap().2, SOCKETS);
        assert!(matches!(option("program").unwrap().2, Via::Only { values: [], .. }));
    }
}
