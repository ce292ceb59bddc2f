//! Suites that the user writes: TOML files, and fio's job files as steps.

use crate::common::{Place, near};
use serde_json::Value;
use std::path::Path;

/// Eight I/Os at a time, each in 100 µs.
const TARGET: &str = "sim:channels=8,service=100us,dist=const,size=64m";

fn write(place: &Place, name: &str, text: &str) -> String {
    std::fs::write(place.work().join(name), text).unwrap();
    format!("./{name}")
}

fn keys(document: &Value) -> Vec<&str> {
    let steps = document["steps"].as_array().unwrap();
    steps.iter().map(|step| step["key"].as_str().unwrap()).collect()
}

#[test]
fn suite_file_steps_match_the_simulated_device() {
    let place = Place::new();
    let file = write(
        &place,
        "mine.toml",
        "about = \"by users\"\nseconds = 1\nlimit = \"mean<=150us\"\n[defaults]\nbs = \"8k\"\n\
         [[step]]\nname = \"reads\"\nusers = [1, 8, 16]\n\
         [[step]]\nname = \"paced\"\nrate_iops = 2000\niodepth = 8\n\
         [[step]]\nname = \"both\"\njobs = [{ rw = \"randread\" }, { rw = \"randwrite\" }]\n\
         [[step]]\nname = \"most\"\nseconds = 5\nfind = \"mean<=200us\"\n",
    );
    let done = place.run(&["suite", &file, TARGET, "--json"]).ends(0);
    let document = done.json();
    let names = ["reads 1 users", "reads 8 users", "reads 16 users", "paced", "both", "most"];
    assert_eq!(keys(&document), names);
    assert_eq!(document["suite"]["name"], file.as_str());
    let found = &document["findings"]["steps"];
    // The IOPS grow with the users up to the number of channels, then stay constant.
    for (step, iops, mean_ns) in [
        (0, 10_000.0, 1e5),
        (1, 80_000.0, 1e5),
        (2, 80_000.0, 2e5),
        (3, 2_000.0, 1e5),
        (4, 20_000.0, 1e5),
    ] {
        near(&found[step]["iops"], iops, 0.01);
        near(&found[step]["latency_ns"]["mean"], mean_ns, 0.01);
    }
    near(&found[5]["iops"], 80_000.0, 0.02);
    near(&found[3]["bytes_per_sec"], 2000.0 * 8192.0, 0.01);
    assert_eq!(document["findings"]["limits_held"], false);
    assert_eq!(
        (&found[1]["limits"][0]["holds"], &found[2]["limits"][0]["holds"]),
        (&true.into(), &false.into())
    );
    let verdict = document["verdict"].as_array().unwrap();
    let broke = "1 of 6 steps with limits broke them: reads 16 users (mean 200 µs, not <= 150 µs).";
    assert_eq!(verdict[2], broke, "{verdict:?}");
    assert!(done.stderr.contains("by users"), "{}", done.stderr);
    // The digest of the file is not shown as an option.
    assert!(!done.stderr.contains("content="), "{}", done.stderr);
}

#[test]
fn suite_file_can_define_its_own_options() {
    let place = Place::new();
    let text = "seconds = \"$seconds\"\n[options]\nseconds = { value = \"TIME\", default = 1 }\n\
                users = { value = \"N,…\", default = \"1,8\", help = \"How many\" }\n\
                [[step]]\nname = \"reads\"\nkey = \"{users} user(s)\"\nusers = \"$users\"\n";
    let file = write(&place, "mine.toml", text);
    let planned = |options: &[&str]| {
        let line = ["suite", &file, TARGET, "--dry-run", "--json", "--quiet"];
        place.run(&[&line[..], options].concat()).ends(0).json()
    };
    assert_eq!(keys(&planned(&[])), ["1 user", "8 users"]);
    let plan = planned(&["--users=4,2,4", "--seconds=3"]);
    assert_eq!(keys(&plan), ["2 users", "4 users"]);
    near(&plan["steps"][0]["seconds"], 3.3, 1e-9);
    assert_eq!(plan["suite"]["options"]["users"], "4,2,4");
    assert!(place.run(&["suite", &file, "--help"]).ends(0).stdout.contains("How many"));
    for (option, word) in [("--users=x", "--users: \"x\" is not a count"), ("--size=1m", "--size")]
    {
        let done = place.run(&["suite", &file, TARGET, option]).ends(2);
        assert!(done.stderr.contains(word), "{}", done.stderr);
    }
    let taken = write(&place, "taken.toml", "[options]\njson = {}\n[[step]]\nname = \"a\"");
    let done = place.run(&["suite", &taken, TARGET]).ends(2);
    assert!(done.stderr.contains("is an option of every suite"), "{}", done.stderr);
}

