//! Measures the renewal of write data, which makes every write different.
#![allow(missing_docs, reason = "criterion's macros make items without")]

mod common;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iogauge_io::buffers::BufferPool;

fn buffers(c: &mut Criterion) {
    let mut group = c.benchmark_group("buffers");
    for (name, block_bytes) in [("renew 4k", 4 << 10), ("renew 1m", 1 << 20)] {
        group.throughput(Throughput::Bytes(block_bytes));
        group.bench_function(name, |b| {
            let slots = 32;
            let pool = BufferPool::new(slots, block_bytes, 1);
            let Ok(mut pool) = pool else { panic!("{pool:?}") };
            // The first use of a slot fills it, which is not measured.
            for slot in 0..slots {
                pool.renew(slot, block_bytes as usize);
            }
            let mut slot = 0;
            b.iter(|| {
                slot = (slot + 1) % slots;
                pool.renew(slot, block_bytes as usize);
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = common::criterion(); targets = buffers }
criterion_main!(benches);
