use super::*;
use crate::suite::made_up::{self, site};
use iogauge_io::offsets::{Extent, OffsetSource, SharedPosition};
use iogauge_model::load::SyncMode;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn suite(typed: &[(&str, &str)]) -> Result<Box<dyn Suite>, SuiteError> {
    made_up::build("oltp", typed)
}

fn steps(typed: &[(&str, &str)], site: &Site) -> Vec<SuiteStep> {
    suite(typed).unwrap().plan(site).unwrap()
}

fn refused(typed: &[(&str, &str)], site: &Site) -> String {
    suite(typed).and_then(|suite| suite.plan(site)).unwrap_err().to_string()
}

fn jobs(step: &SuiteStep) -> Vec<Load> {
    step.asked().jobs.into_iter().map(|job| job.load).collect()
}

#[test]
fn each_user_is_a_job_with_queue_depth_1() {
    let site = site(SiteKind::Files, &[1 << 30]);
    // The order and the default are those of the scripts.
    let phases = |plan: &[SuiteStep]| {
        let mut phases: Vec<String> = plan.iter().map(|step| step.place.phase.clone()).collect();
        phases.dedup();
        phases
    };
    assert_eq!(phases(&steps(&[], &site)), ["readrand", "write", "read"]);
    let plan = steps(&[("tests", "randrw,read,write,randread")], &site);
    assert_eq!(phases(&plan), ["readrand", "write", "read", "randrw"]);
    assert_eq!(plan.len(), 27);
    for step in &plan {
        let load = &jobs(step)[0];
        assert_eq!((load.iodepth, load.direct), (1, true));
        assert!(step.place.key.contains(&format!(" {} user", load.numjobs)), "{step:?}");
        let waits = step.place.phase == "write";
        assert_eq!(load.sync == SyncMode::Sync, waits, "{}", step.place.key);
        assert_eq!(load.read_percent == 80, step.place.phase == "randrw");
        load.validate().unwrap();
    }
    let ramp_and_runtime = |step: &Step| (step.ramp_ns, step.runtime_ns);
    assert_eq!(ramp_and_runtime(&plan[0].asked()), (6_000_000_000, 60_000_000_000));
}

#[test]
fn initialization_alone_causes_no_caveat_of_a_volatile_cache() {
    let caveat = Caveat::of(CaveatCode::VolatileWriteCache, "sda: a write-back cache".to_owned());
    for (tests, keeps) in [("read,write", false), ("readrand,randrw", true)] {
        let suite = suite(&[("tests", tests), ("init", "")]).unwrap();
        assert_eq!(suite.keeps_target_caveat(&caveat), keeps, "{tests}");
    }
}

#[test]
fn read_only_tests_require_no_write_permission() {
    let needs = |typed| suite(typed).unwrap().needs();
    assert!(!needs(&[("tests", "readrand,read")]).writes);
    assert!(needs(&[("tests", "read,write")]).writes && needs(&[]).writes);
    let init = needs(&[("tests", "read"), ("init", "")]);
    assert!(init.writes && init.fresh_devices);
    let own = needs(&[("file-per-user", ""), ("size", "64g")]);
    assert_eq!((own.files, own.size_bytes, own.size_is_total), (64, Some(64 << 30), true));
    assert_eq!(own.of_each(own.size_bytes, 64), Some(1 << 30));
}

/// Returns the offsets of a user, over parts of unequal sizes.
fn places(load: &Load, parts: &[Extent], user: u32, ios: u32) -> Vec<(u32, u64)> {
    let shared = Arc::new(SharedPosition::default());
    let mut source = OffsetSource::new(load, parts, user, shared).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(user));
    let block_bytes = load.block.largest();
    let place = |_| {
        let place = source.next(&mut random, block_bytes, load.rw.writes());
        (place.part, place.offset_bytes)
    };
    (0..ios).map(place).collect()
}

#[test]
fn sequential_users_access_disjoint_extents() {
    let sizes = [70 * MIB + 512, 65 * MIB];
    let extent = |size_bytes: &u64| Extent { base_bytes: MIB, size_bytes: *size_bytes };
    let extents: Vec<Extent> = sizes.iter().map(extent).collect();
    let plan = steps(&[("tests", "read,write")], &site(SiteKind::Devices, &sizes));
    for step in &plan {
        let load = &jobs(step)[0];
        let block_bytes = load.block.largest();
        let mut owners: HashMap<(u32, u64), u32> = HashMap::new();
        for user in 0..load.numjobs {
            for (part, offset) in places(load, &extents, user, 300) {
                assert!((offset - MIB).is_multiple_of(block_bytes), "{offset}");
                assert!(offset + block_bytes <= MIB + sizes[part as usize], "{offset}");
                let owner = *owners.entry((part, offset)).or_insert(user);
                assert_eq!(owner, user, "{}: {part} {offset}", step.place.key);
            }
        }
    }
}

