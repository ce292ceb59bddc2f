use super::*;
use iogauge_model::load::{BlockSizes, Pattern, VerifyAlgorithm, VerifyRound};
use proptest::prelude::*;

fn load(rw: Pattern, offset_bytes: u64, size_bytes: u64) -> Load {
    let verify = Some(Verify::with(VerifyAlgorithm::Crc32c));
    Load { rw, verify, offset_bytes, size_bytes: Some(size_bytes), ..Load::default() }
}

fn extent() -> Extent {
    Extent { base_bytes: 1 << 20, size_bytes: 1 << 20 }
}

fn ledger(loads: &[Load]) -> Result<Ledger, LedgerError> {
    let parts = [(0, extent())];
    let writers: Vec<_> = loads.iter().map(|load| Writer { load, parts: &parts }).collect();
    Ledger::new(&writers)
}

#[test]
fn oversized_ledger_is_rejected_before_allocation() {
    let load = load(Pattern::RandWrite, 0, 1 << 52);
    let parts = [(0, Extent { base_bytes: 0, size_bytes: 1 << 52 })];
    let error = Ledger::new(&[Writer { load: &load, parts: &parts }]).unwrap_err();
    assert!(matches!(error, LedgerError::TooLarge { units, .. } if units == 1 << 40), "{error}");
    assert!(error.to_string().contains("would take 8 TiB"), "{error}");
}

fn territory() -> Arc<Territory> {
    let load = load(Pattern::RandWrite, 8192, 65536);
    let ledger = ledger(std::slice::from_ref(&load)).unwrap();
    ledger.territory(0, &load, &extent()).unwrap().clone()
}

#[test]
fn units_map_to_offsets_and_back() {
    let territory = territory();
    assert_eq!((territory.units, territory.base_bytes), (16, (1 << 20) + 8192));
    assert_eq!(territory.units_of((1 << 20) + 8192 + 4096, 8192), 1..3);
    assert_eq!(territory.offset_of(3), (1 << 20) + 8192 + 3 * 4096);
}

#[test]
fn non_overlapping_write_is_known_exactly() {
    let territory = territory();
    assert_eq!(territory.known(3), Known::Untouched);
    assert_eq!(territory.begin(3), 1);
    assert_eq!(territory.known(3), Known::Nothing);
    territory.end(3, true);
    assert_eq!(territory.known(3), Known::Exactly(1));
    // Two at the same time.
    assert_eq!((territory.begin(3), territory.begin(3)), (2, 3));
    territory.end(3, true);
    assert_eq!(territory.known(3), Known::Nothing);
    assert_eq!(territory.look(2..5, &mut Vec::new()), None);
    territory.end(3, true);
    assert_eq!(territory.known(3), Known::OneOf { first: 2, last: 3 });
    // The next write without others in progress makes up for a failed one.
    territory.begin(3);
    territory.end(3, false);
    assert_eq!(territory.known(3), Known::Nothing);
    assert_eq!(territory.begin(3), 5);
    territory.end(3, true);
    assert_eq!((territory.known(3), territory.unchecked()), (Known::Exactly(5), 1));
}

#[test]
fn writes_carry_their_round_number() {
    let mut load = load(Pattern::RandWrite, 8192, 65536);
    load.verify.as_mut().unwrap().round = Some(VerifyRound { run: 77, number: 5 });
    let other = ledger(std::slice::from_ref(&load)).unwrap();
    let territory = other.territory(0, &load, &extent()).unwrap();
    assert_eq!((territory.run, territory.begin(3)), (77, 5));
    territory.end(3, true);
    assert_eq!(territory.known(3), Known::Exactly(5));
    assert_eq!((territory.begin(3), territory.begin(3)), (6, 7));
    (0..2).for_each(|_| territory.end(3, true));
    assert_eq!(territory.known(3), Known::OneOf { first: 6, last: 7 });
    assert_eq!(territory.known(4), Known::Untouched);
    let mut next = load.clone();
    next.verify.as_mut().unwrap().round = Some(VerifyRound { run: 77, number: 6 });
    assert_eq!(ledger(&[load, next]).unwrap_err(), LedgerError::Differs);
}

#[test]
fn endlessly_overlapping_writes_are_not_verified() {
    let mut entry = UnitEntry(0).begin();
    for _ in 0..70_000 {
        entry = entry.begin().end(true);
    }
    assert_eq!(entry.end(true).known(), Known::Nothing);
    let after = entry.end(true).begin().end(true);
    assert_eq!(after.known(), Known::Exactly(70_002));
    let mut crowd = UnitEntry(0);
    for _ in 0..20_000 {
        crowd = crowd.begin();
    }
    for _ in 0..20_000 {
        crowd = crowd.end(true);
    }
    assert_eq!(crowd.known(), Known::Nothing);
    assert_eq!(crowd.begin().end(true).known(), Known::Nothing);
    let round = UnitEntry(u64::from(u32::MAX)).begin().end(true);
    assert_eq!(round.known(), Known::Untouched);
}

#[test]
fn jobs_with_overlapping_ranges_share_a_ledger() {
    let one = load(Pattern::Write, 0, 65536);
    let other = load(Pattern::RandWrite, 32768, 65536);
    let both = ledger(&[one.clone(), other.clone()]).unwrap();
    let territory = |load| both.territory(0, load, &extent()).unwrap();
    assert!(Arc::ptr_eq(territory(&one), territory(&other)));
    assert_eq!(territory(&one).units, 24);
    let apart = ledger(&[one.clone(), load(Pattern::Write, 65536, 4096)]).unwrap();
    assert_eq!(apart.territories.len(), 2);
    // A job that only reads written data is not one of its writers.
    let reads = Load { rw: Pattern::Read, verify: None, ..one.clone() };
    assert!(ledger(&[one.clone(), reads]).is_ok());
}

