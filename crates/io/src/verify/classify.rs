//! Decides whether a unit is what was written, and if not, what is wrong with it.

use super::header::{Format, HeaderState, Origin, head};
use super::ledger::Known;
use iogauge_model::load::VerifyAlgorithm;
use iogauge_model::result::VerifyFault;

/// Minimum number of bytes that a device writes as a whole.
const SECTOR_BYTES: usize = 512;
/// Number of writes before and after the one in the header that are tried for the rest of a torn unit.
const TRIED: u32 = 8;

/// Where a unit was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitPlace {
    pub part: u32,
    pub offset_bytes: u64,
}

/// What a unit should be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    /// Written by any run; it must be whole and in its place. Its part index may be that of another target.
    AnyRun,
    /// From this run and these writes.
    Of { run: u64, known: Known },
    /// From this run, and from this write or a later one, which may have landed.
    Since { run: u64, sequence: u32 },
}

/// Verdict on a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UnitState {
    Right,
    /// What it should be is unknown.
    Unjudged,
    Wrong(VerifyFault),
}

/// Judges a unit. Leaves it unchanged.
pub(super) fn judge(
    format: &Format,
    unit: &mut [u8],
    place: UnitPlace,
    expected: Expected,
) -> UnitState {
    format.swap_header(unit);
    let state = judge_headed(format, unit, place, expected);
    format.swap_header(unit);
    match state {
        UnitState::Wrong(fault) => UnitState::Wrong(in_place(format, fault)),
        state => state,
    }
}

/// Returns a fault with the places that it has while header and content are swapped.
fn in_place(format: &Format, fault: VerifyFault) -> VerifyFault {
    let (at, length) = (format.header_offset_bytes as u64, format.content_at() as u64);
    match fault {
        VerifyFault::Corrupt { differing_bytes, first_byte, bit } if at > 0 => {
            let first_byte = match first_byte {
                byte if byte < length => byte + at,
                byte if (at..at + length).contains(&byte) => byte - at,
                byte => byte,
            };
            VerifyFault::Corrupt { differing_bytes, first_byte, bit }
        }
        fault => fault,
    }
}

/// Judges a unit with its header at the start.
fn judge_headed(
    format: &Format,
    unit: &mut [u8],
    place: UnitPlace,
    expected: Expected,
) -> UnitState {
    if let Expected::Of { known: Known::Nothing | Known::Untouched, .. } = expected {
        return UnitState::Unjudged;
    }
    if format.algorithm == VerifyAlgorithm::Pattern {
        return pattern(format, unit, place);
    }
    // Writes in progress at the same time may leave a mixture, which cannot be judged.
    let mixed = matches!(expected, Expected::Of { known: Known::OneOf { .. }, .. });
    let broken = |fault| if mixed { UnitState::Unjudged } else { UnitState::Wrong(fault) };
    match head(unit) {
        HeaderState::Missing => {
            broken(VerifyFault::NoHeader { zeros: unit.iter().all(|b| *b == 0) })
        }
        HeaderState::Damaged => broken(VerifyFault::HeaderDamaged),
        HeaderState::Is { code, len, bit: None, .. }
            if code != format.algorithm.info().code || len != format.unit_bytes =>
        {
            broken(other_format(code, len))
        }
        HeaderState::Is { origin, bit: None, .. }
            if format.digest_is_right(unit) && is_pattern(format, unit, &origin) =>
        {
            whole(&origin, place, expected).map_or(UnitState::Right, UnitState::Wrong)
        }
        HeaderState::Is { origin, .. } => broken(broken_content(format, unit, &origin)),
    }
}

fn other_format(code: u16, length_bytes: u32) -> VerifyFault {
    let row = VerifyAlgorithm::ALL.iter().find(|row| row.code == code);
    VerifyFault::OtherFormat { algorithm: row.map(|row| row.name.to_owned()), length_bytes }
}

/// Returns true unless the content is to be that of the pattern and is not.
fn is_pattern(format: &Format, unit: &[u8], origin: &Origin) -> bool {
    format.algorithm != VerifyAlgorithm::PatternHeader || unit == made(format, origin)
}

