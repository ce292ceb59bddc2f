//! The control plane: measures steps, searches for the capacity, prepares targets, keeps the
//! history.
#![forbid(unsafe_code)]

pub mod caveats;
pub mod compare;
pub mod db;
pub mod error;
pub mod history;
pub mod measure;
pub mod member;
pub mod observe;
pub mod search;
pub mod session;
pub mod stats;
pub mod suite;
mod transactions;
pub mod trend;

pub use error::LabError;
pub use observe::{Interrupt, Observer, Phase, Status};
pub use session::{Region, Rig};

/// fio, as the program that does the I/O.
pub mod fio {
    pub use iogauge_io::pool::fio::{FioBinary, FioError, ForeignJob};
}

/// The machine's resources, and how much of them processes may use.
pub mod machine {
    pub use iogauge_io::machine::{DeviceTree, GroupLimits, Memory, Roots, machine};
}

/// Files that a user requested. They are written completely or not at all, and never replace a file
/// of others.
pub mod output {
    pub use iogauge_io::output::{OutputDirectory, OutputError, OutputFile, Replace};
}

/// The measuring process and the front process that waits for it.
pub mod process {
    pub use iogauge_io::machine::UninterruptibleThread;
    pub use iogauge_io::pool::AddressSpace;
    pub use iogauge_io::{fork, share_one_heap};
}

/// Shell commands of the user, run between measurements.
pub mod shell {
    pub use iogauge_io::shell::{Ran, run};
}

/// Targets: their kinds and files, what may be done to them, and their removal.
pub mod target {
    pub use iogauge_io::targets::{
        Cleaned, DEFAULT_SIZE_BYTES, FileOrigin, Intent, LeftBecause, Ownership, PartKind,
        TargetError, TargetSpec, clean, clean_parts, numbered_test_file, ownership, side_file,
    };
}
