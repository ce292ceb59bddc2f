//! Opens SQLite databases.

use iogauge_db::backend::open;
use iogauge_db::{Database, DbUrl};
use std::path::Path;

pub fn database(place: &Path, settings: &str) -> Box<dyn Database> {
    let url: DbUrl = format!("sqlite:{}?{settings}", place.display()).parse().unwrap();
    open(&url).unwrap()
}
