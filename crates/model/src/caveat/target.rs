//! Facts about the target that may make a result mislead.

use super::command::{Command, StepTime};
use super::{Caveat, CaveatCode, Impact};
use crate::units::{Bytes, shell_word, size_word};

/// A part of the target, as hints need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartFact {
    pub path: String,
    pub origin: PartOrigin,
    pub size_bytes: u64,
}

/// What a part is, and who made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartOrigin {
    BlockDevice,
    /// A file that iogauge did not make.
    Foreign,
    /// A file that iogauge made or will make.
    Own,
    /// A file that iogauge made and wrote completely, but that has lost blocks since.
    OwnEmptied,
}

/// A cache between a part and its medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheFact {
    /// The page cache of this machine.
    Page { memory_bytes: u64 },
    /// The page cache under a loop device.
    UnderLoop { device: String, memory_bytes: u64 },
    /// A possible cache on the host of a virtual disk.
    OfHost { device: String, memory_bytes: u64 },
    /// A possible cache in the device.
    OfDevice { device: String },
}

/// What the client of a file system with a server does with direct I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCache {
    /// It passes it to the server.
    Bypassed,
    /// It may answer from its own memory.
    MayAnswer,
}

/// A property of blocks. The first three are counted in bytes, the others in blocks sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockFact {
    /// Never allocated.
    Holes,
    /// Allocated and never written.
    Unwritten,
    /// Shared with another file or snapshot.
    Shared,
    /// Only zeros.
    Zeros,
    /// Compressible by a tenth or more, or repeated.
    Compressible,
}

/// The blocks of a part that have a property: `found` of `total`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portion {
    pub part: PartFact,
    pub found: u64,
    pub total: u64,
}

impl Portion {
    fn share(&self) -> f64 {
        self.found as f64 / self.total.max(1) as f64
    }

    /// Formats the portion as `FILE: 4 MiB (12.5 %)`.
    fn bytes(&self) -> String {
        let (path, percent) = (&self.part.path, self.share() * 100.0);
        format!("{path}: {} ({percent:.1} %)", Bytes(self.found))
    }

    /// Formats the portion as `FILE: 12 of 256 blocks sampled`.
    fn blocks(&self) -> String {
        format!("{}: {} of {} blocks sampled", self.part.path, self.found, self.total)
    }
}

/// A fact about the target.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetFact {
    /// I/O is buffered. `engine` is set if the engine has no direct I/O.
    Buffered {
        path: String,
        engine: Option<String>,
        file_system: String,
    },
    /// The file system is in memory or keeps its files there.
    InMemory {
        path: String,
        file_system: String,
        memory: String,
    },
    /// No block device is visible behind the file system.
    Unseen {
        path: String,
        file_system: String,
    },
    /// The file system has a server, or a client in user space, whose cache is not visible here.
    Remote {
        path: String,
        file_system: String,
        client: ClientCache,
    },
    /// The part is smaller than `safe_bytes`, so a cache may hold it.
    Cached {
        part: PartFact,
        /// The largest size that the part's file system has room for; `None` for a block device, or if this is
        /// unknown.
        fits_bytes: Option<u64>,
        safe_bytes: u64,
        cache: CacheFact,
    },
    /// Blocks that do not behave like blocks of data.
    Blocks(BlockFact, Portion),
    WriteCache {
        device: String,
    },
    /// Rewriting ran at `ratio` times the speed of the first write.
    Rewrite {
        ratio: f64,
    },
    /// A suite that looks for the worst case has a target smaller than ten times its cache.
    SmallForWorst {
        size_bytes: u64,
        cache_bytes: u64,
        guessed: bool,
    },
    Simulated,
    /// The null engine issues no I/O.
    NoIo,
}

