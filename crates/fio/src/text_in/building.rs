//! A result that is built while its lines arrive.

use super::figure::{Figure, Prefix, bytes, cut, field, number, once, percent, pieces, unit_ns};
use crate::reported_workload::ReportedWorkload;
use iogauge_model::result::{
    BlockRange, FioDirection, FioLatency, FioResult, FioSamples, FioSteadyState, LatencyShare,
};
use memchr::memrchr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
    Trim,
    Sync,
    Mixed,
}

impl Way {
    const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Trim, Self::Sync, Self::Mixed];

    /// Returns the direction with which a line begins, and the text after its colon.
    pub(super) fn of(text: &str) -> Option<(Self, &str)> {
        let (word, rest) = once(text, b':')?;
        let way = match word.trim_ascii_end() {
            "read" | "READ" => Self::Read,
            "write" | "WRITE" => Self::Write,
            "trim" | "TRIM" => Self::Trim,
            "mixed" | "MIXED" => Self::Mixed,
            _ => return None,
        };
        Some((way, rest))
    }

    /// Returns the field of the direction in a result.
    pub(super) fn of_result(self, result: &mut FioResult) -> &mut Option<FioDirection> {
        match self {
            Self::Read => &mut result.read,
            Self::Write => &mut result.write,
            Self::Trim => &mut result.trim,
            Self::Sync => &mut result.sync,
            Self::Mixed => &mut result.mixed,
        }
    }
}

/// The three latencies of fio; a flush has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Slat,
    Clat,
    Lat,
}

/// Figures of a direction as printed.
#[derive(Debug, Clone, Copy, Default)]
struct Printed {
    iops: Option<Figure>,
    bytes_per_sec: Option<Figure>,
    bytes: Option<Figure>,
    /// True for fio 2.14 and later, which shorten figures to three digits.
    abbreviated: bool,
    runtime_ns: u64,
}

/// A result that is being built.
#[derive(Debug, Clone)]
pub(super) struct Building {
    result: Box<FioResult>,
    /// Requested block sizes of reads, writes and trims.
    blocks: [Option<BlockRange>; 3],
    /// Indexed by direction.
    printed: [Printed; Way::ALL.len()],
    /// The current direction.
    way: Option<Way>,
    /// True after the line with the numbers of I/Os, which follows the figures of all directions.
    is_counted: bool,
    issued: [u64; 4],
    short: [u64; 4],
    dropped: [u64; 4],
    percentiles_of: Option<(Kind, f64)>,
}

/// Returns true for the line with the figures of a direction.
pub(super) fn is_direction(text: &str) -> bool {
    direction_of(text).is_some()
}

fn direction_of(text: &str) -> Option<Way> {
    let (way, rest) = match text.as_bytes() {
        [b'r' | b'w' | b't' | b'm', ..] => Way::of(text)?,
        _ => return None,
    };
    let has_figures = cut(rest, "IOPS=").is_some() || cut(rest, "iops=").is_some();
    has_figures.then_some(way)
}

/// Number of fio's default percentiles.
const USUAL_PERCENTILES: usize = 17;

const UNREADABLE_LATENCY: &str = "a latency without unit, min=, max=, avg= or stdev=";

impl Building {
    pub(super) fn new(result: FioResult, asked: ReportedWorkload) -> Self {
        let none = [0; 4];
        let ReportedWorkload { host, rw, blocks, engine, iodepth, is_synchronous } = asked;
        Self {
            result: Box::new(FioResult { host, rw, engine, iodepth, is_synchronous, ..result }),
            blocks,
            printed: Default::default(),
            way: None,
            is_counted: false,
            issued: none,
            short: none,
            dropped: none,
            percentiles_of: None,
        }
    }

    /// Returns true for the figures of a direction that this job cannot have: the line that names their job is
    /// missing.
    pub(super) fn is_of_another_job(&self, text: &str) -> bool {
        direction_of(text)
            .is_some_and(|way| self.is_counted || self.printed[way as usize].iops.is_some())
    }

