//! `sim:key=value,…`: the specification of a simulated device.

use super::noise::{LateBursts, Neighbour, Noise};
use super::presets::PRESETS;
use iogauge_model::units::{
    parse_bytes_per_sec, parse_count, parse_duration_ns, parse_percent, parse_size_bytes,
};
use std::str::FromStr;

/// Distribution of service times around their mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Service {
    /// Always the mean.
    Constant,
    /// Exponential.
    Exponential,
    /// Lognormal with this σ of the logarithm, and the same mean.
    Lognormal(f64),
}

/// A slow rise and fall of service times around their mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceWander {
    /// Amplitude, in percent of the mean; below 100.
    pub percent: f64,
    /// Time from one maximum to the next, in nanoseconds; above 0.
    pub period_ns: u64,
}

/// Times in which iogauge does not run while the device continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    /// Time from the start of the measurement, or from the end of the previous absence, to the next; above 0.
    pub every_ns: u64,
    /// Length of each; above 0.
    pub for_ns: u64,
}

/// A simulated device. Durations are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct SimSpec {
    /// Maximum number of I/Os in service.
    pub channels: u32,
    /// Mean service time of a read.
    pub service_ns: u64,
    /// Mean service time of a write that does not go to a cache; `None` for that of a read.
    pub write_service_ns: Option<u64>,
    /// Distribution of both.
    pub dist: Service,
    /// Bandwidth of the bus that all channels share, in bytes per second.
    pub bus_bytes_per_sec: Option<u64>,
    /// Maximum sustained IOPS.
    pub iops_cap: Option<u64>,
    /// Credits: I/Os admitted beyond the cap after a time of rest. Full at the start.
    pub burst_ios: u64,
    /// Bytes that a new device writes with [`Self::fresh_service_ns`]. Over half as many further bytes, the service
    /// time of a write changes to [`Self::write_service_ns`]. 0 for a device that is settled at the start.
    pub fresh_bytes: u64,
    /// Mean service time of a write while the device is fresh.
    pub fresh_service_ns: u64,
    /// Size of the write cache.
    pub cache_bytes: u64,
    /// Service time of a write into the cache.
    pub cache_service_ns: u64,
    /// Rate at which the cache of a settled device is destaged, in bytes per second.
    pub destage_bytes_per_sec: u64,
    /// Time from the start of one stall to the next; 0 for none.
    pub gc_every_ns: u64,
    /// Length of a stall, during which no service makes progress.
    pub gc_stall_ns: u64,
    /// Growth of the mean service time per second, in percent of the original; 0 for none.
    pub fade_percent: f64,
    /// Rise and fall of the service time; `None` for none.
    pub wander: Option<ServiceWander>,
    /// Random noise that affects all services together; empty for none.
    pub noise: Vec<Noise>,
    /// Another user of the device; `None` for none.
    pub neighbour: Option<Neighbour>,
    /// Bursts in which some I/Os complete late; `None` for none.
    pub late: Option<LateBursts>,
    /// Time of a seek over the whole device, in addition to the service time; 0 for none. A shorter seek takes the
    /// square root of its share of the distance. Of the waiting I/Os, the nearest is served first.
    pub seek_ns: u64,
    /// Number of I/Os that fit into the device's queue; others wait in front of it. At least the number of channels;
    /// `None` for an unlimited queue.
    pub queue: Option<u32>,
    /// Round-trip time to the device, during which the device is not busy.
    pub rtt_ns: u64,
    pub size_bytes: u64,
    /// Share of I/Os that fail with EIO, in percent.
    pub eio_percent: f64,
    /// Size of the space: writes beyond this offset fail with ENOSPC.
    pub space_bytes: Option<u64>,
    /// True if written data is kept, so that it can be read back. For small devices.
    pub keep_data: bool,
    /// Pauses of the iogauge process that measures the device; `None` for none.
    pub pause: Option<Absence>,
    /// Times in which its workers wait for a processor; `None` for none.
    pub starve: Option<Absence>,
    /// Number of hosts that do each job on this device at the same time, each with workers of its own; 1 to 10000.
    pub hosts: u32,
    /// Additional round-trip time of the last host; 0 for none.
    pub far_host_ns: u64,
    /// Bandwidth of the link of each host to the device, in bytes per second; `None` for an unlimited one.
    pub host_link_bytes_per_sec: Option<u64>,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for SimSpec {
    fn default() -> Self {
        Self {
            channels: 8,
            service_ns: 100_000,
            write_service_ns: None,
            dist: Service::Exponential,
            bus_bytes_per_sec: None,
            iops_cap: None,
            burst_ios: 0,
            fresh_bytes: 0,
            fresh_service_ns: 20_000,
            cache_bytes: 0,
            cache_service_ns: 20_000,
            destage_bytes_per_sec: 100_000_000,
            gc_every_ns: 0,
            gc_stall_ns: 0,
            fade_percent: 0.0,
            wander: None,
            noise: Vec::new(),
            neighbour: None,
            late: None,
            seek_ns: 0,
            queue: None,
            rtt_ns: 0,
            size_bytes: 100 << 30,
            eio_percent: 0.0,
            space_bytes: None,
            keep_data: false,
            pause: None,
            starve: None,
            hosts: 1,
            far_host_ns: 0,
            host_link_bytes_per_sec: None,
            seed: 1,
        }
    }
}

