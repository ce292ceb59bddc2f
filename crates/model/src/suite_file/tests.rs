//! Valid and invalid suite files.

use super::*;
use proptest::prelude::*;

fn parsed(text: &str) -> SuiteFile {
    SuiteFile::parse(text).unwrap()
}

fn refused(text: &str) -> String {
    SuiteFile::parse(text).unwrap_err().to_string()
}

fn options(job: &FileJob) -> Vec<String> {
    let mut words: Vec<String> =
        job.options.iter().map(|o| format!("{}={}", o.name, o.value)).collect();
    words.sort();
    words
}

const WHOLE: &str = r#"
about = "a shop by day"
size = "1g"
seconds = 5
ramp = "500ms"
limit = ["p99<=5ms", "max<=50ms"]

[defaults]
rw = "randread"
bs = "8k"
direct = true

[[step]]
name = "look-ups"
users = [1, 16]
bs = ["4k", "8k"]

[[step]]
name = "day"
seconds = "1m"
limit = "mean<=1ms"
jobs = [
  { name = "readers", users = 8, random-distribution = "zipf:1.2" },
  { rw = "write", bssplit = "64k/50:128k/50", rate_iops = 1_000 },
]

[[step]]
name = "most"
find = "read:p99<=2ms"
"#;

#[test]
fn suite_file_expands_to_steps() {
    let file = parsed(WHOLE);
    assert_eq!(SuiteHead::parse(WHOLE).unwrap().about.as_deref(), Some("a shop by day"));
    assert_eq!(file.size_bytes, Some(1 << 30));
    let keys: Vec<&str> = file.steps.iter().map(|step| step.key.as_str()).collect();
    let lists = [
        "look-ups 1 users 4k",
        "look-ups 1 users 8k",
        "look-ups 16 users 4k",
        "look-ups 16 users 8k",
    ];
    assert_eq!(keys, [&lists[..], &["day", "most"]].concat());
    let first = &file.steps[0];
    assert_eq!((first.line, first.name.as_str()), (13, "look-ups"));
    assert_eq!((file.runtime_ns, file.ramp_ns), (Some(5_000_000_000), Some(500_000_000)));
    assert_eq!((first.runtime_ns, first.ramp_ns), (None, None));
    assert_eq!(first.limits.len(), 2);
    assert_eq!(options(&first.jobs[0]), ["bs=4k", "direct=1", "numjobs=1", "rw=randread"]);
    let bs = first.jobs[0].options.iter().find(|option| option.name == "bs").unwrap();
    assert_eq!(bs.line, 16);
    let day = &file.steps[4];
    assert_eq!((day.runtime_ns, day.limits.len(), day.jobs.len()), (Some(60_000_000_000), 1, 2));
    assert_eq!(day.jobs[0].name.as_deref(), Some("readers"));
    let readers = ["bs=8k", "direct=1", "numjobs=8", "random_distribution=zipf:1.2", "rw=randread"];
    assert_eq!(options(&day.jobs[0]), readers);
    let writers = ["bssplit=64k/50:128k/50", "direct=1", "rate_iops=1000", "rw=write"];
    assert_eq!(options(&day.jobs[1]), writers);
    let most = &file.steps[5];
    assert_eq!((most.find.len(), most.limits.len()), (1, 0));
}

#[test]
fn search_step_rejects_its_own_iodepth() {
    let file =
        parsed("[defaults]\niodepth = 4\nbs = \"8k\"\n[[step]]\nname = \"a\"\nfind = \"max<=1ms\"");
    assert_eq!(options(&file.steps[0].jobs[0]), ["bs=8k"]);
    let own = refused("[[step]]\nname = \"a\"\nfind = \"max<=1ms\"\niodepth = 4");
    assert_eq!(own, "4: iodepth: find chooses the load itself; hint: use none");
}

