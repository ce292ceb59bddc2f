//! Tests through a database: the database opened, its workers as a pool, steps, searches, checks.

mod beside;
mod caveats;
mod check;
mod figures;
mod ladder;
mod measure;
mod place;
mod pool;
mod purge;
mod room;
mod target;
mod words;

pub use beside::{DeviceWork, check_free, held_back_by};
pub use caveats::{of_rung, of_size};
pub use check::check;
pub use ladder::Ladder;
pub use measure::{DbMeasured, DbSearched, Times, find, run};
pub use place::place;
pub use purge::purge;
pub use room::{RoomWatch, check_room};
pub use target::{DbLoad, DbTarget};
pub use words::in_database_words;