fn pattern(format: &Format, unit: &[u8], place: UnitPlace) -> UnitState {
    let UnitPlace { part, offset_bytes } = place;
    let made = made(format, &Origin { run: 0, offset_bytes, sequence: 0, worker: 0, part });
    match differences(unit, &made) {
        None => UnitState::Right,
        Some(_) if unit.iter().all(|byte| *byte == 0) => {
            UnitState::Wrong(VerifyFault::NoHeader { zeros: true })
        }
        Some(fault) => UnitState::Wrong(fault),
    }
}

/// Returns what is wrong with a unit that is whole.
fn whole(origin: &Origin, place: UnitPlace, expected: Expected) -> Option<VerifyFault> {
    let Origin { offset_bytes, part, sequence, run, .. } = *origin;
    let other_part = match expected {
        Expected::AnyRun => None,
        Expected::Of { .. } | Expected::Since { .. } => {
            Some(part).filter(|part| *part != place.part)
        }
    };
    let misplaced = VerifyFault::Misplaced { of_offset_bytes: offset_bytes, of_part: other_part };
    if offset_bytes != place.offset_bytes {
        return Some(misplaced);
    }
    let (own, allowed) = match expected {
        Expected::AnyRun => return None,
        Expected::Of { run, known } => (run, known.allowed()),
        Expected::Since { run, sequence } => (run, Some((sequence, u32::MAX))),
    };
    if run != own {
        return Some(VerifyFault::OtherRun { run });
    }
    if other_part.is_some() {
        return Some(misplaced);
    }
    let (first, last) = allowed?;
    // The numbers wrap around.
    let allowed = sequence.wrapping_sub(first) <= last.wrapping_sub(first);
    (!allowed).then_some(VerifyFault::Stale { sequence, expected_sequence: first })
}

fn made(format: &Format, origin: &Origin) -> Vec<u8> {
    let mut made = vec![0; format.unit_bytes as usize];
    format.make(&mut made, origin);
    made
}

/// Returns what is wrong with a unit that has a readable header and is not whole.
fn broken_content(format: &Format, unit: &[u8], origin: &Origin) -> VerifyFault {
    let made = made(format, origin);
    if format.pattern.is_none()
        && let Some(torn) = torn(format, unit, origin, &made)
    {
        return torn;
    }
    // Something differs, because the digest is wrong.
    differences(unit, &made).unwrap_or(VerifyFault::HeaderDamaged)
}

/// Returns the fault if some sectors at the end of a unit have entirely different content.
fn torn(format: &Format, unit: &[u8], origin: &Origin, made: &[u8]) -> Option<VerifyFault> {
    let sectors = unit.chunks(SECTOR_BYTES).zip(made.chunks(SECTOR_BYTES));
    let first = sectors.clone().position(|(is, ought)| is != ought).filter(|first| *first > 0)?;
    // One byte in 256 is the same by chance.
    let differs = |(is, ought): (&[u8], &[u8])| {
        is.iter().zip(ought).filter(|(a, b)| a == b).count() < is.len() / 8
    };
    if !sectors.clone().skip(first).all(differs) {
        return None;
    }
    let from = first * SECTOR_BYTES;
    let is_rest = |sequence: &u32| {
        super::classify::made(format, &Origin { sequence: *sequence, ..*origin })[from..]
            == unit[from..]
    };
    let near = |back: u32| [origin.sequence.wrapping_sub(back), origin.sequence.wrapping_add(back)];
    let rest_sequence = (1..=TRIED).flat_map(near).find(is_rest);
    Some(VerifyFault::Torn { sequence: origin.sequence, from_byte: from as u64, rest_sequence })
}

