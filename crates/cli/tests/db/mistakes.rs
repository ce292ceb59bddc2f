//! User errors: each causes one clear line, and nothing is lost.

use crate::common::{Done, Place, eventually, names};
use crate::life::shell;
use crate::{Db, SHORT, URL, assert_one_line};
use iogauge_db::Progress;
use iogauge_db::backend::{self, Global};
use iogauge_test_support::{Loop, MIB, Mount, or_skip};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs a line of words separated by spaces.
fn line(place: &Place, words: &str) -> Done {
    place.run(&words.split(' ').collect::<Vec<_>>())
}

#[test]
fn invalid_db_command_lines_are_rejected() {
    let db = Db::new(2, 100);
    for (words, told) in [
        (
            "setup mysql:x --size 1m",
            "\"mysql:\" is no database that iogauge knows; hint: use sqlite:DIR",
        ),
        ("setup /data --size 1m", "\"/data\" is not a database; hint: use sqlite:DIR"),
        ("setup sqlite: --size 1m", "the URL has no directory; hint: use sqlite:DIR"),
        ("setup iris: --size 1m", "the URL has no instance; hint: use iris:INSTANCE/NAMESPACE"),
        (
            "run sqlite:d?cash=1m --mode read",
            "sqlite has no setting \"cash\"; hint: use page_size, synchronous",
        ),
        ("run sqlite:d --set cash=1m --mode read", "sqlite has no setting \"cash\""),
        (
            "run sqlite:d --set cache --mode read",
            "setting \"cache\" has no value; hint: use KEY=VALUE",
        ),
        ("run sqlite:d --set synchronous=maybe --mode read", "hint: use full, normal or off"),
        ("run sqlite:d?cache=1m --set cache=2m --mode read", "setting \"cache\" is given twice"),
        ("run sqlite:d?page_size=4k --mode read", "it was made with page_size=8192"),
        (
            "setup sqlite:x --name ../x --size 1m",
            "\"../x\" cannot be the name of a database; hint: ",
        ),
        ("setup sqlite:x --name a/b --size 1m", "\"a/b\" cannot be the name of a database"),
        (
            "create-globals sqlite:d --globals 3",
            "2 globals have been made already, which --recreate replaces; hint: run iogauge db add-globals \
             sqlite:d --total 3",
        ),
        ("create-globals sqlite:d --globals 1", "hint: use --recreate to replace them"),
        ("add-globals sqlite:d --globals 1 --subscripts 0", "--subscripts must be between 1 and"),
        (
            "add-globals sqlite:d --globals 1 --value-size 10",
            "--value-size must be between 64 and 2000",
        ),
        ("run sqlite:d --mode write --read-pct 50", "--read-pct is for --mode io only"),
        ("run sqlite:d --mode read --read-pct 50", "--read-pct is for --mode io only"),
        (
            "run sqlite:d --mode io --read-pct 50.5",
            "--read-pct must be a whole number between 0 and 100",
        ),
        (
            "run sqlite:d --mode read --ladder 4,2",
            "--ladder must list increasing numbers of processes; hint: use 10,20,40",
        ),
        ("run sqlite:d --mode read --ladder 2,2", "--ladder must list increasing"),
        ("run sqlite:d --mode read --ladder 0,2", "--ladder must be between 1 and 100000, not 0"),
        ("run sqlite:d --writers 2", "not provided: --readers <N>; hint: "),
        ("run sqlite:d --mode read --runtime 0", "--runtime 0 measures nothing; hint: use 60s"),
        (
            "find sqlite:d --mode read --budget 100ms",
            "--budget is too short to search in; hint: use 1s",
        ),
        ("find sqlite:d --mode read --precision 90%", "--precision must be between 0.1% and 50%"),
        ("reset sqlite:d --history none", "--history none keeps no runs"),
        ("export out --history none", "--history none keeps no runs"),
        ("export out", "no run on a database is in the history; hint: run iogauge db run first"),
        ("stop", "no run is in progress"),
    ] {
        assert_one_line(line(&db.place, &format!("db {words}")), 2, &[told]);
    }
    for (words, told) in [
        ("run sqlite:d", "--mode"),
        ("run sqlite:d --mode delete", "read, write, io"),
        ("run sqlite:d --mode read --processes 0", "--processes"),
        ("run sqlite:d --mode read --processes 2 --ladder 1,2", "--ladder"),
        ("run sqlite:d --mode read --limit fast", "--limit"),
        ("add-globals sqlite:d", "--globals"),
    ] {
        let done = line(&db.place, &format!("db {words}")).ends(2);
        assert!(done.stderr.contains(told) && done.stdout.is_empty(), "{words}: {}", done.stderr);
    }
    assert_eq!(db.run("sizes", &[]).ends(0).stdout, "2,100,100\n");
    assert_eq!(db.place.names(), ["d"]);
}

