//! Several hosts as one worker pool.
//!
//! One process runs on each host. The first, the leader, runs the command: it alone searches, judges, reports and
//! keeps the history. The others, the followers, open the same target and run workers of their own, as the leader
//! orders. Messages travel over a [`port::Port`]; MPI is one.

pub mod act;
pub mod channel;
pub mod clocks;
pub mod follower;
#[cfg(feature = "mpi")]
mod hydra;
pub mod leader;
pub mod line;
pub mod message;
#[cfg(feature = "mpi")]
pub mod mpi_port;
pub mod pool;
pub mod port;
mod run_end;
