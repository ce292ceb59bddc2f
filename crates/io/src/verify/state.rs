//! What a run has written, in a file, so that a later run can verify it.
//!
//! The file is `iogauge.verify-state/1`, a line of JSON, and 8 bytes for each unit of the stored pieces: the first and
//! the last write that its content may be from, both 0 if it was never written, 1 and 0 if it is unknown. Numbers are
//! little-endian. The last 4 bytes are the CRC-32C of all others.

use super::classify::{Expected, UnitPlace};
use super::header::Format;
use super::ledger::{Known, PIECE_UNITS, Territory};
use crc_fast::{CrcAlgorithm, Digest};
use iogauge_model::load::VerifyAlgorithm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

/// First line of a file.
pub const STATE_FORMAT: &str = "iogauge.verify-state/1";
const UNIT_BYTES: usize = 8;
const PIECE_BYTES: usize = PIECE_UNITS as usize * UNIT_BYTES;
/// Longest first line, and longest line of JSON.
const MOST_LINE_BYTES: u64 = 64 << 20;

/// Why a file is not a verify state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("it is not a verify state of iogauge")]
    Form,
    #[error("it is damaged")]
    Damaged,
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    territories: Vec<TerritoryHead>,
    /// Number of hosts of the run, each of which has a file.
    #[serde(default = "one")]
    hosts: u32,
}

const fn one() -> u32 {
    1
}

/// A territory, without the entries of its units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TerritoryHead {
    part: u32,
    base_bytes: u64,
    units: u64,
    unit_bytes: u32,
    algorithm: VerifyAlgorithm,
    /// In hexadecimal digits, because many readers of JSON lose the last bits of such a number.
    run: String,
    /// Numbers of the pieces that follow.
    pieces: Vec<u64>,
}

/// Writes what is known about the units of these territories, which one of so many hosts has written. Units of writes in
/// progress are unknown.
///
/// # Errors
/// Fails if `out` does.
pub fn save(territories: &[Arc<Territory>], hosts: u32, out: &mut dyn Write) -> io::Result<()> {
    let heads = territories.iter().map(|territory| TerritoryHead {
        part: territory.part,
        base_bytes: territory.base_bytes,
        units: territory.units,
        unit_bytes: territory.format.unit_bytes,
        algorithm: territory.format.algorithm,
        run: format!("{:016x}", territory.run),
        pieces: territory.touched_pieces().collect(),
    });
    let head = Head { territories: heads.collect(), hosts };
    let mut crc = Digest::new(CrcAlgorithm::Crc32Iscsi);
    let mut put = |bytes: &[u8]| {
        crc.update(bytes);
        out.write_all(bytes)
    };
    put(STATE_FORMAT.as_bytes())?;
    put(b"\n")?;
    put(&serde_json::to_vec(&head)?)?;
    put(b"\n")?;
    let mut bytes = Vec::with_capacity(PIECE_BYTES);
    for (territory, head) in territories.iter().zip(&head.territories) {
        for piece in &head.pieces {
            bytes.clear();
            let first = piece * PIECE_UNITS;
            for unit in first..first + PIECE_UNITS {
                let [first, last] = stored(territory.known(unit));
                bytes.extend_from_slice(&first.to_le_bytes());
                bytes.extend_from_slice(&last.to_le_bytes());
            }
            put(&bytes)?;
        }
    }
    out.write_all(&(crc.finalize() as u32).to_le_bytes())
}

fn stored(known: Known) -> [u32; 2] {
    match known {
        Known::Untouched => [0, 0],
        Known::Nothing => [1, 0],
        Known::Exactly(sequence) => [sequence, sequence],
        Known::OneOf { first, last } => [first, last],
    }
}

fn known([first, last]: [u32; 2]) -> Known {
    match (first, last) {
        (0, 0) => Known::Untouched,
        _ if first == last => Known::Exactly(last),
        // The difference, because numbers of writes may wrap.
        _ if last.wrapping_sub(first) < 1 << 16 => Known::OneOf { first, last },
        _ => Known::Nothing,
    }
}

/// A verify state that was read.
#[derive(Debug)]
pub struct SavedState {
    territories: Vec<SavedTerritory>,
    hosts: u32,
}

#[derive(Debug)]
struct SavedTerritory {
    head: TerritoryHead,
    run: u64,
    pieces: BTreeMap<u64, Box<[u8]>>,
}