#[test]
fn setup_refuses_file_systems_of_the_kernel() {
    let place = Place::new();
    for (directory, name) in [("/proc", "proc"), ("/sys/x", "sysfs"), ("/proc/x/y", "proc")] {
        let told = format!("refused, {name} is a file system of the kernel");
        let done = line(&place, &format!("db setup sqlite:{directory} --size 10m"));
        assert_one_line(done, 3, &[&told, "hint: use another directory"]);
    }
}

/// More than one missing directory is a typing error, or something that is not mounted.
#[test]
fn setup_makes_only_the_last_directory() {
    let place = Place::new();
    let done = line(&place, "db setup sqlite:some/nodir/sub --size 1m");
    assert_one_line(done, 2, &["some/nodir: there is no such directory; hint: run mkdir -p "]);
    // The lack of room would be that of another disk.
    let done = line(&place, "db setup sqlite:some/nodir/sub --size 100t");
    assert_one_line(done, 2, &["some/nodir: there is no such directory"]);
    assert_eq!(place.names(), [""; 0]);
    std::fs::create_dir_all(place.work().join("some/nodir")).unwrap();
    line(&place, "db setup sqlite:some/nodir/sub --size 1m --quiet").ends(0);
    line(&place, "db purge sqlite:some/nodir/sub --yes").ends(0);
    assert_eq!(names(&place.work().join("some/nodir")), [""; 0]);
}

#[test]
fn negative_numbers_are_rejected_with_a_hint() {
    let place = Place::new();
    for words in ["run sqlite:d --mode read --processes -5", "add-globals sqlite:d --globals -5"] {
        let done = line(&place, &format!("db {words}"));
        let told = "unexpected argument '-5' found; hint: use 5, or another positive number";
        assert!(!done.stderr.contains("'-- -5'"), "{}", done.stderr);
        assert_one_line(done, 2, &[told]);
    }
}

/// The suite that these tests follow means milliseconds, fio seconds.
#[test]
fn hang_time_without_a_unit_is_refused() {
    let place = Place::new();
    for hang in ["2", "0.5"] {
        let done = line(&place, &format!("db run sqlite:d --mode write --hang {hang}"));
        assert_one_line(done, 2, &[&format!("hint: use --hang {hang}ms or --hang {hang}s")]);
    }
}

#[test]
fn globals_to_add_are_a_number_or_a_total() {
    let place = Place::new();
    assert_one_line(line(&place, "db add-globals sqlite:d"), 2, &["--globals", "--total"]);
    let both = line(&place, "db add-globals sqlite:d --globals 1 --total 2");
    assert_one_line(both, 2, &["--globals", "--total"]);
}

#[test]
fn missing_globals_are_reported_with_the_command_that_makes_them() {
    let db = Db::new(0, 0);
    for number in ["--globals=2", "--total=2"] {
        let told = ["there is no global yet", "create-globals sqlite:d --globals 2"];
        assert_one_line(db.run("add-globals", &[number]), 2, &told);
    }
    let told = "there is no global to write to; hint: run iogauge db create-globals sqlite:d";
    for action in ["run", "find", "beside"] {
        assert_one_line(db.run(action, &["--mode=write"]), 2, &[told]);
    }
    assert_eq!(db.place.names(), ["d"]);
}

