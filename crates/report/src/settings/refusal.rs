//! Why a result is no measurement of a setting.

use super::load::{BLOCK, DIRECTION};
use super::{MeasuredBy, Setting};
use iogauge_model::Limit;
use iogauge_model::load::options::ROWS;
use iogauge_model::result::StoppedBy;
use iogauge_model::units::{parse_duration_ns, shell_word};
use std::fmt;

/// Time for a search that was too short, unless it had a quarter of it or more.
const LONGER_NS: u64 = 120_000_000_000;

/// Why there is no setting, and the command that measures it.
#[derive(Debug, Clone, thiserror::Error)]
pub struct Refusal {
    /// The setting.
    pub setting: &'static Setting,
    /// What does not fit.
    pub reason: Box<Reason>,
    pub(super) target: String,
    /// Options of the search: `--rw=write`.
    pub(super) options: Vec<String>,
}

impl Refusal {
    /// Keeps these options of the search in the hint, such as `--rw=write`, except those that the hint replaces.
    #[must_use]
    pub fn with_options(self, options: Vec<String>) -> Self {
        Self { options, ..self }
    }

    /// Returns what to do.
    #[must_use]
    pub fn hint(&self) -> String {
        self.reason.hint(&self.command())
    }

    /// Returns the command that measures the setting.
    fn command(&self) -> String {
        let is_other_target =
            matches!(*self.reason, Reason::TooSmall { .. } | Reason::NoDevice | Reason::JobFile);
        let mut command = self.setting.command(if is_other_target { "" } else { &self.target });
        if matches!(self.setting.measured_by, MeasuredBy::Suite(_)) {
            return command;
        }
        let replaced = self.reason.replaced();
        for option in self.options.iter().filter(|option| !replaced.contains(&name_of(option))) {
            command.push(' ');
            command.push_str(&shell_word(option));
        }
        if replaced == ["budget"] {
            command.push_str(&format!(" --budget={}", self.longer()));
        }
        command
    }

    /// Returns a budget that is longer than that of the search.
    fn longer(&self) -> String {
        let typed = self.options.iter().filter(|option| name_of(option) == "budget");
        let typed = typed.filter_map(|option| parse_duration_ns(option.split_once('=')?.1).ok());
        let seconds =
            typed.map(|ns| ns.saturating_mul(4)).max().unwrap_or(0).max(LONGER_NS) / 1_000_000_000;
        if seconds % 60 == 0 { format!("{}m", seconds / 60) } else { format!("{seconds}s") }
    }
}

/// Returns the name of an option in the table, whatever name was typed.
fn name_of(option: &str) -> &str {
    let typed = option.trim_start_matches('-').split('=').next().unwrap_or_default();
    let is = |name: &&str| name.replace('_', "-") == typed.replace('_', "-");
    let row = ROWS.iter().find(|row| is(&row.name) || row.aliases.iter().any(is));
    row.map_or(typed, |row| row.name)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--for {}: {}; hint: {}", self.setting.name, self.reason, self.hint())
    }
}

/// What does not fit the definition of a setting.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Reason {
    /// A document of another command.
    #[error("a document of format \"{format}\" has no capacity")]
    Format {
        /// Its format.
        format: String,
    },
    /// A document that cannot be read.
    #[error("what is kept of the run is damaged: {reason}")]
    Damaged {
        /// The first thing that is wrong.
        reason: String,
    },
    /// A run of a fixed load.
    #[error("a run at a fixed load does not show the capacity")]
    FixedLoad,
    /// A search, for a setting with several figures.
    #[error("a search measures one load, and the setting has figures of several")]
    NeedsSuite {
        /// The suite that measures them.
        suite: &'static str,
    },
    /// A suite, for a setting that a search or another suite measures.
    #[error("suite {suite} does not measure it")]
    OtherSuite {
        /// The suite of the result.
        suite: String,
    },
    /// A run that ended early.
    #[error("the run is not complete")]
    Incomplete,
    /// A search without an answer.
    #[error("the search found no capacity that is certain")]
    Undecided,
    /// A search whose answer breaks a limit.
    #[error("the answer of the search does not keep its limit")]
    LimitBroken,
    /// A search whose answer is a lower bound.
    #[error("the capacity may be larger than the answer, since {}", why(*stopped_by))]
    LowerBound {
        /// What ended the search.
        stopped_by: StoppedBy,
    },
    /// A search that a latency limit ended.
    #[error("the limit {limit} ended the search, and the definition has no latency limit")]
    LimitDecided {
        /// The limit.
        limit: Limit,
    },
    /// Limits typed for a definition without any.
    #[error("the definition has no latency limit")]
    HasLimit,
    /// An open loop.
    #[error("the definition has no arrival rate, and the search was an open loop")]
    OpenLoop,
    /// Failed I/Os.
    #[error("{errors} I/Os failed")]
    IoErrors {
        /// Their number.
        errors: u64,
    },
    /// Several hosts.
    #[error("several hosts measured together, and the setting is of one")]
    Hosts,
    /// A load of which only a description is kept.
    #[error("only a description of its load is kept: {label}")]
    LoadUnknown {
        /// The description.
        label: String,
    },
    /// Buffered I/O.
    #[error("the I/O went through the page cache, and the setting is of the device")]
    Buffered,
    /// Another direction, order or block size.
    #[error("the setting means {wanted}, not {found}")]
    OtherLoad {
        /// The loads that fit.
        wanted: String,
        /// The load of the run.
        found: String,
        /// Names of the options that do not fit.
        wrong: Vec<&'static str>,
    },
    /// Reads and writes in one run.
    #[error("the run reads and writes, and the setting has a maximum for each")]
    Mixed,
    /// A block size that shows neither IOPS nor bandwidth.
    #[error(
        "blocks of {found} show neither the maximum of I/Os, which takes 16 KiB or less, nor that of bytes, which takes \
         128 KiB or more"
    )]
    BetweenSizes {
        /// The block sizes of the run.
        found: String,
    },
    /// An option that changes what is measured.
    #[error("the load has {option}, and the definition has not")]
    OtherOption {
        /// The option, in words or as typed.
        option: String,
        /// Names of the options that do not fit.
        wrong: Vec<&'static str>,
    },
    /// An option of a suite that changes what is measured.
    #[error("--{option}={typed} is not the load of the definition")]
    SuiteOption {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        typed: String,
    },
    /// No block device.
    #[error("no block device is known under the target")]
    NoDevice,
    /// Several block devices.
    #[error("the run used the devices {devices} together, and the setting is of one")]
    SeveralDevices {
        /// Their names.
        devices: String,
    },
    /// Several mount points.
    #[error("the run used several directories together, and the setting is of one")]
    SeveralParts,
    /// A partition without the number of its disk.
    #[error("the run does not contain the number of disk {disk}, since an older version made it")]
    NoDiskNumber {
        /// The disk.
        disk: String,
    },
    /// A figure below the smallest value of the setting.
    #[error("{found} is less than {least}, the smallest value of the setting")]
    TooSmall {
        /// The figure.
        found: u64,
        /// The smallest value.
        least: u64,
    },
    /// A job file, whose load is its own.
    #[error("a job file has a load of its own")]
    JobFile,
}

