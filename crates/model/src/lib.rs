//! Data types shared by all crates: workloads, plans, limits, results, caveats, units.
//!
//! Plain data with parsers and formatters. No system calls, no clocks.
#![forbid(unsafe_code)]

pub mod calendar;
pub mod caveat;
pub mod classic;
mod directions;
pub mod guide;
pub mod histogram;
pub mod limit;
pub mod load;
pub mod plain_text;
pub mod plan;
mod required_rate;
pub mod result;
pub mod suite_file;
pub mod units;
mod vocabulary;

pub use caveat::{Caveat, CaveatCode, Impact, ImpactRule};
pub use histogram::Histogram;
pub use limit::Limit;
pub use load::Load;
pub use plan::Step;
pub use required_rate::{RequiredRate, RequiredRateError};
pub use vocabulary::Vocabulary;