#[test]
fn parse_errors_report_the_line_number() {
    for (text, line, word) in [
        ("", 1, "[[step]]"),
        ("seconds = ", 1, ""),
        ("a = 1\n\nb = [", 3, ""),
        ("rw = \"read\"", 1, "under [defaults] or [[step]]"),
        ("\nseconds = 0", 2, "measures nothing"),
        ("seconds = \"soon\"", 1, "30s"),
        ("limit = \"p99<=5\"", 1, "limit:"),
        ("size = \"big\"", 1, "4096"),
        ("size = 0", 1, "1g"),
        ("about = 5", 1, "about = "),
        ("step = 5", 1, "[[step]]"),
        ("defaults = 5", 1, "[defaults]"),
        ("[defaults]\nseconds = 5", 2, "above the first table"),
        ("[[step]]\nrw = \"read\"", 1, "no name"),
        ("[[step]]\nname = \"\"", 2, "between 1 and 60"),
        ("[[step]]\nname = \"a\\nb\"", 2, "one line"),
        ("[[step]]\nname = \"a\"\n[[step]]\nname = \"a\"", 3, "line 1 already has the name"),
        ("[[step]]\nname = \"a\"\nruntime = 5", 3, "hint: use seconds"),
        ("[[step]]\nname = \"a\"\nfilename = \"/x\"", 3, "command line"),
        ("[[step]]\nname = \"a\"\nusers = []", 3, "empty"),
        ("[[step]]\nname = \"a\"\nusers = {}", 3, "not a table"),
        ("[[step]]\nname = \"a\"\nrw.x = 1", 3, "not a table"),
        ("[[step]]\nname = \"a\"\nusers = [[1]]", 3, "not a list"),
        ("[[step]]\nname = \"a\"\nusers = 1979-05-27", 3, "not a date"),
        ("[[step]]\nname = \"a\"\n\"--rw\" = 1", 3, "not an option"),
        ("[[step]]\nname = \"a\"\nusers = 99999999999999999999", 3, "large"),
        ("[[step]]\nname = \"a\"\njobs = []", 3, "empty"),
        ("[[step]]\nname = \"a\"\njobs = [5]", 3, "jobs = [{"),
        ("[[step]]\nname = \"a\"\njobs = [{ users = [1] }]", 3, "in the [[step]] itself"),
        ("[[step]]\nname = \"a\"\njobs = [{ seconds = 1 }]", 3, "in a [[step]]"),
        ("[[step]]\nname = \"a\"\nfind = \"max<=1ms\"\njobs = [{}, {}]", 1, "one job"),
    ] {
        let error = SuiteFile::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.reason.contains(word) && !error.reason.is_empty(), "{text}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
    let many = format!("[[step]]\nname = \"a\"\nbs = {0:?}\nusers = {0:?}", [1; 40]);
    assert!(refused(&many).contains("more than 1000 steps"));
}

const OPTIONS: &str = r#"
seconds = "$seconds"
size = "$size"
ramp = "10%"

[options]
users = { value = "N,…", default = "1,8", help = "Users" }
size = { value = "SIZE" }
seconds = { default = 10 }

[[step]]
name = "by {users}"
key = "{users} user(s)"
users = [1, "$users"]
bs = "$bs"
jobs = [{ name = "{users}", iodepth = "$seconds" }]
"#;

#[test]
fn suite_options_are_substituted_for_values() {
    let file = parsed(OPTIONS);
    let step = |step: &FileStep| (step.name.clone(), step.key.clone());
    let steps: Vec<_> = file.steps.iter().map(step).collect();
    let named = |name: &str, key: &str| (name.to_owned(), key.to_owned());
    assert_eq!(steps, [named("by 1", "1 user"), named("by 8", "8 users")]);
    let FileStep { jobs, ramp_ns, .. } = &file.steps[1];
    assert_eq!(options(&jobs[0]), ["bs=$bs", "iodepth=10", "numjobs=8"]);
    assert_eq!(jobs[0].name.as_deref(), Some("8"));
    let from: Vec<Option<&str>> = jobs[0].options.iter().map(|o| o.from.as_deref()).collect();
    assert_eq!(from, [None, None, Some("seconds")]);
    assert_eq!((file.size_bytes, *ramp_ns), (None, Some(1_000_000_000)));
    let mut values = SuiteHead::parse(OPTIONS).unwrap().defaults();
    values.insert("size".to_owned(), Some("1g".to_owned()));
    let sized = SuiteFile::with_options(OPTIONS, &values).unwrap();
    assert_eq!(sized.size_bytes, Some(1 << 30));
}

#[test]
fn invalid_suite_options_are_rejected() {
    for (text, word) in [
        ("[options]\nUsers = {}", "not the name of an option"),
        ("[options]\nusers = 5", "users: must be a table; hint: use [options.users]"),
        ("[options]\nusers = { values = 5 }", "values: is not one of value, default and help"),
    ] {
        let error = SuiteHead::parse(text).unwrap_err();
        assert!(error.line == 2 && error.reason.contains(word), "{error}");
    }
    assert!(
        refused("ramp = \"10%\"\n[[step]]\nname = \"a\"").contains("a share is one of seconds")
    );
}

proptest! {
    #[test]
    fn lists_expand_to_every_combination(users in 1usize..9, sizes in 1usize..9) {
        let list = |n: usize| format!("{:?}", (1..=n).collect::<Vec<_>>());
        let text = format!(
            "[[step]]\nname = \"a\"\nusers = {}\nbs = {}", list(users), list(sizes)
        );
        let file = parsed(&text);
        prop_assert_eq!(file.steps.len(), users * sizes);
        for step in &file.steps {
            prop_assert_eq!(step.jobs[0].options.len(), 2);
        }
    }

    #[test]
    fn nothing_panics(text in "(\\[\\[step\\]\\]|name|bs|=|\"a\"|\\[|\\]|\\{|\\}|,|\n|1|find|jobs| ){0,30}") {
        if let Err(error) = SuiteFile::parse(&text) {
            prop_assert!(error.line <= text.lines().count() + 1);
        }
    }
}
