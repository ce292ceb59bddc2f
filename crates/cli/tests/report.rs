//! Pictures of stored runs through the binary.
#![allow(clippy::unwrap_used)]

mod common;

use common::Place;
use std::path::Path;

/// Returns the path of an output in the working directory.
fn at(place: &Place, name: &str) -> String {
    place.work().join(name).to_string_lossy().into_owned()
}

fn names(place: &Place, directory: &str) -> Vec<String> {
    common::names(at(place, directory).as_ref())
}

fn two_runs() -> Place {
    let place = Place::new();
    place
        .run(&["run", "sim:sata-ssd", "--runtime=200ms", "--ramp-time=0", "--iodepth=4", "-q"])
        .ends(0);
    place.run(&["find", "sim:array", "-q"]).ends(0);
    place
}

#[test]
fn report_draws_the_last_run_in_every_format() {
    let place = two_runs();
    let (html, svg, png) = (at(&place, "r.html"), at(&place, "svg"), at(&place, "png"));
    let args = ["report", "--html", &html, "--svg", &svg, "--png", &png];
    let told = place.run(&args).ends(0).stdout;
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("<title>sim:array"), "{}", &page[..500]);
    assert_eq!(
        names(&place, "svg"),
        ["capacity-curve-1.svg", "latency-by-load-1.svg", "over-time-1.svg"]
    );
    assert_eq!(
        names(&place, "png"),
        ["capacity-curve-1.png", "latency-by-load-1.png", "over-time-1.png"]
    );
    // Each file that was written is reported, and no partial file is left.
    assert_eq!(told.lines().count(), 7, "{told}");
    let drawn = std::fs::read(at(&place, "png/capacity-curve-1.png")).unwrap();
    assert!(drawn.starts_with(b"\x89PNG"));
}

#[test]
fn report_supports_several_runs_and_selected_panels() {
    let place = two_runs();
    let svg = at(&place, "svg");
    place.run(&["report", "last", "last-1", "--svg", &svg, "--panel=distribution"]).ends(0);
    assert_eq!(names(&place, "svg"), ["distribution-1.svg"]);
    let dark = at(&place, "dark");
    place.run(&["report", "--svg", &dark, "--theme=dark"]).ends(0);
    let light = at(&place, "light");
    place.run(&["report", "--svg", &light]).ends(0);
    let read = |directory: &str| {
        std::fs::read_to_string(at(&place, &format!("{directory}/capacity-curve-1.svg"))).unwrap()
    };
    assert_ne!(read("dark"), read("light"));
}

#[test]
fn html_report_contains_only_requested_panels() {
    let place = two_runs();
    let html = at(&place, "r.html");
    place.run(&["report", "--html", &html, "--panel=over-time"]).ends(0);
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("<section id=\"over-time\""));
    assert!(!page.contains("<section id=\"capacity-curve\""), "not asked for");
}

#[test]
fn report_groups_are_side_by_side_with_own_svg_files() {
    let place = two_runs();
    let (html, svg) = (at(&place, "r.html"), at(&place, "svg"));
    let args = ["report", "last", "last-1", "--panel=over-time", "--html", &html, "--svg", &svg];
    place.run(&[&args[..], &["--group-by=target"]].concat()).ends(0);
    let page = std::fs::read_to_string(&html).unwrap();
    for target in ["sim:array", "sim:sata-ssd"] {
        assert!(page.contains(&format!("<h3 class=\"name\">{target}</h3>")), "{target}");
    }
    let named = ["over-time-sim-array-1.svg", "over-time-sim-sata-ssd-2.svg"];
    assert_eq!(names(&place, "svg"), named);
}

#[test]
fn report_marks_the_time_when_burst_credits_run_out() {
    let place = Place::new();
    // 80 000 credits, spent at 7000 a second, last for 11 s.
    let target = "sim:channels=8,service=1ms,iops_cap=1000,burst=80000";
    let line = ["run", target, "--iodepth=8", "--runtime=1m", "--ramp-time=0", "--json", "-q"];
    let document = place.run(&line).ends(0).json();
    let step = &document["steps"][0];
    let shifts = step["regimes"].as_array().unwrap();
    assert_eq!(shifts.len(), 1, "{shifts:?}");
    let at_seconds = shifts[0]["at_seconds"].as_f64().unwrap();
    assert!((10.5..12.5).contains(&at_seconds), "{at_seconds}");
    // Every I/O of an interval is in a band.
    for point in step["series"].as_array().unwrap() {
        let counts = point["read_bands"]["counts"].as_array().unwrap();
        let counted: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counted, point["reads"].as_u64().unwrap());
    }
    let svg = at(&place, "svg");
    place.run(&["report", "--svg", &svg, "--panel=over-time"]).ends(0);
    let drawn = std::fs::read_to_string(at(&place, "svg/over-time-1.svg")).unwrap();
    assert!(drawn.contains("→ 1000<") && drawn.contains("up to 0.1 %"), "{drawn}");
}

