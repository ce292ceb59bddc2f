//! Files and devices of several hosts: what is refused, which region each host uses, and what is removed.

use super::common::{Done, Hosts, Place, built_for, hosts};
use iogauge_test_support::{Loop, MIB, Mount, eventually, mounted_ext4, or_skip, run};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const BLOCK_BYTES: usize = 64 << 10;

/// Returns a file's blocks, without the header of a test file if it has one.
fn blocks(path: &Path, base_bytes: usize) -> Vec<Vec<u8>> {
    let content = fs::read(path).unwrap();
    content[base_bytes..].chunks(BLOCK_BYTES).map(<[u8]>::to_vec).collect()
}

/// Returns the number of blocks that differ.
fn changed(before: &[Vec<u8>], after: &[Vec<u8>]) -> usize {
    assert_eq!(before.len(), after.len());
    before.iter().zip(after).filter(|(before, after)| before != after).count()
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

fn writes_of(document: &Value) -> u64 {
    document["steps"][0]["write"]["ios"].as_u64().unwrap_or_else(|| panic!("{document:#}"))
}

/// Returns the messages of the caveats with this code.
fn caveats(document: &Value, code: &str) -> Vec<String> {
    let caveats = document["caveats"].as_array().unwrap().iter();
    let of_code = caveats.filter(|caveat| caveat["code"] == code);
    of_code.map(|caveat| caveat["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn target_of_another_kind_on_one_host_is_refused() {
    let mpi = built_for();
    let network = or_skip!("target_of_another_kind_on_one_host_is_refused", hosts(2, mpi));
    let place = Place::new();
    let (data, other) = (place.data(), place.path().join("other"));
    for target in ["directory", "file"] {
        fs::create_dir_all(other.join(target)).unwrap();
    }
    fs::create_dir(data.join("directory")).unwrap();
    fs::write(data.join("file"), vec![7; MIB as usize]).unwrap();
    // What the second host has at this path: a directory in both cases, or nothing.
    network.bind(2, &other, &data).unwrap();
    let run = |target: &Path| {
        let line = ["run", target.to_str().unwrap(), "--rw=randread", "--size=1m", "--runtime=1s"];
        place.run(&network, mpi, &line).ends(2).stderr
    };
    let error = run(&data.join("file"));
    assert!(
        error.contains("is a file, or missing on host-1, and a directory on host-2\nhint: "),
        "{error}"
    );
    fs::remove_dir(other.join("directory")).unwrap();
    let error = run(&data.join("directory"));
    assert!(
        error.contains("is a directory on host-1, and a file, or missing on host-2\nhint: "),
        "{error}"
    );
    assert_eq!(fs::read_dir(data.join("directory")).unwrap().count(), 0);
    assert!(!other.join("directory").exists());
}

/// One device that two hosts have under one path. Each host has a loop device on the same image, and does not see that
/// of the other host.
struct SharedDevice {
    image: tempfile::NamedTempFile,
    devices: [Loop; 2],
    path: PathBuf,
}

impl SharedDevice {
    fn new(place: &Place, network: &Hosts, image: tempfile::NamedTempFile) -> Result<Self, String> {
        let devices = [Loop::on(image.path(), &[])?, Loop::on(image.path(), &[])?];
        let path = place.path().join("device");
        fs::write(&path, "").unwrap();
        for (host, own) in [(1, 0), (2, 1)] {
            network.bind(host, &devices[own].path, &path)?;
            network.bind(host, Path::new("/dev/null"), &devices[1 - own].path)?;
        }
        Ok(Self { image, devices, path })
    }

    fn target(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

/// Returns an image in memory.
fn image(size_bytes: u64) -> tempfile::NamedTempFile {
    let image = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    image.as_file().set_len(size_bytes).unwrap();
    image
}

#[test]
fn shared_device_with_data_is_written_only_by_its_identity() {
    const NAME: &str = "shared_device_with_data_is_written_only_by_its_identity";
    let mpi = built_for();
    let network =
        or_skip!("shared_device_with_data_is_written_only_by_its_identity", hosts(2, mpi));
    let place = Place::new();
    let image = image(16 * MIB);
    or_skip!(NAME, run("mkfs.ext4", &["-q", "-F", image.path().to_str().unwrap()]));
    let device = or_skip!(NAME, SharedDevice::new(&place, &network, image));
    let uuid = run("blkid", &["-p", "-s", "UUID", "-o", "value", device.devices[0].as_str()]);
    let uuid = or_skip!(NAME, uuid);
    let before = fs::read(device.image.path()).unwrap();
    let line = |options: &[&str]| {
        let load = ["run", device.target(), "--runtime=1s", "--iodepth=2"];
        let line = [&load, options].concat();
        place.run(&network, mpi, &line)
    };
    let refused = line(&["--rw=randwrite", "--destroy-data"]).ends(3);
    let hint = format!("hint: add --shared-device={uuid}");
    assert!(
        refused.stderr.contains("ext4") && refused.stderr.contains(&hint),
        "{}",
        refused.stderr
    );
    let other = "--shared-device=00000000-0000-0000-0000-000000000001";
    let refused = line(&["--rw=randwrite", "--destroy-data", other]).ends(3);
    assert!(refused.stderr.contains("does not name it"), "{}", refused.stderr);
    let typed = format!("--shared-device={uuid}");
    line(&["--rw=randwrite", &typed]).ends(3);
    assert_eq!(fs::read(device.image.path()).unwrap(), before, "nothing was written");
    line(&["--rw=randread"]).ends(0);
    line(&["--rw=randwrite", "--destroy-data", &typed]).ends(0);
    assert_ne!(fs::read(device.image.path()).unwrap(), before);
}

#[test]
fn data_on_one_host_refuses_for_all() {
    const NAME: &str = "data_on_one_host_refuses_for_all";
    let mpi = built_for();
    let network = or_skip!("data_on_one_host_refuses_for_all", hosts(2, mpi));
    let place = Place::new();
    let devices = [16, 16].map(|mib| Loop::new_in(Path::new("/dev/shm"), mib * MIB));
    let [blank, swap] = devices;
    let (blank, swap) = (or_skip!(NAME, blank), or_skip!(NAME, swap));
    or_skip!(NAME, run("mkswap", &[swap.as_str()]));
    let path = place.path().join("device");
    fs::write(&path, "").unwrap();
    for (host, device) in [(1, &blank), (2, &swap)] {
        or_skip!(NAME, network.bind(host, &device.path, &path));
    }
    let target = path.to_str().unwrap();
    let line = ["run", target, "--rw=randwrite", "--runtime=1s", "--destroy-data"];
    let refused = place.run(&network, mpi, &line).ends(3);
    let told = &refused.stderr;
    assert!(told.contains("host host-2: ") && told.contains("(swap)"), "{told}");
    assert!(fs::read(blank.image()).unwrap().iter().all(|byte| *byte == 0), "nothing was written");
}

#[test]
fn sequential_writes_to_a_shared_device_have_a_region_for_each_host() {
    const NAME: &str = "sequential_writes_to_a_shared_device_have_a_region_for_each_host";
    let mpi = built_for();
    let network =
        or_skip!("sequential_writes_to_a_shared_device_have_a_region_for_each_host", hosts(2, mpi));
    let place = Place::new();
    let device = or_skip!(NAME, SharedDevice::new(&place, &network, image(4 * MIB)));
    let prepare = ["prepare", device.target(), "--destroy-data"];
    place.run(&network, mpi, &prepare).ends(0);
    let before = blocks(device.image.path(), 0);
    assert!(!before.iter().any(|block| is_zero(block)), "the device is prefilled");
    // As many I/Os as blocks: all blocks change only if no host writes a block of another one.
    let ios = before.len() / 2;
    let ios = format!("--number_ios={ios}");
    let line = [
        "run",
        device.target(),
        "--rw=write",
        "--bs=64k",
        &ios,
        "--iodepth=2",
        "--destroy-data",
        "--json",
    ];
    let document = place.run(&network, mpi, &line).ends(0).json();
    assert_eq!(writes_of(&document), before.len() as u64);
    assert_eq!(changed(&before, &blocks(device.image.path(), 0)), before.len());
}

#[test]
fn shared_file_has_a_region_for_each_host() {
    let mpi = built_for();
    let network = or_skip!("shared_file_has_a_region_for_each_host", hosts(3, mpi));
    for pattern in ["write", "randwrite"] {
        let place = Place::new();
        let data = place.data();
        let target = data.to_str().unwrap();
        let prepare = ["prepare", target, "--shared-file", "--size=6m"];
        let prepared = place.run(&network, mpi, &prepare).ends(0);
        assert!(prepared.stdout.contains("prefilled 6 MiB"), "{}", prepared.stdout);
        let files: Vec<_> = fs::read_dir(&data).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(files, ["iogauge.dat"]);
        let file = data.join("iogauge.dat");
        let before = blocks(&file, MIB as usize);
        assert_eq!(before.len(), 96);
        assert!(!before.iter().any(|block| is_zero(block)), "the file is prefilled");
        let pattern = format!("--rw={pattern}");
        let line = [
            "run",
            target,
            "--shared-file",
            &pattern,
            "--bs=64k",
            "--number_ios=32",
            "--iodepth=3",
            "--norandommap=0",
            "--json",
        ];
        let document = place.run(&network, mpi, &line).ends(0).json();
        assert_eq!(writes_of(&document), 96);
        assert_eq!(changed(&before, &blocks(&file, MIB as usize)), 96, "{pattern}");
        // A later run on one host finds it complete.
        let ready = place.run(&network, mpi, &prepare).ends(0);
        assert!(ready.stdout.contains("ready"), "{}", ready.stdout);
    }
}

#[test]
fn prefill_is_divided_among_hosts() {
    let mpi = built_for();
    let network = or_skip!("prefill_is_divided_among_hosts", hosts(2, mpi));
    let place = Place::new();
    let data = place.data();
    // The second host sees another directory, whose file it cannot share.
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    let target = data.to_str().unwrap();
    let line = ["prepare", target, "--shared-file", "--size=8m"];
    place.run(&network, mpi, &line).ends(0);
    run("rm", &[data.join("iogauge.dat").to_str().unwrap()]).unwrap();
    or_skip!("prefill_is_divided_among_hosts", network.bind(2, &other, &data));
    let refused = place.run(&network, mpi, &line).ends(2);
    assert!(refused.stderr.contains("--shared-file: another host"), "{}", refused.stderr);
    assert!(names(&data).is_empty(), "nothing is left behind");
    // Without the option, each host has a file of its own, wherever it is.
    let line = ["prepare", target, "--size=8m"];
    place.run(&network, mpi, &line).ends(0);
    for file in [data.join("iogauge-host-1.dat"), other.join("iogauge-host-2.dat")] {
        assert!(!blocks(&file, MIB as usize).iter().any(|block| is_zero(block)), "{file:?}");
    }
    // A file of one name that hosts do not share is written by each of them.
    let file = data.join("named");
    let line = ["run", file.to_str().unwrap(), "--size=4m", "--rw=randread", "--runtime=1s"];
    place.run(&network, mpi, &line).ends(0);
    for file in [file.clone(), other.join("named")] {
        assert!(!blocks(&file, MIB as usize).iter().any(|block| is_zero(block)), "{file:?}");
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn rm_removes_the_files_of_all_hosts_and_nothing_else() {
    let mpi = built_for();
    let network = or_skip!("rm_removes_the_files_of_all_hosts_and_nothing_else", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    fs::write(data.join("mine"), "x").unwrap();
    let target = data.to_str().unwrap();
    let line = ["run", target, "--rw=randread", "--size=4m", "--runtime=1s", "--rm"];
    let done = place.run(&network, mpi, &line).ends(0);
    assert_eq!(names(&data), ["mine"], "{}", done.stderr);
    assert!(
        done.stderr.contains("host host-3: ") && done.stderr.contains("removed"),
        "{}",
        done.stderr
    );
    let shared = [&line[..], &["--shared-file"]].concat();
    place.run(&network, mpi, &shared).ends(0);
    assert_eq!(names(&data), ["mine"]);
    // A file of a host that somebody else has put there is neither used nor removed.
    fs::write(data.join("iogauge-host-2.dat"), vec![7u8; 8 << 20]).unwrap();
    let writes = ["run", target, "--rw=randwrite", "--size=4m", "--runtime=1s", "--rm"];
    place.run(&network, mpi, &writes).ends(3);
    assert_eq!(names(&data), ["iogauge-host-2.dat", "mine"]);
    assert_eq!(fs::read(data.join("iogauge-host-2.dat")).unwrap(), vec![7u8; 8 << 20]);
}

#[test]
fn rm_removes_the_files_of_all_hosts_after_a_signal() {
    let mpi = built_for();
    let network = or_skip!("rm_removes_the_files_of_all_hosts_after_a_signal", hosts(3, mpi));
    for signal in ["INT", "TERM"] {
        let place = Place::new();
        let data = place.data();
        let target = data.to_str().unwrap();
        let line = ["run", target, "--rw=randread", "--size=4m", "--runtime=1h", "--rm"];
        let child = place.start(&network, mpi, &line);
        eventually(|| names(&data).len() == 3);
        std::thread::sleep(std::time::Duration::from_secs(4));
        run("kill", &["-s", signal, &child.id().to_string()]).unwrap();
        let done = Done::of(&child.wait_with_output().unwrap());
        eventually(|| (1..=3).all(|host| network.ranks(host).is_empty()));
        assert!(names(&data).is_empty(), "{signal}: {:?} {}", names(&data), done.stderr);
    }
}

#[test]
fn rm_removes_the_files_of_the_hosts_that_are_left_after_a_loss() {
    const NAME: &str = "rm_removes_the_files_of_the_hosts_that_are_left_after_a_loss";
    let mpi = built_for();
    let network = or_skip!(NAME, hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let target = data.to_str().unwrap();
    let line = ["run", target, "--rw=randread", "--size=4m", "--runtime=1h", "--iodepth=3", "--rm"];
    let mut child = place.start(&network, mpi, &line);
    eventually(|| names(&data).len() == 3);
    std::thread::sleep(std::time::Duration::from_secs(3));
    network.freeze(3);
    eventually(|| names(&data) == ["iogauge-host-3.dat"]);
    eventually(|| network.ranks(1).is_empty());
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn history_in_place_of_the_file_of_another_host_is_refused() {
    const NAME: &str = "history_in_place_of_the_file_of_another_host_is_refused";
    let mpi = built_for();
    let network = or_skip!(NAME, hosts(2, mpi));
    let place = Place::new();
    let data = place.data();
    let history = data.join("iogauge-host-2.dat");
    let option = format!("--history={}", history.display());
    let line = ["run", data.to_str().unwrap(), "--rw=randwrite", "--size=16k", "--runtime=1s"];
    let line = [&line[..], &["--overwrite-file", "--iodepth=2", &option]].concat();
    let refused = || {
        let error = place.run(&network, mpi, &line).ends(3).stderr;
        assert!(error.contains("is the history, which a run writes its results to"), "{error}");
    };
    refused();
    assert!(names(&data).is_empty());
    let alone = ["run", "sim:nvme", "--runtime=1s", &option];
    Done::of(&place.run_alone(&alone)).ends(0);
    let before = fs::read(&history).unwrap();
    refused();
    assert_eq!(fs::read(&history).unwrap(), before);
}

/// A file system that only the second host has, below the directory of the data.
struct OtherDisk {
    _mount: Mount,
    _device: Loop,
    point: PathBuf,
}

impl OtherDisk {
    fn new(network: &Hosts, data: &Path, size_bytes: u64) -> Result<Self, String> {
        let device = Loop::new(size_bytes)?;
        let mount = mounted_ext4(&device.path)?;
        mount.remount("noatime")?;
        let point = mount.point.clone();
        network.bind(2, &point, data)?;
        Ok(Self { _mount: mount, _device: device, point })
    }
}

#[test]
fn facts_about_the_target_of_another_host_arrive() {
    const NAME: &str = "facts_about_the_target_of_another_host_arrive";
    let mpi = built_for();
    let network = or_skip!("facts_about_the_target_of_another_host_arrive", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let disk = or_skip!(NAME, OtherDisk::new(&network, &data, 64 * MIB));
    // The file of the second host has holes, those of the others do not.
    fs::write(data.join("file"), vec![7u8; 4 << 20]).unwrap();
    let sparse = fs::File::create(disk.point.join("file")).unwrap();
    sparse.set_len(4 << 20).unwrap();
    sparse.write_all_at(&[7u8; 1 << 20], 0).unwrap();
    sparse.sync_all().unwrap();
    let file = data.join("file");
    let line =
        ["run", file.to_str().unwrap(), "--rw=randread", "--runtime=1s", "--direct=0", "--json"];
    let document = place.run(&network, mpi, &line).ends(0).json();
    let holes = caveats(&document, "sparse-holes");
    assert!(holes.len() == 1 && holes[0].starts_with("on host-2: "), "{document:#}");
    let cache = caveats(&document, "page-cache");
    assert!(!cache.is_empty() && !cache[0].starts_with("on "), "one caveat for all: {cache:?}");
    let differ = caveats(&document, "hosts-differ");
    assert!(
        differ.len() == 1 && differ[0].contains("noatime") && differ[0].contains("on host-2"),
        "{document:#}"
    );
}

#[test]
fn full_disk_of_another_host_is_named() {
    const NAME: &str = "full_disk_of_another_host_is_named";
    const GIB: u64 = 1 << 30;
    let mpi = built_for();
    let network = or_skip!("full_disk_of_another_host_is_named", hosts(2, mpi));
    let place = Place::new();
    let data = place.data();
    let disk = or_skip!(NAME, OtherDisk::new(&network, &data, 4 * GIB));
    for directory in [&data, &disk.point] {
        fs::File::create(directory.join("file")).unwrap().set_len(256 * MIB).unwrap();
    }
    let file = data.join("file");
    let line = [
        "run",
        file.to_str().unwrap(),
        "--rw=randwrite",
        "--rate_iops=20",
        "--iodepth=4",
        "--runtime=1h",
        "--ramp_time=0",
        "--offset=252m",
        "--overwrite-file",
        "--json",
    ];
    let child = place.start(&network, mpi, &line);
    eventually(|| {
        [1, 2].iter().all(|host| !network.ranks(*host).is_empty())
            && fs::metadata(disk.point.join("file")).is_ok_and(|about| allocated(&about) >= 4 * MIB)
    });
    std::thread::sleep(std::time::Duration::from_secs(3));
    let room = disk.point.join("others");
    run("fallocate", &["--length", &(3 * GIB).to_string(), room.to_str().unwrap()]).unwrap();
    let done = Done::of(&child.wait_with_output().unwrap());
    let document = place.last();
    assert_eq!(document["interrupted"], true, "{document} {}", done.stderr);
    let told = caveats(&document, "interrupted");
    assert!(told.len() == 1 && told[0].contains("host host-2: "), "{document:#}");
    assert!(told[0].contains("free"), "{told:?}");
}

fn allocated(about: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(about) * 512
}

#[test]
fn failed_io_names_its_host() {
    const NAME: &str = "failed_io_names_its_host";
    let mpi = built_for();
    let network = or_skip!("failed_io_names_its_host", hosts(2, mpi));
    let place = Place::new();
    let path = place.path().join("device");
    fs::write(&path, "").unwrap();
    let new = || {
        let image = image(16 * MIB);
        iogauge_test_support::fill(image.path(), 16 * MIB);
        Loop::with_image(image, &[])
    };
    let devices = [or_skip!(NAME, new()), or_skip!(NAME, new())];
    for (host, device) in (1..).zip(&devices) {
        or_skip!(NAME, network.bind(host, &device.path, &path));
    }
    let target = path.to_str().unwrap();
    let line = ["run", target, "--rw=randread", "--iodepth=2", "--runtime=15s", "--json"];
    let child = place.start(&network, mpi, &line);
    eventually(|| (1..=2).all(|host| !network.ranks(host).is_empty()));
    std::thread::sleep(std::time::Duration::from_secs(8));
    // Reads of what is no longer behind the device fail.
    fs::File::options().write(true).open(devices[1].image()).unwrap().set_len(0).unwrap();
    let done = Done::of(&child.wait_with_output().unwrap()).ends(4);
    let told = caveats(&done.json(), "io-errors");
    let expected = format!("a read of {target} on host-2 at byte ");
    assert!(told.len() == 1 && told[0].contains(&expected), "{told:?}");
}
