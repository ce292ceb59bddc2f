//! A port over MPI (MPI: A Message-Passing Interface Standard, version 3.1).
//!
//! All calls are made by the thread that opens the port. Sends are buffered (MPI_Bsend), so that they return even if
//! the receiver is stopped.

use crate::port::{Port, PortError};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator, Destination, Source};
use std::os::raw::c_int;
use std::time::{Duration, Instant};

/// Memory for messages on their way. Each process has few at a time to each other one.
const BUFFER_BYTES: usize = 16 << 20;
/// The same for each further process.
const BUFFER_BYTES_PER_PROCESS: usize = 64 << 10;

/// Time for the last messages to leave.
const FLUSHING: Duration = Duration::from_millis(100);

/// A process's access to the others of its MPI job.
pub struct MpiPort {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
    /// Finalizes MPI when dropped.
    universe: Option<Universe>,
    /// False if finalizing may hang: in MPICH before 4.2, a process that waits for the others there no longer answers
    /// them (pmodels/mpich, pull request 6596). MPICH does not need it.
    finalizes: bool,
}

impl MpiPort {
    /// Initializes MPI. Waits for the other processes of the job.
    ///
    /// # Errors
    /// If MPI is initialized already.
    pub fn open() -> Result<Self, PortError> {
        let initialized = mpi::initialize_with_threading(Threading::Funneled);
        let (mut universe, _) =
            initialized.ok_or_else(|| PortError("MPI is in use already".to_owned()))?;
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        universe.set_buffer_size(BUFFER_BYTES + size * BUFFER_BYTES_PER_PROCESS);
        return_errors(&world);
        let library = mpi::environment::library_version().unwrap_or_default();
        let finalizes = !library.contains("MPICH");
        Ok(Self { world, rank, size, universe: Some(universe), finalizes })
    }
}

/// Lets MPI's calls return after an error. By default MPI ends the process when another one is lost, before its result
/// is printed (MPI 3.1, 8.3).
fn return_errors(world: &SimpleCommunicator) {
    type Handler = unsafe extern "C" fn(*mut ffi::MPI_Comm, *mut c_int);
    unsafe extern "C" fn ignore(_: *mut ffi::MPI_Comm, _: *mut c_int) {}
    let mut handler = std::mem::MaybeUninit::uninit();
    // SAFETY: MPI is initialized. It calls the handler with two arguments and more that depend on the implementation
    // (MPI 3.1, 8.3.1); by C's calling conventions on Linux, a function may ignore arguments. The handler is written by
    // the first call before the second one reads it.
    unsafe {
        let ignore = std::mem::transmute::<Handler, ffi::MPI_Comm_errhandler_function>(ignore);
        if ffi::MPI_Comm_create_errhandler(ignore, handler.as_mut_ptr()) == 0 {
            ffi::MPI_Comm_set_errhandler(world.as_raw(), handler.assume_init());
        }
    }
}

impl Port for MpiPort {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&mut self, to: usize, bytes: &[u8]) {
        self.world.process_at_rank(to as i32).buffered_send(bytes);
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        let found = self.world.any_process().immediate_matched_probe()?;
        let (bytes, status) = found.matched_receive_vec();
        Some((status.source_rank() as usize, bytes))
    }

    fn abandon(&mut self) {
        // Finalizing waits for every process.
        if let Some(universe) = self.universe.take() {
            std::mem::forget(universe);
        }
    }
}

impl Drop for MpiPort {
    fn drop(&mut self) {
        if !self.finalizes {
            // Sends what is buffered.
            let end = Instant::now() + FLUSHING;
            while self.universe.is_some() && Instant::now() < end {
                self.receive();
                std::thread::sleep(FLUSHING / 50);
            }
            self.abandon();
        }
    }
}
