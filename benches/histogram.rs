//! Measures the histogram, which records every I/O and is merged for every window.
#![allow(missing_docs, reason = "criterion's macros make items without")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iogauge_model::histogram::Histogram;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::hint::black_box;

/// Returns latencies from 50 µs to 50 ms with a log-uniform distribution.
fn latencies_ns() -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let unit = |random: &mut Xoshiro256PlusPlus| random.next_u64() as f64 / u64::MAX as f64;
    (0..1 << 16).map(|_| (50_000.0 * 1000f64.powf(unit(&mut random))) as u64).collect()
}

fn filled(latencies: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for latency_ns in latencies {
        histogram.record(*latency_ns);
    }
    histogram
}

fn histogram(c: &mut Criterion) {
    let latencies = latencies_ns();
    let mut group = c.benchmark_group("histogram");

    group.throughput(Throughput::Elements(1));
    group.bench_function("record", |b| {
        let mut histogram = Histogram::new();
        let mut next = latencies.iter().cycle();
        b.iter(|| histogram.record(black_box(next.next().copied().unwrap_or(0))));
    });

    let full = filled(&latencies);
    group.bench_function("merge", |b| {
        let mut sum = Histogram::new();
        b.iter(|| sum.merge(black_box(&full)));
    });
    for percent in [50.0, 99.99] {
        group.bench_function(format!("percentile {percent}"), |b| {
            b.iter(|| full.percentile_ns(black_box(percent)));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = common::criterion(); targets = histogram }
criterion_main!(benches);
