//! Simulated devices: I/Os per second of wall time in virtual time.
#![allow(missing_docs, reason = "criterion's macros make items without")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iogauge_io::crew::VirtualCrew;
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
            let crew = VirtualCrew::start(jobs, spec, iodepth);
            let Ok(mut crew) = crew else { panic!("{crew:?}") };
            b.iter_custom(|wanted| common::time_of_ios(&mut crew, wanted, 10_000_000));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = common::criterion(); targets = sim }
criterion_main!(benches);
