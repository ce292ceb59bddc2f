//! Targets: from the paths given by the user to open descriptors, with every guard in between.
//!
//! [`TargetSpec`] is the text given by the user. [`Target::resolve`] opens each path once, has the guards check the
//! descriptor, and returns [`Part`]s. Everything opened later is opened through that descriptor. [`Prefill`] creates
//! the test file and updates its marker while a worker writes it. [`Target::lock`] excludes other runs, [`Part::open`]
//! returns descriptors, [`facts()`] lists what may make results misleading, and [`clean()`] removes what was made.

mod alignment;
mod block_sample;
mod clean;
mod compressible;
mod creation;
pub(crate) mod descriptor;
mod device;
pub(crate) mod error;
mod extents;
pub mod facts;
mod file_system;
mod header;
mod marker;
mod part;
mod place;
pub mod prefill;
mod reserve;
mod resolve;
mod spec;

pub use crate::guard::{Contents, GuardError, Signature};
pub use crate::kernel::{DeviceNumber, Roots};
pub use block_sample::{BlockSample, sample_blocks};
pub use clean::{Cleaned, LeftBecause, clean, clean_parts};
pub(crate) use creation::remove_one_of;
pub use descriptor::Identity;
pub use device::{device_facts, device_facts_of};
pub use error::TargetError;
pub use extents::{ExtentReport, ExtentSource, extents};
pub use facts::facts;
pub use file_system::{file_system_facts, mounted_on};
pub use header::Header;
pub use marker::{
    BASE_BYTES, Marker, Ownership, TEST_FILE_NAME, numbered_test_file, ownership, side_file,
    test_file_of_host,
};
pub use part::{FileOrigin, OpenMode, Opened, Part, PartKind, advise, forget};
pub use prefill::{Prefill, PrefillNeed};
pub use reserve::ReserveWatch;
pub use resolve::{DEFAULT_SIZE_BYTES, HostNumber, Intent, Target};
pub use spec::{SpecError, TargetSpec};
