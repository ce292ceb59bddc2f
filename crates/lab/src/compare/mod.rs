//! Comparisons of two programs, measured in turns.

pub mod crosscheck;