#[test]
fn file_per_user_jobs_are_summed_into_one_row() {
    let site = site(SiteKind::Files, &[MIB; 64]);
    let plan = steps(&[("file-per-user", ""), ("tests", "readrand,read")], &site);
    let of_16 = plan.iter().find(|step| step.place.key == "readrand 8k 16 users").unwrap();
    assert!(of_16.sums_up);
    let loads = jobs(of_16);
    assert!(loads.len() == 16 && loads.iter().all(|load| load.numjobs == 1));
    assert_eq!(of_16.regions[15], Region::Parts(vec![15]));
    assert_ne!(loads[0].seed, loads[1].seed);
    assert_eq!(plan[0].regions, [Region::Parts(vec![0])]);
}

#[test]
fn init_writes_devices_to_the_last_block() {
    let site = site(SiteKind::Devices, &[3 * MIB + 1024, 2 * MIB]);
    let plan = steps(&[("init", ""), ("tests", "read"), ("users", "1")], &site);
    let init = &plan[0];
    assert_eq!((init.place.key.as_str(), init.place.phase.as_str()), ("init", StepPlace::INIT));
    let cost = init.cost();
    assert_eq!((cost.time_ns, cost.written_bytes), (None, Some(5 * MIB + 1024)));
    let loads = jobs(init);
    let stretch = |load: &Load| (load.offset_bytes, load.size_bytes, load.block.largest());
    assert_eq!(stretch(&loads[0]), (0, Some(3 * MIB), MIB));
    assert_eq!(stretch(&loads[1]), (3 * MIB, Some(1024), 1024));
    assert_eq!(init.regions.len(), 3);
    loads.iter().for_each(|load| load.validate().unwrap());
}

#[test]
fn unsupported_block_sizes_are_skipped_and_reported() {
    let site = Site { block_bytes: 4096, ..site(SiteKind::Files, &[1 << 30]) };
    let oltp = suite(&[("tests", "write")]).unwrap();
    let plan = oltp.plan(&site).unwrap();
    assert_eq!(plan.len(), 6);
    let (conclusion, _) = oltp.conclude(&site, &[]);
    assert_eq!(conclusion.verdict[0], "Nothing was measured.");
    assert!(conclusion.verdict[1].starts_with("1 KiB was left out"), "{:?}", conclusion.verdict);
    assert_eq!(conclusion.findings["left_out_bytes"], serde_json::json!([1024]));
    let none = refused(&[("tests", "write"), ("bs", "1k,1000")], &site);
    assert!(none.contains("no block size of write is a multiple of 4 KiB"), "{none}");
}

#[test]
fn oltp_rejects_meaningless_options() {
    let (sim, files) = (site(SiteKind::Simulated, &[64 * MIB]), site(SiteKind::Files, &[64 * MIB]));
    let two = site(SiteKind::Devices, &[48 * MIB, 48 * MIB]);
    for (typed, site, word) in [
        (&[("tests", "rand")][..], &sim, "\"rand\" is not one of readrand, write, read, randrw"),
        (&[("tests", ",")], &sim, "none is named"),
        (&[("users", ",")], &sim, "hint: use 1,8"),
        (&[("users", "2000")], &sim, "between 1 and 1024"),
        (&[("size", "65m")], &sim, "hint: use 64m or less"),
        (&[("file-per-user", "")], &sim, "a simulated device has no files"),
        (&[("file-per-user", ""), ("users", "3")], &two, "3 users need a file or device each"),
        (&[("init", "")], &files, "--recreate"),
        (&[("users", "65"), ("bs", "1m")], &files, "hint: use --size=65m"),
        (&[("users", "66,67"), ("bs", "1m")], &files, "hint: use --size=67m"),
        (
            &[("users", "97"), ("bs", "1m")],
            &two,
            "1m 97 users\" needs 98 MiB on 2 files or devices, which have 96 MiB",
        ),
    ] {
        let told = refused(typed, site);
        assert!(told.contains(word), "{told}");
    }
    // Random I/Os of many users need no region each.
    steps(&[("users", "65"), ("bs", "1m"), ("tests", "readrand")], &files);
}
