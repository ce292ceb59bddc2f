//! fio's formats: what its users have, read as they wrote it.

pub mod job;
