//! A report in a browser: nothing overflows, everything is legible, and every area has its tooltip.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod devtools;

use common::{Place, skip};
use devtools::Browser;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const CHECKS: &str = include_str!("checks.js");
/// A telephone and a wide screen.
const WIDTHS: [u32; 2] = [360, 1600];
/// A sheet of A4 with margins of a centimetre, at 96 pixels per inch.
const SHEET: [u32; 2] = [718, 1046];

/// Returns Debian's browser, or one with another name.
fn chromium() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let places = std::env::split_paths(&paths).flat_map(|dir| names.map(|name| dir.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Makes one report of runs of all kinds.
fn report(place: &Place) -> PathBuf {
    let runs: [&[&str]; 7] = [
        &["find", "sim:array"],
        &["run", "sim:sata-ssd", "--rw=randrw", "--bs=8k", "--runtime=5s", "--ramp-time=0"],
        &["suite", "oltp", "sim:sata-ssd", "--seconds=100ms", "--users=1,8,16,32"],
        &["suite", "blocksize", "sim:sata-ssd", "--seconds=200ms"],
        &["suite", "snia-iops", "sim:sata-ssd,size=256m", "--scale=3000"],
        &["suite", "snia-latency", "sim:hdd,size=64m", "--scale=600"],
        &["suite", "snia-saturation", "sim:sata-ssd,size=256m", "--scale=600"],
    ];
    for arguments in runs {
        place.run(&[arguments, &["-q"]].concat()).ends(0);
    }
    let file = place.work().join("report.html");
    let mut arguments = vec!["report".to_owned(), "--html".to_owned(), file.display().to_string()];
    arguments.extend((0..runs.len()).map(|back| format!("last-{back}").replace("last-0", "last")));
    place.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).ends(0);
    file
}

/// Returns the faults that a check finds in the current page.
fn faults(browser: &mut Browser, expression: &str) -> Vec<String> {
    let found = browser.evaluate(&format!("{CHECKS};checks.{expression}"));
    serde_json::from_value(found).unwrap()
}

/// Moves the pointer over each area. The tooltip must be the one that the area has for this place.
fn hover(browser: &mut Browser) -> Vec<String> {
    let mut faults = Vec::new();
    let areas = browser.evaluate(&format!("{CHECKS};checks.areas()"));
    let areas = areas.as_array().unwrap();
    assert!(areas.len() > 5, "there is little under the pointer: {areas:?}");
    for area in areas {
        let name = &area["name"];
        if area["points"] == json!(0) {
            faults.push(format!("{name} has an area without points"));
            continue;
        }
        let place = format!("checks.reach({}, {}, {})", area["picture"], area["x"], area["y"]);
        let place = serde_json::from_value(browser.evaluate(&place)).unwrap();
        browser.pointer("mouseMoved", place);
        let told = browser.evaluate("checks.told()");
        match told.as_array().unwrap().as_slice() {
            [one] if one["text"] != area["told"] => {
                faults
                    .push(format!("{name} tells {} where it should {}", one["text"], area["told"]));
            }
            [one] if one["beyond"].as_f64().unwrap() > 1.0 => {
                faults.push(format!("{name} tells beyond the page: {one}"));
            }
            [_] => {}
            other => faults.push(format!("{name} tells {} times", other.len())),
        }
    }
    browser.pointer("mouseMoved", [1.0, 1.0]);
    if browser.evaluate("checks.told()") != json!([]) {
        faults.push("what was told stays when the pointer is gone".to_owned());
    }
    faults
}

/// Checks the page on screens of both widths and in both themes.
fn on_screens(browser: &mut Browser, page: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for width in WIDTHS {
        browser.resize(width, 900);
        browser.media("screen", false);
        browser.open(page);
        let mut found = Vec::new();
        for check in ["overflow()", "figures()", "collisions()", "toggles()", "contrasts()"] {
            found.extend(faults(browser, check));
        }
        found.extend(hover(browser));
        browser.media("screen", true);
        found.extend(
            faults(browser, "contrasts()").into_iter().map(|fault| format!("dark: {fault}")),
        );
        found.extend(browser.complaints());
        all.extend(found.into_iter().map(|fault| format!("at {width}: {fault}")));
    }
    all
}

/// Checks the page without scripts, and on paper.
fn without_scripts_and_on_paper(browser: &mut Browser, page: &Path) -> Vec<String> {
    let scripts = |disabled: bool| json!({ "value": disabled });
    browser.call("Emulation.setScriptExecutionDisabled", scripts(true));
    browser.resize(WIDTHS[1], 900);
    browser.media("screen", false);
    browser.open(page);
    assert_eq!(browser.evaluate("document.querySelectorAll('.told').length"), json!(0));
    let mut all = faults(browser, "figures()");
    browser.call("Emulation.setScriptExecutionDisabled", scripts(false));
    browser.resize(SHEET[0], SHEET[1]);
    // Paper is white, even if the reader's screen is dark.
    browser.media("print", true);
    browser.open(page);
    for check in ["overflow()", "figures()", &format!("sheets({})", SHEET[1]), "contrasts()"] {
        all.extend(faults(browser, check).into_iter().map(|fault| format!("on paper: {fault}")));
    }
    all
}

#[test]
fn html_report_renders_correctly_in_a_browser() {
    let Some(program) = chromium() else {
        return skip("html_report_renders_correctly_in_a_browser", "there is no chromium");
    };
    let place = Place::new();
    let page = report(&place);
    let mut browser = Browser::start(&program);
    let mut faults = on_screens(&mut browser, &page);
    faults.extend(without_scripts_and_on_paper(&mut browser, &page));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Checks that find nothing on a correct page must find the faults of a faulty one.
#[test]
fn browser_checks_detect_faults_in_a_broken_page() {
    let Some(program) = chromium() else {
        return skip("browser_checks_detect_faults_in_a_broken_page", "there is no chromium");
    };
    let place = Place::new();
    let page = place.work().join("spoilt.html");
    std::fs::write(&page, include_str!("spoilt.html")).unwrap();
    let mut browser = Browser::start(&program);
    browser.resize(WIDTHS[0], 900);
    browser.open(&page);
    for (check, words) in [
        ("overflow()", "leaves the page"),
        ("overflow()", "leaves its picture"),
        ("figures()", "has no words"),
        ("figures()", "shows 2 pictures"),
        ("contrasts()", "pale words stands out by"),
        ("contrasts()", "pale in a picture stands out by"),
        ("collisions()", "are in each other's place"),
        ("sheets(100)", "a sheet 100"),
        ("toggles()", "hides nothing"),
    ] {
        let found = faults(&mut browser, check);
        assert!(
            found.iter().any(|fault| fault.contains(words)),
            "{check} misses “{words}”: {found:?}"
        );
    }
    let complaints: Vec<Value> = browser.complaints().into_iter().map(Value::from).collect();
    assert_eq!(complaints.len(), 2, "{complaints:?}");
}
