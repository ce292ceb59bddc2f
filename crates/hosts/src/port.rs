//! What carries bytes between the processes of a run.

use std::fmt;

/// One process's access to the others. Messages between two processes arrive in order.
pub trait Port {
    /// Number of this process, from 0. Process 0 leads.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn size(&self) -> usize;

    /// Sends bytes to another process. Does not wait until they are received.
    fn send(&mut self, to: usize, bytes: &[u8]);

    /// Returns the next message that has arrived, with the rank of its sender; `None` if there is none. Does not wait.
    fn receive(&mut self) -> Option<(usize, Vec<u8>)>;

    /// Called before the port is dropped if another process may be gone, so that dropping does not wait for it.
    fn abandon(&mut self) {}
}

/// Why a process has no access to the others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PortError(pub String);

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
