//! Checks that an answer is the same in the document, its curve and the printed text.

use super::Sandbox;
use iogauge_model::result::{Answer, CurvePoint, FindDocument, StoppedBy};
use iogauge_model::units::Count;
use serde_json::Value;

/// Fails if the outputs of a sandbox's last search disagree on its answer.
#[track_caller]
pub fn assert_one_answer(place: &Sandbox, document: &Value) {
    let found: FindDocument = serde_json::from_value(document.clone()).unwrap();
    let answer = &found.search.answer;
    assert_rows_agree(answer, &found.search.curve);
    let text = place.run_on(300, &["history", "show"]).ends(0).stdout;
    let mean = Count(answer.iops.mean).to_string();
    let headline = text.split("\n\n").next().unwrap();
    let names_none = answer.stopped_by == StoppedBy::Undecided;
    assert!(headline.contains(&mean) != names_none, "{mean}: {text}");
    let judged = text.lines().filter(|line| line.contains(" met ") || line.contains(" broken "));
    let marked: Vec<&str> = judged.filter(|line| line.contains(" answer")).collect();
    // Neither a violation of the limit nor an undecided result is an answer.
    assert_eq!(marked.len(), usize::from(answer.is_given()), "{text}");
    let is_right = |line: &&str| line.contains(" met ") && line.contains(&mean);
    assert!(marked.iter().all(is_right), "{mean}: {text}");
}

/// Fails if the rows of a curve disagree with its answer.
#[track_caller]
pub fn assert_rows_agree(answer: &Answer, curve: &[CurvePoint]) {
    let is_answer = |queue_depth: u32, rate: Option<f64>| {
        (queue_depth, rate) == (answer.queue_depth, answer.rate_iops)
    };
    let rows: Vec<_> =
        curve.iter().filter(|row| is_answer(row.queue_depth, row.rate_iops)).collect();
    let [row] = rows[..] else { panic!("{} rows of the answer: {curve:?}", rows.len()) };
    assert_eq!((row.met, row.iops.mean), (answer.met, answer.iops.mean));
    assert_eq!((&row.latency_ns, &row.limits), (&answer.latency_ns, &answer.limits));
    assert_eq!(row.queue_depth_achieved, answer.queue_depth_achieved);
    for [low, high] in [Some(answer.iops.ci95), answer.pi95].into_iter().flatten() {
        assert!((low..=high).contains(&row.iops.mean), "{low} to {high}: {answer:?}");
    }
    for row in curve {
        assert!(row.queue_depth_achieved <= f64::from(row.queue_depth) * 1.02, "{row:?}");
        let holds = row
            .limits
            .iter()
            .all(|limit| limit.value_ns.is_some_and(|ns| ns <= limit.limit.bound_ns as f64));
        // A row of an open loop can meet every limit and still fail, because arrivals were left behind.
        assert!(holds || !row.met, "{row:?}");
        assert!(row.met || !holds || row.rate_iops.is_some(), "{row:?}");
    }
}

/// Fails if a row meets the limits with certainly more IOPS than the answer, because that row should have
/// been the answer. A disk that became slower during the search has such rows.
#[track_caller]
pub fn assert_none_is_more(answer: &Answer, curve: &[CurvePoint]) {
    let [_, high] = answer.pi95.unwrap_or(answer.iops.ci95);
    let certain = curve.iter().filter(|row| row.met && answer.met && row.iops.n > 1);
    for row in certain {
        assert!(row.iops.ci95[0] <= high, "{row:?} beyond {answer:?}");
    }
}
