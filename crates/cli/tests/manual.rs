//! Help, man pages, completions, and the names of the options.
#![allow(clippy::unwrap_used)]

mod common;

use common::{EIGHT, Place, names, skip};
use iogauge_report::settings::SETTINGS;
use std::process::Command;

const COMMANDS: [&str; 14] = [
    "find",
    "run",
    "check",
    "hosts-curve",
    "profile",
    "doctor",
    "crosscheck",
    "prepare",
    "clean",
    "history",
    "stop",
    "import",
    "table",
    "completions",
];

/// Options of a workload under fio's names, each with a value.
const OPTIONS: [&str; 52] = [
    "rw=randrw",
    "rw=randread:8",
    "rw_sequencer=identical",
    "bsrange=4k-64k",
    "blocksize_range=4k-64k",
    "bs_unaligned=0",
    "blocksize_unaligned=0",
    "blockalign=512",
    "ba=512",
    "bs=4k",
    "blocksize=4k",
    "bssplit=4k/50:8k/50",
    "iodepth=2",
    "numjobs=2",
    "ioengine=sim",
    "direct=1",
    "size=1m",
    "offset=4k",
    "rwmixread=70",
    "rwmixwrite=30",
    "rate_iops=100",
    "rate_process=poisson",
    "random_distribution=zipf:1.1",
    "norandommap=1",
    "sync=dsync",
    "fsync=8",
    "fdatasync=8",
    "end_fsync=1",
    "thinktime=10us",
    "thinktime_blocks=4",
    "startdelay=10ms",
    "iodepth_batch_submit=1",
    "iodepth_batch_complete_min=1",
    "iodepth_batch_complete_max=1",
    "number_ios=10",
    "io_size=64k",
    "io_limit=64k",
    "offset_increment=1m",
    "randseed=3",
    "randrepeat=0",
    "allrandrepeat=1",
    "rate=1m",
    "cpus_allowed=0",
    "cpus_allowed_policy=split",
    "nice=1",
    "nice=-1",
    "buffer_compress_percentage=50",
    "buffer_compress_chunk=4k",
    "dedupe_percentage=30",
    "refill_buffers=1",
    "ramp_time=1ms",
    "dependent=1",
];

#[test]
fn help_of_every_command_contains_examples() {
    let place = Place::new();
    for command in COMMANDS {
        for flag in ["--help", "-h"] {
            let help = place.run(&[command, flag]).ends(0);
            assert_eq!(help.stderr, "");
            assert!(help.stdout.contains("Examples:"), "{command}: {}", help.stdout);
            let example = format!("\n  iogauge {command} ");
            assert!(help.stdout.contains(&example), "{command}: {}", help.stdout);
        }
    }
    let help = place.run(&["--help"]).ends(0).stdout;
    for word in COMMANDS.iter().chain(&["Examples:", "Exit codes:", "130"]) {
        assert!(help.contains(word), "{word} is not in {help}");
    }
}

