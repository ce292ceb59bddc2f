//! Classic tables are read back as they were written.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use iogauge_fio::{Reading, read_results};
use iogauge_model::result::{BlockRange, LatencyShare};
use iogauge_report::classic::{self, Extra};
use iogauge_report::exhibit::{Exhibit, Shown};
use iogauge_report::rows::{Row, RowLatency};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio").join(name)
}

/// Returns the rows of a text; a problem fails the test.
fn rows_in(text: &str) -> Vec<Row> {
    let (mut rows, mut system) = (Vec::new(), String::new());
    read_results("f", text.as_bytes(), &mut |found| match found {
        Reading::System(next) => system = next.map(|name| name.to_string()).unwrap_or_default(),
        Reading::Result(result) => rows.extend(Row::of_fio(&result, &system)),
        other => panic!("{other:?} in\n{text}"),
    })
    .unwrap();
    rows
}

fn rows_of(name: &str) -> Vec<Row> {
    rows_in(&fs::read_to_string(data(name)).unwrap())
}

fn csv(rows: &[Row]) -> String {
    let mut table = Vec::new();
    classic::csv(rows, &mut table).unwrap();
    String::from_utf8(table).unwrap()
}

const PLAIN: Extra = Extra { buckets: false, percentiles: false, units: false };
const EXTRAS: [Extra; 4] = [
    PLAIN,
    Extra { buckets: true, ..PLAIN },
    Extra { percentiles: true, ..PLAIN },
    Extra { buckets: true, percentiles: true, units: true },
];

#[test]
fn tables_of_the_original_scripts_are_printed_as_they_were() {
    for (name, extra) in [
        ("expected-plain.txt", EXTRAS[0]),
        ("expected-v.txt", EXTRAS[1]),
        ("expected-p.txt", EXTRAS[2]),
    ] {
        let text = fs::read_to_string(data("2.0.7").join(name)).unwrap();
        assert_eq!(classic::plain(&rows_in(&text), extra), text, "{name}");
    }
    let matrix = rows_of("2.0.7/expected-R.txt");
    assert_eq!(matrix.len(), 22);
    assert!(matrix.iter().all(|row| row.system == "mybox"));
    // CSV of the scripts has the same figures, with the system in front.
    let of_csv = rows_of("classic/systems.csv");
    let of_first = of_csv.iter().filter(|row| row.system == "virtio").cloned();
    let renamed = of_first.map(|row| Row { system: "mybox".to_owned(), ..row });
    assert_eq!(renamed.collect::<Vec<_>>(), matrix);
}

#[test]
fn unknown_figures_of_a_table_stay_unknown() {
    let rows = rows_of("2.0.7/expected-plain.txt");
    let first = classic::plain(&rows, EXTRAS[3]).lines().nth(1).unwrap().to_owned();
    let (_, unknown) = first.split_once("17392").unwrap();
    assert_eq!(unknown.matches('-').count(), 16, "{first}");
    let wide = rows_of("2.0.7/expected-v.txt");
    let cells: Vec<String> =
        csv(&wide).lines().nth(1).unwrap().split(',').map(str::to_owned).collect();
    assert!(cells[10..26].iter().all(String::is_empty), "finer columns are unknown: {cells:?}");
    // The columns of R code are finer than those of printed text, and their sums are printed.
    let matrix = classic::plain(&rows_of("2.0.7/expected-R.txt"), EXTRAS[1]);
    assert!(matrix.lines().nth(1).unwrap().contains("17392     47    52     0"), "{matrix}");
}

#[test]
fn every_form_is_read_back() {
    for name in
        ["3.33/mix.out", "3.33/mix.json", "2.0.7/expected-R.txt", "2.0.7/write_u16_kb0128.out"]
    {
        let rows = rows_of(name);
        for extra in EXTRAS {
            let text = classic::plain(&rows, extra);
            assert_eq!(classic::plain(&rows_in(&text), extra), text, "{name}");
        }
        assert_eq!(csv(&rows_in(&csv(&rows))), csv(&rows), "{name}");
        let code = classic::r_frame(&rows, "my \"box\"");
        let read = rows_in(&code);
        assert!(read.iter().all(|row| row.system == "my \"box\""));
        assert_eq!(classic::r_frame(&read, "my \"box\""), code, "{name}");
    }
}

#[test]
fn shares_of_printed_text_are_too_coarse_to_be_drawn() {
    let drawn = |name: &str| {
        let mut steps = Vec::new();
        read_results("f", &fs::read(data(name)).unwrap()[..], &mut |found| {
            if let Reading::Result(result) = found {
                steps.push(result.into_step());
            }
        })
        .unwrap();
        let document = Shown::Run(Box::new(common::run_document(steps)));
        let exhibit = Exhibit { system: "mybox".to_owned(), document };
        assert_eq!(exhibit.totals().len(), 22, "each row is a cell of a map");
        exhibit.samples().iter().filter(|sample| sample.row.shares.is_some()).count()
    };
    assert_eq!((drawn("2.0.7/expected-v.txt"), drawn("2.0.7/expected-R.txt")), (0, 22));
}

/// Generates a row whose figures are not too small to be printed.
fn any_row() -> impl Strategy<Value = Row> {
    let size = prop::sample::select(vec![512u64, 4096, 65_536, 1 << 20, 1536]);
    let latency = (0.0..1e9f64, 0.0..1e9f64, 0.0..1e12f64, 0.0..1e9f64);
    let shares = prop::collection::vec(0.01..1.0f64, 16);
    (
        "[a-z]{1,10}",
        prop::option::of(1u32..5000),
        prop::option::of((size.clone(), size)),
        prop::sample::select(vec!['r', 'w', 't', 'm']),
        prop::option::of(1e6..1e11f64),
        prop::option::of((latency, prop::collection::vec(prop::option::of(0u64..1 << 40), 6))),
        0.0..1e9f64,
        prop::option::of(shares),
    )
        .prop_map(|(test, users, size, side, bytes_per_sec, latency, iops, shares)| {
            let size = size.map(|(a, b)| BlockRange { min_bytes: a.min(b), max_bytes: a.max(b) });
            let bounds = iogauge_model::classic::BOUNDS_NS;
            let shares = shares.map(|weights| {
                let sum: f64 = weights.iter().sum();
                let percent = |weight: f64| weight / sum * 100.0;
                let share =
                    |(below_ns, weight)| LatencyShare { below_ns, percent: percent(weight) };
                bounds.into_iter().zip(weights).map(share).collect()
            });
            let percentiles = latency.as_ref().map(|(_, percentiles)| percentiles.clone());
            Row {
                test,
                users,
                size,
                side,
                bytes_per_sec,
                latency: latency.map(|((mean_ns, min_ns, max_ns, stddev_ns), _)| RowLatency {
                    mean_ns,
                    min_ns,
                    max_ns,
                    stddev_ns,
                }),
                iops,
                shares,
                percentiles_ns: percentiles.unwrap_or(vec![None; 6]).try_into().unwrap(),
                ..Row::default()
            }
        })
}

proptest! {
    #[test]
    fn written_rows_are_read_back(rows in prop::collection::vec(any_row(), 1..6)) {
        for extra in EXTRAS {
            let text = classic::plain(&rows, extra);
            prop_assert_eq!(classic::plain(&rows_in(&text), extra), text);
        }
        prop_assert_eq!(csv(&rows_in(&csv(&rows))), csv(&rows));
        let code = classic::r_frame(&rows, "a");
        prop_assert_eq!(classic::r_frame(&rows_in(&code), "a"), code);
    }
}
