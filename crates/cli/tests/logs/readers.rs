//! Programs that read fio's logs read those of iogauge.

use super::common::{Place, fio_plot, python_for, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes logs of reads and writes for 2 s, with the names that fio-plot expects.
fn logged(place: &Place) {
    let prefix = |kind: &str| format!("--write_{kind}_log=randrw-iodepth-4-numjobs-2");
    let prefixes = ["lat", "bw", "iops", "hist"].map(prefix);
    let line = ["run", "sim:channels=8,service=1ms", "--rw=randrw", "--iodepth=4", "--numjobs=2"];
    let times = ["--runtime=4", "--ramp-time=0", "--log_avg_msec=250", "--log_hist_msec=500", "-q"];
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    place.run(&[&line[..], &times, &prefixes].concat()).ends(0);
}

/// Runs a program in the working directory and returns its output.
#[track_caller]
fn output(place: &Place, program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(place.work())
        .env("MPLBACKEND", "Agg")
        .env("MPLCONFIGDIR", place.work().join("matplotlib"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program:?} {arguments:?}: {said}{errors}");
    said
}

/// Unpacks a script that Debian's package of fio has as documentation.
fn script(place: &Place, name: &str) -> Option<PathBuf> {
    let packed = format!("/usr/share/doc/fio/{name}.gz");
    let unpacked = Command::new("gzip").args(["-dc", &packed]).output().ok()?;
    let path = place.work().join(name);
    std::fs::write(&path, unpacked.stdout).unwrap();
    unpacked.status.success().then_some(path)
}

#[test]
fn fio_plot_draws_logs_over_time() {
    let Some(program) = fio_plot() else {
        let why = "fio-plot is not installed; scripts/install-fio-plot.sh gets it from PyPI";
        return skip("fio_plot_draws_logs_over_time", why);
    };
    let place = Place::new();
    logged(&place);
    let options = ["-i", ".", "-T", "title", "-g", "-r", "randrw", "-o", "picture.png"];
    let logs = ["-t", "bw", "iops", "lat", "-d", "4", "-n", "2"];
    let said = output(&place, &program, &[&options[..], &logs].concat());
    let picture = std::fs::read(place.work().join("picture.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "{said}");
}

#[test]
fn fio2gnuplot_computes_the_mean_of_a_log() {
    const TEST: &str = "fio2gnuplot_computes_the_mean_of_a_log";
    let script = Path::new("/usr/bin/fio2gnuplot");
    let Some(python) = python_for(TEST, script) else { return };
    let place = Place::new();
    logged(&place);
    let options = ["-p", "*_iops.*.log", "-d", "./", "-k"];
    output(&place, &python, &[&["/usr/bin/fio2gnuplot"][..], &options].concat());
    let name = place.names().into_iter().find(|name| name.ends_with(".global")).unwrap();
    let figures = std::fs::read_to_string(place.work().join(name)).unwrap();
    let figure = |name: &str| {
        let line = figures.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap().parse::<f64>().unwrap()
    };
    // Two workers with 4 I/Os of 1 ms each, in 16 windows with two directions.
    assert_eq!((figure("disks_count"), figure("values_count")), (2.0, 64.0), "{figures}");
    assert!((figure("avg") / 2000.0 - 1.0).abs() < 0.05, "{figures}");
}

#[test]
fn histogram_log_has_the_percentiles_of_the_run() {
    const TEST: &str = "histogram_log_has_the_percentiles_of_the_run";
    let place = Place::new();
    let Some(script) = script(&place, "fio-histo-log-pctiles.py") else {
        return skip(TEST, "fio's fio-histo-log-pctiles.py is not installed");
    };
    logged(&place);
    let (one, two) = (
        "randrw-iodepth-4-numjobs-2_clat_hist.1.log",
        "randrw-iodepth-4-numjobs-2_clat_hist.2.log",
    );
    let arguments = [script.to_str().unwrap(), "--time-quantum", "1", one, two];
    let said = output(&place, Path::new("python3"), &arguments);
    let rows = said.lines().skip_while(|line| !line.starts_with("msec-since-start")).skip(1);
    let rows: Vec<Vec<f64>> = rows
        .map(|row| row.split(',').filter_map(|field| field.trim().parse().ok()).collect())
        .collect();
    // Time, number of I/Os, then minimum, median, p95, p99 and maximum in microseconds.
    let ios: f64 = rows.iter().map(|row| row[1]).sum();
    assert!((ios / 32_000.0 - 1.0).abs() < 0.1, "{said}");
    let median = rows[1][3];
    let run = place.run(&["history", "show", "--format=json"]).ends(0).json();
    let truth = run["steps"][0]["read"]["service_ns"]["p50"].as_f64().unwrap() / 1000.0;
    assert!((median / truth - 1.0).abs() < 0.1, "{median} {truth}: {said}");
}

/// fio's script reads four fields, as logs of older versions had. It fails on those of fio 3.33 and of iogauge alike.
#[test]
fn fiologparser_averages_a_log() {
    const TEST: &str = "fiologparser_averages_a_log";
    let place = Place::new();
    let Some(script) = script(&place, "fiologparser.py") else {
        return skip(TEST, "fio's fiologparser.py is not installed");
    };
    let line = ["run", "sim:channels=8,service=1ms,dist=const", "--iodepth=4", "--runtime=4", "-q"];
    let log = ["--write_iops_log=p", "--log_avg_msec=500", "--ramp-time=0"];
    place.run(&[&line[..], &log].concat()).ends(0);
    let text = std::fs::read_to_string(place.work().join("p_iops.1.log")).unwrap();
    let four = |line: &str| line.split(", ").take(4).collect::<Vec<_>>().join(", ") + "\n";
    std::fs::write(place.work().join("four.log"), text.lines().map(four).collect::<String>())
        .unwrap();
    let arguments = [script.to_str().unwrap(), "-a", "-i", "1000", "four.log"];
    let said = output(&place, Path::new("python3"), &arguments);
    let rows: Vec<(f64, f64)> = said
        .lines()
        .map(|line| {
            let (time, mean) = line.split_once(", ").unwrap();
            (time.parse().unwrap(), mean.parse().unwrap())
        })
        .collect();
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [1000.0, 2000.0, 3000.0, 4000.0]);
    assert!(rows.iter().all(|(_, mean)| (mean / 4000.0 - 1.0).abs() < 0.01), "{said}");
}