#[test]
fn search_document_contains_the_whole_time_series() {
    let place = Place::new();
    for more in [&[][..], &["--open-loop"]] {
        let line = [&["find", "sim:nvme", "--budget=10s", "--json", "-q"], more].concat();
        let document = place.run(&line).json();
        let series = document["series"].as_array().unwrap();
        assert!((50..=1200).contains(&series.len()), "{}", series.len());
        let mut ends = series.iter().map(|point| point["at_seconds"].as_f64().unwrap());
        assert!(ends.clone().is_sorted());
        let measured = document["measured_seconds"].as_f64().unwrap();
        assert!((ends.next_back().unwrap() - measured).abs() < 0.2, "{measured}");
        let asked = if more.is_empty() { "depth_asked" } else { "rate_asked_iops" };
        let most = series.iter().filter_map(|point| point[asked].as_f64()).fold(0.0, f64::max);
        let curve = document["curve"].as_array().unwrap();
        let member = if more.is_empty() { "depth" } else { "rate_iops" };
        let deepest = curve.iter().map(|point| point[member].as_f64().unwrap()).fold(0.0, f64::max);
        assert!((most / deepest - 1.0).abs() < 0.05, "{asked}: {most} of {deepest}");
    }
}

#[test]
fn invalid_report_arguments_are_rejected() {
    let place = two_runs();
    let place_missing = place.run(&["report"]).ends(2).stderr;
    assert!(place_missing.contains("--html FILE"), "{place_missing}");
    let html = at(&place, "r.html");
    place.run(&["report", "last-9", "--html", &html]).ends(2);
    let svg = at(&place, "svg");
    let unknown = place.run(&["report", "--svg", &svg, "--panel=pie"]).ends(2).stderr;
    assert!(unknown.contains("capacity-curve"), "{unknown}");
    // A search has no histograms.
    let nothing = place.run(&["report", "--svg", &svg, "--panel=distribution"]).ends(2).stderr;
    assert!(nothing.contains("no data for this chart"), "{nothing}");
    // Only a series of runs has a trend.
    let trend = place.run(&["report", "--svg", &svg, "--panel=trend"]).ends(2).stderr;
    common::assert_one_message(&trend);
    assert!(trend.contains("hint: use iogauge history trend RUN"), "{trend}");
    let help = place.run(&["report", "--help"]).ends(0).stdout;
    assert!(help.contains("over-time") && !help.contains("trend"), "{help}");
    let nowhere = at(&place, "no/such/folder/r.html");
    let refused = place.run(&["report", "--html", &nowhere]).ends(1).stderr;
    assert!(
        refused.contains("cannot be written") && crate::common::is_one_message(&refused),
        "{refused}"
    );
    place.run(&["report", "--history=none", "--html", &html]).ends(2);
    // If there is no picture, nothing is written. If a file cannot be written, no partial file is left.
    place.run(&["report", "--html", &html, "--panel=distribution"]).ends(2);
    assert!(!Path::new(&html).exists());
    std::fs::create_dir(&html).unwrap();
    place.run(&["report", "--html", &html]).ends(1);
    assert!(!Path::new(&format!("{html}.partial")).exists());
    // A command that only reads creates no history.
    let typo = at(&place, "typo/h.db");
    let told = place.run(&["report", "--history", &typo, "--html", &html]).ends(2).stderr;
    assert!(told.contains("is not there") && !Path::new(&typo).exists(), "{told}");
}

