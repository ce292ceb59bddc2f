//! Detects rounds of writing from the counts: the epochs, at which everything committed is written to the data file. A
//! round includes the writes before its epoch, because GT.M starts writing some time before an epoch is due. Between
//! two epochs every process writes a little once per second, which only appears in the counts.

use crate::backend::Cycle;
use crate::backend::m::counts::NamedCounts;
use std::time::{Duration, Instant};

/// Writes followed by a pause of this length do not belong to the next epoch.
const STILL: Duration = Duration::from_millis(250);

/// Detects rounds in repeated readings of the counts.
#[derive(Debug, Default)]
pub struct UpdateRounds {
    last: Option<(Instant, NamedCounts)>,
    writing: Option<Writing>,
    ended: Vec<Cycle>,
}

/// Blocks are being written.
#[derive(Debug)]
struct Writing {
    began: Instant,
    /// Number of blocks written before it began.
    before: u64,
    last: Instant,
}

impl UpdateRounds {
    /// Evaluates the counts at a moment.
    pub fn see(&mut self, now: Instant, counts: &NamedCounts) {
        if let Some((then, last)) = self.last.replace((now, counts.clone())) {
            self.follow(then, last.of("DWT"), now, counts.of("DWT"));
            if counts.of("JRE") > last.of("JRE")
                && let Some(writing) = self.writing.take()
            {
                let blocks = counts.of("DWT").saturating_sub(writing.before);
                self.ended.push(Cycle { ended: now, took: now - writing.began, blocks });
            }
        }
    }

    /// Compares the number of blocks written until `then` with that until now.
    fn follow(&mut self, then: Instant, before: u64, now: Instant, written: u64) {
        if self.writing.as_ref().is_some_and(|writing| now - writing.last > STILL) {
            self.writing = None;
        }
        if written > before {
            let began = Writing { began: then, before, last: now };
            self.writing.get_or_insert(began).last = now;
        }
    }

    /// Returns the rounds that ended since the previous call.
    pub fn take(&mut self) -> Vec<Cycle> {
        std::mem::take(&mut self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_round_is_an_epoch_with_its_preceding_writes() {
        let (mut rounds, begin) = (UpdateRounds::default(), Instant::now());
        let mut see =
            |ms, text| rounds.see(begin + Duration::from_millis(ms), &NamedCounts::read(text));
        see(0, "JRE:1,DWT:100");
        // Written by a timer.
        see(25, "JRE:1,DWT:110");
        see(1000, "JRE:1,DWT:110");
        see(1025, "JRE:1,DWT:150");
        see(1200, "JRE:1,DWT:150");
        see(1225, "JRE:1,DWT:170");
        see(1250, "JRE:2,DWT:190");
        see(1275, "JRE:2,DWT:200");
        // An epoch with nothing to write.
        see(2000, "JRE:3,DWT:200");
        let ended = begin + Duration::from_millis(1250);
        let expected = Cycle { ended, took: Duration::from_millis(250), blocks: 80 };
        assert_eq!(rounds.take(), [expected]);
        assert_eq!(rounds.take(), []);
    }
}
