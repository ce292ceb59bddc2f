//! A workload as options, so that a suggested command runs what was measured.

use iogauge_model::load::Load;
use iogauge_model::load::options::ROWS;
use iogauge_model::units::shell_word;

/// Returns the target and the options of `iogauge run` that run this workload at a queue depth, without
/// options that have their defaults. Consent to destroy data is never included.
pub(super) fn run_command(target: &str, load: &Load, queue_depth: u32) -> String {
    // The number of workers divides the queue depth, so that the sum over the workers is exact.
    let most = load.numjobs.clamp(1, queue_depth.max(1));
    let numjobs =
        (1..=most).rev().find(|workers| queue_depth.is_multiple_of(*workers)).unwrap_or(1);
    let load = Load { iodepth: (queue_depth / numjobs).max(1), numjobs, ..load.clone() };
    let mut words = vec![shell_word(target)];
    for row in ROWS {
        let name = row.name;
        match row.shown(&load) {
            Some(text) if row.is_flag && text == "1" => words.push(format!("--{name}")),
            Some(text) => words.push(shell_word(&format!("--{name}={text}"))),
            // The answer is printed even if it is the default.
            None if name == "iodepth" => words.push(format!("--iodepth={}", load.iodepth)),
            None => {}
        }
    }
    words.push("--runtime=60".to_owned());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::{
        BlockSizes, Content, CpuPolicy, Distribution, EngineKind, Modifier, Pattern, SyncMode,
    };

    #[test]
    fn printed_command_omits_default_options() {
        let command = run_command("/data", &Load::default(), 32);
        assert_eq!(command, "/data --iodepth=32 --runtime=60");
    }

    #[test]
    fn jobs_divide_the_queue_depth_evenly() {
        let load = Load { numjobs: 4, ..Load::default() };
        for (queue_depth, words) in [
            (1, "--iodepth=1 --runtime"),
            (2, "--iodepth=1 --numjobs=2"),
            (6, "--iodepth=2 --numjobs=3"),
            (83, "--iodepth=83 --runtime"),
            (64, "--iodepth=16 --numjobs=4"),
        ] {
            let command = run_command("a", &load, queue_depth);
            assert!(command.contains(words), "{queue_depth}: {command}");
        }
    }

    #[test]
    fn printed_command_contains_all_requested_options() {
        let load = Load {
            rw: Pattern::RandRw,
            read_percent: 70,
            block: BlockSizes::parse_bs("8k,1m").unwrap(),
            numjobs: 4,
            engine: EngineKind::Libaio,
            direct: false,
            offset_bytes: 1 << 20,
            offset_increment_bytes: Some(64 << 20),
            size_bytes: Some(63 << 20),
            distribution: Distribution::Zipf(1.2),
            sync: SyncMode::Dsync,
            fdatasync_every: 8,
            end_fsync: true,
            content: Content { compress_percent: 50, compress_chunk_bytes: 0, dedupe_percent: 20 },
            cpus: Some("0,2-3".parse().unwrap()),
            cpu_policy: CpuPolicy::Split,
            nice: -5,
            ..Load::default()
        };
        assert_eq!(
            run_command("/my data", &load, 36),
            "'/my data' --rw=randrw --rwmixread=70 --bs=8k,1m --iodepth=9 --numjobs=4 \
             --ioengine=libaio --direct=0 --size=63m --offset=1m --offset_increment=64m \
             --random_distribution=zipf:1.2 --sync=dsync --fdatasync=8 --end_fsync \
             --cpus_allowed=0,2-3 --cpus_allowed_policy=split --nice=-5 \
             --buffer_compress_percentage=50 --buffer_compress_chunk=0 --dedupe_percentage=20 \
             --runtime=60"
        );
        let split = BlockSizes::parse_bssplit("4k/60:1000/40").unwrap();
        let range = BlockSizes::parse_bsrange("4k-64k,8k-8k").unwrap();
        let bursts = Load {
            rw: Pattern::RandRead,
            modifier: Modifier::Identical(8),
            block: range.unaligned(),
            ..load.clone()
        };
        let command = run_command("a", &bursts, 4);
        let wanted = "a --rw=randread:8 --rw_sequencer=identical --bsrange=4k-64k,8k-8k \
                      --bs_unaligned --iodepth=1 --numjobs=4 ";
        assert!(command.starts_with(wanted), "{command}");
        let back = Load { rw: Pattern::Read, modifier: Modifier::Skip(-8192), ..Load::default() };
        assert!(run_command("a", &back, 1).starts_with("a --rw=read:-8k --iodepth=1"));
        let load = Load { block: split, dependent: true, engine: EngineKind::Sim, ..load };
        assert!(run_command("a", &load, 1).starts_with("a --bssplit=4k/60:1000/40 --iodepth=1"));
    }
}
