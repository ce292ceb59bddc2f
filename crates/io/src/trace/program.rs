//! The program that bpftrace runs in the kernel.
//!
//! It counts everything in the kernel and prints it at the end of a window; no event leaves the kernel. Maps that many
//! processors write to are of type `count`, `sum` or `max`, which bpftrace keeps per processor. A minimum is stored as
//! a maximum of [`FROM`] minus the value, because older versions of bpftrace only support 32-bit minima.

use super::devices::TracedDevice;
use super::mark::{BEGIN, END, PING};
use iogauge_model::histogram::PRECISION_BITS;

/// Constant from which minima are subtracted.
pub(super) const FROM: u64 = 1 << 62;
/// Printed by the first and the last probe. Probes are attached in the order of the text or in reverse, so after both
/// messages all of them are attached.
pub(super) const FIRST: &str = "iogauge first";
pub(super) const LAST: &str = "iogauge last";
/// Printed after all maps of a window.
pub(super) const OVER: &str = "iogauge over";

/// Kinds of requests, as numbered in the program.
pub(super) const READ: u64 = 0;
pub(super) const WRITE: u64 = 1;
pub(super) const FLUSH: u64 = 2;

/// Requests by kind and time bucket, with the buckets of `iogauge_model::histogram`.
pub(super) const TIMES: &str = "@times";
/// Nanoseconds by kind: sum, maximum, and [`FROM`] minus the minimum.
pub(super) const TIME_SUM: &str = "@time_sum";
pub(super) const TIME_MAX: &str = "@time_max";
pub(super) const TIME_MIN: &str = "@time_min";
/// Requests by kind and number of sectors.
pub(super) const SIZES: &str = "@sizes";
/// Requests whose issue was not seen.
pub(super) const UNMATCHED: &str = "@unmatched";
/// By device: [`FROM`] minus the first sector touched, and the sector after the last one.
pub(super) const FIRST_SECTOR: &str = "@first_sector";
pub(super) const END_SECTOR: &str = "@end_sector";
/// By device: requests with a predecessor, those that began where it ended, and the sum of the distances in sectors.
pub(super) const FOLLOWED: &str = "@followed";
pub(super) const SEQUENTIAL: &str = "@sequential";
pub(super) const JUMPED: &str = "@jumped";

/// Maps that are printed and cleared at the end of a window.
const PRINTED: [&str; 11] = [
    TIMES,
    TIME_SUM,
    TIME_MAX,
    TIME_MIN,
    SIZES,
    UNMATCHED,
    FIRST_SECTOR,
    END_SECTOR,
    FOLLOWED,
    SEQUENTIAL,
    JUMPED,
];

/// Determines the kind of a request from its letters (`blk_fill_rwbs`, kernel/trace/blktrace.c). A leading F means that
/// the cache is flushed first, so FW is a write and FF only a flush.
const KIND: &str = r#"
  $kind = 3;
  if (strncmp(args->rwbs, "R", 1) == 0) { $kind = 0; }
  else if (strncmp(args->rwbs, "W", 1) == 0 || strncmp(args->rwbs, "FW", 2) == 0) { $kind = 1; }
  else if (strncmp(args->rwbs, "F", 1) == 0) { $kind = 2; }
  $at = (uint64)args->sector;
  if ($kind == 2) { $at = (uint64)0; }"#;

/// Handles a request that is given to the driver. It is identified by device, first sector and kind. If two outstanding
/// requests are identical, the later start replaces the earlier one, and the request that completes last has none. No
/// entry outlives the next request with the same identity, whatever processors do concurrently.
const ISSUE: &str = r"
  if ($kind < 3) { @begun[args->dev, $at, $kind] = nsecs; }
  if ($kind < 2 && args->nr_sector > 0) {
    $end = $at + args->nr_sector;
    $before = @behind[args->dev];
    @behind[args->dev] = $end + 1;
    if (@counts == 1) {
      @first_sector[args->dev] = max(4611686018427387904 - $at);
      @end_sector[args->dev] = max($end);
      if ($before > 0) {
        @followed[args->dev] = count();
        if ($at + 1 == $before) { @sequential[args->dev] = count(); }
        else if ($at + 1 > $before) { @jumped[args->dev] = sum($at + 1 - $before); }
        else { @jumped[args->dev] = sum($before - $at - 1); }
      }
    }
  }";

