//! Comparisons: measurements of the same in turns.

pub mod crosscheck;
