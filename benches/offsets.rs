//! Measures the choice of the next offset, which every I/O needs.
#![allow(missing_docs, reason = "criterion's macros make items without")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iogauge_io::offsets::{Extent, OffsetSource};
use iogauge_model::load::{Distribution, Load, Pattern};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

fn offsets(c: &mut Criterion) {
    let parts = [Extent { base_bytes: 1 << 20, size_bytes: 1 << 40 }];
    let uniform = Load::default();
    let loads = [
        ("uniform", uniform.clone()),
        ("sequential", Load { rw: Pattern::Read, ..uniform.clone() }),
        ("zipf 1.2", Load { distribution: Distribution::Zipf(1.2), ..uniform.clone() }),
        ("coverage", Load { coverage: true, ..uniform }),
    ];
    let mut group = c.benchmark_group("offsets");
    group.throughput(Throughput::Elements(1));
    for (name, load) in loads {
        group.bench_function(name, |b| {
            let source = OffsetSource::new(&load, &parts, 0, Arc::default());
            let Ok(mut source) = source else { panic!("{source:?}") };
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            b.iter(|| source.next(&mut random, 4096, false));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = common::criterion(); targets = offsets }
criterion_main!(benches);
