//! Windows of equal length, one after the other.

use super::LoggedIo;

/// What is known of the I/Os of a window.
pub(super) trait Content: Default {
    fn add(&mut self, io: &LoggedIo);

    /// Adds the next window.
    fn append(&mut self, next: Self);
}

/// A window that is over.
#[derive(Debug)]
pub(super) struct Window<C> {
    begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) content: C,
}

impl<C> Window<C> {
    /// Returns a count per second, rounded down.
    pub(super) fn per_sec(&self, count: u64) -> u64 {
        let length_ns = self.end_ns.saturating_sub(self.begin_ns).max(1);
        let per_sec = u128::from(count) * 1_000_000_000 / u128::from(length_ns);
        u64::try_from(per_sec).unwrap_or(u64::MAX)
    }
}

/// Divides the I/Os of a job into windows. Windows without an I/O are left out.
#[derive(Debug)]
pub(super) struct Windows<C> {
    length_ns: u64,
    /// The window before the open one: it may have to take in the end of the job.
    full: Option<Window<C>>,
    open: Option<Window<C>>,
}

impl<C: Content> Windows<C> {
    pub(super) fn new(length_ns: u64) -> Self {
        Self { length_ns, full: None, open: None }
    }

    /// Adds an I/O. Returns a window once it is complete.
    pub(super) fn add(&mut self, io: &LoggedIo) -> Option<Window<C>> {
        if let Some(open) = self.open.as_mut().filter(|open| io.ended_ns < open.end_ns) {
            open.content.add(io);
            return None;
        }
        let begin_ns = io.ended_ns - io.ended_ns % self.length_ns;
        let end_ns = begin_ns.saturating_add(self.length_ns);
        let mut content = C::default();
        content.add(io);
        let full = self.open.replace(Window { begin_ns, end_ns, content });
        std::mem::replace(&mut self.full, full)
    }

    /// Returns the remaining windows of a job that has ended. If the last one is shorter than half a window, it is
    /// part of the one before.
    pub(super) fn end(self, ended_ns: u64) -> impl Iterator<Item = Window<C>> {
        let Self { length_ns, mut full, open } = self;
        let mut open = open.map(|open| Window { end_ns: open.end_ns.min(ended_ns), ..open });
        if let (Some(before), Some(last)) = (&mut full, &open)
            && before.end_ns == last.begin_ns
            && last.end_ns.saturating_sub(last.begin_ns) < length_ns / 2
            && let Some(last) = open.take()
        {
            before.end_ns = last.end_ns.max(last.begin_ns);
            before.content.append(last.content);
        }
        full.into_iter().chain(open)
    }
}