#[test]
fn passwords_in_database_urls_are_never_printed() {
    let place = Place::new();
    let urls = [
        "postgres://me:geheim@host/x",
        "postgres://me:gehe?im@host/x",
        "postgres://host/x?password=geheim",
        "postgres:me:geheim@host/x",
        "postgres://me%3Ageheim@host/x",
        "sqlite://me:geheim@d",
        "nothing://me:geheim@d",
    ];
    let mut lines: Vec<Vec<&str>> =
        urls.iter().map(|url| vec!["db", "run", url, "--mode=read"]).collect();
    lines.push(vec!["db", "setup", "postgres://host/x", "--size=1m", "--set", "password=geheim"]);
    lines.push(vec!["db", "setup", "sqlite:d", "--size=1m", "--set", "password=geheim"]);
    for words in lines {
        let done = place.run(&words).ends(2);
        assert_eq!(done.stdout, "", "{}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
        for secret in ["gehe", "im@"] {
            assert!(!done.stderr.contains(secret), "{words:?}: {}", done.stderr);
        }
    }
    assert!(!place.history().exists());
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn missing_database_is_reported_by_every_command() {
    let place = Place::new();
    let told = "d/RAN: there is no database; hint: run iogauge db setup sqlite:d --size ";
    for action in ["sizes", "count-subscripts", "run", "find", "beside", "verify", "add-globals"] {
        let more: &[&str] = match action {
            "run" | "find" | "beside" => &["--mode=read"],
            "add-globals" => &["--globals=1"],
            _ => &[],
        };
        assert_one_line(place.run(&[&["db", action, URL], more].concat()), 2, &[told]);
    }
    let told = "sqlite:d RAN: there is no database to remove; hint: check the URL and --name";
    assert_one_line(place.run(&["db", "purge", URL, "--yes"]), 2, &[told]);
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn setup_refuses_existing_databases_and_foreign_files() {
    let db = Db::new(1, 100);
    let setup = ["--size=1m", "--quiet"];
    let told =
        ["d/RAN: there is a database already", "another --name, or run iogauge db purge sqlite:d"];
    assert_one_line(db.run("setup", &setup), 3, &told);
    assert_eq!(db.run("sizes", &[]).ends(0).stdout, "1,100\n");
    // Foreign files, and a foreign marker file.
    let place = Place::new();
    let folder = place.work().join("d/RAN");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, told) in [
        ("notes.txt", "there are files that iogauge did not make"),
        ("iogauge.json", "it is not iogauge.database/1"),
    ] {
        std::fs::write(folder.join(name), "mine").unwrap();
        let made = place.run(&[&["db", "setup", URL], &setup[..]].concat());
        assert_one_line(made, 3, &["d/RAN", told]);
        let purged = place.run(&["db", "purge", URL, "--yes"]);
        assert!([Some(2), Some(3)].contains(&purged.code), "{}", purged.stderr);
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), "mine");
    }
    assert_eq!(names(&folder), ["iogauge.json", "notes.txt"]);
    // A file in the place of the directory.
    std::fs::write(place.work().join("file"), "mine").unwrap();
    let made = place.run(&["db", "setup", "sqlite:file", "--size=1m", "--quiet"]);
    assert_one_line(made, 1, &["file"]);
}

/// Returns the URL of a folder on a mount.
fn url(mount: &Mount) -> String {
    format!("sqlite:{}", mount.point.join("d").display())
}

fn remount_read_only(point: &Path) {
    iogauge_test_support::run("mount", &["-o", "remount,ro", point.to_str().unwrap()]).unwrap();
}

/// Makes a database on a disk where the command would refuse to.
fn make_anyway(url: &str, size_bytes: u64, subscripts: u64) {
    let db = backend::open(&url.parse().unwrap()).unwrap();
    let (mut tell, stop) = (|_, _| {}, AtomicBool::new(false));
    let mut progress = Progress::new(&mut tell, &stop);
    db.setup(size_bytes, &mut progress).unwrap();
    let global = Global { number: 1, subscripts, value_bytes: 100 };
    db.create_global(global, &mut progress).unwrap();
}

#[test]
fn setup_that_would_use_reserved_space_is_refused() {
    let disk = or_skip!("setup_that_would_use_reserved_space_is_refused", Mount::tmpfs(64 * MIB));
    let (place, url) = (Place::new(), url(&disk));
    let db = |action: &str, more: &[&str]| place.run(&[&["db", action, &url], more].concat());
    let told = ["1 MiB more would leave less than 1 GiB of the disk free", "another disk"];
    assert_one_line(db("setup", &["--size=1m", "--quiet"]), 3, &told);
    // The default is twice the memory of this machine.
    assert_one_line(db("setup", &[]), 3, &["GiB more would leave less than 1 GiB"]);
    assert_eq!(names(&disk.point), [""; 0]);
    make_anyway(&url, MIB, 100);
    // An existing database is reported before the lack of space.
    assert_one_line(db("setup", &["--size=1m", "--quiet"]), 3, &["there is a database already"]);
    let more = ["--globals=2", "--subscripts=100k", "--quiet"];
    assert_one_line(db("add-globals", &more), 3, &["would leave less than 1 GiB"]);
    assert_eq!(db("sizes", &[]).ends(0).stdout, "1,100\n");
    drop(disk);
    // If less would fit, the error message says how much, and that much fits.
    let disk = or_skip!("setup_that_would_use_reserved_space_is_refused", Mount::tmpfs(1032 * MIB));
    let url = self::url(&disk);
    let db = |action: &str, more: &[&str]| place.run(&[&["db", action, &url], more].concat());
    let told = ["16 MiB more", "hint: use --size 8m or less, or another disk"];
    assert_one_line(db("setup", &["--size=16m", "--quiet"]), 3, &told);
    db("setup", &["--size=4m", "--quiet"]).ends(0);
    let more = ["--globals=2", "--subscripts=100k", "--quiet"];
    let refused = db("create-globals", &more).stderr;
    let (_, right) = refused.split_once("hint: use --subscripts ").expect(&refused);
    let fits = format!("--subscripts={}", right.split_once(' ').unwrap().0);
    db("create-globals", &["--globals=2", &fits, "--quiet"]).ends(0);
    assert_eq!(db("sizes", &[]).ends(0).stdout.split(',').next(), Some("2"));
}

