//! The member `steadystate` of a job.

use iogauge_model::load::SteadyMetric;
use iogauge_model::result::SteadyStateResult;
use serde::Serialize;

/// The steady state of a job, which is that of its group.
#[derive(Debug, Serialize)]
pub(super) struct SteadyStateEntry {
    ss: String,
    duration: u64,
    attained: u8,
    criterion: String,
    max_deviation: f64,
    slope: f64,
    data: Window,
}

/// The measurements of the window. As in fio, those that were not made are zeros.
#[derive(Debug, Serialize)]
struct Window {
    bw_mean: u64,
    iops_mean: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lat_mean: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lat_ns: Option<Vec<u64>>,
    iops: Vec<u64>,
    bw: Vec<u64>,
}

impl SteadyStateEntry {
    pub(super) fn of(state: &SteadyStateResult) -> Self {
        let sought = &state.sought;
        let percent = if sought.is_percent { "%" } else { "" };
        let values = |metric: SteadyMetric| -> Vec<u64> {
            let mut values: Vec<u64> =
                state.points.iter().map(|point| point.value(metric) as u64).collect();
            values.resize(sought.intervals(), 0);
            values
        };
        let mean = |values: &[u64]| values.iter().sum::<u64>() / values.len() as u64;
        let (iops, bw) = (values(SteadyMetric::Iops), values(SteadyMetric::Bw));
        let lat_ns = (sought.metric == SteadyMetric::Lat).then(|| values(SteadyMetric::Lat));
        Self {
            ss: format!("{}:{:.6}{percent}", sought.criterion_word(), sought.bound),
            duration: sought.window_ns / 1_000_000_000,
            attained: state.is_attained().into(),
            criterion: format!("{:.6}{percent}", state.at_end().unwrap_or(0.0)),
            max_deviation: state.max_deviation(),
            slope: state.slope(),
            data: Window {
                bw_mean: mean(&bw),
                iops_mean: mean(&iops),
                lat_mean: lat_ns.as_deref().map(mean),
                lat_ns,
                iops,
                bw,
            },
        }
    }
}