    /// Takes a line. Ignores lines that do not belong to a result; returns an error for one that should be
    /// readable.
    pub(super) fn line(&mut self, text: &str) -> Result<(), &'static str> {
        if let Some(percentiles) = text.strip_prefix('|') {
            return self.percentiles(percentiles);
        }
        let (kind, word) = match text.as_bytes() {
            [b'c', b'l', b'a', b't', ..] => (Kind::Clat, "clat"),
            [b's', b'l', b'a', b't', ..] => (Kind::Slat, "slat"),
            [b'l', b'a', b't', b' ', ..] => (Kind::Lat, "lat"),
            [b's', b'y', b'n', b'c', b' ', ..] => (Kind::Lat, "sync"),
            [b'c', b'p', b'u', ..] => return self.cpu(text),
            [b'i', b's', b's', b'u', ..] => return self.counts(text),
            [b'e', b'r', b'r', ..] => return self.errors(text),
            [b'r' | b'w' | b't' | b'm', ..] => return self.way(text),
            [b'b', b'w', ..] | [b'i', b'o', b'p', b's', ..] => return self.samples(text),
            [b's', b't', b'e', b'a', ..] => return self.steady_state(text),
            _ => {
                self.percentiles_of = None;
                return Ok(());
            }
        };
        let rest = text[word.len()..].trim_ascii_start();
        if rest.starts_with("percentiles (") {
            let unit = unit_ns(rest).ok_or("percentiles without a unit")?;
            self.percentiles_of = Some((kind, unit));
            return Ok(());
        }
        if !rest.starts_with('(') {
            // It is for a single priority, or of a kind unknown to this reader.
            self.percentiles_of = None;
            return Ok(());
        }
        if word == "lat" && rest.contains('%') {
            return self.shares(rest);
        }
        if word == "sync" && self.result.sync.is_none() {
            self.result.sync = Some(FioDirection::default());
            self.way = Some(Way::Sync);
        }
        let latency = latency(rest).ok_or(UNREADABLE_LATENCY)?;
        let slot = self.slot(kind).ok_or("a latency before its direction")?;
        *slot = Some(latency);
        Ok(())
    }

    /// Returns the field for a latency of the current direction.
    fn slot(&mut self, kind: Kind) -> Option<&mut Option<FioLatency>> {
        let direction = self.way?.of_result(&mut self.result).as_mut()?;
        Some(match kind {
            Kind::Slat => &mut direction.slat,
            Kind::Clat => &mut direction.clat,
            Kind::Lat => &mut direction.lat,
        })
    }

    fn percentiles(&mut self, text: &str) -> Result<(), &'static str> {
        let Some((kind, unit)) = self.percentiles_of else { return Ok(()) };
        let Some(slot) = self.slot(kind) else { return Ok(()) };
        let latency = slot.get_or_insert_default();
        if latency.percentiles.is_empty() {
            latency.percentiles.reserve(USUAL_PERCENTILES);
        }
        for entry in pieces(text, b']') {
            let Some((percent, value)) = once(entry, b'[') else { continue };
            let begin = percent.bytes().position(|byte| !matches!(byte, b',' | b' '));
            let percent = &percent[begin.unwrap_or(percent.len())..];
            let percent = percent.strip_suffix("th=").unwrap_or(percent);
            let (Some(percent), Some(value)) = (number(percent), number(value)) else {
                return Err("a percentile that is not a number");
            };
            latency.percentiles.push((percent.value, (value.value * unit).round() as u64));
        }
        Ok(())
    }

    fn shares(&mut self, rest: &str) -> Result<(), &'static str> {
        const WRONG: &str = "a share of latencies without bound or percent";
        let unit = unit_ns(rest).ok_or("shares of latencies without a unit")?;
        let (_, shares) = once(rest, b':').ok_or(WRONG)?;
        for share in pieces(shares, b',').map(str::trim_ascii).filter(|share| !share.is_empty()) {
            let at = memrchr(b'=', share.as_bytes()).ok_or(WRONG)?;
            let (bound, share) = (&share[..at], &share[at + 1..]);
            let below_ns = if bound.starts_with('>') {
                None
            } else {
                Some((number(bound).ok_or(WRONG)?.value * unit).round() as u64)
            };
            let percent = percent(share).ok_or(WRONG)?;
            self.result.shares.push(LatencyShare { below_ns, percent });
        }
        Ok(())
    }

    fn cpu(&mut self, text: &str) -> Result<(), &'static str> {
        let share = |key| field(text, key).and_then(percent).ok_or("cpu without usr= and sys=");
        self.result.user_cpu_percent = share("usr=")?;
        self.result.system_cpu_percent = share("sys=")?;
        Ok(())
    }

    /// Parses `bw (  KiB/s): min=32464, max=32464, per=46.43%, avg=32464.00, stdev= 0.00, samples=1` or
    /// `iops        : min= 8116, …`.
    fn samples(&mut self, text: &str) -> Result<(), &'static str> {
        const WRONG: &str = "a sampled rate without unit, min=, max=, avg= or stdev=";
        self.percentiles_of = None;
        if cut(text, "stdev=").is_none() {
            return Ok(());
        }
        let is_bandwidth = text.starts_with("bw");
        let factor = if is_bandwidth {
            let (_, unit) = once(text, b'(').ok_or(WRONG)?;
            let unit: String = once(unit, b')').ok_or(WRONG)?.0.split_ascii_whitespace().collect();
            let prefix = if self.is_abbreviated() { Prefix::Decimal } else { Prefix::Binary };
            bytes(&format!("1{unit}"), prefix).ok_or(WRONG)?.value
        } else {
            1.0
        };
        let of = |key| Some(number(field(text, key)?)?.value * factor);
        let samples = || {
            Some(FioSamples {
                min: of("min=")?,
                max: of("max=")?,
                mean: of("avg=")?,
                stddev: of("stdev=")?,
                n: field(text, "samples=").and_then(|n| n.parse().ok()),
            })
        };
        let samples = Some(samples().ok_or(WRONG)?);
        let direction = self.way.and_then(|way| way.of_result(&mut self.result).as_mut());
        let direction = direction.ok_or("a sampled rate before its direction")?;
        if is_bandwidth {
            direction.sampled_bytes_per_sec = samples;
        } else {
            direction.sampled_iops = samples;
        }
        Ok(())
    }

    fn is_abbreviated(&self) -> bool {
        self.way.is_some_and(|way| self.printed[way as usize].abbreviated)
    }

    /// Parses `steadystate  : attained=yes, bw=986MiB/s (1010MB/s), iops=253k, bw slope=-0.744%`.
    fn steady_state(&mut self, text: &str) -> Result<(), &'static str> {
        let Some(attained) = field(text, "attained=") else { return Ok(()) };
        let last = text.rsplit(',').next().unwrap_or_default().trim_ascii();
        let (of, at_end) = once(last, b'=').ok_or("a steady state without its criterion")?;
        let of = match of {
            "iops mean dev" => "iops",
            "bw mean dev" => "bw",
            "iops slope" => "iops_slope",
            "bw slope" => "bw_slope",
            _ => return Err("a steady state of unknown criterion"),
        };
        self.result.steady_state = Some(FioSteadyState {
            of: of.to_owned(),
            attained: attained == "yes",
            at_end: at_end.to_owned(),
            ..FioSteadyState::default()
        });
        Ok(())
    }

    fn errors(&mut self, text: &str) -> Result<(), &'static str> {
        let Some(total) = field(text, "total=") else { return Ok(()) };
        self.result.failed_ios = total.parse().map_err(|_| "errors: total= is not a number")?;
        Ok(())
    }

    /// Parses `issued    : total=r=133222/w=0/d=0, short=…` or `issued rwts: total=9993,0,0,0 short=…`.
    fn counts(&mut self, text: &str) -> Result<(), &'static str> {
        let of = |key: &str| {
            let (_, counts) = cut(text, key)?;
            let parts = counts.split([',', '/', ' ']);
            let mut numbers = parts.map_while(|part| {
                part.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '=').parse().ok()
            });
            Some(std::array::from_fn(|_| numbers.next().unwrap_or(0)))
        };
        self.is_counted = true;
        self.issued = of("total=").ok_or("issued without total=")?;
        self.short = of("short=").unwrap_or_default();
        self.dropped = of("dropped=").or_else(|| of("drop=")).unwrap_or_default();
        Ok(())
    }

    /// Parses the figures of a direction in fio's old or new notation.
    fn way(&mut self, text: &str) -> Result<(), &'static str> {
        let Some((way, rest)) = Way::of(text) else { return Ok(()) };
        let printed = if cut(rest, "IOPS=").is_some() {
            new_figures(rest)
        } else if cut(rest, "iops=").is_some() {
            old_figures(rest)
        } else {
            return Ok(());
        };
        let printed = printed.ok_or("a direction without rate, bandwidth, bytes or run time")?;
        let direction = FioDirection { runtime_ns: printed.runtime_ns, ..FioDirection::default() };
        *way.of_result(&mut self.result) = Some(direction);
        self.printed[way as usize] = printed;
        self.way = Some(way);
        self.percentiles_of = None;
        Ok(())
    }

    /// Returns the result, with every figure as exact as the lines allow.
    pub(super) fn finish(self) -> Box<FioResult> {
        let Self { mut result, blocks, printed, issued, short, dropped, .. } = self;
        for (way, printed) in Way::ALL.into_iter().zip(printed) {
            let Some(direction) = way.of_result(&mut result) else { continue };
            let slot = way as usize;
            let of = |counts: [u64; 4]| match way {
                Way::Mixed => counts[..3].iter().fold(0u64, |sum, n| sum.saturating_add(*n)),
                _ => counts[slot],
            };
            direction.ios = of(issued);
            direction.short_ios = of(short);
            direction.dropped_ios = of(dropped);
            direction.block = match way {
                Way::Sync => None,
                Way::Mixed => blocks[0],
                _ => blocks[slot].or(blocks[0]),
            };
            exact(direction, printed);
        }
        result
    }
}

