//! Measures the worker loop with an engine that does nothing: iogauge's own cost per I/O.
#![allow(missing_docs, reason = "criterion's macros make items without")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iogauge_io::pool::ThreadPool;
use iogauge_model::load::{EngineKind, Load, Pattern};

fn worker(c: &mut Criterion) {
    let mut group = c.benchmark_group("worker");
    group.throughput(Throughput::Elements(1));
    for (name, rw, iodepth) in [
        ("null randread depth 1", Pattern::RandRead, 1),
        ("null randread depth 32", Pattern::RandRead, 32),
        ("null randwrite depth 32", Pattern::RandWrite, 32),
    ] {
        group.bench_function(name, |b| {
            let load = Load { rw, iodepth, engine: EngineKind::Null, ..Load::default() };
            let pool = ThreadPool::start(vec![common::job(load, 1 << 40)], iodepth);
            let Ok(mut pool) = pool else { panic!("{pool:?}") };
            b.iter_custom(|wanted| common::time_of_ios(&mut pool, wanted, 2_000_000));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = common::criterion(); targets = worker }
criterion_main!(benches);