impl SavedState {
    /// Reads a verify state. Takes 8 bytes of memory for each unit of the pieces in which a unit was written.
    ///
    /// # Errors
    /// If it is not one, is damaged, or cannot be read.
    pub fn read(source: impl Read) -> Result<Self, StateError> {
        let mut source = BufReader::new(source);
        let mut crc = Digest::new(CrcAlgorithm::Crc32Iscsi);
        let mut line = |limit: u64| -> Result<Vec<u8>, StateError> {
            let mut line = Vec::new();
            source.by_ref().take(limit).read_until(b'\n', &mut line)?;
            crc.update(&line);
            if line.pop() == Some(b'\n') { Ok(line) } else { Err(StateError::Form) }
        };
        if line(STATE_FORMAT.len() as u64 + 1)? != STATE_FORMAT.as_bytes() {
            return Err(StateError::Form);
        }
        let head: Head =
            serde_json::from_slice(&line(MOST_LINE_BYTES)?).map_err(|_| StateError::Damaged)?;
        let (mut territories, hosts) = (Vec::new(), head.hosts);
        for head in head.territories {
            let run = u64::from_str_radix(&head.run, 16).map_err(|_| StateError::Damaged)?;
            let mut pieces = BTreeMap::new();
            for piece in &head.pieces {
                let mut bytes = vec![0; PIECE_BYTES].into_boxed_slice();
                source.read_exact(&mut bytes).map_err(|_| StateError::Damaged)?;
                crc.update(&bytes);
                pieces.insert(*piece, bytes);
            }
            territories.push(SavedTerritory { head, run, pieces });
        }
        let mut rest = Vec::new();
        source.by_ref().take(5).read_to_end(&mut rest)?;
        if rest != (crc.finalize() as u32).to_le_bytes() {
            return Err(StateError::Damaged);
        }
        Ok(Self { territories, hosts })
    }

    /// Number of hosts of the run that wrote, each of which has a state of its own.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Returns the units of the first territory that differ from this format, as length and algorithm; `None` if all
    /// are alike.
    #[must_use]
    pub fn other_units(&self, format: &Format) -> Option<(u32, &'static str)> {
        let heads = self.territories.iter().map(|territory| &territory.head);
        let mut other = heads.filter(|head| {
            head.unit_bytes != format.unit_bytes || head.algorithm != format.algorithm
        });
        other.next().map(|head| (head.unit_bytes, head.algorithm.info().name))
    }

    /// Returns what a unit should be. About units that the run could not write, nothing is known.
    pub(super) fn expected(&self, place: UnitPlace) -> Expected {
        let nothing = Expected::Of { run: 0, known: Known::Untouched };
        let within = self.territories.iter().find_map(|territory| {
            let head = &territory.head;
            let behind = place.offset_bytes.checked_sub(head.base_bytes)?;
            let unit = behind / u64::from(head.unit_bytes.max(1));
            (head.part == place.part && unit < head.units).then_some((territory, unit))
        });
        let Some((territory, unit)) = within else { return nothing };
        let Some(piece) = territory.pieces.get(&(unit / PIECE_UNITS)) else { return nothing };
        let at = (unit % PIECE_UNITS) as usize * UNIT_BYTES;
        let number = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&piece[at..at + 4]);
            u32::from_le_bytes(bytes)
        };
        Expected::Of { run: territory.run, known: known([number(at), number(at + 4)]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::Extent;
    use crate::verify::ledger::{Ledger, Writer};
    use iogauge_model::load::{BlockSizes, Load, Pattern, Verify};
    use proptest::prelude::*;

    fn territory(units: u64) -> Arc<Territory> {
        let load = Load {
            rw: Pattern::RandWrite,
            block: BlockSizes::fixed(4096),
            verify: Some(Verify::with(VerifyAlgorithm::Md5)),
            ..Load::default()
        };
        let extent = Extent { base_bytes: 1 << 20, size_bytes: units * 4096 };
        let ledger = Ledger::new(&[Writer { load: &load, parts: &[(3, extent)] }]).unwrap();
        ledger.territory(3, &load, &extent).unwrap().clone()
    }

    fn saved(territory: &Arc<Territory>) -> Vec<u8> {
        let mut bytes = Vec::new();
        save(std::slice::from_ref(territory), 1, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn damaged_and_foreign_states_are_rejected() {
        let territory = territory(10);
        territory.begin(5);
        let bytes = saved(&territory);
        assert!(SavedState::read(&bytes[..]).is_ok());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert!(SavedState::read(&damaged[..]).is_err(), "{at}");
        }
        let longer = [&bytes[..], b"x"].concat();
        for other in [&b""[..], b"iogauge.verify-state/2\n", &bytes[..bytes.len() - 1], &longer] {
            assert!(SavedState::read(other).is_err());
        }
    }

    proptest! {
        #[test]
        fn saved_state_has_what_was_written(
            writes in prop::collection::vec((0u64..9000, any::<bool>(), any::<bool>()), 0..40),
        ) {
            let territory = territory(9000);
            for (unit, ended, succeeded) in writes {
                territory.begin(unit);
                if ended {
                    territory.end(unit, succeeded);
                }
            }
            let state = SavedState::read(&saved(&territory)[..]).unwrap();
            prop_assert_eq!(state.other_units(&territory.format), None);
            for unit in 0..9001 {
                let place = UnitPlace { part: 3, offset_bytes: territory.offset_of(unit) };
                let Expected::Of { run, known } = state.expected(place) else {
                    return Err(TestCaseError::fail("of any run"));
                };
                prop_assert_eq!(known, territory.known(unit));
                prop_assert!(run == territory.run || known == Known::Untouched);
            }
            for place in [
                UnitPlace { part: 2, offset_bytes: territory.base_bytes },
                UnitPlace { part: 3, offset_bytes: 0 },
            ] {
                let is_untouched =
                    matches!(state.expected(place), Expected::Of { known: Known::Untouched, .. });
                prop_assert!(is_untouched);
            }
        }
    }
}
