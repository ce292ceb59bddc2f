//! The words of what was measured: I/Os at a depth of a device, operations by processes of a database.

use iogauge_model::Vocabulary;
use iogauge_model::limit::Side;
use iogauge_model::result::Head;

/// How a document speaks of its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// What a rate is of: `IOPS`, `updates/s`.
    pub rate: &'static str,
    /// The same written out.
    pub rates: &'static str,
    /// What a search raises: `queue depth`, `processes`.
    pub concurrency: &'static str,
    /// The words for I/Os or operations.
    pub words: Vocabulary,
}

impl Terms {
    /// Those of a device or a file.
    pub(crate) const DEVICE: Self = Self {
        rate: "IOPS",
        rates: "I/Os per second",
        concurrency: "queue depth",
        words: Vocabulary::Device,
    };
    /// Those of a database that reads and writes.
    pub(crate) const DATABASE: Self = Self {
        rate: "operations/s",
        rates: "operations per second",
        concurrency: "processes",
        words: Vocabulary::Database,
    };

    /// Those of a document.
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

    /// What there is of depth at a time.
    pub(crate) fn outstanding(self) -> &'static str {
        if self.is_database() { "processes in the database" } else { "I/Os outstanding" }
    }

    /// What a search asks for.
    pub(crate) fn asked_for(self) -> &'static str {
        if self.is_database() { "processes requested" } else { "queue depth requested" }
    }

    /// The same as the heading of a column.
    pub(super) fn depth_heading(self) -> &'static str {
        if self.is_database() { self.concurrency } else { "QD" }
    }

    /// The three directions.
    pub(crate) fn sides(self) -> [&'static str; 3] {
        if self.is_database() {
            ["reads", "updates", "commits"]
        } else {
            ["reads", "writes", "flushes"]
        }
    }

    /// True for those of a database.
    pub(crate) fn is_database(self) -> bool {
        self.words == Vocabulary::Database
    }

    /// The verb that goes with what is raised.
    pub(super) fn add(self) -> &'static str {
        if self.is_database() { "add" } else { "adds" }
    }

    /// Where a search may not go beyond.
    pub(super) fn most(self) -> &'static str {
        if self.is_database() {
            "the most processes allowed"
        } else {
            "the largest queue depth allowed"
        }
    }

    /// A place on the curve.
    pub(super) fn place(self) -> &'static str {
        if self.is_database() { "fewer processes" } else { "a queue depth" }
    }

    /// The option that bounds the search.
    pub(super) fn option(self) -> &'static str {
        if self.is_database() { "--max-processes, or more globals," } else { "--max-depth" }
    }

    /// What was asked, and what came of it.
    pub(super) fn asked(self, queue_depth: u32, achieved: f64) -> String {
        match self.is_database() {
            false => format!("queue depth {queue_depth} requested, {achieved:.1} achieved"),
            true => {
                let processes = self.words.amount(queue_depth);
                format!("{processes}, {achieved:.1} in the database on average")
            }
        }
    }

    /// A word for the I/Os that a limit bounds, with a space behind it.
    pub(super) fn side(self, side: Side) -> &'static str {
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