/// Describes what ended a search before the capacity was reached.
fn why(stopped_by: StoppedBy) -> &'static str {
    match stopped_by {
        StoppedBy::MaxDepth => "IOPS were still rising at the largest queue depth allowed",
        StoppedBy::Client => "the processors of this machine were busy",
        _ => "the measuring budget ran out",
    }
}

impl Reason {
    /// Returns the names of the options that the hint replaces.
    fn replaced(&self) -> Vec<&'static str> {
        match self {
            Self::HasLimit | Self::LimitDecided { .. } | Self::LimitBroken => {
                vec!["limit", "guide", "latency_target", "latency_percentile"]
            }
            Self::OpenLoop => vec!["open-loop", "rate_process"],
            Self::Hosts => vec!["hosts", "host-share"],
            Self::Buffered => vec!["direct", "buffered"],
            Self::OtherLoad { wrong, .. } | Self::OtherOption { wrong, .. } => wrong.clone(),
            Self::Mixed => DIRECTION.to_vec(),
            Self::BetweenSizes { .. } => BLOCK.to_vec(),
            Self::LowerBound { stopped_by: StoppedBy::MaxDepth, .. } => vec!["max-depth"],
            Self::LowerBound { stopped_by: StoppedBy::Client, .. } => Vec::new(),
            Self::LowerBound { .. } | Self::Undecided => vec!["budget"],
            _ => Vec::new(),
        }
    }

    /// Returns what to do; `command` measures the setting.
    fn hint(&self, command: &str) -> String {
        match self {
            Self::HasLimit => {
                format!("use {command} without --limit, --guide and --latency_target")
            }
            Self::OpenLoop => format!("use {command} without --open-loop"),
            Self::Hosts => format!("use {command} on one host"),
            Self::JobFile => "use a directory or a device as TARGET".to_owned(),
            Self::Buffered => format!("use {command} with direct I/O"),
            Self::OtherLoad { .. } | Self::OtherOption { .. } => {
                format!("use {command}, which sets the load")
            }
            Self::SuiteOption { option, .. } => format!("use {command} without --{option}"),
            Self::Mixed => format!("use {command} --rw=randread, and then --rw=randwrite"),
            Self::BetweenSizes { .. } => format!("use {command} with --bs=4k or --bs=1m"),
            Self::LowerBound { stopped_by: StoppedBy::MaxDepth, .. } => {
                format!("use {command} with a larger --max-depth")
            }
            Self::LowerBound { stopped_by: StoppedBy::Client, .. } => {
                format!("use {command} on a machine with more processors")
            }
            Self::LimitBroken => format!("use {command} with a --limit that the target can keep"),
            Self::SeveralDevices { .. } | Self::SeveralParts => {
                format!("use {command} with one target at a time")
            }
            Self::IoErrors { .. } => {
                format!("use {command} when its I/Os no longer fail; dmesg may show why they do")
            }
            Self::TooSmall { .. } => format!("use {command} with a faster TARGET"),
            Self::NoDevice => format!("use {command} with a TARGET on a block device"),
            _ => format!("use {command}"),
        }
    }
}
