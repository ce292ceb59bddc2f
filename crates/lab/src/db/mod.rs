//! Tests through a database: targets, worker pools, steps, searches, checks.

mod caveats;
mod database_result;
mod device_work;
mod ladder;
mod measure;
mod place;
mod pool;
mod purge;
mod reserve;
mod target;
mod turn;
mod verify;

pub use caveats::{of_rung, of_size, size_beyond_memory};
pub use device_work::{DeviceWork, check_free, held_back_by};
pub use ladder::Ladder;
pub use measure::{DbMeasured, DbSearched, Times, find, run};
pub use place::place;
pub use purge::{drop_globals, purge};
pub use reserve::{DbReserveWatch, check_reserve};
pub use target::DbTarget;
pub use turn::{DbTurn, turn};
pub use verify::check;

pub use crate::transactions::{DbLoad, DbReport};

pub use iogauge_db::backend::{BACKENDS, Global, open};
pub use iogauge_db::pool::{Mode, WorkerNumbers};
pub use iogauge_db::url::DEFAULT_NAME;
pub use iogauge_db::value::DEFAULT_BYTES as DEFAULT_VALUE_BYTES;
pub use iogauge_db::{Database, DbError, DbUrl, FEATURES, Progress};

use iogauge_db::value::{LEAST_BYTES, MOST_BYTES};
use std::ops::RangeInclusive;

/// Allowed sizes of a value, in bytes.
pub const VALUE_BYTES: RangeInclusive<usize> = LEAST_BYTES..=MOST_BYTES;
