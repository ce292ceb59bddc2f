use super::for_fio::{FioJobs, FioText, GivenFile};
use super::source::MemorySource;
use super::*;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn read(text: &str) -> Result<FioJobs, JobFileError> {
    let source = MemorySource::default()
        .file("a.fio", text)
        .file("inc.fio", "bs=8k\nfilename=/included\n")
        .variable("EVIL", "x;unlink=1");
    FioJobs::read(Path::new("a.fio"), &source)
}

/// Maps every file to descriptor 7 followed by the length of its path, 64 MiB long.
fn given(path: &Path, base_bytes: u64) -> Option<GivenFile> {
    let name = format!("/proc/self/fd/7{}", path.as_os_str().len());
    Some(GivenFile { name, base_bytes, size_bytes: 64 * MIB })
}

fn written(text: &str) -> FioText {
    read(text).unwrap().text(&|path| given(path, 0), None).unwrap()
}

#[track_caller]
fn refused(text: &str) -> String {
    let said = match read(text) {
        Err(error) => error.to_string(),
        Ok(jobs) => jobs.text(&|path| given(path, 0), None).unwrap_err().to_string(),
    };
    assert!(said.starts_with("a.fio:") && said.lines().count() == 1, "{said}");
    said
}

#[test]
fn each_job_becomes_a_self_contained_fio_section() {
    let text = "[global]\nioengine=posixaio\nrw=randwrite\nsize=8m\n[a #1\n]\n";
    assert!(refused(text).contains("is not a section"));
    let text = "[global]\nioengine=posixaio\nrw=randwrite\nsize=8m\ninclude inc.fio\n\
                [a name]\niodepth=4\nunlink=1\noverwrite=1\ndescription=a\u{e9}\n\
                [global]\nsize=4m\n[b]\nwait_for=a name\nstonewall\n";
    let FioText { text, names, logs } = written(text);
    assert_eq!(names, ["a name", "b"]);
    assert!(logs.is_empty());
    assert_eq!(
        text,
        "[j0]\nioengine=posixaio\nrw=randwrite\nbs=8k\niodepth=4\nsize=8388608\n\
         filename=/proc/self/fd/79\nallow_file_create=0\nfallocate=none\nnumjobs=1\n\
         [j1]\nioengine=posixaio\nrw=randwrite\nbs=8k\nstonewall\nwait_for=j0\nsize=4194304\n\
         filename=/proc/self/fd/79\nallow_file_create=0\nfallocate=none\nnumjobs=1\n"
    );
}

#[test]
fn options_that_access_other_files_are_rejected_by_name() {
    for line in [
        "filename=/x",
        "unlink_each_loop=1",
        "mem=mmap:/x",
        "mem=mmapshared:/x",
        "iomem=mmap:/x",
        "mem=cudamalloc:/x",
        "write_iolog=/x",
        "read_iolog=/x",
        "merge_blktrace_file=/x",
        "opendir=/x",
        "exec_prerun=rm /x",
        "exec_postrun=rm /x",
        "verify_state_save=1",
        "verify_state_load=1",
        "verify_dump=1",
        "create_only=1",
        "fill_device=1",
        "file_append=1",
        "trim_percentage=50",
        "zonemode=zbd",
        "ioscheduler=none",
        "cgroup=/x",
        "cgroup_nodelete=1",
        "uid=1",
        "profile=act",
        "allow_mounted_write=1",
        "ioengine=external:/x.so",
        "ioengine=/x.so",
        "ioengine=exec",
        "ioengine=filedelete",
        "ioengine=sg",
        "program=/bin/rm",
        "proto=unix",
        "protocol=vsock",
        "conf=/x",
        "verify_pattern='/x'",
        "buffer_pattern='/x'",
        "bs=$(rm x)",
        "numjobs=`rm x`",
        "bssplit=4k/50${EVIL}",
        "no_such_option=1",
        "startdelay=1\u{a0}",
    ] {
        let said = refused(&format!("[a]\n{line}\nfilename=data\nsize=1m\n"));
        let name = line.split('=').next().unwrap();
        let known = super::find(name).map_or(name, |row| row.name);
        assert!(said.contains(name) || said.contains(known), "{line}: {said}");
    }
    assert!(refused("[global]\nfilename=a\n[j]\nfilename=b\nsize=1m\n").contains("both"));
    assert!(refused("[globals]\nunlink=1\n[j]\nfilename=b\n").contains("as [global]"));
}

#[test]
fn passed_values_are_stripped_of_comments() {
    let text = "[a]\nfilename=f # a remark\nsize=1m ; another\nrw=read\nbs=4k#8k\nthread\n";
    assert!(written(text).text.starts_with("[j0]\nrw=read\nbs=4k\nthread\nsize=1048576\n"));
}

