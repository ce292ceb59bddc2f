//! I/O engines and their names.

use super::options::{Dialect, Wrong};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The I/O engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// io_uring.
    IoUring,
    /// Linux native AIO.
    Libaio,
    /// One blocking `pread` or `pwrite` per thread.
    Psync,
    /// Memory-mapped file, one thread per outstanding I/O.
    Mmap,
    /// Issues no I/O; everything else runs as usual.
    Null,
    /// Simulated device in virtual time.
    Sim,
}

impl EngineKind {
    /// Values of fio's `ioengine` that have an engine here.
    pub const FIO_NAMES: &[(&str, Self)] = &[
        ("io_uring", Self::IoUring),
        ("libaio", Self::Libaio),
        ("psync", Self::Psync),
        // The same I/O through other system calls: one buffer at an offset.
        ("sync", Self::Psync),
        ("pvsync", Self::Psync),
        ("pvsync2", Self::Psync),
        ("mmap", Self::Mmap),
        ("null", Self::Null),
    ];

    /// Additional names that only iogauge accepts.
    const OWN_NAMES: &[(&str, Self)] = &[
        ("sim", Self::Sim),
        ("uring", Self::IoUring),
        ("aio", Self::Libaio),
        ("pread", Self::Psync),
    ];

    /// Returns the engine for a value of fio's `ioengine`; `None` if there is none.
    #[must_use]
    pub fn of_fio(name: &str) -> Option<Self> {
        Self::FIO_NAMES.iter().find(|(word, _)| *word == name).map(|(_, engine)| *engine)
    }

    /// Parses the name of an engine.
    ///
    /// # Errors
    /// If only fio has the engine, or if the name is unknown.
    pub fn parse(word: &str, dialect: Dialect) -> Result<Self, Wrong> {
        let own = if dialect == Dialect::Iogauge { Self::OWN_NAMES } else { &[] };
        let mut names = Self::FIO_NAMES.iter().chain(own);
        if let Some((_, engine)) = names.clone().find(|(name, _)| *name == word) {
            return Ok(*engine);
        }
        let words = names.by_ref().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let base = word.split(':').next().unwrap_or("");
        let foreign = FOREIGN_ENGINES.iter().find(|(_, engines)| engines.contains(&base));
        Err(match (foreign, dialect) {
            (None, _) => Wrong::value(format!("\"{word}\" is not one of {words}")),
            (Some((why, _)), Dialect::Iogauge) => Wrong::unsupported(format!(
                "iogauge has no engine {word}: {why}; hint: use a job file with ioengine={word}, \
                 run with --via fio FILE.fio"
            )),
            (Some((why, _)), Dialect::Fio(_)) => {
                Wrong::unsupported(format!("{why}; there are {words}"))
            }
        })
    }

    /// Returns the name used on the command line: fio's name if fio has the engine.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Libaio => "libaio",
            Self::Psync => "psync",
            Self::Mmap => "mmap",
            Self::Null => "null",
            Self::Sim => "sim",
        }
    }

    /// True if a worker has at most one I/O outstanding, so that queue depth needs threads.
    #[must_use]
    pub fn is_synchronous(self) -> bool {
        matches!(self, Self::Psync | Self::Mmap)
    }
}

const NETWORK: &str = "it reaches storage over a network or a library of its own";

/// fio's other engines, grouped by the reason why iogauge has none like them.
const FOREIGN_ENGINES: &[(&str, &[&str])] = &[
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
    (NETWORK, REMOTE_ENGINES),
    (
        NETWORK,
        &[
            "rdma",
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
        "no engine here works like it; hint: use psync or io_uring",
        &["vsync", "posixaio", "splice", "solarisaio", "windowsaio", "external"],
    ),
];

/// fio's engines that access storage over a network. None of them opens a file named in the job.
pub const REMOTE_ENGINES: &[&str] = &[
    "net",
    "netsplice",
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
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::options::KbBase;

    #[test]
    fn engine_names_parse_or_report_why_unsupported() {
        let fio = |word| EngineKind::parse(word, Dialect::Fio(KbBase::Old));
        let own = |word| EngineKind::parse(word, Dialect::Iogauge);
        assert_eq!((fio("sync"), own("sync")), (Ok(EngineKind::Psync), Ok(EngineKind::Psync)));
        assert_eq!(own("uring"), Ok(EngineKind::IoUring));
        assert!(matches!(fio("sim"), Err(Wrong::Value(_))));
        for word in FOREIGN_ENGINES.iter().flat_map(|(_, words)| *words).chain(&["external:./x"]) {
            assert!(matches!(fio(word), Err(Wrong::Unsupported(_))), "{word}");
            assert!(matches!(own(word), Err(Wrong::Unsupported(_))), "{word}");
        }
        let Err(Wrong::Value(message)) = own("uringg") else { panic!() };
        assert!(message.contains("io_uring") && message.contains("mmap"), "{message}");
        for (word, engine) in EngineKind::FIO_NAMES {
            assert_eq!(own(word), Ok(*engine));
            assert_eq!(own(engine.as_str()), Ok(*engine));
        }
    }
}