/// Handles a completed request. A request that flushes before or after its data completes a second time, without data.
const COMPLETE: &str = r"
  if ($kind == 2 || ($kind < 2 && args->nr_sector > 0)) {
    $begun = @begun[args->dev, $at, $kind];
    if ($begun > 0) { delete(@begun[args->dev, $at, $kind]); }
    if (@counts == 1 && $begun == 0) { @unmatched = count(); }
    if (@counts == 1 && $begun > 0) {
      $took = nsecs - $begun;
      $rest = $took | (1 << PRECISION);
      $octave = (uint64)0;
      if (($rest >> 32) > 0) { $octave = $octave + 32; $rest = $rest >> 32; }
      if (($rest >> 16) > 0) { $octave = $octave + 16; $rest = $rest >> 16; }
      if (($rest >> 8) > 0) { $octave = $octave + 8; $rest = $rest >> 8; }
      if (($rest >> 4) > 0) { $octave = $octave + 4; $rest = $rest >> 4; }
      if (($rest >> 2) > 0) { $octave = $octave + 2; $rest = $rest >> 2; }
      if (($rest >> 1) > 0) { $octave = $octave + 1; }
      $exponent = $octave - PRECISION;
      @times[$kind, ($exponent << PRECISION) + ($took >> $exponent)] = count();
      @time_sum[$kind] = sum($took);
      @time_max[$kind] = max($took);
      @time_min[$kind] = max(4611686018427387904 - $took);
      @sizes[$kind, args->nr_sector] = count();
    }
  }";

/// Returns the program for some devices. It counts between the marks of tracer `number`.
pub(super) fn program(devices: &[TracedDevice], number: i32) -> String {
    let wanted: Vec<String> =
        devices.iter().map(|device| format!("args->dev == {}", device.kernel_number())).collect();
    let wanted = wanted.join(" || ");
    let mark = |word: i32, body: &str| {
        format!(
            "tracepoint:signal:signal_generate /args->errno == {number} && args->code == {word}/ {{ \
             {body} }}\n"
        )
    };
    let probe =
        |name: &str, body: &str| format!("tracepoint:block:{name} /{wanted}/ {{{KIND}{body}\n}}\n");
    let printed: String = PRINTED.iter().map(|map| format!("print({map}); ")).collect();
    let cleared: String = PRINTED.iter().map(|map| format!("clear({map}); ")).collect();
    let say = |word: &str| format!("printf(\"{word}\\n\");");
    [
        "BEGIN { @counts = 0; }\n".to_owned(),
        mark(PING, &say(FIRST)),
        probe("block_rq_issue", ISSUE),
        probe("block_rq_complete", &COMPLETE.replace("PRECISION", &PRECISION_BITS.to_string())),
        // A window spoilt by a pause has no end, so maps are also cleared at the start.
        mark(BEGIN, &format!("{cleared}@counts = 1;")),
        mark(END, &format!("@counts = 0; {printed}{cleared}{}", say(OVER))),
        mark(PING, &say(LAST)),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::DeviceNumber;

    #[test]
    fn bpftrace_program_contains_only_its_device_numbers() {
        let device =
            |name: &str, major, minor| TracedDevice::made_up(name, DeviceNumber { major, minor });
        let text = program(&[device("loop0", 7, 0), device("sda", 8, 16)], 42);
        assert!(text.contains("/args->dev == 7340032 || args->dev == 8388624/"), "{text}");
        assert_eq!(text.matches("args->errno == 42").count(), 4);
        assert!(text.contains(&format!("max({FROM} - $at)")) && !text.contains("PRECISION"));
        for map in PRINTED {
            // Written at least once, printed and cleared.
            assert!(text.matches(map).count() >= 3, "{map}");
        }
    }
}
