//! The lines that the front process prints if the working process does not end in time.

use iogauge_lab::process::UninterruptibleThread;

/// Number of threads that are named; the rest are counted.
const MOST_NAMED: usize = 3;

/// Describes a process that did not end in time: what blocks it, and what to do about it.
pub(super) fn lines(
    id: u32,
    threads: &[UninterruptibleThread],
    gone: bool,
    has_result: bool,
) -> Vec<String> {
    let why = why(threads);
    let line = match (gone, has_result) {
        (true, _) => format!("process {id} did not end in time and was killed: {why}"),
        (false, true) => format!("process {id} is done and cannot end yet: {why}"),
        (false, false) => format!("process {id} was killed and cannot end yet: {why}"),
    };
    let hint = match (gone, has_result) {
        (_, true) => "the result is complete; the process ends when the kernel ends the I/O",
        (true, false) => "iogauge history show shows what was kept of the run",
        (false, false) => {
            "iogauge history show shows what was kept of the run; the process ends when the kernel \
             ends the I/O"
        }
    };
    let kind = if has_result { "warning" } else { "error" };
    vec![format!("{kind}: {line}"), format!("hint: {hint}")]
}

fn why(threads: &[UninterruptibleThread]) -> String {
    let named: Vec<String> = threads.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    match (threads.len().saturating_sub(MOST_NAMED), named.is_empty()) {
        (_, true) => "it was still at work".to_owned(),
        (0, _) => named.join(", "),
        (1, _) => format!("{}, and 1 more thread", named.join(", ")),
        (more, _) => format!("{}, and {more} more threads", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unfinished_state_has_its_own_message() {
        let told = |gone, has_result| lines(7, &[], gone, has_result).join("; ");
        assert_eq!(
            told(true, false),
            "error: process 7 did not end in time and was killed: it was still at work; hint: \
             iogauge history show shows what was kept of the run"
        );
        assert!(told(false, true).contains("is done and cannot end yet"));
        assert!(told(false, true).contains("the result is complete"));
        assert!(told(false, false).contains("was killed and cannot end yet"));
    }
}
