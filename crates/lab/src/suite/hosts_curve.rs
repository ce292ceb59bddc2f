//! `iogauge hosts-curve`: the capacity of one, two, four and more of the hosts, and where more hosts add nothing.

use super::kit::{NOTHING, counted, table, whole, why_no_capacity, words};
use super::plan::{SuiteStep, Work};
use super::{CaveatFilter, Needs, Site, Suite, SuiteError};
use crate::search::SearchPlan;
use crate::session::HostsUsed;
use iogauge_model::limit::Bound;
use iogauge_model::load::Load;
use iogauge_model::result::{
    Cell, Conclusion, Estimate, HostsCurveFindings, HostsOutcome, HostsPoint, Search, StepPlace,
    StoppedBy, SuiteStepResult, SuiteTable,
};
use iogauge_model::{Caveat, CaveatCode};

/// Searches on several numbers of hosts, always the first ones.
#[derive(Debug)]
pub struct HostsCurve {
    load: Load,
    plan: SearchPlan,
    hosts: u32,
}

impl HostsCurve {
    /// Searches for the capacity of a workload on up to this many hosts.
    #[must_use]
    pub fn new(load: Load, plan: SearchPlan, hosts: usize) -> Self {
        Self { load, plan, hosts: hosts as u32 }
    }

    /// Returns the numbers of hosts: 1, 2, 4 and so on, and all.
    fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        let hosts = self.hosts;
        let doubled = std::iter::successors(Some(1u32), |number| number.checked_mul(2));
        doubled.take_while(move |number| *number < hosts).chain([hosts])
    }

    fn points(&self, steps: &[SuiteStepResult]) -> Vec<HostsPoint> {
        let mut points = Vec::new();
        let mut alone_iops = None;
        for hosts in self.numbers() {
            let step = steps.iter().find(|step| step.place.key == key(hosts));
            let Some((step, search)) = step.and_then(|step| Some((step, step.search()?))) else {
                continue;
            };
            let point = point(hosts, step, search, alone_iops);
            if point.given && hosts == 1 {
                alone_iops = Some(point.iops.mean);
            }
            points.push(point);
        }
        if let (Some(_), Some(first)) = (alone_iops, points.first_mut()) {
            first.scaling_efficiency = Some(1.0);
        }
        points
    }
}

fn key(hosts: u32) -> String {
    counted(hosts, "host")
}

fn point(hosts: u32, step: &SuiteStepResult, search: &Search, alone: Option<f64>) -> HostsPoint {
    let answer = &search.answer;
    let is_bound = |caveat: &Caveat| caveat.code == CaveatCode::ClientBound && caveat.is_doubt();
    let iops_per_host = answer.iops.mean / f64::from(hosts);
    HostsPoint {
        hosts,
        given: answer.is_given() && !step.interrupted,
        // The processors of a host are a part of what the host can do.
        at_least: answer.stopped_by.is_early() && answer.stopped_by != StoppedBy::Client,
        iops: answer.iops,
        iops_per_host,
        queue_depth: answer.queue_depth,
        latency_ns_mean: answer.latency_ns.mean,
        latency_ns_p99: answer.latency_ns.p99,
        scaling_efficiency: alone.map(|alone| iops_per_host / alone),
        client_bound: answer.stopped_by == StoppedBy::Client || step.caveats.iter().any(is_bound),
    }
}

impl Suite for HostsCurve {
    fn needs(&self) -> Needs {
        Needs { writes: self.load.writes(), direct: self.load.direct, ..Needs::default() }
    }

    fn plan(&self, _site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        let step = |hosts: u32| SuiteStep {
            place: StepPlace { key: key(hosts), phase: "hosts".to_owned(), round: None },
            work: Work::Search { load: Box::new(self.load.clone()), plan: self.plan.clone() },
            regions: Vec::new(),
            sums_up: false,
            hosts: HostsUsed::First(hosts as usize),
        };
        Ok(self.numbers().map(step).collect())
    }

