use super::source::MemorySource;
use super::*;
use iogauge_model::load::{ArrivalProcess, Distribution, EngineKind, OwnTime, Pattern, SyncMode};
use proptest::prelude::*;
use std::path::PathBuf;

const GIB: u64 = 1 << 30;

fn read(text: &str) -> Result<JobFile, JobFileError> {
    JobFile::read(Path::new("a.fio"), &MemorySource::default().file("a.fio", text))
}

#[track_caller]
fn groups(text: &str) -> Vec<Group> {
    let file = read(text).unwrap();
    assert_eq!(file.unsupported, []);
    file.plan().unwrap()
}

/// Returns the jobs of a file with one group.
#[track_caller]
fn jobs(text: &str) -> Vec<PlannedJob> {
    let mut groups = groups(text);
    assert_eq!(groups.len(), 1);
    groups.remove(0).jobs
}

/// Returns the workload of a file with one job that has one file of 1 GiB.
#[track_caller]
fn load(text: &str) -> iogauge_model::Load {
    jobs(&format!("[a]\nfilename=x\n{text}")).remove(0).load(&[GIB]).unwrap()
}

/// Returns the error for the second line of a job, or for its plan.
#[track_caller]
fn refused(line: &str) -> String {
    let text = format!("[a]\n{line}\nfilename=x\n");
    let error = match read(&text) {
        Err(error) => error,
        Ok(file) => match (file.unsupported.first().cloned(), file.plan()) {
            (Some(error), _) | (None, Err(error)) => error,
            (None, Ok(groups)) => groups[0].jobs[0].load(&[GIB]).unwrap_err(),
        },
    };
    let message = error.to_string();
    assert!(message.starts_with("a.fio:2: "), "{message}");
    assert_eq!(message.lines().count(), 1);
    message
}