/// Why a simulated device cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    #[error("sim: \"{word}\" is neither a preset nor key=value; presets: {presets}; keys: {}", KEYS.join(", "))]
    Unknown { word: String, presets: String },
    #[error("sim: {key}={value}: {reason}")]
    Value {
        key: String,
        value: String,
        /// What is wrong, and a hint.
        reason: String,
    },
}

/// Largest number of hosts of a simulated device.
const MOST_HOSTS: u32 = 10_000;

const KEYS: &[&str] = &[
    "channels",
    "service",
    "write_service",
    "dist",
    "bus",
    "iops_cap",
    "burst",
    "fresh",
    "fresh_service",
    "cache",
    "cache_service",
    "destage",
    "gc",
    "fade",
    "wander",
    "noise",
    "neighbour",
    "late",
    "seek",
    "queue",
    "rtt",
    "size",
    "eio",
    "space",
    "data",
    "pause",
    "starve",
    "hosts",
    "far_host",
    "host_link",
    "seed",
];

impl FromStr for SimSpec {
    type Err = SimError;

    /// Parses what follows `sim:`: a preset, keys, or a preset and keys that change it.
    fn from_str(text: &str) -> Result<Self, SimError> {
        let mut spec = Self::default();
        for (index, (key, value)) in pairs(text)?.into_iter().enumerate() {
            match value {
                Some(value) => spec.set(&key, &value)?,
                None => match PRESETS.iter().find(|p| p.name == key) {
                    Some(preset) if index == 0 => spec = (preset.make)(),
                    _ => return Err(unknown(&key)),
                },
            }
        }
        if let Some(queue) = spec.queue.filter(|queue| *queue < spec.channels) {
            let reason = format!("is smaller than the {} channels", spec.channels);
            let (key, value) = ("queue".to_owned(), queue.to_string());
            return Err(SimError::Value { key, value, reason });
        }
        Ok(spec)
    }
}

fn unknown(word: &str) -> SimError {
    let presets = PRESETS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    SimError::Unknown { word: word.to_owned(), presets }
}

/// Splits at commas. A piece that has a colon and no `=` continues the previous value, so that `gc=every:2s,stall:50ms`
/// is one pair.
fn pairs(text: &str) -> Result<Vec<(String, Option<String>)>, SimError> {
    let mut pairs: Vec<(String, Option<String>)> = Vec::new();
    for piece in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        match (piece.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => pairs.push((key.trim().to_owned(), Some(value.to_owned()))),
            (None, Some((_, Some(value)))) if piece.contains(':') => {
                value.push(',');
                value.push_str(piece);
            }
            (None, None) => pairs.push((piece.to_owned(), None)),
            (None, Some(_)) => return Err(unknown(piece)),
        }
    }
    Ok(pairs)
}