#[test]
fn clones_with_equal_ranges_share_one_section() {
    let same = written("[a]\nrw=write\nfilename=x\nsize=1m\nnumjobs=3\nstonewall\n").text;
    assert!(same.matches("[j").count() == 1 && same.contains("numjobs=3\n"), "{same}");
    let moved = "[a]\nfilename=x\nsize=1m\nnumjobs=3\nstonewall\noffset_increment=2m\n";
    let moved = read(moved).unwrap().text(&|path| given(path, MIB), None).unwrap();
    assert_eq!(moved.names, ["a", "a", "a"]);
    for line in ["offset=1048576\n", "offset=3145728\n", "offset=5242880\n"] {
        assert!(moved.text.contains(line), "{line}: {}", moved.text);
    }
    // As in fio, the clones after the first wait for nothing.
    assert_eq!(moved.text.matches("stonewall").count(), 1);
    assert!(!moved.text.contains("numjobs"));
    let own = written("[a]\nsize=1m\nnumjobs=2\n[b]\nfilename=x\nsize=1m\n");
    assert_eq!(own.names.len(), 3);
    let waits = "[a]\nsize=1m\nnumjobs=2\n[b]\nwait_for=a\nfilename=x\nsize=1m\n";
    assert!(refused(waits).contains("stonewall"));
}

#[test]
fn offsets_are_relative_to_first_usable_byte() {
    let base = |text: &str| read(text).unwrap().text(&|path| given(path, MIB), None).unwrap().text;
    let text = base("[a]\nfilename=x:yy\nsize=4m\noffset=1m\n");
    assert!(text.contains("\noffset=2097152\nsize=4194304\n"), "{text}");
    assert!(text.contains("\nfilename=/proc/self/fd/71:/proc/self/fd/72\n"), "{text}");
    // Percentages are of the usable size.
    let text = base("[a]\nfilename=x\nsize=50%\noffset=25%\n");
    assert!(text.contains("\noffset=17825792\nsize=33554432\n"), "{text}");
    // Files are as large as `filesize`, and the amount of I/O is `size`.
    let text = base("[a]\nfilename=x\nfilesize=2m\nsize=8m\n");
    assert!(text.contains("\nsize=2097152\nio_size=8388608\n"), "{text}");
    let uneven = |path: &Path| given(path, if path.as_os_str().len() == 1 { MIB } else { 0 });
    let said = read("[a]\nfilename=x:yy\nsize=4m\n").unwrap().text(&uneven, None).unwrap_err();
    assert!(said.to_string().contains("a job of its own"), "{said}");
}

#[test]
fn engines_without_files_keep_their_options() {
    let text = "[a]\nioengine=http\nhttp_host=localhost\nfilename=/bucket/object\nsize=1m\n";
    let jobs = read(text).unwrap();
    assert!(!jobs.jobs()[0].has_files() && !jobs.jobs()[0].writes_remotely());
    let text = jobs.text(&|_| None, None).unwrap().text;
    assert_eq!(
        text,
        "[j0]\nioengine=http\nhttp_host=localhost\nfilename=/bucket/object\nsize=1m\n"
    );
    let null = written("[a]\nioengine=null\nfilename=/precious\nsize=1g\nrw=write\n").text;
    assert_eq!(null, "[j0]\nioengine=null\nrw=write\nsize=1g\n");
    let writes = read("[a]\nioengine=rbd\nrw=randwrite\nsize=1m\n").unwrap();
    assert!(writes.jobs()[0].writes_remotely());
}

