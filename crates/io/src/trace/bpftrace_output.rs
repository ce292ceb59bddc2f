//! Parses the output of bpftrace and evaluates it.

use super::program::{
    END_SECTOR, FIRST_SECTOR, FLUSH, FOLLOWED, FROM, JUMPED, READ, SEQUENTIAL, SIZES, TIME_MAX,
    TIME_MIN, TIME_SUM, TIMES, UNMATCHED, WRITE,
};
use iogauge_model::histogram::{BUCKETS, Histogram};
use iogauge_model::result::{BlockTrace, RequestSize, TracedDevice, TracedRequests};
use serde_json::Value;
use std::collections::HashMap;

/// A larger number of requests in one place cannot be genuine.
const MOST: u64 = 1 << 44;

/// A line of bpftrace's JSON output (bpftrace(8), `-f json`).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    /// A message of the program.
    Words(String),
    /// A map, with its name in the program.
    Map(String, Map),
    /// Any other JSON.
    Other,
}

/// Values of a map by their keys. A map has at most two keys; a missing one is 0.
pub(super) type Map = HashMap<[u64; 2], u64>;

impl Said {
    /// Parses a line; `None` if it is not JSON.
    pub(super) fn of(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let data = &value["data"];
        Some(match (value["type"].as_str(), data) {
            (Some("printf"), Value::String(words)) => Self::Words(words.trim().to_owned()),
            (Some("map"), Value::Object(maps)) => {
                let named = maps.iter().next();
                named.map_or(Self::Other, |(name, map)| Self::Map(name.clone(), numbers(map)))
            }
            _ => Self::Other,
        })
    }
}

fn numbers(map: &Value) -> Map {
    match map {
        Value::Object(entries) => {
            entries.iter().filter_map(|(keys, value)| Some((key(keys)?, value.as_u64()?))).collect()
        }
        // A map without keys.
        other => other.as_u64().map(|value| ([0, 0], value)).into_iter().collect(),
    }
}

fn key(text: &str) -> Option<[u64; 2]> {
    let (first, second) = text.split_once(',').unwrap_or((text, "0"));
    Some([first.trim().parse().ok()?, second.trim().parse().ok()?])
}

/// The maps of one window.
#[derive(Debug, Default)]
pub(super) struct Maps(HashMap<String, Map>);

impl Maps {
    pub(super) fn insert(&mut self, name: String, map: Map) {
        self.0.insert(name, map);
    }

    fn get(&self, map: &str, key: [u64; 2]) -> Option<u64> {
        self.0.get(map)?.get(&key).copied()
    }

    /// Returns the counts of a kind, by the second key.
    fn counts(&self, map: &str, kind: u64) -> impl Iterator<Item = (u64, u64)> {
        let entries = self.0.get(map).into_iter().flatten();
        entries
            .filter(move |([of, _], count)| *of == kind && (1..=MOST).contains(*count))
            .map(|([_, second], count)| (*second, *count))
    }

    /// Evaluates a window of `seconds` on devices with these numbers and names.
    pub(super) fn trace(&self, seconds: f64, devices: &[(u64, &str)]) -> BlockTrace {
        BlockTrace {
            seconds,
            read: self.requests(READ),
            write: self.requests(WRITE),
            flush: self.requests(FLUSH),
            unmatched: self.get(UNMATCHED, [0, 0]).unwrap_or(0),
            devices: devices.iter().map(|(number, name)| self.device(*number, name)).collect(),
        }
    }

    fn requests(&self, kind: u64) -> Option<TracedRequests> {
        let bucket = |(index, _): &(u64, u64)| *index < BUCKETS as u64;
        let (within, beyond): (Vec<_>, Vec<_>) = self.counts(TIMES, kind).partition(bucket);
        let overflow = beyond.iter().map(|(_, count)| count).sum();
        let within = within.into_iter().map(|(index, count)| (index as usize, count));
        let of = |map: &str| self.get(map, [kind, 0]).unwrap_or(0);
        let most_ns = of(TIME_MAX);
        let least_ns = FROM.saturating_sub(of(TIME_MIN)).min(most_ns);
        let mut times = Histogram::new();
        times.add_raw(within, overflow, of(TIME_SUM).into(), least_ns, most_ns);
        if times.count() == 0 {
            return None;
        }
        let sizes = self.counts(SIZES, kind).filter(|(sectors, _)| *sectors > 0);
        let sized = |(sectors, count)| RequestSize::of_sectors(sectors, count);
        let mut sizes: Vec<RequestSize> = sizes.map(sized).collect();
        sizes.sort_by_key(|size| size.bytes);
        Some(TracedRequests::new(sizes, times))
    }

