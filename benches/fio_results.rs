//! Measures the reader of fio's results with large files.
#![allow(missing_docs, reason = "criterion's macros make items without")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iogauge_fio::{Reading, read_results};
use std::hint::black_box;
use std::path::Path;

const MEGABYTES: usize = 4;

/// Returns a file's content, repeated up to [`MEGABYTES`].
fn many(file: &str) -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/fio/tests/data/fio");
    let one = std::fs::read(data.join(file)).unwrap_or_default();
    assert!(!one.is_empty(), "{file} is missing");
    one.repeat((MEGABYTES << 20) / one.len())
}

fn fio_results(c: &mut Criterion) {
    let mut group = c.benchmark_group("fio_results");
    for (name, file) in [
        ("text of 2.0.7", "2.0.7/read_u08_kb1024.out"),
        ("text of 3.33", "3.33/mix.out"),
        ("json+ of 3.33", "3.33/mix.json"),
    ] {
        let bytes = many(file);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut results = 0u64;
                let read = read_results("f", black_box(&bytes[..]), &mut |found| {
                    results += u64::from(matches!(found, Reading::Result(_)));
                });
                assert!(read.is_ok() && results > 0);
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = common::criterion(); targets = fio_results }
criterion_main!(benches);
