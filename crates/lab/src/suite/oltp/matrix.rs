//! The matrix: the tests with their users and block sizes.

use crate::suite::Site;
use crate::suite::kit::counted;
use iogauge_model::Load;
use iogauge_model::load::{BlockSizes, Pattern, SyncMode};
use iogauge_model::units::size_word;
use std::str::FromStr;

/// A kind of I/O that databases issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// Random reads, as from an index.
    ReadRand,
    /// Sequential reads, as from a table scan or a backup.
    Read,
    /// Sequential writes that wait for the medium, as to a redo log.
    Write,
    /// Random reads and writes mixed, as from users and the database writer together.
    RandRw,
}

/// Users of a sequential read that runs with every block size.
const ALONE: &[u32] = &[1];
const MANY: &[u32] = &[1, 8, 16, 32, 64];
const LOG_WRITERS: &[u32] = &[1, 4, 16];

impl Test {
    /// All of them, in the order they run: that of the scripts whose table this is. The mix comes last; the
    /// scripts run it only on request.
    pub(super) const ALL: [Self; 4] = [Self::ReadRand, Self::Write, Self::Read, Self::RandRw];

    /// Returns its name on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ReadRand => "readrand",
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRw => "randrw",
        }
    }

    /// True if it changes the target.
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::RandRw)
    }

    /// True if each user accesses a region of its own.
    pub(super) fn is_sequential(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    fn block_bytes(self) -> &'static [u64] {
        match self {
            Self::ReadRand | Self::RandRw => &[8 << 10],
            Self::Read => &[8 << 10, 32 << 10, 128 << 10, 1 << 20],
            Self::Write => &[1 << 10, 8 << 10, 128 << 10],
        }
    }

    /// Returns the workload of one user.
    pub(super) fn load(self, site: &Site, block_bytes: u64) -> Load {
        let usual = Load { block: BlockSizes::fixed(block_bytes), ..site.load() };
        match self {
            Self::ReadRand => Load { rw: Pattern::RandRead, ..usual },
            Self::Read => Load { rw: Pattern::Read, ..usual },
            Self::Write => Load { rw: Pattern::Write, sync: SyncMode::Sync, ..usual },
            Self::RandRw => Load { rw: Pattern::RandRw, read_percent: 80, ..usual },
        }
    }

    /// Returns its entries, in ascending order of users, then block sizes. Typed values replace the
    /// defaults.
    pub(super) fn entries(self, block_bytes: &[u64], users: &[u32]) -> Vec<Entry> {
        let sizes = if block_bytes.is_empty() { self.block_bytes() } else { block_bytes };
        let largest = sizes.iter().max().copied();
        let (every, of_largest) = match self {
            _ if !users.is_empty() => (users, users),
            Self::ReadRand | Self::RandRw => (MANY, MANY),
            Self::Read => (ALONE, MANY),
            Self::Write => (LOG_WRITERS, LOG_WRITERS),
        };
        let one = |users: &u32, block_bytes: &u64| Entry {
            test: self,
            block_bytes: *block_bytes,
            users: *users,
        };
        let mut entries: Vec<Entry> =
            every.iter().flat_map(|users| sizes.iter().map(|bytes| one(users, bytes))).collect();
        entries.extend(of_largest.iter().flat_map(|users| largest.iter().map(|b| one(users, b))));
        entries.sort_by_key(|entry| (entry.users, entry.block_bytes));
        entries.dedup();
        entries
    }
}

impl FromStr for Test {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // `randread` is fio's word for the same.
        let word = if text == "randread" { Self::ReadRand.word() } else { text };
        Self::ALL.into_iter().find(|test| test.word() == word).ok_or_else(|| {
            let words = Self::ALL.map(Self::word).join(", ");
            format!("\"{text}\" is not one of {words}")
        })
    }
}

/// One test with a number of users and a block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) test: Test,
    pub(super) block_bytes: u64,
    pub(super) users: u32,
}

impl Entry {
    /// Example: `readrand 8k 16 users`.
    pub(super) fn key(&self) -> String {
        let (word, size) = (self.test.word(), size_word(self.block_bytes));
        format!("{word} {size} {}", counted(self.users, "user"))
    }

    /// True if direct I/O accepts its block size.
    pub(super) fn fits(&self, site: &Site) -> bool {
        site.takes(self.block_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(test: Test, block_bytes: &[u64], users: &[u32]) -> Vec<String> {
        test.entries(block_bytes, users).iter().map(Entry::key).collect()
    }

    #[test]
    fn default_matrix_matches_the_original_scripts() {
        assert_eq!(
            keys(Test::ReadRand, &[], &[]),
            ["readrand 8k 1 user", "readrand 8k 8 users", "readrand 8k 16 users"]
                .iter()
                .chain(&["readrand 8k 32 users", "readrand 8k 64 users"])
                .copied()
                .collect::<Vec<_>>()
        );
        let read = keys(Test::Read, &[], &[]);
        assert_eq!(read[..3], ["read 8k 1 user", "read 32k 1 user", "read 128k 1 user"]);
        assert_eq!(read[3..5], ["read 1m 1 user", "read 1m 8 users"]);
        assert_eq!((read.len(), read[7].as_str()), (8, "read 1m 64 users"));
        let write = keys(Test::Write, &[], &[]);
        assert_eq!(write[..3], ["write 1k 1 user", "write 8k 1 user", "write 128k 1 user"]);
        assert_eq!((write.len(), write[8].as_str()), (9, "write 128k 16 users"));
        assert_eq!(keys(Test::RandRw, &[], &[]).len(), 5);
    }

    #[test]
    fn given_sizes_and_users_override_the_default_matrix() {
        assert_eq!(keys(Test::ReadRand, &[4096], &[2]), ["readrand 4k 2 users"]);
        let read = keys(Test::Read, &[4096, 65_536], &[]);
        assert_eq!(read[..3], ["read 4k 1 user", "read 64k 1 user", "read 64k 8 users"]);
        assert_eq!(keys(Test::Read, &[], &[2, 3]).len(), 8);
        assert_eq!(keys(Test::Write, &[4096], &[]).len(), 3);
        assert_eq!("randrw".parse(), Ok(Test::RandRw));
        assert!("rand".parse::<Test>().unwrap_err().contains("readrand, write, read, randrw"));
    }
}