impl TargetFact {
    pub(super) fn caveat(&self, command: Command) -> Caveat {
        match self {
            Self::Buffered { path, engine, file_system } => {
                buffered(path, engine.as_deref(), file_system, command)
            }
            Self::InMemory { path, file_system, memory } => {
                let how = if memory == file_system {
                    format!("{file_system} is memory")
                } else {
                    format!("{file_system} keeps its files on {memory}, which is memory")
                };
                Caveat::of(CaveatCode::NoDevice, format!("{path}: {how}; no device is measured"))
            }
            Self::Remote { path, file_system, client } => {
                let who = match client {
                    ClientCache::Bypassed => format!("the server behind {file_system}"),
                    ClientCache::MayAnswer => format!("the client of {file_system}, or a server behind it,"),
                };
                let message = format!("{path}: {who} may answer from memory, also with direct I/O");
                Caveat::of(CaveatCode::RemoteCache, message)
            }
            Self::Unseen { path, file_system } => Caveat::of(
                CaveatCode::NoDevice,
                format!(
                    "{path}: no block device is visible behind {file_system}; the figures are those \
                     of whatever answers"
                ),
            )
            .with_impact(Impact::Note),
            Self::Cached { part, fits_bytes, safe_bytes, cache } => {
                cached(part, *fits_bytes, *safe_bytes, cache, command)
            }
            Self::SmallForWorst { size_bytes, cache_bytes, guessed } => {
                small_for_worst(*size_bytes, *cache_bytes, *guessed)
            }
            Self::Simulated => Caveat::of(
                CaveatCode::Simulated,
                "the target is a simulated device; the figures are those of a model",
            ),
            Self::NoIo => {
                let instead = command.load_option("ioengine=null");
                let hint = instead.map(|option| format!("leave out {option} to measure the target"));
                Caveat::of(
                    CaveatCode::NoIo,
                    "engine null issues no I/O; the figures are what the tool itself can do",
                )
                .hinting(hint.unwrap_or_else(|| "use another engine".to_owned()))
            }
            Self::Rewrite { ratio } => Caveat::of(
                CaveatCode::FirstWriteDiffers,
                format!(
                    "rewriting ran at {ratio:.1} times the speed of the first write; the device \
                     allocates or erases when a block is first written"
                ),
            )
            // The measured writes are rewrites, so the answer is valid.
            .with_impact(Impact::Note),
            Self::WriteCache { device } => Caveat::of(
                CaveatCode::VolatileWriteCache,
                format!(
                    "{device}: the device has a volatile write cache; writes return before they are \
                     durable"
                ),
            )
            .hinting(match command {
                Command::Run | Command::Find | Command::Crosscheck | Command::Compare => {
                    CaveatCode::VolatileWriteCache.hint()
                }
                Command::RunFile | Command::FindFile => {
                    "add sync=dsync to the job file to measure durable writes"
                }
                _ => "iogauge run TARGET --rw=randwrite --sync=dsync measures durable writes",
            }),
            Self::Blocks(kind, portion) => of_blocks(*kind, portion),
        }
    }
}

fn of_blocks(kind: BlockFact, portion: &Portion) -> Caveat {
    let (bytes, blocks) = (portion.bytes(), portion.blocks());
    let (code, message) = match kind {
        BlockFact::Holes => {
            (CaveatCode::SparseHoles, format!("{bytes} are holes; reads of holes touch no medium"))
        }
        BlockFact::Unwritten => (
            CaveatCode::UnwrittenExtents,
            format!(
                "{bytes} are allocated and were never written; reads of them touch no medium, and \
                 their first write is slower than later ones"
            ),
        ),
        BlockFact::Shared => (
            CaveatCode::FirstWriteDiffers,
            format!("{bytes} are shared with another file or snapshot; their first write copies"),
        ),
        BlockFact::Zeros => (
            CaveatCode::ZeroBlocks,
            format!(
                "{blocks} hold only zeros; a thin or compressing device reads them without touching \
                 its medium"
            ),
        ),
        BlockFact::Compressible => (
            CaveatCode::CompressibleData,
            format!(
                "{blocks} are compressible or duplicates; a device that compresses or deduplicates \
                 reads less of its medium for them"
            ),
        ),
    };
    Caveat::new(code, message, portion.part.prepare()).weighed(portion.share())
}