#[test]
fn example_suite_file_is_planned_and_run() {
    let place = Place::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/office.toml");
    let example = example.to_str().unwrap();
    let plan = place.run(&["suite", example, TARGET, "--dry-run", "--json", "--quiet"]).ends(0);
    let names =
        ["look-ups 1 users", "look-ups 4 users", "look-ups 16 users", "day", "backup", "most"];
    assert_eq!(keys(&plan.json()), names);
    let document = place.run(&["suite", example, TARGET, "--json", "--quiet"]).ends(0).json();
    assert_eq!((keys(&document), &document["steps_left"]), (names.to_vec(), &0.into()));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/suites.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&std::fs::read_to_string(example).unwrap()), "the page has another one");
}

#[test]
fn suite_file_measures_and_verifies_a_directory() {
    let place = Place::new();
    let text = "size = \"8m\"\nseconds = \"100ms\"\n[defaults]\ndirect = 0\nioengine = \"psync\"\n\
                [[step]]\nname = \"fill\"\nrw = \"write\"\nbs = \"1m\"\nio_size = \"4m\"\nsize = \"4m\"\n\
                verify = \"crc32c\"\nseconds = 60\n[[step]]\nname = \"reads\"\n";
    let file = write(&place, "mine.toml", text);
    let document = place.run(&["suite", &file, ".", "--json", "--quiet", "--rm"]).ends(0).json();
    assert_eq!(keys(&document), ["fill", "reads"]);
    assert_eq!(document["steps"][0]["result"]["step"]["verify"]["units"], 4);
    assert_eq!(place.names(), ["mine.toml"]);
    let done = place.run(&["suite", &file, ".", "--via", "fio"]).ends(2);
    assert!(done.stderr.contains("--via"), "{}", done.stderr);
}

