//! A database on a server that all hosts reach.

use super::common::{BINARY, Done, Hosts, Place, built_for, hosts};
use super::launcher::with_echo_for_mpirun;
use super::{NOTICED, result_after_loss};
use iogauge_test_support::postgres::Server;
use iogauge_test_support::{Mpi, eventually, or_skip};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PASSWORD: &str = "geheim-7";

/// Three hosts, a server on their network, and a database on it.
struct Site {
    mpi: Mpi,
    place: Place,
    // Ends before the network does.
    server: Server,
    network: Hosts,
    address: String,
}

impl Site {
    /// Makes a database with this many globals. Hosts log in by this method of `pg_hba.conf`.
    fn make(globals: u32, method: &str) -> Result<Self, String> {
        let mpi = built_for();
        let network = hosts(3, mpi)?;
        let (server, address) = Server::make_on_network(&network, method)?;
        if method != "trust" {
            server.psql(&format!("ALTER USER tester PASSWORD '{PASSWORD}'"));
        }
        let site = Self { mpi, place: Place::new(), server, network, address };
        site.db(&["setup", "--size=4m", "--quiet"]).ends(0);
        let globals = format!("--globals={globals}");
        site.db(&["create-globals", &globals, "--subscripts=1000", "--quiet"]).ends(0);
        Ok(site)
    }

    fn url(&self) -> String {
        format!("postgres://tester@{}/postgres", self.address)
    }

    /// Runs a command of `iogauge db` on the first host alone.
    fn db(&self, words: &[&str]) -> Done {
        let mut command = self.network.on(1, "env");
        command.arg(format!("XDG_DATA_HOME={}", self.place.path().display()));
        command.arg(format!("PGPASSWORD={PASSWORD}")).arg(BINARY).args(["db", words[0]]);
        Done::of(&command.arg(self.url()).args(&words[1..]).output().unwrap())
    }

    /// Returns a command of `iogauge db` on all hosts.
    fn command(&self, variables: &[(&str, &str)], url: &str, words: &[&str]) -> Command {
        let words = [&["db", words[0], url], &words[1..]].concat();
        let set = variables.iter().flat_map(|(name, value)| self.mpi.variable(name, value));
        self.place.command_with(&self.network, self.mpi, &set.collect::<Vec<_>>(), &words)
    }

    fn run(&self, words: &[&str]) -> Done {
        Done::of(&self.command(&[], &self.url(), words).output().unwrap())
    }

    /// Starts an endless run of writes on all hosts, and returns when all of them write.
    fn writing(&self) -> Child {
        self.writing_for("--runtime=1h")
    }