impl SimSpec {
    fn set(&mut self, key: &str, value: &str) -> Result<(), SimError> {
        let fail = |reason: String| SimError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
            reason,
        };
        let duration = || parse_duration_ns(value).map_err(|e| fail(e.to_string()));
        let size = || parse_size_bytes(value).map_err(|e| fail(e.to_string()));
        let count = || parse_count(value).map_err(|e| fail(e.to_string()));
        let bandwidth = || parse_bytes_per_sec(value).map_err(|e| fail(e.to_string()));
        let above_zero = |number: u64| {
            if number > 0 { Ok(number) } else { Err(fail("must be above 0".to_owned())) }
        };
        match key {
            "channels" => {
                self.channels = whole(above_zero(count()?)?, 65_536).map_err(fail)?;
            }
            // I/Os that take no time would keep virtual time from passing.
            "service" => self.service_ns = above_zero(duration()?)?,
            "write_service" => self.write_service_ns = Some(above_zero(duration()?)?),
            "dist" => {
                self.dist = parse_dist(value).ok_or_else(|| {
                    fail("is not const, exp or lognormal:SIGMA with SIGMA up to 5".to_owned())
                })?
            }
            "bus" => self.bus_bytes_per_sec = Some(above_zero(bandwidth()?)?),
            "iops_cap" => self.iops_cap = Some(above_zero(count()?)?),
            "burst" => self.burst_ios = count()?,
            "fresh" => self.fresh_bytes = size()?,
            "fresh_service" => self.fresh_service_ns = above_zero(duration()?)?,
            "cache" => self.cache_bytes = size()?,
            "cache_service" => self.cache_service_ns = above_zero(duration()?)?,
            "destage" => self.destage_bytes_per_sec = above_zero(bandwidth()?)?,
            "gc" => self.set_gc(value).map_err(fail)?,
            "fade" => {
                self.fade_percent = parse_percent(value).map_err(|e| fail(e.to_string()))?;
            }
            "wander" => self.wander = Some(parse_wander(value).map_err(fail)?),
            "noise" => self.noise = parse_noise(value).map_err(fail)?,
            "neighbour" => self.neighbour = Some(parse_neighbour(value).map_err(fail)?),
            "late" => self.late = Some(parse_late(value).map_err(fail)?),
            "seek" => self.seek_ns = duration()?,
            "queue" => {
                let queue = u32::try_from(above_zero(count()?)?);
                self.queue = Some(queue.map_err(|_| fail("is too large".to_owned()))?);
            }
            "rtt" => self.rtt_ns = duration()?,
            "size" => self.size_bytes = above_zero(size()?)?,
            "eio" => {
                self.eio_percent = parse_percent(value).map_err(|e| fail(e.to_string()))?;
            }
            "space" => self.space_bytes = Some(size()?),
            "data" => match value {
                "keep" => self.keep_data = true,
                "drop" => self.keep_data = false,
                _ => return Err(fail("is not keep or drop".to_owned())),
            },
            "pause" => self.pause = Some(parse_absence(key, value).map_err(fail)?),
            "starve" => self.starve = Some(parse_absence(key, value).map_err(fail)?),
            "hosts" => self.hosts = whole(count()?, MOST_HOSTS).map_err(fail)?,
            "far_host" => self.far_host_ns = duration()?,
            "host_link" => self.host_link_bytes_per_sec = Some(above_zero(bandwidth()?)?),
            "seed" => {
                self.seed = value.parse().map_err(|_| fail("is not a whole number".to_owned()))?;
            }
            _ => return Err(unknown(key)),
        }
        Ok(())
    }

    fn set_gc(&mut self, value: &str) -> Result<(), String> {
        for part in value.split(',') {
            let (name, time) = part.split_once(':').unwrap_or((part, ""));
            let ns = parse_duration_ns(time).map_err(|e| e.to_string())?;
            match name {
                "every" => self.gc_every_ns = ns,
                "stall" => self.gc_stall_ns = ns,
                _ => {
                    return Err(
                        "must name every and stall; hint: use gc=every:2s,stall:50ms".to_owned()
                    );
                }
            }
        }
        if self.gc_stall_ns > 0 && self.gc_every_ns > self.gc_stall_ns {
            Ok(())
        } else {
            Err("stall must be above 0 and shorter than every; hint: use gc=every:2s,stall:50ms"
                .to_owned())
        }
    }
}

