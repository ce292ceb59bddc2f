//! Terms for what was measured: I/Os at a queue depth for a device, operations by processes for a database.

use iogauge_model::Vocabulary;
use iogauge_model::limit::Side;
use iogauge_model::result::Head;

/// The terms for a document's workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Unit of rates: `IOPS`, `updates/s`.
    pub rate: &'static str,
    /// The same, written out.
    pub rates: &'static str,
    /// What a search raises: `queue depth`, `processes`.
    pub concurrency: &'static str,
    /// The names of I/Os or operations.
    pub words: Vocabulary,
}

impl Terms {
    /// The terms for a device or a file.
    pub(crate) const DEVICE: Self = Self {
        rate: "IOPS",
        rates: "I/Os per second",
        concurrency: "queue depth",
        words: Vocabulary::Device,
    };
    /// The terms for a database that reads and writes.
    pub(crate) const DATABASE: Self = Self {
        rate: "operations/s",
        rates: "operations per second",
        concurrency: "processes",
        words: Vocabulary::Database,
    };

    /// Returns the terms for a document.
    pub(crate) fn of(head: &Head) -> Self {
        if head.target.database().is_none() {
            return Self::DEVICE;
        }
        match head.load.database().map(|load| load.mode.as_str()) {
            Some("read") => Self { rate: "reads/s", rates: "reads per second", ..Self::DATABASE },
            Some("write") => {
                Self { rate: "updates/s", rates: "updates per second", ..Self::DATABASE }
            }
            _ => Self::DATABASE,
        }
    }

    /// Returns the name of the achieved queue depth.
    pub(crate) fn outstanding(self) -> &'static str {
        if self.is_database() { "processes in the database" } else { "I/Os outstanding" }
    }

    /// Returns the name of the queue depth that a search requests.
    pub(crate) fn asked_for(self) -> &'static str {
        if self.is_database() { "processes requested" } else { "queue depth requested" }
    }

    /// Returns the column heading for the queue depth.
    pub(super) fn depth_heading(self) -> &'static str {
        if self.is_database() { self.concurrency } else { "QD" }
    }

    /// Returns the names of the three directions.
    pub(crate) fn sides(self) -> [&'static str; 3] {
        if self.is_database() {
            ["reads", "updates", "commits"]
        } else {
            ["reads", "writes", "flushes"]
        }
    }

    /// Returns true if these are the terms for a database.
    pub(crate) fn is_database(self) -> bool {
        self.words == Vocabulary::Database
    }

    /// Returns the verb that goes with [`Self::concurrency`].
    pub(super) fn add(self) -> &'static str {
        if self.is_database() { "add" } else { "adds" }
    }

    /// Returns the name of a search's upper bound.
    pub(super) fn most(self) -> &'static str {
        if self.is_database() {
            "the largest number of processes allowed"
        } else {
            "the largest queue depth allowed"
        }
    }

    /// Returns the name of a place on the curve.
    pub(super) fn place(self) -> &'static str {
        if self.is_database() { "fewer processes" } else { "a queue depth" }
    }

    /// Returns the option that bounds the search.
    pub(super) fn option(self) -> &'static str {
        if self.is_database() { "--max-processes, or more globals," } else { "--max-depth" }
    }

    /// Formats the requested and the achieved queue depth.
    pub(super) fn asked(self, queue_depth: u32, achieved: f64) -> String {
        match self.is_database() {
            false => format!("queue depth {queue_depth} requested, {achieved:.1} achieved"),
            true => {
                let processes = self.words.amount(queue_depth);
                format!("{processes}, {achieved:.1} in the database on average")
            }
        }
    }

    /// Returns the name of the I/Os that a limit bounds, with a trailing space.
    pub(crate) fn side(self, side: Side) -> &'static str {
        match (self.is_database(), side) {
            (_, Side::Any) => "",
            (_, Side::Read) => "read ",
            (false, Side::Write) => "write ",
            (true, Side::Write) => "update ",
            (false, Side::Sync) => "sync ",
            (true, Side::Sync) => "commit ",
        }
    }
}
