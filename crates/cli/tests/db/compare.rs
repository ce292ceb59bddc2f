//! `iogauge db compare`.

use crate::{Db, URL};

const SHORT: [&str; 4] = ["--runtime=200ms", "--ramp-time=0", "--json", "--quiet"];

#[test]
fn settings_of_a_database_are_compared_in_turns() {
    let db = Db::new(2, 2000);
    let words =
        ["--mode=write", "--processes=1", "--set-a=synchronous=normal", "--set-b=synchronous=full"];
    let budget = ["--budget=10s", "--margin=0"];
    let done = db.run("compare", &[&words[..], &budget, &SHORT].concat());
    assert!([Some(0), Some(6), Some(7)].contains(&done.code), "{}", done.stderr);
    let document = done.json();
    assert_eq!(document["suite"]["name"], "compare");
    let steps = document["steps"].as_array().unwrap();
    assert!(steps.len() >= 12 && steps.len().is_multiple_of(4), "{}", steps.len());
    assert!(steps.iter().all(|step| step["result"]["step"]["database"].is_object()));
    let subjects = document["subjects"].as_array().unwrap();
    assert_eq!(subjects[1]["about"], "synchronous=full");
    assert!(document["findings"]["compared"][0]["figures"][0]["ratio"]["mean"].is_number());
}

#[test]
fn two_databases_are_searched_in_turns() {
    let db = Db::new(1, 1000);
    let other = "sqlite:other";
    db.place.run(&["db", "setup", other, "--size=16m", "--quiet"]).ends(0);
    let words =
        ["db", "compare", URL, other, "--mode=read", "--limit=mean<=10ms", "--max-processes=4"];
    let times = ["--runtime=1s", "--budget=13s", "--margin=50%", "--json", "--quiet"];
    let done = db.place.run(&[&words[..], &times].concat());
    assert!([Some(0), Some(6), Some(7)].contains(&done.code), "{}", done.stderr);
    let document = done.json();
    assert!(document["steps"][0]["result"]["search"].is_object());
    assert!(document["subjects"][1]["about"].as_str().unwrap().contains("other"));
}

#[test]
fn mistakes_of_comparisons_are_refused() {
    let db = Db::new(0, 0);
    for (words, wanted) in [
        (&["--mode=read"][..], "needs two subjects"),
        (&["--mode=read", "--set-a=x=1", "--set-b=y=2"], "setting"),
        (&["sqlite:e", "--mode=read", "--processes=2", "--limit=p99<=5ms"], "is not searched"),
        (&["sqlite:e", "--mode=read", "--processes=2", "--budget=3s"], "--budget is too short"),
        (&["sqlite:e", "--mode=read", "--processes=2", "--baseline=D"], "the subjects are A to B"),
    ] {
        let done = db.run("compare", words);
        assert_eq!(done.code, Some(2), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(wanted), "{words:?}: {}", done.stderr);
    }
}
