//! A load as options that mean it, so that a suggested command runs what was measured.

use iogauge_model::load::{Distribution, EngineKind, Load, SyncMode};
use iogauge_model::units::{shell_word, size_word};

/// The target and the options of `iogauge run` that put this load on it at a depth, without
/// those that have their defaults. Consent to destroy data is never among them.
pub(super) fn run_command(target: &str, load: &Load, depth: u32) -> String {
    let defaults = Load::default();
    let workers = load.numjobs.max(1);
    let mut words = vec![shell_word(target)];
    if load.rw != defaults.rw && !load.dependent {
        words.push(format!("--rw={}", load.rw));
    }
    if load.rw.is_mixed() && !load.dependent && load.read_percent != defaults.read_percent {
        words.push(format!("--rwmixread={}", load.read_percent));
    }
    if load.block != defaults.block {
        let (name, value) = load.block.as_option();
        words.push(format!("--{name}={value}"));
    }
    words.push(format!("--iodepth={}", (depth / workers).max(1)));
    if workers > 1 {
        words.push(format!("--numjobs={workers}"));
    }
    if let Some(arrivals) = load.arrivals {
        words.push(format!("--rate_iops={:.0}", arrivals.rate_iops));
        words.push(format!("--rate_process={}", arrivals.process.as_str()));
    }
    words.extend(access(load));
    words.push("--runtime=60".to_owned());
    words.join(" ")
}

fn access(load: &Load) -> Vec<String> {
    let mut words = Vec::new();
    if !matches!(load.engine, EngineKind::IoUring | EngineKind::Sim) {
        words.push(format!("--ioengine={}", load.engine.as_str()));
    }
    if !load.direct {
        words.push("--direct=0".to_owned());
    }
    if let Some(size_bytes) = load.size_bytes {
        words.push(format!("--size={}", size_word(size_bytes + load.offset_bytes)));
    }
    if load.offset_bytes > 0 {
        words.push(format!("--offset={}", size_word(load.offset_bytes)));
    }
    if load.distribution != Distribution::Uniform {
        words.push(format!("--random_distribution={}", load.distribution));
    }
    if load.coverage {
        words.push("--norandommap=0".to_owned());
    }
    if load.dependent {
        words.push("--dependent".to_owned());
    }
    if load.sync != SyncMode::None {
        words.push(format!("--sync={}", load.sync.as_str()));
    }
    if load.fsync_every > 0 {
        words.push(format!("--fsync={}", load.fsync_every));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::{BlockSizes, Pattern};

    #[test]
    fn defaults_are_left_out() {
        let command = run_command("/data", &Load::default(), 32);
        assert_eq!(command, "/data --iodepth=32 --runtime=60");
    }

    #[test]
    fn what_was_asked_is_kept() {
        let load = Load {
            rw: Pattern::RandRw,
            read_percent: 70,
            block: BlockSizes::parse_bs("8k,1m").unwrap(),
            numjobs: 4,
            engine: EngineKind::Libaio,
            direct: false,
            offset_bytes: 1 << 20,
            size_bytes: Some(63 << 20),
            distribution: Distribution::Zipf(1.2),
            sync: SyncMode::Dsync,
            fsync_every: 8,
            ..Load::default()
        };
        assert_eq!(
            run_command("/my data", &load, 36),
            "'/my data' --rw=randrw --rwmixread=70 --bs=8k,1m --iodepth=9 --numjobs=4 \
             --ioengine=libaio --direct=0 --size=64m --offset=1m --random_distribution=zipf:1.2 \
             --sync=dsync --fsync=8 --runtime=60"
        );
        let split = BlockSizes::parse_bssplit("4k/60:1000/40").unwrap();
        let load = Load { block: split, dependent: true, engine: EngineKind::Sim, ..load };
        assert!(run_command("a", &load, 1).starts_with("a --bssplit=4k/60:1000/40 --iodepth=1"));
    }
}
