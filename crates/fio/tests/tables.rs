//! Classic tables in the forms in which users of the scripts around fio kept them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use iogauge_fio::{Reading, read_results};
use iogauge_model::result::FioResult;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn data(name: &str) -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fio");
    fs::read(data.join(name)).unwrap()
}

/// Returns the results by system.
fn read(text: &[u8]) -> BTreeMap<String, Vec<FioResult>> {
    let mut by_system: BTreeMap<String, Vec<FioResult>> = BTreeMap::new();
    let mut current = "-".to_owned();
    read_results("f", text, &mut |found| match found {
        Reading::System(system) => {
            current = system.map_or_else(|| "-".to_owned(), |name| name.to_string());
        }
        Reading::Result(result) => by_system.entry(current.clone()).or_default().push(*result),
        other => panic!("{other:?}"),
    })
    .unwrap();
    by_system
}

/// Returns name, users, block size, and MiB per second of each result.
fn figures(results: &[FioResult]) -> Vec<(String, u32, u64, f64)> {
    let of = |result: &FioResult| {
        let (_, direction) = result.directions().next().unwrap();
        let block = direction.block.unwrap().min_bytes;
        (result.name.clone(), result.users.unwrap(), block, direction.bytes_per_sec / 1_048_576.0)
    };
    results.iter().map(of).collect()
}

#[test]
fn each_system_of_a_file_has_its_own_results() {
    let plain = read(&data("2.0.7/expected-plain.txt"));
    let plain = &plain["-"];
    assert_eq!(plain.len(), 22);
    for (file, systems) in [
        ("classic/printed-tables.txt", ["Volume A", "Volume B"]),
        ("classic/systems.csv", ["virtio", "virtio-slow"]),
    ] {
        let found = read(&data(file));
        assert_eq!(found.keys().collect::<Vec<_>>(), systems, "{file}");
        assert_eq!(figures(&found[systems[0]]), figures(plain), "{file}");
        assert_eq!(found[systems[1]].len(), 22, "{file}");
    }
    let padded = read(&data("classic/padded.csv"));
    assert_eq!(padded.keys().collect::<Vec<_>>(), ["virtio"]);
    assert_eq!(figures(&padded["virtio"]), figures(plain));
    let matrix = read(&data("2.0.7/expected-R.txt"));
    assert_eq!(matrix.keys().collect::<Vec<_>>(), ["mybox"]);
    assert_eq!(figures(&matrix["mybox"]), figures(plain));
}

#[test]
fn percentiles_and_shares_are_those_of_the_table() {
    let printed = &read(&data("2.0.7/expected-p.txt"))["-"][0];
    let matrix = &read(&data("2.0.7/expected-R.txt"))["mybox"][0];
    for result in [printed, matrix] {
        let read = result.read.as_ref().unwrap();
        let percentiles = [95.0, 99.0, 99.5, 99.9, 99.95, 99.99].map(|p| read.percentile_ns(p));
        let expected = [69_000, 91_000, 108_000, 2_192_000, 4_048_000, 4_128_000];
        assert_eq!(percentiles, expected.map(Some));
    }
    assert!(printed.shares.is_empty());
    assert_eq!(matrix.shares.len(), 16);
    assert_eq!(matrix.shares.iter().map(|share| share.percent).sum::<f64>(), 99.0);
    let wide = &read(&data("2.0.7/expected-v.txt"))["-"][0];
    let wide: Vec<_> = wide.shares.iter().map(|s| (s.below_ns.unwrap(), s.percent)).collect();
    let ms = 1_000_000;
    assert_eq!(wide, [(50_000, 47.0), (ms, 52.0), (4 * ms, 0.0), (10 * ms, 0.0)]);
}

#[test]
fn tables_and_outputs_of_fio_can_share_a_file() {
    let output = data("2.0.7/read_u01_kb0008.out");
    let table = data("classic/printed-tables.txt");
    let alone = read(&output);
    let both = read(&[&output[..], b"\n", &table, b"\n", &output].concat());
    assert_eq!(both["Volume A"].len(), 22);
    assert_eq!(both["-"].len(), 2);
    assert_eq!(figures(&both["-"][..1]), figures(&alone["-"]));
    assert!(both["-"].iter().all(|result| !result.from_table && result.line > 0));
}

#[test]
fn truncated_table_has_a_problem_with_its_line() {
    for (file, line) in [("classic/systems.csv", 45), ("2.0.7/expected-plain.txt", 23)] {
        let text = data(file);
        let cut = &text[..text.trim_ascii_end().len() - 30];
        let (mut results, mut problems) = (0, Vec::new());
        read_results(file, cut, &mut |found| match found {
            Reading::Problem(problem) => problems.push(problem),
            Reading::Result(_) => results += 1,
            _ => {}
        })
        .unwrap();
        assert_eq!((results, problems.len()), (line - 2, 1), "{file}: {problems:?}");
        assert_eq!((problems[0].line, problems[0].file.as_str()), (line, file));
    }
}

#[test]
fn byte_order_marks_are_ignored() {
    for file in ["classic/printed-tables.txt", "classic/systems.csv", "2.0.7/expected-R.txt"] {
        let text = data(file);
        let mark = "\u{feff}".as_bytes();
        let marked = [mark, &text, b"\n", mark, &text].concat();
        let (once, twice) = (read(&text), read(&marked));
        assert_eq!(once.keys().collect::<Vec<_>>(), twice.keys().collect::<Vec<_>>(), "{file}");
        for (system, results) in once {
            assert_eq!(twice[&system].len(), 2 * results.len(), "{file}: {system}");
        }
    }
}