#[test]
fn suite_file_errors_report_file_and_line() {
    let place = Place::new();
    for (text, word) in [
        (
            "[[step]]\nname = \"a\"\niodpeth = 4",
            "mine.toml:3: \"iodpeth\" is no option of a load\nhint: use iodepth",
        ),
        (
            "[[step]]\nname = \"a\"\nrw = \"sideways\"",
            "mine.toml:3: rw: \"sideways\" is not one of",
        ),
        ("[defaults]\nbs = \"4x\"\n[[step]]\nname = \"a\"", "mine.toml:2: "),
        ("[[step]]\nname = \"a\"\nbs = \"4k\"\nbssplit = \"4k/100\"", "mine.toml:1: "),
        ("[[step]]\nname = \"a\"\n\nverify_fatal = 1", "mine.toml:4: verify_fatal: "),
        ("[[step]]\nname = \"a\"\nfind = \"write:max<=1ms\"\n", "mine.toml:1: find: "),
        ("[[step]]\nname = \"a\"\nfind = \"max<=1ms\"\nseconds = \"10ms\"", "hint: use 1 or more"),
        ("[[step]\nname = \"a\"", "mine.toml:1: "),
    ] {
        let file = write(&place, "mine.toml", text);
        let done = place.run(&["suite", &file, TARGET]).ends(2);
        assert!(done.stderr.contains(word), "\"{word}\" is not in {}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
    }
    let file = write(&place, "mine.toml", "[[step]]\nname = \"a\"\nioengine = \"psync\"");
    for (line, word) in [
        (&["suite", "./none.toml", TARGET][..], "none.toml: "),
        (&["suite", "none.toml", TARGET], "none.toml: "),
        (&["suite", &file], "<TARGET>"),
        (&["suite", &file, "."], "mine.toml"),
        (&["suite", &file, TARGET], "cannot reach the simulated device"),
        (&["suite", &file, "/nosuch"], "/nosuch"),
        (&["suite", &file, ".", "--nosuch"], "--nosuch"),
        (&["suite", "nosuch", "."], "a file that ends in .toml or .fio"),
    ] {
        // A directory is a valid target: a test file would be made in it.
        if line.ends_with(&["."]) && line[1] == file {
            continue;
        }
        let done = place.run(line).ends(2);
        assert!(done.stderr.contains(word), "\"{word}\" is not in {}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
    }
    assert!(place.run(&["suite", &file, "--help"]).ends(0).stdout.contains("--dry-run"));
    assert!(!place.history().exists());
}

const JOBS: &str = "[global]\nsize=8m\nbs=4k\nioengine=psync\n[a]\nfilename=one\nrw=write\n\
                    [b]\nstonewall\nfilename=two\nrw=randread\nnumber_ios=100\n\
                    [c]\nfilename=one\nrw=randread\nnumber_ios=100\n";

#[test]
fn job_file_runs_as_a_suite_of_steps() {
    let place = Place::new();
    let file = write(&place, "steps.fio", JOBS);
    let document = place.run(&["suite", &file, "--json", "--quiet", "--rm"]).ends(0).json();
    assert_eq!(keys(&document), ["a", "b + c"]);
    assert_eq!(document["target"]["name"], "one,two");
    assert_eq!(document["steps"][0]["result"]["step"]["write"]["bytes"], 8 << 20);
    assert_eq!(document["steps"][1]["result"]["step"]["read"]["ios"], 200);
    assert_eq!(place.names(), ["steps.fio"]);
    // TARGET replaces the files of the job file.
    let document = place.run(&["suite", &file, TARGET, "--json", "--quiet"]).ends(0).json();
    assert_eq!(document["target"]["kind"], "simulated");
    near(&document["findings"]["steps"][0]["iops"], 10_000.0, 0.01);
    near(&document["findings"]["steps"][1]["iops"], 20_000.0, 0.02);
    for (option, word) in
        [("--via=fio", "run --via fio"), ("--recreate", "clean"), ("--nosuch", "--nosuch")]
    {
        let done = place.run(&["suite", &file, option]).ends(2);
        assert!(done.stderr.contains(word), "{}", done.stderr);
    }
    let wrong = write(&place, "wrong.fio", "[a]\nrw=sideways\n");
    assert!(place.run(&["suite", &wrong]).ends(2).stderr.contains("wrong.fio:2"));
}

#[test]
fn changed_suite_file_cannot_be_resumed() {
    let place = Place::new();
    let text = "seconds = 30\nsize = \"8m\"\n[defaults]\ndirect = 0\nioengine = \"psync\"\n\
                [[step]]\nname = \"a\"\nseconds = \"200ms\"\n[[step]]\nname = \"b\"\n";
    let file = write(&place, "mine.toml", text);
    let line = ["suite", &file, ".", "--quiet"];
    let running = place.start(&line);
    crate::common::eventually(|| {
        let shown = place.run(&["history", "show", "last", "--format=json"]);
        let stored = serde_json::from_str::<Value>(&shown.stdout).unwrap_or_default();
        stored["steps"].as_array().is_some_and(|steps| !steps.is_empty())
    });
    running.signal("INT");
    running.end().ends(130);
    write(&place, "mine.toml", &text.replace("\"b\"", "\"c\""));
    let done = place.run(&[&line[..], &["--resume"]].concat()).ends(2);
    assert!(done.stderr.contains("has changed since run"), "{}", done.stderr);
    write(&place, "mine.toml", text);
    let going = place.start(&[&line[..], &["--resume"]].concat());
    std::thread::sleep(std::time::Duration::from_millis(300));
    going.signal("INT");
    going.end().ends(130);
}