/// Returns a number from 1 to `most`.
fn whole(count: u64, most: u32) -> Result<u32, String> {
    let count = u32::try_from(count).ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| format!("must be between 1 and {most}"))
}

fn parse_wander(value: &str) -> Result<ServiceWander, String> {
    let right = "must be a percentage below 100 and a time; hint: use wander=30%:10m";
    let (percent, period) = value.split_once(':').ok_or(right)?;
    let percent = parse_percent(percent).map_err(|e| e.to_string())?;
    let period_ns = parse_duration_ns(period).map_err(|e| e.to_string())?;
    // With 100 %, services would take no time.
    if percent < 100.0 && period_ns > 0 {
        Ok(ServiceWander { percent, period_ns })
    } else {
        Err(right.to_owned())
    }
}

fn parse_noise(value: &str) -> Result<Vec<Noise>, String> {
    let right = "must be a percentage and a time; hint: use noise=10%:2s, and join several with +";
    let part = |part: &str| {
        let (percent, time) = part.split_once(':').ok_or(right)?;
        let percent = parse_percent(percent).map_err(|e| e.to_string())?;
        let time_ns = parse_duration_ns(time).map_err(|e| e.to_string())?;
        if time_ns > 0 { Ok(Noise { percent, time_ns }) } else { Err(right.to_owned()) }
    };
    value.split('+').map(part).collect()
}

fn parse_neighbour(value: &str) -> Result<Neighbour, String> {
    let right = "must be a percentage and a time; hint: use neighbour=100%:2s";
    let (percent, time) = value.split_once(':').ok_or(right)?;
    let percent = parse_percent(percent).map_err(|e| e.to_string())?;
    let time_ns = parse_duration_ns(time).map_err(|e| e.to_string())?;
    if time_ns > 0 { Ok(Neighbour { percent, time_ns }) } else { Err(right.to_owned()) }
}

fn parse_late(value: &str) -> Result<LateBursts, String> {
    let right = "must be a percentage above 0 and two times; hint: use late=1%:20ms:500ms";
    let [percent, late, time] = value.split(':').collect::<Vec<_>>()[..] else {
        return Err(right.to_owned());
    };
    let percent = parse_percent(percent).map_err(|e| e.to_string())?;
    let late_ns = parse_duration_ns(late).map_err(|e| e.to_string())?;
    let time_ns = parse_duration_ns(time).map_err(|e| e.to_string())?;
    let whole = time_ns > 0 && percent > 0.0;
    whole.then_some(LateBursts { percent, late_ns, time_ns }).ok_or_else(|| right.to_owned())
}

fn parse_absence(key: &str, value: &str) -> Result<Absence, String> {
    let right = || format!("must be two times above 0; hint: use {key}=every:10s,for:2s");
    let (mut every_ns, mut for_ns) = (0, 0);
    for part in value.split(',') {
        let (name, time) = part.split_once(':').unwrap_or((part, ""));
        let ns = parse_duration_ns(time).map_err(|e| e.to_string())?;
        match name {
            "every" => every_ns = ns,
            "for" => for_ns = ns,
            _ => return Err(right()),
        }
    }
    let whole = every_ns > 0 && for_ns > 0;
    whole.then_some(Absence { every_ns, for_ns }).ok_or_else(right)
}

