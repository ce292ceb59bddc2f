//! The capacity by number of hosts as CSV.

use super::{ESTIMATE, Rows, estimate, optional};
use ::csv::Error;
use iogauge_model::result::{Head, HostsCurveFindings, HostsOutcome};
use std::io::Write;

/// First column of the rows of [`hosts_curve`].
pub const HOSTS_CURVE_CSV_FORMAT: &str = "iogauge.hosts-curve-csv/1";

/// Writes a row for each number of hosts. `given`, `at_least`, `client_bound` and `saturates` are `true` or `false`.
///
/// # Errors
/// Fails if the writer fails.
pub fn hosts_curve(
    head: &Head,
    found: &HostsCurveFindings,
    writer: impl Write,
) -> Result<(), Error> {
    let mut table = Rows::new(writer);
    let mut header = vec!["format", "run_id", "started", "target", "hosts"];
    header.extend(ESTIMATE);
    header.extend(["iops_n", "iops_per_host", "depth", "latency_ns_mean", "latency_ns_p99"]);
    header.extend(["scaling_efficiency", "given", "at_least", "client_bound", "saturates"]);
    table.write_record(&header)?;
    for point in &found.hosts_curve {
        let mut row = vec![
            HOSTS_CURVE_CSV_FORMAT.to_owned(),
            head.run_id.clone(),
            head.started.clone(),
            head.target.name().to_owned(),
            point.hosts.to_string(),
        ];
        row.extend(estimate(&point.iops));
        row.extend([
            point.iops.n.to_string(),
            point.iops_per_host.to_string(),
            point.queue_depth.to_string(),
            point.latency_ns_mean.to_string(),
            point.latency_ns_p99.to_string(),
            optional(point.scaling_efficiency),
        ]);
        let saturates = found.outcome == Some(HostsOutcome::SaturatesAt(point.hosts));
        let marks = [point.given, point.at_least, point.client_bound, saturates];
        row.extend(marks.map(|mark| mark.to_string()));
        table.write_record(&row)?;
    }
    Ok(table.flush()?)
}
