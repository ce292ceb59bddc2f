//! Job files that do no harm: they run through the binary as they run through fio.

use crate::common::{Place, skip};
use std::process::Command;

/// Jobs of 32 I/Os, one a line. All jobs run in one job file per engine.
const JOBS: &[&str] = &[
    "rw=read",
    "rw=randread",
    "rw=write",
    "rw=randwrite",
    "rw=rw rwmixread=70",
    "rw=randrw rwmixwrite=30 norandommap",
    "rw=randread random_distribution=zipf:1.2",
    "rw=write bsrange=4k-16k",
    "rw=randwrite bssplit=4k/50:8k/50 fsync=8",
    "rw=read offset=64k size=128k",
    "rw=randwrite numjobs=2 offset_increment=128k size=128k",
    "rw=read nrfiles=3 size=384k",
    "rw=randread percentage_random=50",
    "rw=write zero_buffers",
    "rw=randwrite buffer_compress_percentage=50 refill_buffers",
    "rw=read rate_iops=2000 thinktime=10",
    "rw=randread zonemode=strided zonesize=64k zonerange=64k zoneskip=64k",
    "rw=randread:4 rw_sequencer=identical",
];
const ENGINES: &[&str] = &[
    "ioengine=psync",
    "ioengine=libaio\niodepth=4\nthread",
    "ioengine=posixaio\niodepth=2\nthread",
    "ioengine=vsync",
    "ioengine=mmap\nthread",
];

#[test]
fn harmless_job_files_still_run_through_fio() {
    const TEST: &str = "harmless_job_files_still_run_through_fio";
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(TEST, "fio is not installed");
    }
    let mut ran = 0;
    for engine in ENGINES {
        let place = Place::new();
        let mut text =
            format!("[global]\n{engine}\nsize=256k\nbs=4k\nnumber_ios=32\ngroup_reporting\n");
        for (number, job) in JOBS.iter().enumerate() {
            text.push_str(&format!("[job {number}]\nnew_group\n{}\n", job.replace(' ', "\n")));
        }
        std::fs::write(place.work().join("a.fio"), text).unwrap();
        let done = place.run(&["run", "a.fio", "--via", "fio", "--json", "-q"]).ends(0).json();
        let steps = done["steps"].as_array().unwrap();
        assert_eq!(steps.len(), JOBS.len(), "{engine}");
        for (number, step) in steps.iter().enumerate() {
            assert_eq!(step["fio"]["name"], format!("job {number}"), "{engine}");
            let ios = |direction: &str| step[direction]["ios"].as_u64().unwrap_or(0);
            assert!(ios("read") + ios("write") >= 16, "{engine}, {}: {step}", JOBS[number]);
            ran += 1;
        }
    }
    assert!(ran >= 50, "{ran}");
    println!("adversary: {ran} harmless jobs ran");
}

#[test]
fn verifying_and_fileless_jobs_still_run_through_fio() {
    const TEST: &str = "verifying_and_fileless_jobs_still_run_through_fio";
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(TEST, "fio is not installed");
    }
    let place = Place::new();
    for (text, direction) in [
        ("[a]\nrw=randwrite\nsize=256k\nverify=crc32c\nfilename=v\n", "write"),
        ("[a]\nrw=write\nsize=256k\nverify=md5\nverify_backlog=16\nfilename=v\n", "write"),
        ("[a]\nioengine=null\nrw=randread\nsize=1m\n", "read"),
        ("[a]\nrw=read\nsize=256k\nfilename=v\nsteadystate=iops:50%\nss_dur=1\n", "read"),
        ("[a]\nrw=read\nfilename=v\n", "read"),
        ("[a]\nrw=read\nfilename=v\nsize=50%\noffset=25%\n", "read"),
        ("[a]\nrw=read\nfilename=v:w\nsize=256k\nfile_service_type=sequential\n", "read"),
    ] {
        std::fs::write(place.work().join("a.fio"), text).unwrap();
        let done = place.run(&["run", "a.fio", "--via", "fio", "--json", "-q"]).ends(0).json();
        assert!(done["steps"][0][direction]["ios"].as_u64() > Some(0), "{text}: {done}");
        // fio leaves no state of a verification in the working directory.
        assert!(!place.names().iter().any(|name| name.ends_with(".state")), "{:?}", place.names());
    }
}
