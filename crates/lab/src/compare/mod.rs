//! Comparisons: subjects measured in turns, in randomized blocks, until a verdict is proven.
//!
//! A block measures each subject twice, in an order and then in the reverse order, so that drift within the block affects
//! all subjects alike. An observation is the difference of the logarithms of a figure of two subjects in a block. Of
//! several orders each is equally likely: A. Abedi and T. Brecht, Conducting Repeatable Experiments in Highly Variable
//! Cloud Computing Environments, ICPE 2017.

mod comparison;
pub mod crosscheck;
mod figures;
mod judge;
pub mod kept;
mod report;
mod schedule;

pub use comparison::{Comparison, Subject};
pub use judge::{LEAST_BLOCKS, MOST_BLOCKS, Rule};