    fn writing_for(&self, runtime: &str) -> Child {
        let words = ["run", "--mode=write", "--processes=3", "--ramp-time=0", runtime];
        let mut command = self.command(&[], &self.url(), &words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually(|| (1..=3).all(|worker| self.sequence(worker) > 0));
        std::thread::sleep(Duration::from_secs(1));
        child
    }

    /// Returns the last transaction of a worker, as the server has it.
    fn sequence(&self, worker: u32) -> u64 {
        let sql = format!("SELECT sequence FROM \"RAN\".worker{worker}");
        self.server.psql(&sql).parse().unwrap()
    }

    /// Returns the transactions that the server has counted in its database.
    fn transactions(&self) -> u64 {
        let sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'";
        self.server.psql(sql).parse().unwrap()
    }
}

fn codes(document: &Value) -> Vec<&str> {
    let caveats = document["caveats"].as_array().unwrap();
    caveats.iter().filter_map(|caveat| caveat["code"].as_str()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn server_counts_the_transactions_that_are_reported() {
    let site = or_skip!("server_counts_the_transactions_that_are_reported", Site::make(6, "trust"));
    let before = site.transactions();
    // Two processes on the first two hosts, and one on the third.
    let words = [
        "run",
        "--mode=write",
        "--processes=5",
        "--transaction-length=10",
        "--runtime=3s",
        "--ramp-time=500ms",
        "--limit=each:p99<=10s",
        "--json",
    ];
    let done = site.run(&words).ends(0);
    let table = |line: &&str| line.trim_start().starts_with("host-");
    assert_eq!(done.stderr.lines().filter(table).count(), 3, "{}", done.stderr);
    let document = done.json();
    let step = &document["steps"][0];
    let database = &step["database"];
    let there: Vec<u64> = (1..=6).map(|worker| site.sequence(worker)).collect();
    let made = number(&database["counted"]["commits_made"]);
    assert!(there[..5].iter().all(|sequence| *sequence > 0) && there[5] == 0, "{there:?}");
    // To the transaction: those in the tables, those of iogauge, those that the server counted on its tables.
    assert_eq!(made, there.iter().sum::<u64>());
    assert_eq!(made, number(&database["counted"]["commits"]));
    assert_eq!(10 * made, number(&database["counted"]["updates"]));
    // The server also counts each statement outside of a transaction: those of iogauge and of this test.
    let counted = site.transactions() - before;
    assert!((made..made + 500).contains(&counted), "{made} {counted}");
    // Those of the measurement, by worker and by host.
    let measured = number(&step["sync"]["ios"]);
    let workers = database["workers"].as_array().unwrap();
    let of_workers: u64 = workers.iter().map(|worker| number(&worker["commits"])).sum();
    assert_eq!((of_workers, workers.len()), (measured, 5));
    assert!(measured <= made && measured > made / 2, "{measured} {made}");
    let of_hosts: Vec<u64> =
        step["hosts"].as_array().unwrap().iter().map(|host| number(&host["ios"])).collect();
    assert_eq!(of_hosts.len(), 3);
    assert_eq!(of_hosts.iter().sum::<u64>(), number(&step["write"]["ios"]));
    assert!(of_hosts.iter().all(|ios| *ios > 0), "{of_hosts:?}");
    let limit = &database["limits"][0];
    assert!(limit["value_ns"].as_f64().unwrap() > 0.0, "{limit}");
    let codes = codes(&document);
    assert!(codes.contains(&"several-hosts") && !codes.contains(&"other-load"), "{codes:?}");
    // What workers of other hosts acknowledged is noted, too.
    let checked = site.db(&["verify", "--json"]).ends(0).json();
    assert_eq!(number(&checked["acknowledged"]), made, "{checked}");
    assert_eq!((number(&checked["wrong"]), number(&checked["lost"])), (0, 0));
}

#[test]
fn processes_are_searched_over_all_hosts() {
    let site = or_skip!("processes_are_searched_over_all_hosts", Site::make(7, "trust"));
    let words = [
        "find",
        "--mode=write",
        "--hang=5ms",
        "--limit=mean<=5s",
        "--limit=each:mean<=5s",
        "--budget=15s",
        "--max-starvation=100%",
        "--json",
    ];
    let document = site.run(&words).ends(0).json();
    let answer = &document["answer"];
    let depth = number(&answer["depth"]);
    // Hang times leave room for all processes that have a global.
    assert_eq!(depth, 7, "{answer}");
    assert!((1..=7).all(|worker| site.sequence(worker) > 0));
    let curve = document["curve"].as_array().unwrap();
    let at = curve.iter().find(|point| number(&point["depth"]) == depth);
    let hosts = at.unwrap_or_else(|| panic!("{document}"))["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 3);
    let codes = codes(&document);
    assert!(codes.contains(&"several-hosts") && !codes.contains(&"other-load"), "{codes:?}");
}

#[test]
fn ladder_takes_the_database_again_for_each_rung() {
    let site = or_skip!("ladder_takes_the_database_again_for_each_rung", Site::make(6, "trust"));
    let words = [
        "run",
        "--mode=write",
        "--ladder=1,3,6",
        // It takes nearly all the time, so that more processes do more on a busy machine, too.
        "--hang=200ms",
        "--transaction-length=1",
        "--runtime=4s",
        "--ramp-time=0",
        "--json",
    ];
    let document = site.run(&words).ends(0).json();
    let steps = document["steps"].as_array().unwrap();
    let workers: Vec<usize> =
        steps.iter().map(|step| step["database"]["workers"].as_array().unwrap().len()).collect();
    assert_eq!(workers, [1, 3, 6], "{document}");
    assert!(!codes(&document).contains(&"acknowledged-lost"));
}

#[test]
fn server_that_crashes_ends_the_run_and_the_result_is_kept() {
    let mut site =
        or_skip!("server_that_crashes_ends_the_run_and_the_result_is_kept", Site::make(3, "trust"));
    let child = site.writing();
    site.server.crash();
    let begin = Instant::now();
    let done = Done::of(&child.wait_with_output().unwrap());
    assert!(begin.elapsed() < NOTICED, "{:?}", begin.elapsed());
    if site.mpi == Mpi::Open {
        assert_eq!(done.code, Some(4), "{}", done.stderr);
    }
    let document = site.place.last();
    assert!(number(&document["steps"][0]["write"]["ios"]) > 0, "{document}");
    let codes = codes(&document);
    assert!(codes.contains(&"io-errors") && !codes.contains(&"host-lost"), "{codes:?}");
}

#[test]
fn server_that_hangs_is_no_lost_host_and_does_not_block_the_end() {
    let site = or_skip!(
        "server_that_hangs_is_no_lost_host_and_does_not_block_the_end",
        Site::make(3, "trust")
    );
    // A host may be silent for 8 s.
    let child = site.writing_for("--runtime=15s");
    let frozen = site.server.freeze();
    let begin = Instant::now();
    let done = Done::of(&child.wait_with_output().unwrap());
    assert!(begin.elapsed() < Duration::from_secs(15) + NOTICED, "{:?}", begin.elapsed());
    drop(frozen);
    let document = site.place.last();
    assert!(number(&document["steps"][0]["write"]["ios"]) > 0, "{document}\n{}", done.stderr);
    let codes = codes(&document);
    assert!(codes.contains(&"io-errors") && !codes.contains(&"host-lost"), "{codes:?}");
}

#[test]
fn frozen_host_ends_the_run_on_a_database_and_the_result_is_kept() {
    let site = or_skip!(
        "frozen_host_ends_the_run_on_a_database_and_the_result_is_kept",
        Site::make(3, "trust")
    );
    let child = site.writing();
    site.network.freeze(3);
    result_after_loss(&site.place, &site.network, child, "host-3");
    let document = site.place.last();
    assert!(!codes(&document).contains(&"other-load"), "{document}");
}

#[test]
fn interrupted_run_on_a_database_keeps_the_result() {
    let site = or_skip!("interrupted_run_on_a_database_keeps_the_result", Site::make(3, "trust"));
    let child = site.writing();
    let begin = Instant::now();
    iogauge_test_support::run("kill", &["-s", "INT", &child.id().to_string()]).unwrap();
    child.wait_with_output().unwrap();
    assert!(begin.elapsed() < NOTICED, "{:?}", begin.elapsed());
    let document = site.place.last();
    assert_eq!(document["interrupted"], true, "{document}");
    assert!(number(&document["steps"][0]["write"]["ios"]) > 0, "{document}");
    // No host keeps the database.
    site.db(&["verify", "--quiet"]).ends(0);
}

#[test]
fn host_that_cannot_reach_the_server_is_named() {
    let site = or_skip!("host_that_cannot_reach_the_server_is_named", Site::make(3, "trust"));
    site.network.hide_server(3).unwrap();
    let done = site.run(&["run", "--mode=write", "--processes=3", "--runtime=1s"]).ends(1);
    let expected =
        "error: host host-3: postgres://tester@10.77.0.253:5432/postgres: no server answers";
    assert!(done.stderr.contains(expected) && done.stderr.contains("hint: "), "{}", done.stderr);
    assert!((1..=3).all(|worker| site.sequence(worker) == 0), "no host has begun");
}

#[test]
fn passwords_reach_all_hosts_and_no_message() {
    let site = or_skip!("passwords_reach_all_hosts_and_no_message", Site::make(3, "scram-sha-256"));
    let words = ["run", "--mode=write", "--processes=3", "--runtime=1s", "--ramp-time=0"];
    let run = |variables: &[(&str, &str)], url: &str| {
        Done::of(&site.command(variables, url, &words).output().unwrap())
    };
    run(&[("PGPASSWORD", PASSWORD)], &site.url()).ends(0);
    // A wrong one.
    let done = run(&[("PGPASSWORD", "falsch-8")], &site.url()).ends(1);
    assert!(done.stderr.contains("password authentication failed"), "{}", done.stderr);
    assert!(!(done.stderr + &done.stdout).contains("falsch-8"));
    // A file that differs on the second host.
    let file = |name: &str, password: &str| {
        let path = site.place.path().join(name);
        std::fs::write(&path, format!("*:*:*:tester:{password}\n")).unwrap();
        iogauge_test_support::run("chmod", &["600", path.to_str().unwrap()]).unwrap();
        path
    };
    let (passfile, wrong) = (file("passfile", PASSWORD), file("wrong", "falsch-8"));
    let url = format!("{}?passfile={}", site.url(), passfile.display());
    run(&[], &url).ends(0);
    site.network.bind(2, &wrong, &passfile).unwrap();
    let done = run(&[], &url).ends(1);
    assert!(done.stderr.contains("host host-2: postgres://"), "{}", done.stderr);
    assert!(!(done.stderr + &done.stdout).contains("falsch-8"));
    let history = std::fs::read(history(site.place.path())).unwrap();
    for password in [PASSWORD, "falsch-8"] {
        let is_there = history.windows(password.len()).any(|bytes| bytes == password.as_bytes());
        assert!(!is_there, "{password} is in the history");
    }
}

fn history(data: &Path) -> std::path::PathBuf {
    let directory = data.join("iogauge");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().find(|path| path.is_file()).expect("there is a history")
}

#[test]
fn what_several_hosts_cannot_do_is_refused() {
    let mpi = built_for();
    let network = or_skip!("what_several_hosts_cannot_do_is_refused", hosts(3, mpi));
    let place = Place::new();
    let directory = place.path().join("data");
    std::fs::create_dir(&directory).unwrap();
    let url = format!("sqlite:{}", directory.display());
    let done = place.run(&network, mpi, &["db", "run", &url, "--mode=write"]).ends(2);
    let expected = "sqlite is on one host";
    assert!(done.stderr.contains(expected) && done.stderr.contains("hint: "), "{}", done.stderr);
    let done = place.run(&network, mpi, &["db", "setup", &url, "--size=4m"]).ends(2);
    assert!(done.stderr.contains("db setup runs on one host"), "{}", done.stderr);
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing was written");
}

#[test]
fn hosts_option_names_variables_and_never_their_values() {
    let place = Place::new();
    let mut command = with_echo_for_mpirun(&place);
    command.env("PGPASSWORD", PASSWORD).env_remove("PGPASSFILE").env_remove("PGUSER");
    let line = ["db", "find", "postgres://me@h/x", "--mode=read", "--hosts=a,b"];
    let done = Done::of(&command.args(line).output().unwrap()).ends(0);
    let options = "-np 2 --host a,b --map-by ppr:1:node --bind-to none -x PGPASSWORD ";
    assert!(done.stdout.contains(options) && !done.stdout.contains("PGUSER"), "{}", done.stdout);
    let command = "iogauge-mpi db find postgres://me@h/x --mode=read";
    assert!(done.stdout.contains(command) && !done.stdout.contains("--hosts"), "{}", done.stdout);
    assert!(!(done.stdout + &done.stderr).contains(PASSWORD));
}
