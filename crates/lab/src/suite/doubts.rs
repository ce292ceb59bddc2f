//! Doubts about the target of a suite, which hold before its first step.

use iogauge_model::{Caveat, CaveatCode};

/// Doubts about several files or devices, one of each kind: the first that has the worst impact, with
/// the number of the others. What suites have no option for is mended otherwise than in a run.
#[must_use]
pub fn of_target(caveats: Vec<Caveat>) -> Vec<Caveat> {
    let mut found: Vec<(Caveat, usize)> = Vec::new();
    for caveat in caveats {
        let known = found.iter_mut().find(|(known, _)| known.code == caveat.code);
        match known {
            None => found.push((caveat, 0)),
            Some((known, others)) => {
                *others += 1;
                if caveat.impact > known.impact {
                    *known = caveat;
                }
            }
        }
    }
    let told = |(caveat, others): (Caveat, usize)| {
        let more = if others > 0 { format!(" (and {others} more like it)") } else { String::new() };
        let hint = hint(&caveat);
        Caveat { message: caveat.message + &more, hint, ..caveat }
    };
    found.into_iter().map(told).collect()
}

/// What to do about a doubt in a suite, whose options are others than those of a run.
pub(super) fn hint(caveat: &Caveat) -> String {
    match caveat.code {
        CaveatCode::SmallerThanCache => "a larger --size",
        CaveatCode::VolatileWriteCache => "iogauge run TARGET --sync=dsync measures durable writes",
        CaveatCode::TooFewSamples => "longer steps: --seconds, or a smaller --scale",
        CaveatCode::NotSteady | CaveatCode::PerformanceShift => {
            "longer steps (--seconds, or a smaller --scale), and a look at what else uses the device"
        }
        _ => return caveat.hint.clone(),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::Impact;

    #[test]
    fn doubts_of_many_files_are_one_of_each_kind() {
        let cache = |path: &str| Caveat::of(CaveatCode::SmallerThanCache, format!("{path}: small"));
        let caveats = vec![
            cache("a").with_impact(Impact::Note),
            Caveat::new(CaveatCode::ZeroBlocks, "a: zeros", "write it"),
            cache("b").with_impact(Impact::Doubt),
            cache("c").with_impact(Impact::Note),
        ];
        let told = of_target(caveats);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].message, "b: small (and 2 more like it)");
        assert_eq!((told[0].impact, told[0].hint.as_str()), (Impact::Doubt, "a larger --size"));
        assert_eq!((told[1].message.as_str(), told[1].hint.as_str()), ("a: zeros", "write it"));
    }
}