/// Returns where bytes differ from what they should be; `None` if they are the same.
fn differences(is: &[u8], ought: &[u8]) -> Option<VerifyFault> {
    let mut differing = is.iter().zip(ought).enumerate().filter(|(_, (a, b))| a != b);
    let (first, (a, b)) = differing.next()?;
    let others = differing.count() as u64;
    let flipped = a ^ b;
    let bit = (others == 0 && flipped.is_power_of_two()).then(|| flipped.trailing_zeros());
    Some(VerifyFault::Corrupt { differing_bytes: 1 + others, first_byte: first as u64, bit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: UnitPlace = UnitPlace { part: 2, offset_bytes: 1 << 20 };

    fn format(algorithm: VerifyAlgorithm) -> Format {
        let pattern = algorithm.needs_pattern().then(|| "0x010203".parse().unwrap());
        Format {
            algorithm,
            unit_bytes: 4096,
            pattern,
            pattern_interval_bytes: 0,
            header_offset_bytes: 0,
        }
    }

    #[test]
    fn wrong_byte_after_the_header_of_a_pattern_is_found() {
        for header_offset_bytes in [0, 1024] {
            let format = Format { header_offset_bytes, ..format(VerifyAlgorithm::PatternHeader) };
            let UnitPlace { part, offset_bytes } = PLACE;
            let origin = Origin { run: 7, offset_bytes, sequence: 1, worker: 3, part };
            let mut unit = vec![0; 4096];
            format.stamp(&mut unit, &origin);
            assert_eq!(judge(&format, &mut unit, PLACE, Expected::AnyRun), UnitState::Right);
            for byte in [0, 100, 1030, 4000] {
                unit[byte] ^= 4;
                let state = judge(&format, &mut unit, PLACE, Expected::AnyRun);
                let expected = VerifyFault::Corrupt {
                    differing_bytes: 1,
                    first_byte: byte as u64,
                    bit: Some(2),
                };
                assert_eq!(state, UnitState::Wrong(expected), "{byte} {header_offset_bytes}");
                unit[byte] ^= 4;
            }
        }
    }

    fn unit(sequence: u32) -> Vec<u8> {
        let UnitPlace { part, offset_bytes } = PLACE;
        let origin = Origin { run: 7, offset_bytes, sequence, worker: 3, part };
        made(&format(VerifyAlgorithm::Crc32c), &origin)
    }

    fn of(known: Known) -> Expected {
        Expected::Of { run: 7, known }
    }

    fn since(sequence: u32) -> Expected {
        Expected::Since { run: 7, sequence }
    }

    fn judged(unit: &mut [u8], expected: Expected) -> UnitState {
        judge(&format(VerifyAlgorithm::Crc32c), unit, PLACE, expected)
    }

    #[test]
    fn expected_units_are_classified_as_correct() {
        let expectations = [
            (of(Known::Exactly(5)), UnitState::Right),
            (of(Known::OneOf { first: 3, last: 5 }), UnitState::Right),
            (of(Known::OneOf { first: u32::MAX, last: 6 }), UnitState::Right),
            (since(5), UnitState::Right),
            (since(4), UnitState::Right),
            (Expected::AnyRun, UnitState::Right),
            (of(Known::Nothing), UnitState::Unjudged),
        ];
        for (expected, verdict) in expectations {
            assert_eq!(judged(&mut unit(5), expected), verdict, "{expected:?}");
        }
    }

    #[test]
    fn stale_and_misplaced_units_are_reported() {
        let stale = |expected_sequence| {
            UnitState::Wrong(VerifyFault::Stale { sequence: 5, expected_sequence })
        };
        assert_eq!(judged(&mut unit(5), of(Known::Exactly(6))), stale(6));
        assert_eq!(judged(&mut unit(5), of(Known::OneOf { first: 6, last: 9 })), stale(6));
        assert_eq!(judged(&mut unit(5), since(6)), stale(6));
        let other = Expected::Of { run: 8, known: Known::Exactly(5) };
        assert_eq!(judged(&mut unit(5), other), UnitState::Wrong(VerifyFault::OtherRun { run: 7 }));
        let format = format(VerifyAlgorithm::Crc32c);
        let away = UnitPlace { offset_bytes: 4096, ..PLACE };
        let misplaced = |of_part| VerifyFault::Misplaced { of_offset_bytes: 1 << 20, of_part };
        for expected in [Expected::AnyRun, of(Known::Exactly(5))] {
            let verdict = judge(&format, &mut unit(5), away, expected);
            assert_eq!(verdict, UnitState::Wrong(misplaced(None)));
        }
        let elsewhere = UnitPlace { part: 1, ..PLACE };
        let verdict = judge(&format, &mut unit(5), elsewhere, of(Known::Exactly(5)));
        assert_eq!(verdict, UnitState::Wrong(misplaced(Some(2))));
        // The index of a part in another target does not matter.
        let verdict = judge(&format, &mut unit(5), elsewhere, Expected::AnyRun);
        assert_eq!(verdict, UnitState::Right);
    }

    #[test]
    fn units_without_valid_header_are_reported() {
        let zeros = |zeros| UnitState::Wrong(VerifyFault::NoHeader { zeros });
        assert_eq!(judged(&mut [0; 4096], Expected::AnyRun), zeros(true));
        assert_eq!(judged(&mut [9; 4096], Expected::AnyRun), zeros(false));
        let mixed = of(Known::OneOf { first: 1, last: 2 });
        assert_eq!(judged(&mut [9; 4096], mixed), UnitState::Unjudged);
        let md5 = made(
            &format(VerifyAlgorithm::Md5),
            &Origin { run: 7, offset_bytes: PLACE.offset_bytes, sequence: 1, worker: 0, part: 2 },
        );
        let other = VerifyFault::OtherFormat { algorithm: Some("md5".into()), length_bytes: 4096 };
        assert_eq!(judged(&mut md5.clone(), Expected::AnyRun), UnitState::Wrong(other));
        let mut damaged = unit(1);
        damaged[16..24].fill(0x55);
        let verdict = judged(&mut damaged, Expected::AnyRun);
        assert_eq!(verdict, UnitState::Wrong(VerifyFault::HeaderDamaged));
    }

    #[test]
    fn torn_and_corrupt_units_are_distinguished() {
        for (head, rest, from) in [(6, 5, 512), (5, 6, 3584), (1, 0, 2048)] {
            let mut torn = unit(head);
            torn[from..].copy_from_slice(&unit(rest)[from..]);
            let fault = VerifyFault::Torn {
                sequence: head,
                from_byte: from as u64,
                rest_sequence: Some(rest),
            };
            // A unit that may be from either write must still be whole.
            for expected in [of(Known::Exactly(6)), since(0)] {
                assert_eq!(judged(&mut torn, expected), UnitState::Wrong(fault.clone()));
            }
        }
        let mut foreign = unit(6);
        foreign[1024..].fill(0);
        let fault = VerifyFault::Torn { sequence: 6, from_byte: 1024, rest_sequence: None };
        assert_eq!(judged(&mut foreign, of(Known::Exactly(6))), UnitState::Wrong(fault));
        let mut scratched = unit(6);
        scratched[1030..1040].iter_mut().for_each(|byte| *byte ^= 0xff);
        let fault = VerifyFault::Corrupt { differing_bytes: 10, first_byte: 1030, bit: None };
        assert_eq!(judged(&mut scratched, of(Known::Exactly(6))), UnitState::Wrong(fault));
    }

    proptest! {
        #[test]
        fn flipped_bit_position_is_reported(bit in 0u32..4096 * 8, any_run: bool) {
            let mut flipped = unit(4);
            flipped[bit as usize / 8] ^= 1 << (bit % 8);
            let expected = if any_run { Expected::AnyRun } else { of(Known::Exactly(4)) };
            let fault = VerifyFault::Corrupt {
                differing_bytes: 1,
                first_byte: u64::from(bit / 8),
                bit: Some(bit % 8),
            };
            prop_assert_eq!(judged(&mut flipped, expected), UnitState::Wrong(fault));
        }

        #[test]
        fn pattern_units_are_verified_without_headers(byte in 0usize..4096, other in 1u8..) {
            let format = format(VerifyAlgorithm::Pattern);
            let origin = Origin { run: 0, offset_bytes: 0, sequence: 0, worker: 0, part: 0 };
            let mut unit = made(&format, &origin);
            let expected = of(Known::OneOf { first: 1, last: 3 });
            prop_assert_eq!(judge(&format, &mut unit, PLACE, expected), UnitState::Right);
            unit[byte] ^= other;
            let verdict = judge(&format, &mut unit, PLACE, expected);
            let UnitState::Wrong(VerifyFault::Corrupt { first_byte, .. }) = verdict else {
                return Err(TestCaseError::fail("not corrupt"));
            };
            prop_assert_eq!(first_byte, byte as u64);
        }

        #[test]
        fn classifying_arbitrary_units_never_panics(mut unit in prop::collection::vec(any::<u8>(), 4096), at in 0usize..60) {
            let head = self::unit(1);
            unit[..at].copy_from_slice(&head[..at]);
            let _ = judged(&mut unit, Expected::AnyRun);
        }
    }
}
