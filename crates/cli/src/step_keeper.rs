//! Keeps the steps of a run without waiting for the history during a measurement.

use iogauge_lab::history::{HistoryError, RunWriter};
use iogauge_model::result::StepResult;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A run's entry in the history, with its steps.
///
/// Complete steps are written synchronously. A snapshot of a running step is written by another
/// thread: even a write to the page cache can wait for the very load that is being measured.
#[derive(Debug)]
pub struct Keeper {
    writer: Arc<Mutex<RunWriter>>,
    /// Number of steps kept.
    steps: u32,
    behind: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Keeps further steps of a run that already has `steps` of them.
    pub fn new(writer: RunWriter, steps: u32) -> Self {
        Self { writer: Arc::new(Mutex::new(writer)), steps, behind: None }
    }

    /// Keeps a step.
    ///
    /// # Errors
    /// As [`RunWriter::add_step`].
    pub fn keep(&mut self, label: &str, step: &impl serde::Serialize) -> Result<(), HistoryError> {
        self.wait();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.add_step(self.steps, label, step)?;
        self.steps += 1;
        Ok(())
    }

    /// Keeps a snapshot of a running step, unless the one before is still being written. The next
    /// step that is kept replaces it. Errors are ignored: a later write may succeed, and only that
    /// one's failure matters.
    pub fn keep_so_far(&mut self, make: &mut dyn FnMut() -> StepResult) {
        if self.behind.as_ref().is_some_and(|behind| !behind.is_finished()) {
            return;
        }
        self.wait();
        let (writer, index, step) = (self.writer.clone(), self.steps, make());
        if step.ios() == 0 {
            return;
        }
        let label = format!("{}, unfinished", step.label);
        let keep = move || {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = writer.add_step(index, &label, &step);
        };
        self.behind = std::thread::Builder::new().name("history".to_owned()).spawn(keep).ok();
    }

    /// Returns the entry, to be closed. It is always there, because the other thread that shared it
    /// has ended.
    pub fn into_writer(mut self) -> Option<RunWriter> {
        self.wait();
        let writer = Arc::into_inner(self.writer)?;
        Some(writer.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until no snapshot is being written.
    fn wait(&mut self) {
        if let Some(Err(panic)) = self.behind.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
    }
}
