//! Pictures of kept runs through the binary.
#![allow(clippy::unwrap_used)]

mod common;

use common::Place;

/// A place for pictures.
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
fn the_last_run_is_drawn_in_every_form() {
    let place = two_runs();
    let (html, svg, png) = (at(&place, "r.html"), at(&place, "svg"), at(&place, "png"));
    let args = ["report", "--html", &html, "--svg", &svg, "--png", &png];
    let told = place.run(&args).ends(0).stdout;
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("<title>sim:array"), "{}", &page[..500]);
    assert_eq!(names(&place, "svg"), ["capacity-curve-1.svg", "latency-by-load-1.svg"]);
    assert_eq!(names(&place, "png"), ["capacity-curve-1.png", "latency-by-load-1.png"]);
    // Whatever was written is told, and nothing is left half written.
    assert_eq!(told.lines().count(), 5, "{told}");
    let drawn = std::fs::read(at(&place, "png/capacity-curve-1.png")).unwrap();
    assert!(drawn.starts_with(b"\x89PNG"));
}

#[test]
fn several_runs_and_single_panels() {
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
fn mistakes_are_told() {
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
    assert!(nothing.contains("nothing for such a picture"), "{nothing}");
    let nowhere = at(&place, "no/such/folder/r.html");
    let refused = place.run(&["report", "--html", &nowhere]).ends(1).stderr;
    assert!(
        refused.contains("cannot be written") && refused.trim().lines().count() == 1,
        "{refused}"
    );
    place.run(&["report", "--history=none", "--html", &html]).ends(2);
}
