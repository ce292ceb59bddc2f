//! Devices with a known capacity.

use iogauge_lab::search::SearchPlan;
use iogauge_model::load::ArrivalProcess;

/// Source of the true capacity.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// A closed form, in IOPS.
    Formula(f64),
    /// Erlang's formula for Poisson arrivals at servers with exponential service: the highest rate at which the
    /// response time keeps the limit, a mean or a percentile.
    Erlang { servers: u32, service_seconds: f64 },
    /// The same device measured for a long time at every relevant queue depth.
    Sweep,
}

/// A device, a limit, and what the search must answer.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    /// The part after `sim:`, without a seed.
    pub device: &'static str,
    pub writes: bool,
    pub open_loop: bool,
    pub limits: &'static [&'static str],
    pub truth: Truth,
    /// False if the rate does not vary by chance: then the answer is exact, whatever its CI.
    pub chance: bool,
}

impl Scenario {
    const fn reads(
        name: &'static str,
        device: &'static str,
        limits: &'static [&'static str],
        truth: Truth,
    ) -> Self {
        Self { name, device, writes: false, open_loop: false, limits, truth, chance: true }
    }

    pub fn plan(&self) -> SearchPlan {
        let limits = self.limits.iter().map(|l| l.parse().expect("a limit of the table")).collect();
        let open_loop = self.open_loop.then_some(ArrivalProcess::Poisson);
        SearchPlan { limits, open_loop, ..SearchPlan::default() }
    }

    /// Returns the maximum relative error of an answer.
    pub fn tolerance(&self) -> f64 {
        match self.truth {
            Truth::Formula(_) | Truth::Erlang { .. } => 0.03,
            Truth::Sweep => 0.05,
        }
    }
}

use Truth::{Erlang, Formula, Sweep};

/// Closed loop: X(N) = min(N, c)/s for c channels of mean service time s, whatever its distribution.
pub const CLOSED: &[Scenario] = &[
    Scenario::reads("exponential, mean", "channels=8,service=1ms", &["mean<=20ms"], Formula(8e3)),
    Scenario::reads("exponential, p95", "channels=8,service=1ms", &["p95<=10ms"], Formula(8e3)),
    Scenario::reads("exponential, p99", "channels=8,service=1ms", &["p99<=20ms"], Formula(8e3)),
    Scenario::reads("exponential, p99.9", "channels=8,service=1ms", &["p99.9<=20ms"], Formula(8e3)),
    // X(N) does not depend on how many hosts issue the N I/Os.
    Scenario::reads("64 hosts", "channels=8,service=1ms,hosts=64", &["mean<=20ms"], Formula(8e3)),
    Scenario::reads(
        "3 hosts, each",
        "channels=8,service=1ms,hosts=3,far_host=4ms",
        &["each:p99<=20ms"],
        Formula(8e3),
    ),
    // With these, one more I/O outstanding changes the IOPS by a half or a quarter.
    Scenario::reads("two channels, p99", "channels=2,service=1ms", &["p99<=5ms"], Formula(2e3)),
    Scenario::reads("three channels, p99", "channels=3,service=1ms", &["p99<=5ms"], Formula(3e3)),
    Scenario::reads("four channels", "channels=4,service=100us", &["mean<=105us"], Formula(4e4)),
    Scenario {
        chance: false,
        ..Scenario::reads(
            "constant, mean",
            "channels=4,service=1ms,dist=const",
            &["mean<=10ms"],
            Formula(4e3),
        )
    },
    Scenario {
        chance: false,
        ..Scenario::reads(
            "constant behind a network",
            "channels=8,service=1ms,dist=const,rtt=4ms",
            &["p99<=6ms"],
            Formula(8e3),
        )
    },
    Scenario::reads(
        "lognormal, mean",
        "channels=8,service=1ms,dist=lognormal:1",
        &["mean<=20ms"],
        Formula(8e3),
    ),
    Scenario::reads(
        "lognormal, p99",
        "channels=8,service=1ms,dist=lognormal:1",
        &["p99<=20ms"],
        Formula(8e3),
    ),
    Scenario {
        chance: false,
        ..Scenario::reads(
            "shared bus",
            "channels=64,service=1ms,bus=40960000",
            &["mean<=10ms"],
            Formula(1e4),
        )
    },
    Scenario {
        chance: false,
        ..Scenario::reads(
            "64 hosts, shared bus",
            "channels=64,service=1ms,bus=40960000,hosts=64",
            &["mean<=10ms"],
            Formula(1e4),
        )
    },
    Scenario {
        chance: false,
        ..Scenario::reads(
            "1,000 hosts, shared bus",
            "channels=64,service=1ms,bus=40960000,hosts=1000",
            &["mean<=200ms"],
            Formula(1e4),
        )
    },
    Scenario::reads(
        "1,000 hosts",
        "channels=64,service=1ms,hosts=1000",
        &["mean<=50ms"],
        Formula(6.4e4),
    ),
    Scenario {
        chance: false,
        ..Scenario::reads(
            "cap with burst credits",
            "channels=64,service=1ms,iops_cap=3000,burst=30000",
            &["mean<=20ms"],
            Formula(3e3),
        )
    },
    Scenario {
        writes: true,
        chance: false,
        ..Scenario::reads(
            "write cache with destage",
            "channels=8,service=1ms,cache=128m,cache_service=100us,destage=16384000",
            &["mean<=10ms"],
            Formula(4e3),
        )
    },
    Scenario::reads(
        "stalls, mean",
        "channels=8,service=1ms,gc=every:1s,stall:100ms",
        &["mean<=20ms"],
        Formula(7.2e3),
    ),
    Scenario::reads(
        "stalls, p99.9",
        "channels=8,service=1ms,gc=every:1s,stall:100ms",
        &["p99.9<=130ms"],
        Sweep,
    ),
    Scenario::reads(
        "seeking disk, mean",
        "channels=1,service=2ms,dist=const,seek=14ms,size=1t",
        &["mean<=400ms"],
        Sweep,
    ),
    Scenario::reads(
        "seeking disk, p95",
        "channels=1,service=2ms,dist=const,seek=14ms,size=1t",
        &["p95<=600ms"],
        Sweep,
    ),
];

const EIGHT: Truth = Erlang { servers: 8, service_seconds: 100e-6 };

/// Open loop: Poisson arrivals.
pub const OPEN: &[Scenario] = &[
    Scenario {
        open_loop: true,
        ..Scenario::reads("open loop, mean", "channels=8,service=100us", &["mean<=300us"], EIGHT)
    },
    Scenario {
        open_loop: true,
        ..Scenario::reads("open loop, p99", "channels=8,service=100us", &["p99<=1ms"], EIGHT)
    },
    Scenario {
        open_loop: true,
        ..Scenario::reads(
            "open loop, 64 servers",
            "channels=64,service=1ms",
            &["mean<=1500us"],
            Erlang { servers: 64, service_seconds: 1e-3 },
        )
    },
];