fn parse_dist(value: &str) -> Option<Service> {
    match value {
        "const" => Some(Service::Constant),
        "exp" => Some(Service::Exponential),
        _ => {
            let sigma: f64 = value.strip_prefix("lognormal:")?.parse().ok()?;
            (sigma > 0.0 && sigma <= 5.0).then_some(Service::Lognormal(sigma))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn simulation_keys_are_parsed_as_documented() {
        let spec: SimSpec =
            "channels=4,service=250us,dist=lognormal:0.5,bus=300MB/s,iops_cap=3000,\
             burst=5m,cache=1g,destage=200MB/s,gc=every:2s,stall:50ms,rtt=1ms,seed=7"
                .parse()
                .unwrap();
        assert_eq!(spec.channels, 4);
        assert_eq!(spec.service_ns, 250_000);
        assert_eq!(spec.dist, Service::Lognormal(0.5));
        assert_eq!(spec.bus_bytes_per_sec, Some(300_000_000));
        assert_eq!((spec.iops_cap, spec.burst_ios), (Some(3000), 5_000_000));
        assert_eq!((spec.gc_every_ns, spec.gc_stall_ns), (2_000_000_000, 50_000_000));
        assert_eq!(spec.seed, 7);
        let spec: SimSpec = "fresh=2g,fresh_service=15us,wander=30%:10m".parse().unwrap();
        assert_eq!((spec.fresh_bytes, spec.fresh_service_ns), (2 << 30, 15_000));
        let wander = ServiceWander { percent: 30.0, period_ns: 600_000_000_000 };
        assert_eq!(spec.wander, Some(wander));
        let spec: SimSpec = "noise=5%:100ms+10%:3s,neighbour=100%:2s".parse().unwrap();
        let noise = |percent, time_ns| Noise { percent, time_ns };
        assert_eq!(spec.noise, [noise(5.0, 100_000_000), noise(10.0, 3_000_000_000)]);
        let neighbour = Neighbour { percent: 100.0, time_ns: 2_000_000_000 };
        assert_eq!(spec.neighbour, Some(neighbour));
        let spec: SimSpec = "pause=every:10s,for:2s".parse().unwrap();
        let pause = Absence { every_ns: 10_000_000_000, for_ns: 2_000_000_000 };
        assert_eq!(spec.pause, Some(pause));
        let spec: SimSpec = "hosts=64,far_host=4ms,host_link=1GB/s".parse().unwrap();
        assert_eq!((spec.hosts, spec.far_host_ns), (64, 4_000_000));
        assert_eq!(spec.host_link_bytes_per_sec, Some(1_000_000_000));
        assert_eq!("".parse::<SimSpec>().unwrap(), SimSpec::default());
    }

    #[test]
    fn preset_values_can_be_overridden_by_keys() {
        for preset in PRESETS {
            let spec: SimSpec = format!("{},seed=9", preset.name).parse().unwrap();
            assert_eq!(spec.seed, 9);
        }
    }

    #[test]
    fn invalid_simulation_specs_report_valid_values() {
        for (text, wanted) in [
            ("floppy", "presets: hdd"),
            ("channels=0", "above 0"),
            ("service=0", "above 0"),
            ("cache_service=0", "above 0"),
            ("speed=1", "keys: channels"),
            ("dist=normal", "lognormal:SIGMA"),
            ("gc=every:1ms,stall:2ms", "gc=every:2s,stall:50ms"),
            ("service=fast", "10ms"),
            ("seed=1,hdd", "neither a preset"),
            ("fresh=much", "fresh=much"),
            ("fresh_service=0", "above 0"),
            ("channels=8,queue=4", "8 channels"),
            ("host_link=0", "above 0"),
            ("hosts=0", "between 1 and 10000"),
            ("hosts=10001", "between 1 and 10000"),
            ("late=1%:20ms", "late=1%:20ms:500ms"),
            ("starve=every:10s", "starve=every:10s,for:2s"),
            ("pause=every:10s", "pause=every:10s,for:2s"),
            ("pause=every:10s,for:0", "pause=every:10s,for:2s"),
            ("pause=each:10s,for:1s", "pause=every:10s,for:2s"),
            ("pause=every:often,for:1s", "pause=every:often"),
            ("wander=30%", "wander=30%:10m"),
            ("wander=30%:0", "wander=30%:10m"),
            ("wander=30%:slow", "5m"),
            ("wander=100%:1m", "below 100 and a time"),
            ("wander=-5%:1m", "between 0 and 100"),
            ("noise=10%", "noise=10%:2s"),
            ("noise=10%:0", "noise=10%:2s"),
            ("noise=10%:2s+", "join several with +"),
            ("neighbour=100%", "neighbour=100%:2s"),
            ("neighbour=100%:0", "neighbour=100%:2s"),
        ] {
            let message = text.parse::<SimSpec>().unwrap_err().to_string();
            assert!(message.contains(wanted), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn parsing_simulation_spec_never_panics(text in "[a-z_0-9=:,.%-]{0,40}") {
            let _ = text.parse::<SimSpec>();
        }
    }
}
