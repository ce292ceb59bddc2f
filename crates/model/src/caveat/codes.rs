//! The table of caveats: code, impact rule, title, general hint.
//!
//! To add a caveat, add a row here, a fact in a file beside it, and the code that finds the fact.

use super::ImpactRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! caveat_codes {
    ($($name:ident = $code:literal, $rule:ident, $title:literal, $hint:literal;)+) => {
        /// The kind of a caveat. JSON and text use its kebab-case code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum CaveatCode {
            $(#[doc = $title] #[serde(rename = $code)] $name,)+
        }

        impl CaveatCode {
            /// All codes, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the code used in JSON and text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }

            /// Returns a short description.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),+ }
            }

            /// Returns the rule that decides the impact.
            #[must_use]
            pub const fn rule(self) -> ImpactRule {
                match self { $(Self::$name => ImpactRule::$rule),+ }
            }

            /// Returns the hint for facts that have no hint of their own.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint),+ }
            }
        }
    };
}

caveat_codes! {
    PageCache = "page-cache", Doubt, "I/O goes through the page cache",
        "leave out --direct=0";
    SparseHoles = "sparse-holes", Share, "the file has holes",
        "iogauge prepare FILE";
    UnwrittenExtents = "unwritten-extents", Share, "blocks of the file were never written",
        "iogauge prepare FILE";
    ZeroBlocks = "zero-blocks", Share, "blocks hold only zeros",
        "iogauge prepare TARGET";
    CompressibleData = "compressible-data", Share, "blocks compress or repeat",
        "iogauge prepare TARGET";
    SmallerThanCache = "smaller-than-cache", Share, "a cache may hold the target",
        "iogauge prepare TARGET --size=SIZE, with a SIZE larger than the cache";
    NoDevice = "no-device", Doubt, "no device is behind the file system",
        "use a directory on a file system with a block device (df -T lists file systems)";
    RemoteCache = "remote-cache", Note, "a cache of the file system's server may answer",
        "iogauge prepare TARGET --size=SIZE, with a SIZE larger than the memory of the servers and of this machine";
    VolatileWriteCache = "volatile-write-cache", Doubt, "writes return before they are durable",
        "add --sync=dsync to measure durable writes";
    EngineFallback = "engine-fallback", Note, "another I/O engine was used",
        "sysctl kernel.io_uring_disabled=0, or use a container profile that allows io_uring";
    FeatureFallback = "feature-fallback", Note, "an optimization was not available",
        "run ulimit -l unlimited before iogauge; without it each I/O takes more processor time";
    Throttled = "throttled", Doubt, "a control group limits this I/O",
        "echo $$ > /sys/fs/cgroup/cgroup.procs as root before iogauge";
    MemoryLimit = "memory-limit", Doubt, "a control group limits the page cache",
        "echo $$ > /sys/fs/cgroup/cgroup.procs as root before iogauge";
    ClientBound = "client-bound", Share, "this machine, not the target, may limit the result",
        "increase --numjobs or --bs, or add --iodepth_batch_submit=16 --iodepth_batch_complete_min=8";
    ClientStarved = "client-starved", Share, "the workers lacked processor time",
        "use a machine with idle processors; --max-starvation=100% excludes nothing";
    SlowLogs = "slow-logs", Share, "the workers waited for their logs",
        "use log_avg_msec=1000, which has fewer lines, or another device for the logs";
    StealTime = "steal-time", Share, "the hypervisor took processor time away",
        "repeat the run at a quieter time and compare";
    DepthNotReached = "depth-not-reached", Doubt, "the queue depth achieved is below the one requested",
        "increase --numjobs, or leave out the --iodepth_batch options";
    RateNotReached = "rate-not-reached", Doubt, "the rate achieved is below the one requested",
        "reduce --rate_iops, or increase --iodepth if the target can serve more I/Os at once";
    ArrivalsWaited = "arrivals-waited", Doubt, "arrivals waited for a free slot",
        "increase --max-depth if the target can serve more I/Os at once";
    NothingCompleted = "nothing-completed", Doubt, "no I/O was completed",
        "set --runtime or --budget to many times the time that one I/O takes";
    Paused = "paused", Share, "the measurement was paused",
        "run it again without a pause";
    TooFewSamples = "too-few-samples", Doubt, "too few I/Os for the percentile",
        "increase --runtime, or the --budget of a search";
    UnflushedWrites = "unflushed-writes", Note, "the database still writes after the run",
        "add --drain, which waits for these writes and counts them";
    AcknowledgedLost = "acknowledged-lost", Note, "the previous run lost transactions",
        "run iogauge db verify after a crash, before the next run";
    DevicesUnknown = "devices-unknown", Note, "the I/O of the devices is not known",
        "run iogauge on the database's own machine as a user who may see where its files are";
    NotSteady = "not-steady", Doubt, "the IOPS drifted",
        "increase --ramp_time and --runtime, and check what else uses the device";
    PerformanceShift = "regime-change", Doubt, "the target's performance shifted",
        "increase --ramp_time and --runtime to measure the performance that lasts";
    FirstWriteDiffers = "first-write-differs", Share, "first writes and rewrites differ in speed",
        "read results of writes as those of rewrites";
    OtherLoad = "other-load", Doubt, "others used the device",
        "stop what else uses the device (iostat -x 1, iotop) and repeat";
    IoErrors = "io-errors", Doubt, "I/Os failed",
        "dmesg shows what the kernel reported";
    WorkerHeld = "worker-held", Doubt, "I/Os did not return",
        "dmesg shows what the device or file system waits for";
    Interrupted = "interrupted", Note, "the run was interrupted",
        "run it again to its end";
    Resumed = "resumed", Note, "the run was resumed after an interruption",
        "run it without an interruption if the state of the device matters";
    NotInterleaved = "not-interleaved", Doubt, "the runs were not measured in turns",
        "iogauge compare TARGET TARGET measures in turns";
    SetupFailed = "setup-failed", Doubt, "a setup command failed",
        "read the output of the command with --json, under setups";
    LatencyOverflow = "latency-overflow", Note, "latencies exceed the histogram",
        "use the maximum and the mean, which are exact";
    SeveralHosts = "several-hosts", Note, "several hosts did the I/O",
        "read the table of hosts, or hosts in the JSON, for the figures of each";
    Straggler = "straggler", Doubt, "one host decides the verdict",
        "repeat the run without this host, and compare its network and mount options with those of the others";
    HostsDiffer = "hosts-differ", Note, "the hosts are not alike",
        "compare the figures of hosts that are alike, or leave the others out";
    HostLost = "host-lost", Doubt, "a host was lost during the measurement",
        "look at the network, the mounts and the kernel log (dmesg) of this host, and repeat the run";
    CorrelatedRuns = "correlated-runs", Doubt, "runs resemble those before them",
        "repeat the trend after more runs, and trust the changes that stay";
    Simulated = "simulated", Note, "the target is simulated",
        "iogauge find DIRECTORY measures a real target";
    NoIo = "no-io", Doubt, "no I/O was issued to a device",
        "leave out --ioengine=null to measure the target";
    ViaFio = "via-fio", Note, "real fio did the I/O",
        "iogauge crosscheck TARGET shows whether both tools measure the same";
    NotTraced = "not-traced", Note, "the block layer was not traced",
        "run as root with bpftrace installed";
    Traced = "traced", Note, "the block layer was traced",
        "leave out --trace to measure without its overhead";
    TraceDiffers = "trace-differs", Note, "requests and I/Os do not correspond one to one",
        "read the block layer's figures as those of requests, not of I/Os";
    SearchCutShort = "search-cut-short", Doubt, "the search ended before the limit",
        "increase --budget or --max-depth";
}
