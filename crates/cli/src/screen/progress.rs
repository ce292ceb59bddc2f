//! One line of live status on a terminal; an occasional plain line elsewhere.

use crate::screen;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iogauge_lab::observe::Decision;
use iogauge_lab::{Phase, Status};
use iogauge_model::Vocabulary;
use iogauge_model::limit::Bound;
use iogauge_model::result::SystemPoint;
use iogauge_model::units::{Bandwidth, Bytes, Count, Latency};
use iogauge_report::terminal::duration;
use std::io::Write;
use std::time::{Duration, Instant};

/// Time between two lines without a terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// Shows the progress of a measurement.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    last: Instant,
    /// The current step of a suite: `3/40 readrand 8k`.
    step: String,
    /// The time of the suite's steps after the current one.
    after: Option<Duration>,
    /// The terms for what is measured.
    vocabulary: Vocabulary,
}

impl Progress {
    /// Makes a status line on stderr.
    pub fn new(quiet: bool) -> Self {
        let bar = (!quiet && screen::is_shown(&std::io::stderr())).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
            // The template is a valid constant; otherwise the bar keeps its default style.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self {
            bar,
            quiet,
            last: Instant::now(),
            step: String::new(),
            after: None,
            vocabulary: Vocabulary::Device,
        }
    }

    /// Shows a status.
    pub fn show(&mut self, status: &Status<'_>) {
        let suite = self.after.zip(status.left_ns).map(|(after, left_ns)| {
            let left = after + Duration::from_nanos(left_ns);
            format!("  (suite: {} left)", duration(left.as_secs_f64().ceil()))
        });
        let line = line(status, self.vocabulary, &suite.unwrap_or_default());
        self.show_line(&format!("{}{line}", self.step));
    }

    /// Shows the progress of recording the system.
    pub fn show_system(&mut self, point: &SystemPoint, left: Option<Duration>) {
        self.show_line(&system_line(point, left));
    }

    /// Sets the terms for what is measured.
    pub fn set_vocabulary(&mut self, vocabulary: Vocabulary) {
        self.vocabulary = vocabulary;
    }

    /// Prints a decision of a search above the status.
    pub fn explain(&self, decision: &Decision) {
        self.print(&decision.text(self.vocabulary));
    }

    /// Shows a status given as text.
    pub fn show_line(&mut self, line: &str) {
        let line = screen::line(line);
        if let Some(bar) = &self.bar {
            bar.set_message(line);
            bar.tick();
        } else if !self.quiet && self.last.elapsed() >= PLAIN_EVERY {
            self.last = Instant::now();
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// Sets the suite step that the status belongs to.
    pub fn set_step(&mut self, number: usize, of: usize, key: &str, after_ns: u64) {
        self.step = format!("{number}/{of} {key}  ");
        self.after = Some(Duration::from_nanos(after_ns));
    }

    /// Prints the line of a finished suite step, unless `quiet`.
    pub fn step_over(&self, line: &str) {
        if !self.quiet {
            self.print(line);
        }
    }

    /// Prints a line above the status.
    pub fn print(&self, text: &str) {
        self.above(|| screen::tell(&screen::line(text)));
    }

    /// Prints a warning above the status.
    pub fn warning(&self, text: &str) {
        self.above(|| screen::warning(text));
    }

    fn above(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Removes the status line.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Formats a status as one line. A narrow terminal cuts off its end, so what is less important stands last. `suite` is
/// the time left of the whole suite.
fn line(status: &Status<'_>, words: Vocabulary, suite: &str) -> String {
    let done = status.percent_done().map_or_else(String::new, |done| format!("  {done:.0} %"));
    let left = status.left_ns.map_or_else(String::new, |ns| {
        format!("{done}  {} left{suite}", duration((ns as f64 / 1e9).ceil()))
    });
    if let Phase::Prefill { done_bytes, total_bytes }
    | Phase::Checking { done_bytes, total_bytes } = status.phase
    {
        let percent = done_bytes as f64 * 100.0 / total_bytes.max(1) as f64;
        return format!(
            "{}  {} of {} ({percent:.0} %)  {}{left}",
            status.phase.word(),
            Bytes(done_bytes),
            Bytes(total_bytes),
            Bandwidth(status.bytes_per_sec),
        );
    }
    if status.phase == Phase::Ramp && status.iops == 0.0 {
        // fio, for one, tells nothing before its ramp is over.
        return format!("{}{left}", status.phase.word());
    }
    let judged = status.limits.iter().map(|(limit, ns)| {
        let value = if ns.is_finite() { Latency(*ns).to_string() } else { "?".to_owned() };
        format!("{} {value:>8} (≤ {})", words.statistic(limit), Bound(limit.bound_ns))
    });
    let latency = match status.limits {
        [] => format!("mean {:>8}", Latency(status.latency_mean_ns).to_string()),
        _ => judged.collect::<Vec<_>>().join("  "),
    };
    let sides = match status.by_direction {
        [reads, writes] if reads > 0.0 && writes > 0.0 => {
            format!("  ({} read, {} write)", Count(reads.round()), Count(writes.round()))
        }
        _ => String::new(),
    };
    let load = match words {
        Vocabulary::Device => format!("QD {:<5}", status.queue_depth),
        Vocabulary::Database => format!("{:<13}", words.amount(status.queue_depth)),
    };
    format!(
        "{:<10}  {load}  {:>9} {}{left}  {latency}{sides}",
        status.phase.word(),
        Count(status.iops.round()).to_string(),
        words.iops(),
    )
}

/// Formats a sample of the system as one line.
fn system_line(point: &SystemPoint, left: Option<Duration>) -> String {
    let left =
        left.map_or_else(String::new, |left| format!(", {:.0} s left", left.as_secs_f64().ceil()));
    format!(
        "{:.0} s{left}  processors {:.0} %  devices {:.0} %  reads {}/s {}  writes {}/s {}",
        point.at_seconds,
        point.cpu_percent,
        point.busy_percent,
        Count(point.reads_per_sec.round()),
        Bandwidth(point.read_bytes_per_sec),
        Count(point.writes_per_sec.round()),
        Bandwidth(point.write_bytes_per_sec),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_sample_is_printed_on_one_line() {
        let point = SystemPoint {
            at_seconds: 12.0,
            cpu_percent: 34.4,
            iowait_percent: 2.0,
            busy_percent: 40.0,
            reads_per_sec: 1234.0,
            read_bytes_per_sec: 5_054_464.0,
            ..SystemPoint::default()
        };
        let left = Some(Duration::from_millis(47_100));
        insta::assert_snapshot!(system_line(&point, left), @"12 s, 48 s left  processors 34 %  devices 40 %  reads 1,234/s 5.05 MB/s  writes 0/s 0 B/s");
    }
    use iogauge_model::Limit;

    #[test]
    fn search_status_is_printed_on_one_line() {
        let limits = [(Limit::default(), 9.87e6)];
        let status = Status {
            phase: Phase::Narrowing,
            queue_depth: 20,
            iops: 2001.3,
            bytes_per_sec: 8.2e6,
            by_direction: [1401.0, 600.3],
            latency_mean_ns: 9.87e6,
            limits: &limits,
            left_ns: Some(13_400_000_000),
            total_ns: Some(20_000_000_000),
        };
        insta::assert_snapshot!(line(&status, Vocabulary::Device, ""), @"narrowing   QD 20         2,001 IOPS  33 %  14 s left  mean  9.87 ms (≤ 10 ms)  (1,401 read, 600 write)");
        let common =
            Status { limits: &[(Limit::default(), 4.5e6)], by_direction: [1.0, 0.0], ..status };
        assert!(line(&common, Vocabulary::Device, "").chars().count() <= 78);
        let of_suite = line(&status, Vocabulary::Device, "  (suite: 2 min left)");
        assert!(of_suite.contains("14 s left  (suite: 2 min left)  mean"), "{of_suite}");
        let unknown = Status { phase: Phase::Ramp, iops: 0.0, ..status };
        insta::assert_snapshot!(line(&unknown, Vocabulary::Device, ""), @"ramp  33 %  14 s left");
        let phase = Phase::Prefill { done_bytes: 1 << 29, total_bytes: 1 << 30 };
        insta::assert_snapshot!(line(&Status { phase, total_ns: None, ..status }, Vocabulary::Device, ""), @"prefill  512 MiB of 1 GiB (50 %)  8.20 MB/s  14 s left");
        let phase = Phase::Checking { done_bytes: 1 << 28, total_bytes: 1 << 30 };
        insta::assert_snapshot!(line(&Status { phase, total_ns: None, ..status }, Vocabulary::Device, ""), @"checking  256 MiB of 1 GiB (25 %)  8.20 MB/s  14 s left");
    }
}