#[test]
fn log_files_get_unique_names() {
    let text = "[global]\nwrite_bw_log=/logs/x\n[a]\nfilename=f\nsize=1m\nwrite_lat_log\n\
                [b/c]\nfilename=f\nsize=1m\nwrite_iops_log=/logs/x\nper_job_logs=0\n";
    let FioText { text, logs, .. } = written(text);
    for line in ["write_bw_log=log0\n", "write_lat_log=log1\n", "write_iops_log=log0\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(logs, [("log0".to_owned(), "/logs/x".into()), ("log1".to_owned(), "a".into())]);
    assert!(!text.contains("/logs"), "{text}");
}

#[test]
fn search_overrides_queue_depth_and_runtime() {
    let text = "[a]\nioengine=libaio\nfilename=f\nsize=1m\niodepth=64\nruntime=5\nnumjobs=9\n";
    let at = |text: &str| {
        let text = read(text).unwrap().text(&|path| given(path, 0), Some(8)).unwrap().text;
        text.split_once("fallocate=none\n").unwrap().1.to_owned()
    };
    assert!(at(text).contains("iodepth=8\nnumjobs=1\ntime_based=1\nruntime=604800\nramp_time=0\n"));
    assert!(at("[a]\nfilename=f\nsize=1m\n").contains("iodepth=1\nnumjobs=8\n"));
}

#[test]
fn memory_related_options_are_limited_and_parsed() {
    let job = |more: &str| format!("[a]\nfilename=f\nsize=8m\n{more}\n");
    for (more, word) in [
        ("iodepth=100000000", "iodepth"),
        ("lockmem=1g", "lockmem"),
        ("stats=0", "stats"),
        ("ioengine=cpuio", "makes no I/O"),
        ("cpuload=50", "cpuload"),
    ] {
        assert!(refused(&job(more)).contains(word), "{more}");
    }
    let text = "ioengine=posixaio\nbsrange=4k-1m\niodepth=64\nnumjobs=3\ndirect=1";
    let shape = read(&job(text)).unwrap().jobs()[0].shape.clone();
    assert_eq!((shape.iodepth, shape.numjobs, shape.block.largest()), (64, 3, 1 << 20));
    assert!(shape.direct && !shape.engine.is_synchronous());
    assert!(written(&job("lockmem=0\nstats=1")).text.contains("lockmem=0\nstats=1\n"));
}

#[test]
fn trims_count_as_writes() {
    for (rw, writes) in [("read", false), ("randread:8", false), ("randtrim", true), ("rw", true)] {
        let jobs = read(&format!("[a]\nrw={rw}\nfilename=f\nsize=1m\n")).unwrap();
        let job = &jobs.jobs()[0];
        assert_eq!((job.writes, job.clones[0].writes()), (writes, writes), "{rw}");
    }
    assert!(refused("[a]\nrw=scribble\nfilename=f\nsize=1m\n").contains("none of read,"));
}

#[test]
fn oversized_expansion_of_global_options_is_rejected() {
    let global = format!("[global]\nsize=1m\n{}", format!("bs={}\n", "4k,".repeat(2)).repeat(4000));
    let said = refused(&format!("{global}{}", "[a]\nfilename=f\n".repeat(4000)));
    assert!(said.contains("more than 16 MiB"), "{said}");
}

proptest! {
    /// For any job file, fio receives only sections `jN` of one-line options that are allowed, and files by
    /// their descriptors.
    #[test]
    fn generated_job_file_contains_only_plain_allowed_lines(
        lines in prop::collection::vec(("[a-z_]{0,4}|filename|rw|bs|mem|unlink|write_bw_log|size|\
            directory|name|wait_for", "(\\PC|[\n#;:'\"$%\\\\\u{a0}]){0,12}|1m|read|write|/x"), 0..8),
    ) {
        let body: String = lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let text = format!("[a]\nsize=1m\n{body}");
        let Ok(jobs) = read(&text) else { return Ok(()) };
        let Ok(written) = jobs.text(&|path| given(path, 0), None) else { return Ok(()) };
        for line in written.text.lines() {
            prop_assert!(line.chars().all(|c| matches!(c, ' '..='~') && !"#;'\"\\$`".contains(c)));
            if let Some(names) = line.strip_prefix("filename=") {
                prop_assert!(names.split(':').all(|name| name.starts_with("/proc/self/fd/")));
            } else if !line.starts_with("[j") {
                let name = line.split('=').next().unwrap();
                prop_assert!(super::find(name).is_some(), "{}", line);
            }
        }
    }
}

/// fio recreates a file that ends before the job's range does.
#[test]
fn job_range_never_exceeds_file_size() {
    let sized = |text: &str, size_bytes: u64| {
        let given = |path: &Path| Some(GivenFile { size_bytes, ..given(path, MIB)? });
        read(text).unwrap().text(&given, None).unwrap().text
    };
    // A third of 1 MiB is not a multiple of the block size.
    let text = sized("[a]\nnrfiles=3\nrw=write\nsize=1m\n", 348_160);
    assert!(text.contains("\noffset=1048576\nsize=1044480\n"), "{text}");
    let text = sized("[a]\nnrfiles=3\nrw=write\nsize=1m\nbs=1k\n", 352_256);
    assert!(text.contains("\noffset=1048576\nsize=1047552\n"), "{text}");
    let text = sized("[a]\nfilename=x\nrw=write\nfilesize=1m\noffset=64k\n", MIB);
    assert!(text.contains("\noffset=1114112\nsize=983040\n"), "{text}");
}

#[test]
fn rejections_give_option_specific_reason_and_hint() {
    for (line, reason, right) in [
        ("create_only=1", "makes the files before", "iogauge prepare"),
        ("fill_device=1", "never fills a file system", "size="),
        ("fill_fs=1", "never fills a file system", "size="),
        ("file_append=1", "full size", "offset="),
        ("unlink_each_loop=1", "may not remove files", "unlink=1"),
        ("profile=tiobench", "jobs of a profile", "a section for each"),
        ("read_iolog=x", "a recording names files", "filename="),
        ("write_iolog=x", "only fio's logs", "write_lat_log="),
    ] {
        let said = refused(&format!("[a]\nfilename=x\nsize=1m\n{line}\n"));
        let (before, behind) = said.split_once("hint: ").unwrap();
        assert!(before.contains(reason) && behind.contains(right), "{said}");
    }
}
