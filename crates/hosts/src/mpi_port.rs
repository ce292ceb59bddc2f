//! A port over MPI (MPI: A Message-Passing Interface Standard, version 3.1).
//!
//! All calls are made by the thread that opens the port. It never waits for a receiver, which may be stopped: messages
//! are kept until they have left (MPI_Isend). A buffered send (MPI_Bsend) waits over shared memory in Open MPI 4.1.

use crate::hydra;
use crate::port::{Port, PortError};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator, Equivalence, Source};
use std::os::raw::c_int;
use std::time::{Duration, Instant};

/// Time for the last messages to leave.
const FLUSHING: Duration = Duration::from_millis(100);

/// A process's access to the others of its MPI job.
pub struct MpiPort {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
    /// Messages on their way.
    leaving: Vec<Leaving>,
    /// Finalizes MPI when dropped.
    universe: Option<Universe>,
    /// False for MPICH, where finalizing may hang; see [`hydra`].
    finalizes: bool,
}

impl MpiPort {
    /// Initializes MPI. Waits for the other processes of the job.
    ///
    /// # Errors
    /// If MPI is initialized already.
    pub fn open() -> Result<Self, PortError> {
        let initialized = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, _) =
            initialized.ok_or_else(|| PortError("MPI is in use already".to_owned()))?;
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        return_errors(&world);
        let library = mpi::environment::library_version().unwrap_or_default();
        let finalizes = !library.contains("MPICH");
        Ok(Self { world, rank, size, leaving: Vec::new(), universe: Some(universe), finalizes })
    }
}

/// A message on its way.
struct Leaving {
    request: ffi::MPI_Request,
    /// MPI reads them until the request is complete.
    _bytes: Vec<u8>,
}

impl Leaving {
    /// Hands a message over to MPI; `None` if it refuses it.
    fn send(world: &SimpleCommunicator, to: usize, bytes: Vec<u8>) -> Option<Self> {
        let mut request = std::mem::MaybeUninit::uninit();
        let count = c_int::try_from(bytes.len()).ok()?;
        // SAFETY: The bytes are on the heap. They are not changed, and are freed only once `has_left` has returned true;
        // otherwise they are leaked. The request is written if the call returns 0.
        let request = unsafe {
            let code = ffi::MPI_Isend(
                bytes.as_ptr().cast(),
                count,
                u8::equivalent_datatype().as_raw(),
                to as c_int,
                0,
                world.as_raw(),
                request.as_mut_ptr(),
            );
            if code != 0 {
                // MPI may read them still.
                std::mem::forget(bytes);
                return None;
            }
            request.assume_init()
        };
        Some(Self { request, _bytes: bytes })
    }

    /// Returns true if MPI does not read the bytes any more.
    fn has_left(&mut self) -> bool {
        let mut is_complete = 0;
        // SAFETY: The request is one of `MPI_Isend`, or null, which is complete (MPI 3.1, 3.7.3).
        let code =
            unsafe { ffi::MPI_Test(&mut self.request, &mut is_complete, ffi::RSMPI_STATUS_IGNORE) };
        code == 0 && is_complete != 0
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
        self.leaving.extend(Leaving::send(&self.world, to, bytes.to_vec()));
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        self.leaving.retain_mut(|message| !message.has_left());
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
    /// Sends what is on its way, unless the port is abandoned.
    fn drop(&mut self) {
        let end = Instant::now() + FLUSHING;
        let is_flushed = |port: &Self| port.leaving.is_empty() && port.finalizes;
        while self.universe.is_some() && !is_flushed(self) && Instant::now() < end {
            self.receive();
            std::thread::sleep(FLUSHING / 50);
        }
        if !is_flushed(self) {
            self.abandon();
            // MPI may read them until this process ends.
            std::mem::forget(std::mem::take(&mut self.leaving));
        }
        if !self.finalizes {
            hydra::take_leave();
        }
    }
}