    fn device(&self, number: u64, name: &str) -> TracedDevice {
        let of = |map: &str| self.get(map, [number, 0]).unwrap_or(0);
        let first = self.get(FIRST_SECTOR, [number, 0]).map_or(0, |less| FROM.saturating_sub(less));
        let distances = [of(FOLLOWED), of(SEQUENTIAL), of(JUMPED)];
        TracedDevice::of_sectors(name.to_owned(), [first, of(END_SECTOR)], distances)
    }
}

/// Evaluates lines of bpftrace as a window of one second on one device. Used to test that no input makes the parser
/// fail.
#[must_use]
pub fn trace_of_lines(lines: &str, device_number: u64) -> BlockTrace {
    let mut maps = Maps::default();
    for line in lines.lines() {
        if let Some(Said::Map(name, map)) = Said::of(line) {
            maps.insert(name, map);
        }
    }
    maps.trace(1.0, &[(device_number, "device")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Output of bpftrace 0.17 on a loop device: 3 reads and 2 flushes.
    const RECORDED: &str = r#"{"type": "attached_probes", "data": {"probes": 7}}
{"type": "printf", "data": "iogauge first\n"}
{"type": "map", "data": {"@times": {"0,1121": 1, "0,756": 2, "2,9999": 2}}}
{"type": "map", "data": {"@time_sum": {"0": 70000, "2": 3000000000000}}}
{"type": "map", "data": {"@time_max": {"0": 33000, "2": 2000000000000}}}
{"type": "map", "data": {"@time_min": {"0": 4611686018427369904, "2": 4611685018427387904}}}
{"type": "map", "data": {"@sizes": {"0,128": 1, "0,8": 2, "2,0": 2}}}
{"type": "map", "data": {"@first_sector": {"7340032": 4611686018427387888}}}
{"type": "map", "data": {"@end_sector": {"7340032": 1280}}}
{"type": "map", "data": {"@followed": {"7340032": 2}}}
{"type": "map", "data": {"@sequential": {"7340032": 1}}}
{"type": "map", "data": {"@jumped": {"7340032": 800}}}
{"type": "map", "data": {"@unmatched": 40}}
{"type": "printf", "data": "iogauge over\n"}
"#;

    #[test]
    fn bpftrace_output_is_converted_to_a_trace() {
        let trace = trace_of_lines(RECORDED, 7 << 20);
        let read = trace.read.unwrap();
        assert_eq!((read.requests, read.bytes), (3, 2 * 4096 + 65_536));
        assert_eq!(read.sizes.iter().map(|size| size.bytes).collect::<Vec<_>>(), [4096, 65_536]);
        let times = &read.device_histogram;
        assert_eq!((times.sum_ns(), times.min_ns(), times.max_ns()), (70_000, 18_000, 33_000));
        assert_eq!(trace.write, None);
        let flush = trace.flush.unwrap();
        assert_eq!((flush.requests, flush.bytes, flush.sizes.len()), (2, 0, 0));
        assert_eq!(flush.device_histogram.overflow(), 2);
        assert_eq!(trace.unmatched, 40);
        let device = &trace.devices[0];
        assert_eq!((device.first_byte, device.end_byte), (8192, 1280 * 512));
        assert_eq!((device.followed, device.sequential), (2, 1));
        assert!((device.jump_bytes_mean - 400.0 * 512.0).abs() < 1e-9);
    }

    #[test]
    fn bpftrace_messages_are_distinguished_from_other_output() {
        let words = Said::of(r#"{"type": "printf", "data": "iogauge over\n"}"#);
        assert_eq!(words, Some(Said::Words("iogauge over".to_owned())));
        let other = Said::of(r#"{"type": "lost_events", "data": {"events": 3}}"#);
        assert_eq!(other, Some(Said::Other));
        assert_eq!(Said::of("Attaching 7 probes..."), None);
    }

    proptest! {
        #[test]
        fn parsing_bpftrace_output_never_panics(line in "\\PC{0,80}", name in "@[a-z_]{1,12}", a: u64, b: u64,
            count: u64, at: usize) {
            let _ = Said::of(&line);
            let line = format!(
                r#"{{"type": "map", "data": {{"{name}": {{"{a},{b}": {count}, "0,{a}": {b}}}}}}}"#
            );
            let _ = trace_of_lines(&line, a);
            let cut = (0..=at % (RECORDED.len() + 1)).rev().find(|at| RECORDED.is_char_boundary(*at));
            let _ = trace_of_lines(&RECORDED[..cut.unwrap_or(0)], a);
        }
    }
}
