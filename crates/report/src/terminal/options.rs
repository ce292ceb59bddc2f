//! A load as options that mean it, so that a suggested command runs what was measured.

use iogauge_model::load::{
    Content, CpuPolicy, Distribution, EngineKind, Load, Modifier, SyncMode, Verify,
};
use iogauge_model::units::{shell_word, size_word};

/// The target and the options of `iogauge run` that put this load on it at a depth, without
/// those that have their defaults. Consent to destroy data is never among them.
pub(super) fn run_command(target: &str, load: &Load, depth: u32) -> String {
    let defaults = Load::default();
    // No more of them than share the depth equally, so that the sum is this depth.
    let most = load.numjobs.clamp(1, depth.max(1));
    let workers = (1..=most).rev().find(|workers| depth.is_multiple_of(*workers)).unwrap_or(1);
    let mut words = vec![shell_word(target)];
    words.extend(pattern(load));
    if load.rw.is_mixed() && !load.dependent && load.read_percent != defaults.read_percent {
        words.push(format!("--rwmixread={}", load.read_percent));
    }
    if load.block != defaults.block {
        let (name, value) = load.block.as_option();
        words.push(format!("--{name}={value}"));
    }
    if load.block.is_unaligned() {
        words.push("--bs_unaligned".to_owned());
    }
    if let Some(align_bytes) = load.blockalign_bytes {
        words.push(format!("--blockalign={}", size_word(align_bytes)));
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
    words.extend(content(load));
    words.extend(load.verify.iter().flat_map(verify));
    words.extend(placement(load));
    words.push("--runtime=60".to_owned());
    words.join(" ")
}

/// `--rw` and `--rw_sequencer`, where they are not the default.
fn pattern(load: &Load) -> Vec<String> {
    let mut words = Vec::new();
    if load.modifier != Modifier::None || (load.rw != Load::default().rw && !load.dependent) {
        words.push(format!("--rw={}", load.rw_word()));
    }
    if matches!(load.modifier, Modifier::Identical(_)) {
        words.push("--rw_sequencer=identical".to_owned());
    }
    words
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
        words.push(format!("--size={}", size_word(size_bytes)));
    }
    if load.offset_bytes > 0 {
        words.push(format!("--offset={}", size_word(load.offset_bytes)));
    }
    if let Some(increment_bytes) = load.offset_increment_bytes {
        words.push(format!("--offset_increment={}", size_word(increment_bytes)));
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
    if load.fdatasync_every > 0 {
        words.push(format!("--fdatasync={}", load.fdatasync_every));
    }
    if load.end_fsync {
        words.push("--end_fsync".to_owned());
    }
    words
}

fn content(load: &Load) -> Vec<String> {
    let (content, defaults) = (load.content, Content::default());
    let mut words = Vec::new();
    if content.compress_percent > 0 {
        words.push(format!("--buffer_compress_percentage={}", content.compress_percent));
        if content.compress_chunk_bytes != defaults.compress_chunk_bytes {
            let chunk = size_word(content.compress_chunk_bytes.into());
            words.push(format!("--buffer_compress_chunk={chunk}"));
        }
    }
    if content.dedupe_percent > 0 {
        words.push(format!("--dedupe_percentage={}", content.dedupe_percent));
    }
    words
}

fn verify(verify: &Verify) -> Vec<String> {
    let mut words = vec![format!("--verify={}", verify.algorithm)];
    if let Some(bytes) = verify.interval_bytes {
        words.push(format!("--verify_interval={}", size_word(bytes)));
    }
    if let Some(pattern) = &verify.pattern {
        words.push(format!("--verify_pattern={pattern}"));
    }
    if !verify.reads_back {
        words.push("--do_verify=0".to_owned());
    }
    if verify.fatal {
        words.push("--verify_fatal".to_owned());
    }
    if verify.only {
        words.push("--verify_only".to_owned());
    }
    words
}

fn placement(load: &Load) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(cpus) = &load.cpus {
        words.push(format!("--cpus_allowed={cpus}"));
        if load.cpu_policy == CpuPolicy::Split {
            words.push("--cpus_allowed_policy=split".to_owned());
        }
    }
    if load.nice != 0 {
        words.push(format!("--nice={}", load.nice));
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
    fn jobs_share_the_depth_without_a_rest() {
        let load = Load { numjobs: 4, ..Load::default() };
        for (depth, words) in [
            (1, "--iodepth=1 --runtime"),
            (2, "--iodepth=1 --numjobs=2"),
            (6, "--iodepth=2 --numjobs=3"),
            (83, "--iodepth=83 --runtime"),
            (64, "--iodepth=16 --numjobs=4"),
        ] {
            let command = run_command("a", &load, depth);
            assert!(command.contains(words), "{depth}: {command}");
        }
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
             --buffer_compress_percentage=50 --buffer_compress_chunk=0 --dedupe_percentage=20 \
             --cpus_allowed=0,2-3 --cpus_allowed_policy=split --nice=-5 --runtime=60"
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