fn buffered(path: &str, engine: Option<&str>, file_system: &str, command: Command) -> Caveat {
    let answers = "serves reads instead of the device where it can";
    let message = match engine {
        Some(engine) => format!("{path}: {engine} goes through the page cache, which {answers}"),
        None => format!("{path}: the page cache {answers}"),
    };
    let option = match engine {
        Some(engine) => command.load_option(&format!("ioengine={engine}")),
        None => command.load_option("direct=0"),
    };
    let hint = match (option, command) {
        // In a job file, direct I/O is off without an option.
        (Some(_), Command::RunFile | Command::FindFile) if engine.is_none() => {
            "use direct=1 in the job file".to_owned()
        }
        (Some(option), _) => format!("leave out {option}"),
        (None, Command::Suite(_)) => "leave out the option that turns direct I/O off".to_owned(),
        (None, _) => format!("use another file system; {file_system} has no direct I/O"),
    };
    Caveat::new(CaveatCode::PageCache, message, hint)
}

fn cached(
    part: &PartFact,
    fits_bytes: Option<u64>,
    safe_bytes: u64,
    cache: &CacheFact,
    command: Command,
) -> Caveat {
    let (words, impact) = match cache {
        CacheFact::Page { memory_bytes } => (
            format!("the page cache may take the {} of this machine", Bytes(*memory_bytes)),
            Impact::Doubt,
        ),
        CacheFact::UnderLoop { device, memory_bytes } => (
            format!(
                "{device} reads its file through the page cache, which may take the {} of this machine",
                Bytes(*memory_bytes)
            ),
            Impact::Doubt,
        ),
        CacheFact::OfHost { device, memory_bytes } => (
            format!(
                "{device} is a virtual disk, and its host may cache it in at least as much memory as \
                 the {} of this machine",
                Bytes(*memory_bytes)
            ),
            Impact::Note,
        ),
        CacheFact::OfDevice { device } => {
            (format!("{device} may have a cache of unknown size"), Impact::Note)
        }
    };
    let message = format!(
        "{}: {} are measured, less than {}: {words}",
        part.path,
        Bytes(part.size_bytes),
        Bytes(safe_bytes),
    );
    let hint = match cache {
        CacheFact::UnderLoop { device, .. } => format!("losetup --direct-io=on /dev/{device}"),
        _ => part.larger(safe_bytes, fits_bytes, command),
    };
    Caveat::new(CaveatCode::SmallerThanCache, message, hint).with_impact(impact)
}

fn small_for_worst(size_bytes: u64, cache_bytes: u64, guessed: bool) -> Caveat {
    let guess = if guessed { " (a guess, since devices rarely report it)" } else { "" };
    let wanted_bytes = cache_bytes.saturating_mul(10);
    Caveat::new(
        CaveatCode::SmallerThanCache,
        format!(
            "the target has {}, less than ten times the {} that its cache may hold{guess}; at its worst \
             it may be slower than was measured",
            Bytes(size_bytes),
            Bytes(cache_bytes)
        ),
        format!("use --size={} or more, or --cache with the size of the cache", size_word(wanted_bytes)),
    )
    .with_impact(if guessed { Impact::Note } else { Impact::Doubt })
}

impl PartFact {
    /// Returns the command that writes every block of the part.
    fn prepare(&self) -> String {
        let path = shell_word(&self.path);
        match self.origin {
            PartOrigin::BlockDevice => format!("iogauge prepare {path} --destroy-data"),
            PartOrigin::Foreign => format!("iogauge prepare {path} --overwrite-file"),
            PartOrigin::Own => format!("iogauge prepare {path}"),
            PartOrigin::OwnEmptied => format!("iogauge clean {path} && iogauge prepare {path}"),
        }
    }

