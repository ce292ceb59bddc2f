//! The program that bpftrace runs in the kernel.
//!
//! All is counted there, and printed at the end of a window: no event leaves the kernel. Maps that
//! many processors write are `count`, `sum` and `max`, which bpftrace keeps apart for each processor.
//! Minima are kept as maxima of [`FROM`] less the value, since older versions of bpftrace know minima
//! of 32 bits only.

use super::devices::TracedDevice;
use super::mark::{BEGIN, END, PING};
use iogauge_model::histogram::PRECISION_BITS;

/// What minima are kept below.
pub(super) const FROM: u64 = 1 << 62;
/// What the program says when its first and its last probe are attached: they are attached in order
/// of the text or against it, so that with both all of them are.
pub(super) const FIRST: &str = "iogauge first";
pub(super) const LAST: &str = "iogauge last";
/// What it says when all of a window is printed.
pub(super) const OVER: &str = "iogauge over";

/// Kinds of requests, by their number in the program.
pub(super) const READ: u64 = 0;
pub(super) const WRITE: u64 = 1;
pub(super) const FLUSH: u64 = 2;

/// Requests by kind and bucket of their time, as `iogauge_model::histogram` has it.
pub(super) const TIMES: &str = "@times";
/// Nanoseconds by kind: their sum, the largest, and [`FROM`] less the smallest.
pub(super) const TIME_SUM: &str = "@time_sum";
pub(super) const TIME_MAX: &str = "@time_max";
pub(super) const TIME_MIN: &str = "@time_min";
/// Requests by kind and sectors.
pub(super) const SIZES: &str = "@sizes";
/// Requests whose begin was not seen.
pub(super) const UNMATCHED: &str = "@unmatched";
/// By device: [`FROM`] less the first sector touched, and the one behind the last.
pub(super) const FIRST_SECTOR: &str = "@first_sector";
pub(super) const END_SECTOR: &str = "@end_sector";
/// By device: requests that another preceded, those that began where it ended, and the sectors between
/// them all.
pub(super) const FOLLOWED: &str = "@followed";
pub(super) const SEQUENTIAL: &str = "@sequential";
pub(super) const JUMPED: &str = "@jumped";

/// Everything that is printed and forgotten at the end of a window.
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

/// The kind of a request by its letters (`blk_fill_rwbs`, kernel/trace/blktrace.c): an F in front says
/// that the cache is flushed before, so that FW is a write and FF nothing but a flush.
const KIND: &str = r#"
  $kind = 3;
  if (strncmp(args->rwbs, "R", 1) == 0) { $kind = 0; }
  else if (strncmp(args->rwbs, "W", 1) == 0 || strncmp(args->rwbs, "FW", 2) == 0) { $kind = 1; }
  else if (strncmp(args->rwbs, "F", 1) == 0) { $kind = 2; }
  $at = (uint64)args->sector;
  if ($kind == 2) { $at = (uint64)0; }"#;

/// A request is given to the driver. It is known again by device, first sector and kind. Of two that are
/// alike and under way at once the later begin stands, and the one that completes last has none: no entry
/// outlives the next request of its place, whatever processors do at once.
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

/// A request completes. One that flushes before or after its data completes a second time, without
/// any.
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

/// The program for some devices, which counts between marks of a number.
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
        // A window that a pause spoilt has no end.
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
    fn the_program_names_its_devices_and_nothing_else_of_the_machine() {
        let device =
            |name: &str, major, minor| TracedDevice::made_up(name, DeviceNumber { major, minor });
        let text = program(&[device("loop0", 7, 0), device("sda", 8, 16)], 42);
        assert!(text.contains("/args->dev == 7340032 || args->dev == 8388624/"), "{text}");
        assert_eq!(text.matches("args->errno == 42").count(), 4);
        assert!(text.contains(&format!("max({FROM} - $at)")) && !text.contains("PRECISION"));
        for map in PRINTED {
            // Written once at least, printed and cleared.
            assert!(text.matches(map).count() >= 3, "{map}");
        }
    }
}