#[test]
fn latest_run_is_drawn_regardless_of_argument_order() {
    let place = Place::new();
    for runtime in ["--runtime=1", "--runtime=3"] {
        place.run(&["run", "sim:nvme", runtime, "-q"]).ends(0);
    }
    let drawn = |name: &str, runs: &[&str]| {
        let svg = at(&place, name);
        let line = [&["report"], runs, &["--svg", &svg, "--panel=latency-by-load"]].concat();
        place.run(&line).ends(0);
        std::fs::read_to_string(format!("{svg}/latency-by-load-1.svg")).unwrap()
    };
    let once = drawn("a", &["last-1", "last"]);
    assert_eq!(once, drawn("b", &["last", "last-1"]));
    assert_eq!(once, drawn("later", &["last"]));
    assert_ne!(once, drawn("earlier", &["last-1"]));
    assert_eq!(once, drawn("c", &["last", "last-1", "last", "last-1"]));
}

#[test]
fn results_of_one_system_share_a_chart() {
    let place = Place::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio/2.0.7");
    let is_read = |name: &str| name.ends_with(".out") && name.contains("/readrand_");
    let mut files: Vec<String> = std::fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .filter(|path| is_read(path))
        .collect();
    files.sort();
    assert!(files.len() > 3, "{files:?}");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    place.run(&[&["import", "-q"], &files[..]].concat()).ends(0);
    let runs: Vec<String> = (0..files.len()).map(|back| format!("last-{back}")).collect();
    let runs: Vec<&str> =
        runs.iter().map(|run| if *run == "last-0" { "last" } else { run }).collect();
    let svg = at(&place, "svg");
    let line = [&["report"], &runs[..], &["--svg", &svg, "--panel=latency-by-load"]].concat();
    let named = place.run(&line).ends(0).stdout;
    assert_eq!(named.lines().count(), 1, "one picture of all users: {named}");
    let picture = std::fs::read_to_string(named.trim()).unwrap();
    assert!(picture.contains("randread 8K, 2.0.7") && picture.contains(">users<"), "{picture}");
    // Without a run, the whole import is one report, and so is a range.
    let range = format!("last-{}..last", files.len() - 1);
    for runs in [&[][..], &[&*range], &["system:2.0.7"], &["--system=2.0.7"]] {
        let line = [&["report", "--svg", &svg, "--panel=latency-by-load"][..], runs].concat();
        let named = place.run(&line).ends(0).stdout;
        assert_eq!(std::fs::read_to_string(named.trim()).unwrap(), picture, "{runs:?}");
    }
    // `--system` imports the results under another system name.
    let other = Place::new();
    other.run(&["import", "-q", "--system=array1", files[0]]).ends(0);
    let html = at(&other, "r.html");
    other.run(&["report", "--html", &html]).ends(0);
    assert!(std::fs::read_to_string(html).unwrap().contains("array1"));
}

#[test]
fn runs_are_selected_by_range_label_and_system() {
    let place = Place::new();
    for rw in ["randread", "read", "randread"] {
        place.run(&["run", "sim:nvme", "--runtime=1", "-q", "--rw", rw]).ends(0);
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio/2.0.7");
    let file = data.join("readrand_u01_kb0008.out").display().to_string();
    place.run(&["import", "-q", "--system=array1", &file]).ends(0);
    let systems = |runs: &[&str]| {
        let line = [&["history", "show", "--format=csv"], runs].concat();
        let table = place.run(&line).ends(0).stdout;
        let system = |line: &str| line.split(',').next().unwrap().to_owned();
        table.lines().skip(1).map(system).collect::<Vec<_>>()
    };
    // The CSV names the system of the import.
    assert_eq!(systems(&["last"]), ["array1"]);
    assert_eq!(systems(&["system:array1"]), ["array1"]);
    assert_eq!(systems(&["last-3..last"]).len(), 4);
    assert_eq!(systems(&["last..last-3"]).first().unwrap(), "array1");
    assert_eq!(systems(&["load:randread 4 KiB"]).len(), 2);
    let told = place.run(&["history", "show", "label:nothing"]).ends(2).stderr;
    assert!(told.contains("no run \"label:nothing\" in the history; it holds 4"), "{told}");
    let html = at(&place, "r.html");
    let told = place.run(&["report", "last-1", "--system=array1", "--html", &html]).ends(2).stderr;
    assert!(told.contains("none of these runs is of system array1"), "{told}");
    assert_eq!(
        place.run(&["history", "rm", "load:randread 4 KiB"]).ends(0).stdout.lines().count(),
        2
    );
    assert_eq!(systems(&["last-1..last"]).len(), 2);
}