    /// Returns the hint for measuring at least `size_bytes`, if the file system has room for `fits_bytes`.
    fn larger(&self, size_bytes: u64, fits_bytes: Option<u64>, command: Command) -> String {
        let size_gib = size_bytes.div_ceil(1 << 30);
        let is_file = matches!(self.origin, PartOrigin::Own | PartOrigin::OwnEmptied);
        if let Some(fits_bytes) = fits_bytes.filter(|fits| is_file && *fits >> 30 < size_gib) {
            let fits_bytes = fits_bytes.max(self.size_bytes);
            return format!(
                "use a file system with room for {size_gib} GiB; this one has room for {}",
                Bytes(fits_bytes >> 20 << 20)
            );
        }
        match (self.origin, command) {
            (PartOrigin::BlockDevice, Command::Suite(StepTime::SecondsOfFiles)) => {
                "use a larger device, or leave out --filesize".to_owned()
            }
            (PartOrigin::BlockDevice, Command::Suite(_)) => {
                "use a larger device, or leave out --size".to_owned()
            }
            (PartOrigin::BlockDevice, _) => match command.load_option("size") {
                Some(option) => format!("use a larger device, or leave out {option}"),
                None => "use a larger device".to_owned(),
            },
            (PartOrigin::Foreign, _) => "use a larger file".to_owned(),
            (_, Command::Suite(StepTime::SecondsOfFiles)) => {
                format!("increase --filesize: {size_gib} GiB in all")
            }
            (_, Command::Suite(_) | Command::DbBesideDevice) => format!("add --size={size_gib}g"),
            _ => format!("iogauge prepare {} --size={size_gib}g", shell_word(&self.path)),
        }
    }

    /// Returns an example, for tests.
    #[must_use]
    pub fn example(origin: PartOrigin) -> Self {
        let path = "/my data/file".to_owned();
        Self { path, origin, size_bytes: 1 << 20 }
    }
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<TargetFact> {
    use PartOrigin::{BlockDevice, Foreign, Own, OwnEmptied};
    let portion = |origin| Portion { part: PartFact::example(origin), found: 1, total: 4 };
    let text = |text: &str| text.to_owned();
    let cached = |origin, cache| TargetFact::Cached {
        part: PartFact::example(origin),
        fits_bytes: Some(1 << 40),
        safe_bytes: 1 << 30,
        cache,
    };
    let (device, memory_bytes) = (text("vda"), 1 << 30);
    vec![
        TargetFact::Buffered { path: text("f"), engine: None, file_system: text("tmpfs") },
        TargetFact::Buffered {
            path: text("f"),
            engine: Some(text("mmap")),
            file_system: text("ext4"),
        },
        TargetFact::InMemory {
            path: text("f"),
            file_system: text("overlay"),
            memory: text("tmpfs"),
        },
        TargetFact::Unseen { path: text("f"), file_system: text("overlay") },
        TargetFact::Remote {
            path: text("f"),
            file_system: text("nfs4"),
            client: ClientCache::Bypassed,
        },
        TargetFact::Remote {
            path: text("f"),
            file_system: text("fuse.sshfs"),
            client: ClientCache::MayAnswer,
        },
        cached(Own, CacheFact::Page { memory_bytes }),
        TargetFact::Cached {
            part: PartFact::example(Own),
            fits_bytes: Some(1 << 29),
            safe_bytes: 1 << 30,
            cache: CacheFact::Page { memory_bytes },
        },
        cached(Own, CacheFact::UnderLoop { device: device.clone(), memory_bytes }),
        cached(Foreign, CacheFact::OfHost { device: device.clone(), memory_bytes }),
        cached(BlockDevice, CacheFact::OfDevice { device: device.clone() }),
        TargetFact::Blocks(BlockFact::Holes, portion(Own)),
        TargetFact::Blocks(BlockFact::Unwritten, portion(OwnEmptied)),
        TargetFact::Blocks(BlockFact::Shared, portion(Foreign)),
        TargetFact::Blocks(BlockFact::Zeros, portion(BlockDevice)),
        TargetFact::Blocks(BlockFact::Compressible, portion(BlockDevice)),
        TargetFact::WriteCache { device },
        TargetFact::Rewrite { ratio: 2.0 },
        TargetFact::SmallForWorst { size_bytes: 1, cache_bytes: 2, guessed: true },
        TargetFact::Simulated,
        TargetFact::NoIo,
    ]
}