    fn caveat_filter<'a>(&'a self, _: &'a Site, _: &'a [SuiteStepResult]) -> CaveatFilter<'a> {
        // The table shows how many hosts did the I/O.
        Box::new(|caveat, _| caveat.code != CaveatCode::SeveralHosts)
    }

    fn conclude(&self, _site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let points = self.points(steps);
        let outcome = HostsOutcome::of(&points);
        let reason = |hosts: u32| {
            let step = steps.iter().find(|step| step.place.key == key(hosts));
            step.and_then(SuiteStepResult::search).map(|search| search.answer.stopped_by)
        };
        let mark = |point: &HostsPoint| match outcome {
            Some(HostsOutcome::SaturatesAt(hosts)) if hosts == point.hosts => "saturates",
            _ if !point.given => "no capacity",
            _ if point.at_least => "at least",
            _ if point.client_bound => "client-bound",
            _ => "",
        };
        let if_given =
            |point: &HostsPoint, cell: Cell| if point.given { cell } else { Cell::Empty };
        let limits: Vec<String> = self
            .plan
            .limits
            .iter()
            .map(|limit| format!("{} ≤ {}", limit.statistic(), Bound(limit.bound_ns)))
            .collect();
        let mut table = table(
            format!("Capacity of {} {} by number of hosts", self.load.rw, self.load.block),
            &points,
            &[
                ("hosts", &|point| Cell::Count(point.hosts.into())),
                ("IOPS", &|point| if_given(point, Cell::Iops(point.iops.mean))),
                ("±", &|point| if_given(point, percent(&point.iops))),
                ("per host", &|point| if_given(point, Cell::Iops(point.iops_per_host))),
                ("QD", &|point| if_given(point, Cell::Count(point.queue_depth.into()))),
                ("mean", &|point| if_given(point, Cell::LatencyNs(point.latency_ns_mean))),
                ("p99", &|point| if_given(point, Cell::LatencyNs(point.latency_ns_p99 as f64))),
                ("efficiency", &|point| {
                    let efficiency = point.scaling_efficiency.map(|share| share * 100.0);
                    if_given(point, efficiency.map_or(Cell::Empty, Cell::Percent))
                }),
                ("#", &|point| words(mark(point))),
            ],
        );
        table.notes.push(format!(
            "Under {}. Efficiency: IOPS per host in relation to those of one host.",
            limits.join(", ")
        ));
        let conclusion = Conclusion {
            verdict: verdict(&points, outcome, &reason),
            tables: vec![SuiteTable::Own(table)],
            findings: serde_json::to_value(HostsCurveFindings { hosts_curve: points, outcome })
                .unwrap_or_default(),
        };
        (conclusion, Vec::new())
    }
}

/// Returns half the width of the confidence interval in percent of the value.
fn percent(iops: &Estimate) -> Cell {
    if iops.n < 2 { Cell::Empty } else { Cell::Percent(iops.relative_error() * 100.0) }
}

fn verdict(
    points: &[HostsPoint],
    outcome: Option<HostsOutcome>,
    stopped_by: &dyn Fn(u32) -> Option<StoppedBy>,
) -> Vec<String> {
    let (Some(first), Some(last), Some(outcome)) = (points.first(), points.last(), outcome) else {
        return vec![NOTHING.to_owned()];
    };
    let iops_of = |hosts: u32| {
        let point = points.iter().find(|point| point.hosts == hosts);
        whole(point.map_or(0.0, |point| point.iops.mean))
    };
    let mut sentences = match outcome {
        HostsOutcome::SaturatesAt(hosts) => vec![
            format!(
                "The capacity saturates at {}: {} IOPS; {} reach {}.",
                key(hosts),
                iops_of(hosts),
                key(last.hosts),
                whole(last.iops.mean)
            ),
            match hosts {
                1 => "One host reaches it, so the limit is the target, or what the hosts share on the way to it."
                    .to_owned(),
                _ => format!(
                    "With fewer than {hosts} hosts, the limit is the hosts; with more, it is the target, or what the \
                     hosts share on the way to it."
                ),
            },
        ],
        HostsOutcome::ScalesAt(hosts) => vec![format!(
            "The capacity still scales at {}: {} IOPS; more hosts would reach more.",
            key(hosts),
            iops_of(hosts)
        )],
        HostsOutcome::UndecidedAt(hosts) => {
            vec![format!("Undecided: the search on {} {}.", key(hosts), why_no_capacity(stopped_by(hosts)))]
        }
    };
    if let (true, Some(efficiency)) = (last.hosts > 1 && last.given, last.scaling_efficiency) {
        sentences.push(format!(
            "{} reach {:.1} times the IOPS of one host.",
            key(last.hosts),
            efficiency * f64::from(last.hosts)
        ));
    }
    if first.hosts == 1 && first.client_bound {
        sentences.push(
            "The processors of one host limit what it reaches (client-bound): one host alone does not show what the \
             target can do."
                .to_owned(),
        );
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_hosts_double_and_end_with_all() {
        let numbers = |hosts| -> Vec<u32> {
            let curve = HostsCurve::new(Load::default(), SearchPlan::default(), hosts);
            curve.numbers().collect()
        };
        assert_eq!(numbers(2), [1, 2]);
        assert_eq!(numbers(6), [1, 2, 4, 6]);
        assert_eq!(numbers(8), [1, 2, 4, 8]);
    }
}