#[test]
fn jobs_that_overwrite_each_others_data_are_rejected() {
    let one = load(Pattern::Write, 0, 65536);
    let plain = Load { verify: None, ..one.clone() };
    assert_eq!(ledger(&[one.clone(), plain]).unwrap_err(), LedgerError::Overwritten);
    let large = Load { block: BlockSizes::fixed(8192), ..one.clone() };
    assert_eq!(ledger(&[one.clone(), large]).unwrap_err(), LedgerError::Differs);
    let aside = load(Pattern::Write, 512, 65536);
    assert_eq!(ledger(&[one.clone(), aside]).unwrap_err(), LedgerError::Differs);
    let reads = Load { rw: Pattern::Read, ..one.clone() };
    assert_eq!(ledger(&[one.clone(), reads.clone()]).unwrap_err(), LedgerError::Read);
    let plain = Load { verify: None, ..one.clone() };
    assert_eq!(ledger(&[reads.clone(), plain]).unwrap_err(), LedgerError::Overwritten);
    assert!(ledger(&[reads.clone(), reads]).is_ok());
    let gone = Load { verify: None, offset_bytes: 65536, ..one.clone() };
    assert!(ledger(&[one, gone]).is_ok());
}

/// Writers and readers run on their own threads, over memory that acts as a correct device.
#[test]
fn concurrent_reads_and_writes_raise_no_false_alarm() {
    use std::sync::atomic::{AtomicBool, AtomicU32};
    let territory = territory();
    let content: Vec<AtomicU32> = (0..4).map(|_| AtomicU32::new(0)).collect();
    let over = AtomicBool::new(false);
    let seen = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for writer in 0..3u64 {
            let (territory, content, over) = (&territory, &content, &over);
            scope.spawn(move || {
                let mut step = writer;
                while !over.load(Ordering::Relaxed) {
                    step = crate::offsets::mix64(step);
                    let unit = (step % 4) as usize;
                    let sequence = territory.begin(unit as u64);
                    content[unit].store(sequence, Ordering::SeqCst);
                    territory.end(unit as u64, true);
                    if step.is_multiple_of(16) {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut entries = Vec::new();
                    for unit in (0..4).cycle().take(400_000) {
                        let before = territory.look(unit..unit + 1, &mut entries);
                        let read = content[unit as usize].load(Ordering::SeqCst);
                        if before.is_none()
                            || territory.look(unit..unit + 1, &mut entries) != before
                        {
                            continue;
                        }
                        seen.fetch_add(1, Ordering::Relaxed);
                        match entries[0].known() {
                            Known::Exactly(sequence) => assert_eq!(read, sequence),
                            Known::OneOf { first, last } => assert!((first..=last).contains(&read)),
                            Known::Untouched => assert_eq!(read, 0),
                            Known::Nothing => {}
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    assert!(seen.into_inner() > 0, "nothing was read while nothing was written");
}

/// What may happen to a device next.
#[derive(Debug, Clone, Copy)]
enum Event {
    Begin,
    /// One of the writes in progress lands.
    Land(usize),
    /// One of them ends after it has landed, or fails, whether it has landed or not.
    End(usize, bool),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => Just(Event::Begin),
        2 => (0usize..8).prop_map(Event::Land),
        3 => (0usize..8, prop::bool::weighted(0.9)).prop_map(|(n, ok)| Event::End(n, ok)),
    ];
    prop::collection::vec(event, 1..60)
}

proptest! {
    /// Whatever a correct device does with writes in progress, its content is never judged wrong. If no other write was
    /// in progress with the last one, only the last one is right.
    #[test]
    fn lost_writes_are_detected_without_false_alarms(events in events()) {
        let territory = territory();
        let mut content = 0u32;
        // In progress: sequence number, landed.
        let mut flying: Vec<(u32, bool)> = Vec::new();
        let mut alone = None;
        for event in events {
            match event {
                Event::Begin => {
                    let sequence = territory.begin(5);
                    alone = flying.is_empty().then_some(sequence);
                    flying.push((sequence, false));
                }
                Event::Land(n) if !flying.is_empty() => {
                    let index = n % flying.len();
                    let write = &mut flying[index];
                    if !write.1 {
                        content = write.0;
                        write.1 = true;
                    }
                }
                Event::End(n, ok) if !flying.is_empty() => {
                    let (sequence, landed) = flying.remove(n % flying.len());
                    if ok && !landed {
                        content = sequence;
                    }
                    if !ok {
                        alone = None;
                    }
                    territory.end(5, ok);
                }
                Event::Land(_) | Event::End(..) => {}
            }
            match territory.known(5) {
                Known::Untouched => prop_assert_eq!(content, 0),
                Known::Exactly(sequence) => prop_assert_eq!(sequence, content),
                Known::OneOf { first, last } => {
                    prop_assert!((first..=last).contains(&content));
                    prop_assert!(first < last);
                }
                Known::Nothing => {}
            }
            if let (Some(sequence), true) = (alone, flying.is_empty()) {
                prop_assert_eq!(territory.known(5), Known::Exactly(sequence));
            }
        }
    }
}