/// fio prints rates without decimals. From these figures on, what it cuts off is no more than the digits that
/// it prints otherwise: four since 2.14. Older versions print all digits, and scripts show them as they are.
const FOUR_DIGITS: f64 = 1000.0;
const THREE_DIGITS: f64 = 100.0;

/// Replaces figures that were shortened for printing by computed ones, if those agree with what was printed.
fn exact(d: &mut FioDirection, printed: Printed) {
    let Printed { iops, bytes_per_sec, bytes, abbreviated, .. } = printed;
    let seconds = d.runtime_ns as f64 / 1e9;
    let per_sec = |total: f64| if seconds > 0.0 { total / seconds } else { 0.0 };
    if d.ios == 0
        && let Some(iops) = iops
    {
        d.ios = (iops.value * seconds).round() as u64;
    }
    if let Some(bytes) = bytes {
        let counted = d.block.filter(|block| block.min_bytes == block.max_bytes);
        // Up to 2.13, fio treats a remainder of 1024 as one of 1000, which makes the decimal meaningless:
        // 1652.95 MB are printed as 1652.1MB.
        let bytes = if abbreviated { bytes } else { Figure { step: bytes.step * 10.0, ..bytes } };
        let counted = counted.map(|BlockRange { min_bytes, .. }| d.ios as f64 * min_bytes as f64);
        d.bytes = counted.map_or(bytes.value, |counted| bytes.refined(counted)).round() as u64;
    }
    let cut = |figure: Figure, exact: f64| {
        let has_few_digits = if abbreviated {
            figure.step > 1.0 || figure.value < FOUR_DIGITS
        } else {
            figure.step >= 1.0 && figure.value < THREE_DIGITS
        };
        if has_few_digits { figure.refined(exact) } else { figure.value }
    };
    d.iops = iops.map_or(0.0, |iops| cut(iops, per_sec(d.ios as f64)));
    d.bytes_per_sec = bytes_per_sec.map_or(0.0, |bw| cut(bw, per_sec(d.bytes as f64)));
}