/// Returns a disk with more free space than the guard requires.
fn roomy() -> Result<(Loop, Mount), String> {
    let device = Loop::new(2 << 30)?;
    let disk = iogauge_test_support::mounted_ext4(&device.path)?;
    Ok((device, disk))
}

/// Takes nearly all free space of a disk, as another process might, as soon as this file exists.
fn fill_once_there(disk: &Path, file: &Path) {
    eventually(|| file.exists());
    let taken = std::fs::File::create(disk.join("taken")).unwrap();
    let free = |about: rustix::fs::StatVfs| about.f_bfree * about.f_frsize;
    let mut bytes = 0;
    // The database takes its share meanwhile.
    while free(rustix::fs::statvfs(disk).unwrap()) > 8 * MIB {
        let none = rustix::fs::FallocateFlags::empty();
        if rustix::fs::fallocate(&taken, none, bytes, 4 * MIB).is_err() {
            break;
        }
        bytes += 4 * MIB;
    }
}

/// Asserts that the disk ended a command: either it was full between two checks, or a check stopped the command before
/// that.
#[track_caller]
fn assert_ended_by_the_disk(done: Done) {
    let code = done.code.filter(|code| [1, 3].contains(code)).expect(&done.stderr);
    assert_one_line(done, code, &["another disk"]);
}

#[test]
fn setup_stops_before_using_reserved_space() {
    let (_device, disk) = or_skip!("setup_stops_before_using_reserved_space", roomy());
    let (place, url) = (Place::new(), url(&disk));
    let setup = place.start(&["db", "setup", &url, "--size=700m", "--quiet"]);
    eventually(|| disk.point.join("d/RAN/filler.db").exists());
    take_all_but(&disk.point, (1 << 30) + 64 * MIB);
    assert_one_line(setup.end(), 3, &["1 GiB of the disk stay free; hint: use another disk"]);
    assert_eq!(names(&disk.point), ["lost+found", "taken"]);
}

#[test]
fn full_disk_during_setup_is_reported_and_cleaned_up() {
    let (_device, disk) = or_skip!("full_disk_during_setup_is_reported_and_cleaned_up", roomy());
    let (place, url) = (Place::new(), url(&disk));
    let db = |action: &str, more: &[&str]| place.run(&[&["db", action, &url], more].concat());
    let folder = disk.point.join("d/RAN");
    let setup = place.start(&["db", "setup", &url, "--size=700m", "--quiet"]);
    fill_once_there(&disk.point, &folder.join("filler.db"));
    assert_ended_by_the_disk(setup.end());
    assert_eq!(names(&disk.point), ["lost+found", "taken"]);
    std::fs::remove_file(disk.point.join("taken")).unwrap();
    db("setup", &["--size=2m", "--quiet"]).ends(0);
    let globals = ["--globals=50", "--subscripts=100k", "--quiet"];
    let filling = place.start(&[&["db", "create-globals", &url], &globals[..]].concat());
    fill_once_there(&disk.point, &folder.join("global2.db"));
    assert_ended_by_the_disk(filling.end());
    // The globals that fitted stay, and `sizes` lists them.
    let sizes = db("sizes", &[]).ends(0).stdout;
    assert!(sizes.ends_with(",100000\n"), "{sizes}");
    // Reading makes files beside the logs.
    std::fs::remove_file(disk.point.join("taken")).unwrap();
    db("verify", &["--quiet"]).ends(0);
    db("purge", &["--yes"]).ends(0);
    assert_eq!(names(&disk.point), ["lost+found"]);
}

