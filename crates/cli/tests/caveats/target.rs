//! Caveats about the target: the contents of its blocks, and the caches before it.

use crate::common::{Place, direct_io};
use crate::{assert_provoked, assert_raised, assert_silent, noise, of_code, short, word};
use iogauge_test_support::{Loop, MIB, Mount, fill, image, or_skip, run};
use std::fs::File;
use std::path::PathBuf;

const SIZE: u64 = 16 * MIB;

/// Makes a file of this size in the working directory, all holes.
fn holes(place: &Place, name: &str, size_bytes: u64) -> PathBuf {
    let path = place.work().join(name);
    File::create(&path).unwrap().set_len(size_bytes).unwrap();
    path
}

#[test]
fn page_cache() {
    let place = Place::new();
    if !direct_io("page_cache", &place.work()) {
        return;
    }
    let file = noise(&place, "file", SIZE);
    // Large blocks, so that the I/O of other processes on the device is small in comparison.
    let (cached, direct) =
        (short("file", &["--direct=0", "--bs=64k"]), short("file", &["--bs=64k"]));
    std::fs::read(&file).unwrap();
    let done = place.run(&cached).ends(0);
    assert_raised(&done, "page-cache", "doubt");
    // One caveat says what the option makes possible, another what the devices show to have happened.
    let told = of_code(&done, "page-cache");
    let measured = told.iter().any(|c| c["message"].as_str().unwrap().contains("devices moved"));
    let counted = done.json()["steps"][0]["physical"]["ratio_to_logical"].is_number();
    assert!(measured || !counted, "{told:?}");
    assert_silent(&place.run(&direct).ends(0), "page-cache");

    // A memory map has no direct I/O, so its caveat does not mention that option.
    let mapped = place.run(&short("file", &["--ioengine=mmap", "--bs=64k"])).ends(0);
    assert_raised(&mapped, "page-cache", "doubt");
    let told = of_code(&mapped, "page-cache");
    let message = told[0]["message"].as_str().unwrap();
    assert!(message.contains("mmap goes through the page cache"), "{told:?}");
    assert_eq!(told[0]["remedy"], "leave out --ioengine=mmap");
    let all = told.iter().map(|c| c["message"].as_str().unwrap()).collect::<String>();
    assert!(all.contains("devices moved") || !counted, "{told:?}");
    assert!(!all.contains("bypassed") && !all.contains("--direct"), "{told:?}");
}

#[test]
fn sparse_holes() {
    let place = Place::new();
    holes(&place, "holes", SIZE);
    noise(&place, "noise", SIZE);
    let (with, without) = (short("holes", &["--direct=0"]), short("noise", &["--direct=0"]));
    assert_provoked(&place, "sparse-holes", "doubt", &with, &without);

    let few = noise(&place, "few", SIZE);
    File::options().write(true).open(few).unwrap().set_len(SIZE + MIB).unwrap();
    assert_raised(&place.run(&["doctor", "few", "--json"]).ends(0), "sparse-holes", "note");
}

#[test]
fn unwritten_extents() {
    let place = Place::new();
    let file = holes(&place, "unwritten", 0);
    let allocated = run("fallocate", &["--length", "16MiB", word(&file)]);
    or_skip!("unwritten_extents", allocated);
    noise(&place, "noise", SIZE);
    let (with, without) = (short("unwritten", &["--direct=0"]), short("noise", &["--direct=0"]));
    assert_provoked(&place, "unwritten-extents", "doubt", &with, &without);
}

#[test]
fn zero_blocks() {
    let place = Place::new();
    std::fs::write(place.work().join("zeros"), vec![0; SIZE as usize]).unwrap();
    noise(&place, "noise", SIZE);
    let (with, without) = (short("zeros", &["--direct=0"]), short("noise", &["--direct=0"]));
    assert_provoked(&place, "zero-blocks", "doubt", &with, &without);
}

#[test]
fn compressible_data() {
    let place = Place::new();
    let line = |number: u64| format!("{number} rows of a table, each much like the others\n");
    let text: String = (0..SIZE / 48).map(line).collect();
    std::fs::write(place.work().join("text"), &text.as_bytes()[..SIZE as usize]).unwrap();
    noise(&place, "noise", SIZE);
    let (with, without) = (short("text", &["--direct=0"]), short("noise", &["--direct=0"]));
    assert_provoked(&place, "compressible-data", "doubt", &with, &without);
    // Writes do not read the previous data.
    let writes = ["--direct=0", "--rw=randwrite", "--overwrite-file"];
    assert_silent(&place.run(&short("text", &writes)).ends(0), "compressible-data");
}

#[test]
fn smaller_than_cache() {
    let place = Place::new();
    let cached = or_skip!("smaller_than_cache", Loop::new(64 * MIB));
    let direct = Loop::with_image(image(2048 * MIB), &["--direct-io=on"]);
    let direct = or_skip!("smaller_than_cache", direct);
    let with = short(word(&cached.path), &[]);
    let without = short(word(&direct.path), &[]);
    assert_provoked(&place, "smaller-than-cache", "doubt", &with, &without);
    let told = of_code(&place.run(&with).ends(0), "smaller-than-cache");
    let hint = format!("losetup --direct-io=on {}", cached.path.display());
    assert_eq!(told[0]["remedy"], *hint);
}