/// Parses `io=1040.9MB, bw=355140KB/s, iops=44392 , runt=  3001msec`.
fn old_figures(text: &str) -> Option<Printed> {
    let size = |key| bytes(field(text, key)?, Prefix::Binary);
    Some(Printed {
        iops: Some(number(field(text, "iops=")?)?),
        bytes_per_sec: Some(size("bw=")?),
        bytes: Some(size("io=")?),
        abbreviated: false,
        runtime_ns: runtime_ns(field(text, "runt=")?)?,
    })
}

/// Parses `IOPS=65.7k, BW=513MiB/s (538MB/s)(1539MiB/3001msec); 0 zone resets`.
fn new_figures(text: &str) -> Option<Printed> {
    let speed = field(text, "BW=")?;
    let bracket = memrchr(b'(', speed.as_bytes())?;
    let (moved, time) = once(&speed[bracket + 1..], b'/')?;
    let speed = pieces(speed, b'(').next()?.trim_ascii_end();
    Some(Printed {
        iops: Some(number(field(text, "IOPS=")?)?),
        bytes_per_sec: Some(bytes(speed, Prefix::Decimal)?),
        bytes: Some(bytes(moved, Prefix::Decimal)?),
        abbreviated: true,
        runtime_ns: runtime_ns(pieces(time, b')').next()?)?,
    })
}

fn runtime_ns(text: &str) -> Option<u64> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit())?;
    let runtime: u64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim_ascii() {
        "msec" => 1_000_000,
        "usec" => 1000,
        "sec" => 1_000_000_000,
        _ => return None,
    };
    runtime.checked_mul(unit)
}

/// Parses `(usec): min=34 , max=8080 , avg=55.47, stdev=131.12`.
fn latency(text: &str) -> Option<FioLatency> {
    let unit = unit_ns(text)?;
    let of = |key| Some(number(field(text, key)?)?.value * unit);
    Some(FioLatency {
        min_ns: of("min=")?.round() as u64,
        max_ns: of("max=")?.round() as u64,
        mean_ns: of("avg=")?,
        stddev_ns: of("stdev=")?,
        ..FioLatency::default()
    })
}