/// Takes the free space of a disk except for this many bytes.
fn take_all_but(disk: &Path, bytes: u64) {
    let taken = std::fs::File::create(disk.join("taken")).unwrap();
    let about = rustix::fs::statvfs(disk).unwrap();
    let free_bytes = about.f_bavail * about.f_frsize;
    let none = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(&taken, none, 0, free_bytes.checked_sub(bytes).unwrap()).unwrap();
}

/// If others fill the disk, a run ends before it takes the space that must stay free. What it measured is kept, and
/// nothing that was acknowledged is lost.
#[test]
fn write_run_stops_before_using_reserved_space() {
    let (_device, disk) = or_skip!("write_run_stops_before_using_reserved_space", roomy());
    let (place, url) = (Place::new(), url(&disk));
    let db = |action: &str, more: &[&str]| place.run(&[&["db", action, &url], more].concat());
    db("setup", &["--size=1m", "--quiet"]).ends(0);
    db("create-globals", &["--globals=1", "--subscripts=2000", "--quiet"]).ends(0);
    // The log grows as long as the run continues.
    let endless = ["--set", "checkpoint=1h", "--set", "checkpoint_size=1t", "--json"];
    let run = ["--mode=write", "--runtime=1h", "--ramp-time=0", "--hang=1ms"];
    let find = ["--mode=write", "--budget=1h", "--limit=commit:p99<=10s"];
    for (action, options) in [("run", &run[..]), ("find", &find[..])] {
        let command = [&["db", action, &url], options, &endless[..]].concat();
        let started = place.start(&command);
        let noted = disk.point.join("d/RAN/acknowledged");
        let log = disk.point.join("d/RAN/global1.db-wal");
        eventually(|| noted.exists() && log.metadata().is_ok_and(|log| log.len() > 4 * MIB));
        std::thread::sleep(std::time::Duration::from_secs(2));
        take_all_but(&disk.point, (1 << 30) + 32 * MIB);
        let done = started.end().ends(4);
        let document = done.json();
        let caveats = document["caveats"].as_array().unwrap();
        let caveat = caveats.iter().find(|caveat| caveat["code"] == "interrupted").unwrap();
        let message = caveat["message"].as_str().unwrap();
        assert!(message.contains("ended before its time"), "{message}");
        assert!(message.contains("1 GiB of the disk stay free"), "{message}");
        assert!(done.stderr.lines().any(|line| line.contains("stay free")), "{}", done.stderr);
        let about = rustix::fs::statvfs(&disk.point).unwrap();
        assert!(about.f_bavail * about.f_frsize > (1 << 30) - 16 * MIB);
        let checked = db("verify", &["--json"]).ends(0).json();
        assert!(checked["acknowledged"].as_u64() > Some(0) && checked["lost"] == 0, "{checked}");
        // Writes need more free space than that. Reads need none.
        if action == "run" {
            assert!(document["steps"][0]["write"]["ios"].as_u64() > Some(0));
        }
        std::fs::remove_file(disk.point.join("taken")).unwrap();
    }
}

#[test]
fn disk_without_spare_space_allows_only_reads() {
    let disk = or_skip!("disk_without_spare_space_allows_only_reads", Mount::tmpfs(64 * MIB));
    let (place, url) = (Place::new(), url(&disk));
    let db = |action: &str, more: &[&str]| place.run(&[&["db", action, &url], more].concat());
    make_anyway(&url, MIB, 2000);
    let write = ["--mode=write", "--runtime=1s", "--ramp-time=0", "--quiet"];
    assert_one_line(db("run", &write), 3, &["1 GiB of the disk stay free", "hint: "]);
    let checked = db("verify", &["--json"]).ends(0).json();
    assert_eq!((&checked["wrong"], &checked["values"]), (&0.into(), &2000.into()));
}

