//! `ladder`: how many users a target takes, rung by rung.
//!
//! Each user waits for one I/O after the other, as a process of a database does. Users double until a
//! limit on the latency breaks, or until they bring no more: then I/Os only queue.

mod report;
mod rung;
#[cfg(test)]
mod tests;

use super::figures::short_of_samples;
use super::fits::block_fits;
use super::{
    Needs, SIZE, Site, Suite, SuiteError, SuiteInfo, SuiteOption, SuiteOptions, SuiteStep,
};
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::result::{Conclusion, SuiteStepResult, SuiteTable};
use iogauge_model::{Caveat, CaveatCode, Limit, Step};
use rung::{End, Rung, chosen};
use serde_json::json;

/// The suite.
pub const INFO: SuiteInfo = SuiteInfo {
    name: "ladder",
    about: "users 1, 2, 4 … until a limit breaks or more of them bring no more IOPS",
    help: "Lets more and more users work at the same time, each of which waits for its I/O before it \
           begins the next. The ladder ends where the latency breaks a limit, or where the IOPS do not \
           grow with the users any more. Tells how many users the target takes and what to count on.",
    options: &[
        SuiteOption {
            name: "users",
            value: Some("N,…"),
            default: Some("1,2,4,8,16,32,64,128,256"),
            help: "Users of each rung",
        },
        SuiteOption {
            name: "iodepth",
            value: Some("N"),
            default: Some("1"),
            help: "I/Os that each user has outstanding",
        },
        SuiteOption {
            name: "limit",
            value: Some("METRIC<=TIME,…"),
            default: Some("mean<=10ms"),
            help: "The ladder ends where one of these is broken",
        },
        SuiteOption {
            name: "growth",
            value: Some("PERCENT"),
            default: Some("50"),
            help: "The ladder ends where IOPS grow by less than this share of the users' growth; 0 for never",
        },
        SuiteOption {
            name: "rw",
            value: Some("PATTERN"),
            default: Some("randread"),
            help: "Direction and order: read, write, rw, randread, randwrite, randrw",
        },
        SuiteOption {
            name: "rwmixread",
            value: Some("PERCENT"),
            default: Some("50"),
            help: "Share of reads in rw and randrw",
        },
        SuiteOption { name: "bs", value: Some("SIZE"), default: Some("8k"), help: "Block size" },
        SuiteOption {
            name: "seconds",
            value: Some("TIME"),
            default: Some("10"),
            help: "Time to measure each rung",
        },
        SIZE,
    ],
    build,
    trial: &[("seconds", "200ms")],
};

/// Share of the users' growth that is growth, where nothing else was typed.
const USUAL_GROWTH: f64 = 0.5;

#[derive(Debug)]
struct Ladder {
    users: Vec<u32>,
    load: Load,
    limits: Vec<Limit>,
    /// Share of the users' growth that is growth; 0 where the ladder never ends for want of it.
    growth: f64,
    runtime_ns: u64,
    size_bytes: Option<u64>,
}

fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    let mut users = options.counts("users", 4096)?;
    users.sort_unstable();
    users.dedup();
    if users.len() < 2 {
        let reason = "one rung is no ladder; hint: use 1,2,4,8";
        return Err(SuiteError::option("users", reason));
    }
    let load = Load {
        rw: options.parsed("rw")?.unwrap_or(Pattern::RandRead),
        read_percent: (options.share("rwmixread")?.unwrap_or(0.5) * 100.0).round() as u32,
        block: BlockSizes::fixed(options.size_bytes("bs")?.unwrap_or(8192)),
        iodepth: options.count("iodepth", 4096)?.unwrap_or(1),
        ..Load::default()
    };
    if options.has("rwmixread") && !load.rw.is_mixed() {
        let reason = format!("{} mixes nothing; hint: use --rw=randrw with it", load.rw);
        return Err(SuiteError::option("rwmixread", reason));
    }
    let limits = options.limits("limit")?;
    for limit in &limits {
        limit.check(&load).map_err(|error| SuiteError::option("limit", error.to_string()))?;
    }
    Ok(Box::new(Ladder {
        users,
        load,
        limits,
        growth: options.share("growth")?.unwrap_or(USUAL_GROWTH),
        runtime_ns: options.duration_ns("seconds")?.unwrap_or(10_000_000_000),
        size_bytes: options.size_bytes("size")?,
    }))
}