#[test]
fn no_device() {
    let place = Place::new();
    let memory = or_skip!("no_device", Mount::new(&["-t", "tmpfs", "-o", "size=4g", "none"]));
    noise(&place, "file", SIZE);
    let path = memory.point.join("file");
    std::fs::copy(place.work().join("file"), &path).unwrap();
    let with = short(word(&path), &["--direct=0"]);
    assert_provoked(&place, "no-device", "doubt", &with, &short("file", &["--direct=0"]));
    for layer in ["lower", "upper", "work"] {
        std::fs::create_dir(memory.point.join(layer)).unwrap();
    }
    let at = |layer: &str| format!("{layer}dir={}", memory.point.join(layer).display());
    let layers = ["lower", "upper", "work"].map(at).join(",");
    let overlay = Mount::new(&["-t", "overlay", "-o", &layers, "overlay"]);
    let overlay = or_skip!("no_device", overlay);
    std::fs::copy(&path, overlay.point.join("file")).unwrap();
    let path = overlay.point.join("file");
    let done = place.run(&short(word(&path), &["--direct=0"])).ends(0);
    assert_raised(&done, "no-device", "doubt");
    let told = of_code(&done, "no-device");
    assert!(told[0]["message"].as_str().unwrap().contains("on tmpfs"), "{told:?}");
    let doctor = place.run(&["doctor", word(&path), "--json"]).ends(0);
    assert_raised(&doctor, "no-device", "doubt");
    let disk = place.work();
    for layer in ["lower", "upper", "scratch"] {
        std::fs::create_dir(disk.join(layer)).unwrap();
    }
    let [lower, upper, scratch] = ["lower", "upper", "scratch"].map(|layer| disk.join(layer));
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        scratch.display()
    );
    let overlay = Mount::new(&["-t", "overlay", "-o", &layers, "overlay"]);
    let overlay = or_skip!("no_device", overlay);
    let path = overlay.point.join("file");
    std::fs::copy(place.work().join("file"), &path).unwrap();
    assert_silent(&place.run(&short(word(&path), &["--direct=0"])).ends(0), "no-device");
}

#[test]
fn remote_cache() {
    let place = Place::new();
    let image = image(64 * MIB);
    let path = image.path().to_str().unwrap();
    or_skip!("remote_cache", run("mkfs.ntfs", &["-Q", "-q", "-F", path]));
    // Its client is a process.
    let mount = or_skip!("remote_cache", Mount::new(&["-t", "ntfs-3g", path]));
    noise(&place, "file", SIZE);
    let path = mount.point.join("file");
    std::fs::copy(place.work().join("file"), &path).unwrap();
    let with = short(word(&path), &["--direct=0"]);
    assert_provoked(&place, "remote-cache", "note", &with, &short("file", &["--direct=0"]));
    let done = place.run(&with).ends(0);
    assert_silent(&done, "no-device");
    let told = of_code(&done, "remote-cache");
    assert!(told[0]["message"].as_str().unwrap().contains("the client of fuse"), "{told:?}");
}

/// An attribute of a device. It outlives the test, so it is restored on drop.
struct Attribute {
    path: PathBuf,
    before: &'static str,
}

impl Drop for Attribute {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.path, self.before);
    }
}

#[test]
fn volatile_write_cache() {
    let place = Place::new();
    let device = or_skip!("volatile_write_cache", Loop::new(SIZE));
    let name = device.path.file_name().unwrap();
    let path = PathBuf::from("/sys/class/block").join(name).join("queue/write_cache");
    // A loop device passes flushes on unless it was configured otherwise before.
    let told = std::fs::write(&path, "write back").map_err(|error| error.to_string());
    or_skip!("volatile_write_cache", told);
    let attribute = Attribute { path, before: "write back" };
    let kind = std::fs::read_to_string(&attribute.path).unwrap();
    assert_eq!(kind.trim(), "write back");
    let writes = ["--rw=randwrite", "--destroy-data"];
    let durable = [&writes[..], &["--sync=dsync"]].concat();
    let target = word(&device.path);
    let (with, without) = (short(target, &writes), short(target, &durable));
    assert_provoked(&place, "volatile-write-cache", "doubt", &with, &without);
    assert_silent(&place.run(&short(target, &[])).ends(0), "volatile-write-cache");
    std::fs::write(&attribute.path, "write through").unwrap();
    assert_silent(&place.run(&with).ends(0), "volatile-write-cache");
}

#[test]
fn first_write_differs() {
    let place = Place::new();
    // The smallest XFS is 300 MiB.
    let device = or_skip!("first_write_differs", Loop::new(512 * MIB));
    let path = word(&device.path);
    let made = run("mkfs.xfs", &["-q", "-m", "reflink=1", path]);
    or_skip!("first_write_differs", made);
    let mount = or_skip!("first_write_differs", Mount::new(&["-t", "xfs", path]));
    let (file, copy, own) =
        (mount.point.join("file"), mount.point.join("copy"), mount.point.join("own"));
    for path in [&file, &own] {
        File::create(path).unwrap().set_len(SIZE).unwrap();
        fill(path, SIZE);
    }
    run("cp", &["--reflink=always", word(&file), word(&copy)]).unwrap();
    let (shared, own) = (["doctor", word(&file), "--json"], ["doctor", word(&own), "--json"]);
    assert_provoked(&place, "first-write-differs", "doubt", &shared, &own);
}