#[test]
fn help_lines_fit_80_columns() {
    let place = Place::new();
    for command in COMMANDS {
        let help = place.run_on(80, &[command, "--help"]).ends(0).stdout;
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}

#[test]
fn man_pages_exist_for_every_command() {
    let place = Place::new();
    place.run(&["man", "pages"]).ends(0);
    let directory = place.work().join("pages");
    let pages = names(&directory);
    assert!(pages.contains(&"iogauge.1".to_owned()), "{pages:?}");
    for command in COMMANDS {
        let page = directory.join(format!("iogauge-{command}.1"));
        let text =
            std::fs::read_to_string(&page).unwrap_or_else(|_| panic!("{command}: {pages:?}"));
        for part in [".TH", ".SH SYNOPSIS", ".SH \"EXAMPLES\"\n.nf\n", ".SH FILES"] {
            assert!(text.contains(part), "{command}: no {part} in {text}");
        }
    }
}

#[test]
fn man_pages_are_rendered_without_warnings() {
    let place = Place::new();
    place.run(&["man", "pages"]).ends(0);
    let Ok(version) = Command::new("groff").arg("--version").output() else {
        skip("man_pages_are_rendered_without_warnings", "no groff");
        return;
    };
    assert!(version.status.success());
    for page in names(&place.work().join("pages")) {
        let mut groff = Command::new("groff");
        groff
            .args(["-Kutf8", "-man", "-Tutf8", "-ww", "-P-cbou"])
            .arg(place.work().join("pages").join(&page));
        let done = groff.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{page}");
        if page == "iogauge.1" {
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(text.contains("\nEXIT STATUS\n"), "{text}");
            assert!(text.lines().any(|line| line.trim() == "0    done"), "{text}");
        }
    }
}

#[test]
fn shell_completions_contain_load_options() {
    for shell in ["bash", "zsh", "fish"] {
        let done = Place::new().run(&["completions", shell]).ends(0);
        assert!(done.stdout.contains("rate-iops"), "{shell}");
        // Words of an option are completed, too.
        assert!(["randwrite", "io_uring"].iter().all(|word| done.stdout.contains(word)), "{shell}");
        assert_eq!(done.stderr, "");
    }
}

#[test]
fn bash_completes_the_ids_of_runs() {
    let place = Place::new();
    place.run(&["run", EIGHT, "--runtime=10ms", "-q"]).ends(0);
    let id = place.runs()[0].0.clone();
    let script = place.work().join("completions");
    std::fs::write(&script, place.run(&["completions", "bash"]).ends(0).stdout).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("iogauge");
    let complete = |words: &str, begun: &str| {
        let before = words.split(' ').next_back().unwrap();
        let text = format!(
            "source {}; p={}; COMP_WORDS=($p {words} '{begun}'); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _iogauge_runs $p '{begun}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
            script.display(),
            program.display()
        );
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", &text]).env("XDG_DATA_HOME", place.history().ancestors().nth(2).unwrap());
        String::from_utf8(bash.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    for words in ["report", "history show", "history rm", "history export --for ceph"] {
        assert_eq!(complete(words, "2"), id, "{words}");
        assert!(complete(words, "").ends_with(&format!("last {id}")), "{words}");
    }
    assert_eq!(complete("history list", "2"), "");
    // The value of an option is no run.
    let settings: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    assert_eq!(complete("history export --for", ""), settings.join(" "));
    assert_eq!(complete("report --theme", ""), "light dark");
}

/// Types a line in an interactive zsh, asks it for the completions, and prints what it shows until it shows `$2`, for
/// 30 seconds at most.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty -b z zsh -f -i
zpty -w z "PS1=; fpath=($PWD \$fpath); path=($PWD/bin \$path); autoload -U compinit; compinit -u -D"
zpty -w z "bindkey '^X' list-choices; stty columns 200; print REA''DY"
local out all=
zpty -r -m z out '*READY*'
zpty -n -w z "$1"$'\C-x'
repeat 300; do
    sleep 0.1
    while zpty -r -t z out; do all+=$out; done
    [[ $all == *$2* ]] && break
done
print -r -- "$all"
zpty -d z
"#;

#[test]
fn zsh_completes_the_ids_of_runs() {
    let place = Place::new();
    place.run(&["run", EIGHT, "--runtime=10ms", "-q"]).ends(0);
    let id = place.runs()[0].0.clone();
    let work = place.work();
    std::fs::write(work.join("_iogauge"), place.run(&["completions", "zsh"]).ends(0).stdout)
        .unwrap();
    std::fs::write(work.join("type.zsh"), ZSH).unwrap();
    std::fs::create_dir(work.join("bin")).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("iogauge");
    std::os::unix::fs::symlink(program, work.join("bin/iogauge")).unwrap();
    for words in ["report ", "history show ", "history rm ", "history export --for ceph "] {
        let line = &format!("iogauge {words}");
        let mut zsh = std::process::Command::new("zsh");
        zsh.args(["-f", "type.zsh", line, &id]).current_dir(&work);
        zsh.env("XDG_DATA_HOME", place.history().ancestors().nth(2).unwrap());
        let Ok(output) = zsh.output() else {
            skip("zsh_completes_the_ids_of_runs", "zsh is not installed");
            return;
        };
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains(&id), "{line}: {shown}");
    }
}

#[test]
fn load_options_accept_dashes_and_underscores() {
    let place = Place::new();
    for option in OPTIONS {
        let (name, value) = option.split_once('=').unwrap();
        for name in [name.to_owned(), name.replace('_', "-")] {
            let mut line = vec!["run".to_owned(), "sim:nvme".to_owned(), "-q".to_owned()];
            line.push("--runtime=10ms".to_owned());
            if name != "ramp_time" && name != "ramp-time" {
                line.push("--ramp-time=0".to_owned());
            }
            if name.starts_with("thinktime") && name != "thinktime" {
                line.push("--thinktime=100".to_owned());
            }
            if name.ends_with("policy") {
                line.push("--cpus_allowed=0".to_owned());
            }
            if name == "dependent" {
                line.push("--rw=randrw".to_owned());
            }
            line.push(format!("--{name}={value}"));
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            place.run(&line).ends(0);
        }
    }
}