fn names(jobs: &[PlannedJob]) -> Vec<&str> {
    jobs.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn empty_job_uses_fio_defaults() {
    let load = load("");
    assert_eq!((load.rw, load.block.single()), (Pattern::Read, Some(4096)));
    assert_eq!((load.engine, load.iodepth, load.numjobs), (EngineKind::Psync, 1, 1));
    assert!(!load.direct && !load.coverage && load.arrivals.is_none());
    assert_eq!(load.io_size_bytes, Some(GIB), "once over the file");
    let group = groups("[a]\nfilename=x").remove(0);
    assert_eq!((group.ramp_ns, group.runtime_ns, group.sums_up), (0, None, false));
}

#[test]
fn job_options_are_applied_to_load() {
    let load = load(
        "ioengine=libaio\nreadwrite=randrw\nrwmixwrite=30\nbs=8k,64k\niodepth=32\nbuffered=0\n\
         sync=dsync\nfsync=16\nrandom_distribution=zipf:1.2\nrandseed=7\niodepth_batch=8\n\
         iodepth_batch_complete_min=4\niodepth_batch_complete_max=16\n",
    );
    assert_eq!((load.rw, load.read_percent), (Pattern::RandRw, 70));
    assert_eq!(load.block.to_string(), "8 KiB,64 KiB");
    assert_eq!((load.engine, load.iodepth, load.direct), (EngineKind::Libaio, 32, true));
    assert_eq!((load.sync, load.fsync_every), (SyncMode::Dsync, 16));
    assert_eq!(load.distribution, Distribution::Zipf(1.2));
    assert!(!load.coverage, "a skewed distribution comes back before all is visited");
    assert_eq!(load.seed, 7);
    let batch = load.batch;
    assert_eq!((batch.submit, batch.complete_min, batch.complete_max), (8, 4, 16));
}

#[test]
fn sections_inherit_from_preceding_global_sections() {
    let text = "[global]\nbs=8k\nrw=randread\n[a]\nbs=16k\n[global]\nrw=randwrite\n[b]\n";
    let jobs = jobs(&format!("[global]\nfilename=x\n{text}"));
    let loads: Vec<_> = jobs.iter().map(|job| job.load(&[GIB]).unwrap()).collect();
    assert_eq!(loads[0].block.single(), Some(16 << 10));
    assert_eq!(loads[0].rw, Pattern::RandRead);
    assert_eq!(loads[1].block.single(), Some(8 << 10), "the first [global] still holds");
    assert_eq!(loads[1].rw, Pattern::RandWrite);
}

#[test]
fn kb_base_applies_regardless_of_position() {
    assert_eq!(load("bs=4k\nkb_base=1000\n").block.single(), Some(4000));
    assert_eq!(load("kb_base=1000\nbs=4kib\n").block.single(), Some(4096));
}

#[test]
fn block_sizes_per_direction_and_split_are_parsed() {
    assert_eq!(load("bs=8k,").block.to_string(), "8 KiB,4 KiB");
    assert_eq!(load("bs=,8k").block.to_string(), "4 KiB,8 KiB");
    assert_eq!(load("bsrange=16k-16k").block.single(), Some(16 << 10));
    let split = load("bs=1m\nbssplit=4k/50:1k/:32k/").block;
    assert_eq!(split.read.entries(), [(4096, 50), (1024, 25), (32768, 25)]);
    let split = load("bssplit=64k/40:1024k/60,1024k/100").block;
    assert_eq!(split.write.entries(), [(1 << 20, 100)]);
}

#[test]
fn zone_without_size_takes_remaining_percentage() {
    let zoned = load("rw=randread\nnorandommap\nrandom_distribution=zoned:50/5:30/15:20/");
    assert_eq!(zoned.distribution.to_string(), "zoned:50/5:30/15:20/80");
}

#[test]
fn synchronous_engine_has_queue_depth_one_per_thread() {
    assert_eq!(load("ioengine=sync\niodepth=32").iodepth, 1);
    assert_eq!(load("ioengine=io_uring\niodepth=32").iodepth, 32);
}

#[test]
fn stonewall_starts_a_new_group() {
    let names_of = |text: &str| -> Vec<Vec<String>> {
        let text = format!("[global]\nfilename=x\n{text}");
        groups(&text).iter().map(|g| g.jobs.iter().map(|j| j.name.clone()).collect()).collect()
    };
    assert_eq!(
        names_of("[a]\n[b]\nstonewall\n[c]\n[d]\nwait_for_previous=1\n"),
        [vec!["a"], vec!["b", "c"], vec!["d"]]
    );
    assert_eq!(names_of("[a]\nstonewall\n[b]\nstonewall=0"), [vec!["a", "b"]]);
    let sums_up = |text: &str| {
        let text = format!("[global]\nfilename=x\nsize=1m\ngroup_reporting\n{text}");
        groups(&text)[0].sums_up
    };
    assert!(sums_up("[a]\nnew_group\n[b]\n") && !sums_up("[a]\n[b]\nnew_group"));
    assert_eq!(names_of("[a]\n[b]\nnew_group"), [vec!["a", "b"]], "groups of reports, not of time");
    assert_eq!(names_of("[global]\nstonewall\n[a]\n[b]"), [vec!["a"], vec!["b"]]);
    assert_eq!(names_of("[a]\n[b]\nwait_for=a\n[c]\nwait_for=a"), [vec!["a"], vec!["b", "c"]]);
}

#[test]
fn clones_share_named_files_or_get_separate_ones() {
    let own = jobs("[a]\nnumjobs=3\nsize=1m\ndirectory=/d:/e");
    assert_eq!(names(&own), ["a", "a", "a"]);
    let files: Vec<_> = own.iter().flat_map(|job| job.files.clone()).collect();
    assert_eq!(files, ["/d/a.0.0", "/e/a.1.0", "/d/a.2.0"].map(PathBuf::from));
    let seeds: Vec<_> = own.iter().map(|job| job.load(&[1 << 20]).unwrap().seed).collect();
    assert_eq!(seeds, [1, 2, 3]);

    // Clones of a random job on the same files do the same as workers of one job.
    let shared = jobs("[a]\nrw=randread\nnumjobs=3\nfilename=x\nsize=1m");
    let load = shared[0].load(&[1 << 20]).unwrap();
    assert_eq!((shared.len(), load.numjobs), (1, 3));
    assert_eq!(load.io_size_bytes, Some(1 << 20), "each clone has its own amount");
    // Sequential clones all begin at the same place.
    let sequential = jobs("[a]\nrw=write\nnumjobs=3\nfilename=x\nsize=1m");
    assert_eq!(sequential.len(), 3);

    let apart = jobs("[a]\nrw=randread\nnumjobs=2\nfilename=x\noffset=1m\noffset_increment=25%");
    let offsets: Vec<_> = apart.iter().map(|job| job.load(&[GIB]).unwrap().offset_bytes).collect();
    assert_eq!(offsets, [1 << 20, (1 << 20) + GIB / 4]);
}

#[test]
fn generated_file_names_match_fio() {
    let files = |text: &str| jobs(&format!("[j b]\nsize=8m\n{text}")).remove(0).files;
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(files(""), paths(&["j b.0.0"]));
    assert_eq!(files("name=k"), paths(&["j b.0.0"]));
    assert_eq!(files("nrfiles=2"), paths(&["j b.0.0", "j b.0.1"]));
    assert_eq!(files("filename=./x"), paths(&["x"]));
    assert_eq!(files("directory=/d\nfilename=x:y"), paths(&["/d/x", "/d/y"]));
    assert_eq!(files("directory=/d\nfilename=/x"), paths(&["/x"]));
    assert_eq!(files(r"filename=/dev/by-path/pci-0\:1:/z"), paths(&["/dev/by-path/pci-0:1", "/z"]));
    assert_eq!(files("filename_format=t.$jobnum.$filenum"), paths(&["t.0.0"]));
    assert_eq!(files("filename_format=t\nnrfiles=3"), paths(&["t"]));
}

#[test]
fn name_option_applies_to_one_job_only() {
    let jobs = jobs("[global]\nname=g\nsize=1m\n[a]\n[b]\nname=c");
    assert_eq!(names(&jobs), ["a", "c"]);
}

#[test]
fn job_range_starts_at_its_offset() {
    let job = jobs("[a]\nfilename=x\nbs=1m\nsize=16m\noffset=8m\noffset_increment=4m\nnumjobs=2");
    let sizes: Vec<_> = job.iter().map(|job| job.file_size_bytes).collect();
    assert_eq!(sizes, [Some(24 << 20), Some(28 << 20)]);
    let load = job[1].load(&[GIB]).unwrap();
    assert_eq!((load.offset_bytes, load.size_bytes), (12 << 20, Some(16 << 20)));
}

#[test]
fn job_size_is_divided_among_files() {
    let job = jobs("[a]\nfilename=x:y\nsize=8m\nbs=1m").remove(0);
    assert_eq!(job.file_size_bytes, Some(4 << 20));
    let load = job.load(&[4 << 20, 4 << 20]).unwrap();
    assert_eq!((load.size_bytes, load.io_size_bytes), (Some(4 << 20), Some(8 << 20)));
    let job = jobs("[a]\nfilename=x:y\nbs=1m").remove(0);
    assert_eq!(job.file_size_bytes, None);
    assert_eq!(job.load(&[3 << 20, 1 << 20]).unwrap().io_size_bytes, Some(4 << 20));
}

/// Returns the number of 1 MiB blocks after which a job ends.
fn blocks(load: &iogauge_model::Load) -> Option<u64> {
    let by_bytes = load.io_size_bytes.map(|bytes| bytes >> 20);
    load.number_ios.into_iter().chain(by_bytes).min()
}

#[test]
fn size_loops_and_io_size_set_total_io_amount() {
    let amount = |text: &str| blocks(&load(&format!("bs=1m\n{text}")));
    assert_eq!(amount("size=64m"), Some(64));
    assert_eq!(amount("size=50%"), Some(512));
    assert_eq!(amount("size=64m\nloops=2"), Some(128));
    assert_eq!(amount("size=64m\nio_size=16m"), Some(16));
    assert_eq!(amount("size=64m\nio_limit=128m"), Some(128));
}

/// The numbers are those of fio 3.33 on a file of this size.
#[test]
fn sequential_passes_end_where_those_of_fio_do() {
    let ios = |text: &str, file_bytes: u64| {
        let job = jobs(&format!("[a]\nfilename=x\n{text}")).remove(0);
        let load = job.load(&[file_bytes]).unwrap();
        load.io_size_bytes.unwrap() / load.block.single().unwrap()
    };
    let (small, large) = (64 << 10, 64 << 20);
    for (text, file_bytes, wanted) in [
        ("rw=read\nbs=4k\nsize=10000", large, 3),
        ("rw=write\nbs=4k\nsize=4097", large, 2),
        ("rw=randread\nbs=4k\nsize=10000", large, 2),
        ("rw=read\nbs=4k\nsize=10000", 12288, 2),
        ("rw=read\nbs=24k", small, 2),
        ("rw=read\nbs=24k\nloops=2", small, 4),
        ("rw=read:4k\nbs=4k", small, 16),
        ("rw=read:4k\nbs=8k", small, 5),
        ("rw=read:4k\nbs=8k\nloops=2", small, 10),
        ("rw=read:8k\nbs=12k", small, 3),
        ("rw=read:20k\nbs=12k", small, 6),
        ("rw=read:4k\nbs=24k", small, 2),
        ("rw=read:512k\nbs=1m", large, 43),
        ("rw=write:4k\nbs=8k\nsize=1m", large, 86),
        ("rw=read:12k\nbs=4k\nsize=60k", large, 4),
        ("rw=read:4k\nbs=4k\nsize=64k", large, 8),
        ("rw=read:20k\nbs=12k\nsize=64k", large, 2),
        ("rw=read:4k\nbs=24k\nsize=64k", large, 3),
        ("rw=read:4k\nbs=8k\nsize=1m\nloops=2", large, 172),
        ("rw=read:100k\nbs=512k\nsize=10m", large, 17),
        ("rw=read\nbs=4k\nfilesize=2m\nsize=4m", large, 512),
        ("rw=read\nbs=4k\nfilesize=4m\nsize=1m", large, 256),
        ("rw=read\nbs=64k\nsize=1m\nio_size=100k", large, 2),
        ("rw=read\nbs=64k\nsize=1m\nio_size=1100k", large, 18),
        ("rw=read\nbs=4k\nsize=1m\nio_size=10001\nloops=2", large, 5),
        ("rw=read\nbs=4k\nio_size=10001\nloops=3", large, 8),
        ("rw=randread\nbs=4k\nio_size=9000\nloops=3", large, 7),
        ("rw=read\nbs=4k\nio_size=33%", 2 << 20, 169),
        ("rw=read\nbs=4k\nio_size=33%\nloops=3", 2 << 20, 507),
        ("rw=randread\nbs=4k\nsize=50%\nio_size=30%", 2 << 20, 77),
        ("rw=read\nbs=4k\nio_size=0", 2 << 20, 512),
        ("rw=read\nbs=4k\nsize=254k\nloops=2", 2 << 20, 127),
        ("rw=randread\nbs=4k\nsize=254k\nloops=2", 2 << 20, 126),
        ("rw=randread\nbs=4k\nfilesize=1m\nsize=254k", 1 << 20, 64),
        ("rw=randread\nbs=4k\nfilesize=1m\nsize=253k\nloops=3", 1 << 20, 190),
        ("rw=read\nbs=4k\nfilesize=1m\nsize=50%", 2 << 20, 128),
        ("rw=randread\nbs=4k\nfilesize=2m\nsize=25%\noffset=25%", 2 << 20, 128),
        ("rw=read:4k\nbs=4k\nfilesize=1m\nsize=64k", 1 << 20, 16),
        ("rw=write:8k\nbs=4k\nfilesize=1m\nsize=48k", 1 << 20, 12),
        ("rw=read:12k\nbs=4k\nfilesize=256k\nsize=128k", 256 << 10, 16),
        ("rw=read:12k\nbs=4k\nfilesize=256k\nsize=128k\nloops=2", 256 << 10, 32),
        ("rw=write\nbs=100", 1000, 10),
        ("rw=read\nbs=4000", 1_000_000, 250),
        ("rw=randread\nbs=1000", 1_000_000, 1000),
        ("rw=read\nbs=4k\nsize=64k\noffset=1000", 66_536, 16),
        ("rw=read\nbs=4k\nsize=8k\noffset=1000", large, 2),
        ("rw=write\nbs=4k\nsize=1m\noffset=75%", 1 << 20, 256),
    ] {
        assert_eq!(ios(text, file_bytes), wanted, "{text} of {file_bytes}");
    }
}

#[test]
fn io_amount_and_runtime_limits_combine() {
    let amount = |text: &str| blocks(&load(&format!("bs=1m\n{text}")));
    assert_eq!(amount("size=64m\nio_size=50%"), Some(32));
    assert_eq!(amount("size=64m\nnumber_ios=10"), Some(10));
    assert_eq!(amount("size=64m\nnumber_ios=1000"), Some(64));
    assert_eq!(amount("size=64m\nnumber_ios=10\nloops=3"), Some(30));
    assert_eq!(amount("size=64m\nnumber_ios=1000\nloops=3"), Some(192));
    assert_eq!(amount("filesize=64m\nsize=256m"), Some(64));
    assert_eq!(amount("size=64m\nruntime=5"), Some(64));
    assert_eq!(amount("size=64m\nruntime=5\ntime_based"), None);
    assert_eq!(amount("size=64m\nruntime=5\ntime_based\nnumber_ios=3"), None);
    assert_eq!(amount("size=64m\ntime_based"), Some(64), "no time to go by");
    let group = groups("[a]\nfilename=x\nsize=1m\ntimeout=2m\nramp_time=500ms").remove(0);
    assert_eq!((group.ramp_ns, group.runtime_ns), (500_000_000, Some(120_000_000_000)));
}

#[test]
fn jobs_with_different_runtimes_keep_their_own() {
    let times = |text: &str| {
        let group = groups(&format!("[global]\nfilename=x\nsize=1m\n{text}")).remove(0);
        let own = |job: &PlannedJob| job.load(&[GIB]).unwrap().own_time;
        (group.ramp_ns, group.runtime_ns, group.jobs.iter().map(own).collect::<Vec<_>>())
    };
    let own = |ramp_ns, runtime_ns| Some(OwnTime { ramp_ns, runtime_ns });
    let second = 1_000_000_000;
    let same = times("ramp_time=1\nruntime=5\n[a]\n[b]\nnumjobs=2");
    assert_eq!(same, (second, Some(5 * second), vec![None; 3]));
    let (ramp_ns, runtime_ns, all) = times("runtime=5\n[a]\nruntime=6\nramp_time=1\n[b]");
    assert_eq!((ramp_ns, runtime_ns), (0, None));
    assert_eq!(all, [own(second, Some(6 * second)), own(0, Some(5 * second))]);
    let (.., all) = times("[a]\nruntime=6\n[b]");
    assert_eq!(all, [own(0, Some(6 * second)), own(0, None)]);
}

#[test]
fn offset_accepts_bytes_or_percentage() {
    let job = |text: &str| load(&format!("bs=64k\n{text}"));
    assert_eq!(job("offset=1m").offset_bytes, 1 << 20);
    let third = job("offset=33%").offset_bytes;
    assert!(third % (64 << 10) == 0 && third >= GIB * 33 / 100, "{third}");
    assert_eq!(job("offset=1%\noffset_align=512m").offset_bytes, GIB / 2);
}

#[test]
fn rate_options_apply_per_clone_and_direction() {
    let rate = |text: &str| {
        let load = load(text);
        (load.arrivals.map(|a| (a.rate_iops, a.process)), load.read_percent)
    };
    let linear = ArrivalProcess::Linear;
    assert_eq!(rate("rate_iops=500"), (Some((500.0, linear)), 50));
    assert_eq!(rate("rate=1m\nbs=4k"), (Some((256.0, linear)), 50));
    assert_eq!(rate("rw=randread\nnumjobs=4\nrate_iops=500").0, Some((2000.0, linear)));
    assert_eq!(rate("rw=randrw\nrate_iops=300,100"), (Some((400.0, linear)), 75));
    assert_eq!(rate("rw=write\nrate_iops=300,100").0, Some((100.0, linear)));
    assert_eq!(rate("rate_iops=50\nrate_process=poisson").0, Some((50.0, ArrivalProcess::Poisson)));
    assert_eq!(rate("rate_iops=0"), (None, 50));
}

#[test]
fn latency_target_starts_a_search() {
    let searched = |text: &str| {
        let job = jobs(&format!("[a]\nfilename=x\nioengine=libaio\niodepth=64\n{text}")).remove(0);
        assert_eq!(job.load(&[GIB]).unwrap().io_size_bytes, None);
        let search = job.search.unwrap();
        (search.limit.to_string(), search.max_depth)
    };
    assert_eq!(searched("latency_target=5000"), ("max <= 5 ms".to_owned(), 64));
    let wanted = ("p99.9 <= 500 ms".to_owned(), 64);
    assert_eq!(searched("latency_target=500ms\nlatency_percentile=99.9"), wanted);
    assert!(jobs("[a]\nfilename=x").remove(0).search.is_none());
    let planned = |text: &str| read(text).unwrap().plan().map(drop).unwrap_err().to_string();
    let message = planned("[a]\nlatency_target=5ms\n[b]");
    assert!(message.starts_with("a.fio:2: latency_target: "), "{message}");
    let message = planned("[a]\nrate_iops=5\nlatency_target=5ms");
    assert!(message.starts_with("a.fio:3: latency_target: "), "{message}");
}

#[test]
fn random_seed_is_fixed_unless_randrepeat_is_off() {
    assert_eq!(load("rw=randread").seed, 1);
    assert_eq!(load("rw=randread\nrandrepeat=0").seed, 42);
    assert_eq!(load("rw=randread\nrandrepeat=0\nrandseed=9").seed, 9);
}

#[test]
fn invalid_options_are_reported_with_file_and_line() {
    for (line, words) in [
        ("rw=randreed", &["rw: ", "randreed", "randread"][..]),
        ("iodepht=4", &["iodepht", "no option of fio", "hint: use iodepth"]),
        ("bs=4q", &["bs: ", "4q", "4k"]),
        ("bs=", &["bs: ", "needs a value"]),
        ("direct", &["direct: ", "needs a value"]),
        ("direct=2", &["direct: ", "0 or 1"]),
        ("iodepth=0", &["iodepth: ", "between 1"]),
        ("runtime=5x", &["runtime: ", "5x", "30s"]),
        ("rwmixread=101", &["rwmixread: ", "between 0 and 100"]),
        ("ioengine=foo", &["ioengine: ", "foo", "io_uring"]),
        ("wait_for=nobody", &["wait_for: ", "nobody"]),
        ("offset=2g", &["offset: ", "not before the end"]),
        ("bssplit=4k/60:8k/60", &["bssplit: ", "120"]),
        ("random_distribution=zipf:x", &["random_distribution: ", "zipf:1.2"]),
    ] {
        let message = refused(line);
        for word in words {
            assert!(message.contains(word), "{line}: \"{word}\" is not in: {message}");
        }
    }
}

#[test]
fn unsupported_options_are_reported_by_name() {
    for (line, words) in [
        ("cgroup=a", &["cgroup is not supported", "--lenient"][..]),
        ("verify=null", &["verify=null is not supported", "crc32c"]),
        ("unified_rw_reporting=mixed", &["unified_rw_reporting is not supported", "apart"]),
        ("exitall", &["exitall is not supported"]),
        ("ramp_size=1g", &["ramp_size is not supported: it is newer than fio 3.33", "ramp_time"]),
        ("http_host=x", &["http_host is not supported", "engine http"]),
        ("ioengine=rbd", &["ioengine=rbd is not supported", "there are io_uring"]),
        ("rw=trim", &["rw=trim is not supported"]),
    ] {
        let message = refused(line);
        for word in words {
            assert!(message.contains(word), "{line}: \"{word}\" is not in: {message}");
        }
    }
    let file = read("[a]\nverify=0\nzonemode=none\nexitall=0\nthinktime=0\ngtod_reduce=1\nmax_latency=0us\nramp_size=0\nverify_async_cpus=1\nfadvise_hint=0").unwrap();
    assert_eq!(file.unsupported, [], "what asks for nothing is no loss");
    let file = read("[a]\nfilename=x\nverify_dump=1\nbs=8k\ncgroup=a").unwrap();
    assert_eq!(file.unsupported.len(), 2);
    assert_eq!(file.plan().unwrap()[0].jobs.len(), 1);
}

#[test]
fn incompatible_jobs_are_rejected() {
    let planned = |text: &str| read(text).unwrap().plan().map(drop).unwrap_err().to_string();
    let message = planned("[a]\n[b]\n[c]\nwait_for=b");
    assert!(message.starts_with("a.fio:4: wait_for=b is not supported"), "{message}");
    let message = planned("[a]\nnumjobs=4000\n[b]\nnumjobs=4000");
    assert!(message.starts_with("a.fio:4: numjobs"), "{message}");
    let message = planned("[a]\nioengine=null");
    assert!(message.starts_with("a.fio:1: size"), "{message}");
}

#[test]
fn job_file_without_jobs_is_rejected() {
    for text in ["", "; nothing\n", "[global]\nrw=read"] {
        assert!(read(text).unwrap_err().to_string().contains("no job"), "{text}");
    }
}

/// An option with a value that it accepts, to test inheritance.
fn option() -> impl Strategy<Value = (usize, u32)> {
    (0usize..4, 1u32..60)
}

proptest! {
    #[test]
    fn arbitrary_text_is_parsed_or_rejected_without_panic(
        text in "(\\PC|[\\[\\]=;#${}:,/%\n ]|\\[a\\]\n|rw=|bs=|size=|include |numjobs=){0,60}"
    ) {
        match read(&text) {
            Ok(file) => { let _ = file.plan().map(|groups| {
                for job in groups.iter().flat_map(|group| &group.jobs) {
                    let _ = job.load(&vec![GIB; job.files.len()]);
                }
            }); }
            Err(error) => prop_assert!(error.to_string().starts_with("a.fio")),
        }
    }

    #[test]
    fn arbitrary_option_values_never_panic(
        row in 0..options().count(), value in "[0-9a-z:,/%.()*+ -]{0,16}"
    ) {
        let text = format!("[a]\nfilename=x\n{}={value}\n", options().nth(row).unwrap().name);
        if let Ok(file) = read(&text) && let Ok(groups) = file.plan() {
            for job in groups.iter().flat_map(|group| &group.jobs) {
                let _ = job.load(&vec![GIB; job.files.len()]);
            }
        }
    }

    /// For each option, the last occurrence in the section counts, or else the last one in the [global]
    /// sections above it, or else the default.
    #[test]
    fn last_occurrence_of_option_wins(
        sections in proptest::collection::vec((any::<bool>(), proptest::collection::vec(option(), 0..4)), 1..8)
    ) {
        const NAMES: [&str; 4] = ["iodepth", "fsync", "rwmixread", "numjobs"];
        let defaults = [1, 0, 50, 1];
        let (mut global, mut wanted) = (defaults, Vec::new());
        let mut text = String::new();
        for (is_global, options) in &sections {
            text.push_str(if *is_global { "[global]\n" } else { "[a]\n" });
            let mut own = global;
            for (index, value) in options {
                text.push_str(&format!("{}={value}\n", NAMES[*index]));
                own[*index] = *value;
            }
            if *is_global { global = own } else { wanted.push(own) }
        }
        match read(&text) {
            Ok(file) => {
                let found: Vec<_> = file.sections.iter().map(|section| {
                    let o = &section.options;
                    [o.plain.iodepth, o.plain.fsync_every, o.plain.read_percent, o.plain.numjobs]
                }).collect();
                prop_assert_eq!(found, wanted);
            }
            Err(_) => prop_assert!(wanted.is_empty()),
        }
    }
}

#[test]
fn duplicate_filename_hint_shows_correct_line() {
    for (first, second, right) in [
        ("a", "a", "hint: remove this line"),
        ("a:b", "b", "hint: remove this line"),
        ("a", "b", "hint: use filename=a:b in place of both lines"),
        ("a", "b\\:c:a", "hint: use filename=a:b\\:c in place of both lines"),
        ("a:b:c:d", "e:f:g:h:i", "hint: use one line with all of them, and a colon"),
    ] {
        let text = format!("[j]\nfilename={first}\nsize=1m\nfilename={second}\n");
        let source = MemorySource::default().file("a.fio", &text);
        let said = JobFile::read(Path::new("a.fio"), &source).unwrap_err().to_string();
        assert!(said.starts_with("a.fio:4: filename: ") && said.contains(right), "{said}");
    }
}
