//! Rounds of writing, as the counts tell them: the epochs, at which everything committed goes to the data
//! file. Between two epochs every process writes a little once a second; that is in the counts alone.

use super::stats::Stats;
use crate::backend::Cycle;
use std::time::Instant;

/// Sees rounds in counts that are looked at again and again.
#[derive(Debug, Default)]
pub struct Rounds {
    last: Option<(Instant, Stats)>,
    /// When a flush was first seen since the last epoch, and what was written up to then.
    began: Option<(Instant, u64)>,
    ended: Vec<Cycle>,
}

impl Rounds {
    /// Sees the counts at a moment.
    pub fn see(&mut self, now: Instant, stats: &Stats) {
        if let Some((before, last)) = &self.last {
            if stats.of("DFL") > last.of("DFL") && self.began.is_none() {
                self.began = Some((*before, last.of("DWT")));
            }
            if stats.of("JRE") > last.of("JRE") {
                let (began, written) = self.began.take().unwrap_or((*before, last.of("DWT")));
                let blocks = stats.of("DWT").saturating_sub(written);
                self.ended.push(Cycle { ended: now, took: now - began, blocks });
            }
        }
        self.last = Some((now, stats.clone()));
    }

    /// Those that ended since the last time.
    pub fn take(&mut self) -> Vec<Cycle> {
        std::mem::take(&mut self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_round_begins_with_a_flush_and_ends_with_an_epoch() {
        let (mut rounds, begin) = (Rounds::default(), Instant::now());
        let mut see = |ms, text| rounds.see(begin + Duration::from_millis(ms), &Stats::read(text));
        see(0, "DFL:1,JRE:1,DWT:100");
        see(25, "DFL:1,JRE:1,DWT:110");
        see(50, "DFL:2,JRE:1,DWT:150");
        see(75, "DFL:2,JRE:2,DWT:190");
        see(100, "DFL:2,JRE:2,DWT:200");
        let ended = begin + Duration::from_millis(75);
        let expected = Cycle { ended, took: Duration::from_millis(50), blocks: 80 };
        assert_eq!(rounds.take(), [expected]);
        assert_eq!(rounds.take(), []);
    }
}
