//! Measures simulated devices: I/Os in virtual time per second of wall time.
#![allow(missing_docs, reason = "criterion's macros make items without")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iogauge_io::pool::VirtualPool;
use iogauge_io::sim::SimSpec;
use iogauge_model::load::{EngineKind, Load};

fn sim(c: &mut Criterion) {
    let mut group = c.benchmark_group("sim");
    group.throughput(Throughput::Elements(1));
    for (name, text, iodepth) in [
        ("plain depth 1", "channels=8", 1),
        ("plain depth 32", "channels=8", 32),
        ("nvme depth 32", "nvme", 32),
        ("hdd depth 32", "hdd", 32),
    ] {
        group.bench_function(name, |b| {
            let spec = text.parse::<SimSpec>();
            let Ok(spec) = spec else { panic!("{spec:?}") };
            let load = Load { iodepth, engine: EngineKind::Sim, ..Load::default() };
            let jobs = vec![common::job(load, spec.size_bytes)];
            let pool = VirtualPool::start(jobs, spec, iodepth);
            let Ok(mut pool) = pool else { panic!("{pool:?}") };
            b.iter_custom(|wanted| common::time_of_ios(&mut pool, wanted, 10_000_000));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = common::criterion(); targets = sim }
criterion_main!(benches);