#[test]
fn read_only_directory_is_reported() {
    let disk = or_skip!("read_only_directory_is_reported", Mount::tmpfs(2048 * MIB));
    let (place, url) = (Place::new(), url(&disk));
    let db = |action: &str, more: &[&str]| place.run(&[&["db", action, &url], more].concat());
    db("setup", &["--size=1m", "--quiet"]).ends(0);
    db("create-globals", &["--globals=1", "--subscripts=100", "--quiet"]).ends(0);
    remount_read_only(&disk.point);
    let right = "hint: use a directory that you may write";
    for (action, more) in [
        ("setup", &["--size=1m", "--quiet", "--name=OTHER"][..]),
        ("add-globals", &["--globals=1", "--quiet"]),
        ("run", &["--mode=write", "--quiet"]),
        ("find", &["--mode=write", "--quiet"]),
        ("purge", &["--yes"]),
    ] {
        assert_one_line(db(action, more), 3, &[right]);
    }
    assert_eq!(db("sizes", &[]).ends(0).stdout, "1,100\n");
}

#[test]
fn concurrent_runs_on_one_database_are_refused() {
    let db = Db::new(2, 1000);
    let run = db.at_work(1, &["--json", "--quiet"]);
    let told = ["d/RAN: another run works on this database", "iogauge db stop"];
    for (action, more) in [
        ("run", &["--mode=write", "--quiet"][..]),
        ("find", &["--mode=write", "--quiet"]),
        ("beside", &["--mode=read", "--quiet"]),
        ("add-globals", &["--globals=1", "--quiet"]),
        ("create-globals", &["--recreate", "--quiet"]),
        ("verify", &["--quiet"]),
        ("purge", &["--yes"]),
    ] {
        assert_one_line(db.run(action, more), 3, &told);
    }
    // `sizes` is allowed, because it only reads.
    assert_eq!(db.run("sizes", &[]).ends(0).stdout, "2,1000,1000\n");
    db.place.run(&["db", "stop"]).ends(0);
    let document = run.end().ends(130).json();
    assert!(document["steps"][0]["sync"]["ios"].as_u64() > Some(0));
    assert_eq!(document["steps"][0]["sync"]["errors"], 0);
    assert_eq!(db.verified()["lost"], 0);
}

#[test]
fn purge_and_reset_require_confirmation() {
    let db = Db::new(1, 100);
    db.measured("write", &[]);
    let purge = ["remove the database RAN at sqlite:d?", "hint: use --yes"];
    assert_one_line(db.run("purge", &[]), 2, &purge);
    let reset = ["from the history?", "hint: use --yes"];
    assert_one_line(db.run("reset", &[]), 2, &reset);
    assert_eq!(db.verified()["lost"], 0);
    assert_eq!(db.place.runs().len(), 1);
}

#[test]
fn reset_removes_only_the_runs_of_one_database() {
    let db = Db::new(1, 100);
    db.run("setup", &["--size=1m", "--name=OTHER", "--quiet"]).ends(0);
    db.measured("write", &[]);
    db.measured("write", &["--set", "synchronous=off"]);
    db.measured("read", &["--name=OTHER"]);
    let other = ["run", "sim:nvme", "--runtime=1", "--quiet"];
    db.place.run(&other).ends(0);
    assert_eq!(db.run("reset", &["--yes"]).ends(0).stdout, "removed 2 runs\n");
    assert_eq!(db.place.runs().len(), 2);
    assert_eq!(db.run("reset", &["--yes"]).ends(0).stdout, "");
    assert_eq!(db.run("reset", &["--yes", "--name=OTHER"]).ends(0).stdout, "removed 1 run\n");
    assert_eq!(db.place.runs().len(), 1);
    assert_one_line(db.run("reset", &["--history=none"]), 2, &["keeps no runs"]);
}

#[test]
fn reset_matches_the_location_not_the_url_spelling() {
    let db = Db::new(1, 100);
    db.measured("write", &[]);
    let absolute = format!("sqlite:{}/", db.place.work().join("d").display());
    db.place.run(&[&["db", "run", &absolute, "--mode=read"], &SHORT[..]].concat()).ends(0);
    // In another directory, the same URL means another database.
    let lines = format!(
        "mkdir sub && cd sub && iogauge db setup sqlite:d --size=1m --quiet && \
         iogauge db create-globals sqlite:d --globals=1 --subscripts=100 --quiet && \
         iogauge db run sqlite:d --mode=write {}",
        SHORT.join(" ")
    );
    shell(&db.place, &lines).ends(0);
    assert_eq!(db.run("reset", &["--yes"]).ends(0).stdout, "removed 2 runs\n");
    assert_eq!(db.place.runs().len(), 1);
    let other = ["db", "reset", "sqlite:./d/../sub/d/?cache=1m", "--yes"];
    assert_eq!(db.place.run(&other).ends(0).stdout, "removed 1 run\n");
}