impl Suite for Ladder {
    fn needs(&self) -> Needs {
        Needs { size_bytes: self.size_bytes, writes: self.load.writes(), ..Needs::default() }
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        block_fits(site, "bs", self.load.block.largest())?;
        let rung = |users: &u32| {
            let load = Load { numjobs: *users, engine: site.engine, ..self.load.clone() };
            let step = Step::single(load, self.runtime_ns / 10, self.runtime_ns);
            SuiteStep::single("ladder", key(*users), step)
        };
        Ok(self.users.iter().map(rung).collect())
    }

    fn wants(&self, _site: &Site, _step: &SuiteStep, done: &[SuiteStepResult]) -> bool {
        self.end(&self.rungs(done)).is_none()
    }

    fn conclude(&self, _site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let rungs = self.rungs(steps);
        let end = match self.end(&rungs) {
            Some(end) => Some(end),
            None if rungs.len() == self.users.len() => Some(End::Top),
            None => None,
        };
        let chosen = chosen(&rungs);
        let linear_to = self.linear_to(&rungs).map(|rung| rung.users);
        let conclusion = Conclusion {
            verdict: self.verdict(&rungs, chosen, end),
            tables: vec![SuiteTable::Own(self.table(&rungs))],
            findings: json!({
                "users": chosen.map(|rung| rung.users),
                "iops": chosen.map(|rung| rung.iops),
                "mean_ns": chosen.map(|rung| rung.mean_ns),
                "ended_by": end.map(End::word),
                "ended_at_users": end.and(rungs.last()).map(|rung| rung.users),
                "linear_to_users": linear_to,
                "limits": self.limits,
            }),
        };
        (conclusion, self.too_few(steps).into_iter().collect())
    }
}

fn key(users: u32) -> String {
    if users == 1 { "1 user".to_owned() } else { format!("{users} users") }
}

impl Ladder {
    /// The rungs that were measured, by rising users.
    fn rungs(&self, steps: &[SuiteStepResult]) -> Vec<Rung> {
        let measured = |users: &u32| {
            let key = key(*users);
            let step = steps.iter().find(|step| step.place.key == key)?.step()?;
            Rung::of(*users, step, &self.limits)
        };
        self.users.iter().filter_map(measured).collect()
    }

    /// Why no rung follows the last one.
    fn end(&self, rungs: &[Rung]) -> Option<End> {
        let last = rungs.last()?;
        if let Some((limit, value_ns)) = last.broken {
            return Some(End::Limit(limit, value_ns));
        }
        let [.., before, last] = rungs else { return None };
        (!self.is_growth(before, last)).then_some(End::Growth)
    }

    fn is_growth(&self, before: &Rung, after: &Rung) -> bool {
        self.growth == 0.0 || after.growth_at_most(before) >= self.growth
    }

    /// The rung up to which IOPS grow with the users; `None` where they did not stop to.
    fn linear_to<'a>(&self, rungs: &'a [Rung]) -> Option<&'a Rung> {
        let least = if self.growth == 0.0 { USUAL_GROWTH } else { self.growth };
        let stops = |pair: &&[Rung]| pair[1].growth_at_most(&pair[0]) < least;
        rungs.windows(2).find(stops).map(|pair| &pair[0])
    }

    /// A doubt where a limit was judged by too few I/Os.
    fn too_few(&self, steps: &[SuiteStepResult]) -> Option<Caveat> {
        let short = |step: &SuiteStepResult| {
            Some((
                step.place.key.clone(),
                step.step()?.ios(),
                short_of_samples(step.step()?, &self.limits)?,
            ))
        };
        let (key, ios, limit) = steps.iter().find_map(short)?;
        Some(Caveat::new(
            CaveatCode::TooFewSamples,
            format!(
                "{key}: {ios} I/Os are few for the limit {limit}, which takes {}",
                limit.metric.samples_wanted()
            ),
            "a longer --seconds",
        ))
    }
}
