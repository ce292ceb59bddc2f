//! Results: the values that all outputs are made from.

mod bands;
mod check;
mod compare;
mod crosscheck;
mod database;
mod device;
mod doctor;
mod documents;
mod estimate;
mod fio;
mod head;
mod history;
mod hosts;
mod hosts_curve;
mod profile;
mod rates;
mod rounds;
mod shares;
mod shift;
mod steady_state;
mod step;
mod suite;
mod system;
mod system_point;
mod target;
mod trace;
mod trend;
mod verify;

pub use bands::{LATENCY_BANDS, LatencyBands, latency_band_low_ns, latency_band_of};
pub use check::{
    CheckBaseline, CheckEnd, CheckFindings, CheckResult, CheckVerdict, CheckedLimit, CheckedRate,
    CheckedRequirement,
};
pub use compare::{
    CompareDifference, CompareDocument, CompareFindings, CompareSetup, CompareSubject,
    CompareVerdict, Compared, ComparedFigure, ComparedRuns,
};
pub use crosscheck::{Agreement, Comparison, CrosscheckDocument, Figure, Side};
pub use database::{
    BesideDocument, BesideSide, DaemonCycle, DatabaseCheck, DatabaseCounts, DatabaseResult,
    DatabaseWorker, Drain, WorkerCheck,
};
pub use device::DeviceFacts;
pub use doctor::{
    DoctorDocument, DoctorPart, EngineFacts, ExtentFacts, FileSystemFacts, IoBound, IoLimit,
    MachineFacts, PartForm,
};
pub use documents::{
    Answer, CurvePoint, FindDocument, Knee, LimitValue, QueueBound, RunDocument, Search, StoppedBy,
    Wander,
};
pub use estimate::{Estimate, LatencySummary, PercentileIntervals};
pub use fio::{
    BlockRange, FioDirection, FioDisk, FioLatency, FioResult, FioSamples, FioSteadyState,
};
pub use head::{DatabaseLoad, Head, ProcessLadder, Via, Workload};
pub use history::{HistoryDocument, HistoryRun, UnfinishedDocument, UnfinishedStep};
pub use hosts::{HostPart, HostResult, fairness, share_with_kernel};
pub use hosts_curve::{HostsCurveFindings, HostsOutcome, HostsPoint};
pub use profile::ProfileDocument;
pub use rates::{MeasuredRate, RatesFindings};
pub use rounds::{RoundsFindings, RoundsUnit, RoundsWindow, TrackedRounds};
pub use shares::{LATENCY_SHARE_BOUNDS_NS, LatencyShare};
pub use shift::PerformanceShift;
pub use steady_state::{SteadyPoint, SteadyStateResult};
pub use step::{DirectionResult, IntervalPoint, JobResult, StepResult, StepTotal, WorkerResult};
pub use suite::{
    Cell, Conclusion, PlannedStep, StepPlace, SuiteAsked, SuiteDocument, SuiteOutcome,
    SuitePlanDocument, SuiteStepResult, SuiteTable, Table, TableColumn,
};
pub use system::{CpuUse, DeviceCounters, Environment, Physical};
pub use system_point::{CpuKinds, DevicePoint, MemoryKinds, Paging, SystemPoint, Tasks};
pub use target::{
    DatabaseTarget, FioTarget, PartFacts, PartKind, RealTarget, SimulatedTarget, TargetFacts,
};
pub use trace::{BlockTrace, IoTime, RequestSize, TracedDevice, TracedRequests};
pub use trend::{
    TrendChange, TrendDocument, TrendFailed, TrendFailure, TrendLeftOut, TrendMetric, TrendPoint,
    TrendSegment,
};
pub use verify::{VerifyEnd, VerifyFault, VerifyFinding, VerifyJobResult, VerifyResult};

/// Format of the document that `iogauge run --json` prints.
pub const RUN_FORMAT: &str = "iogauge.run/1";
/// Format of the document that `iogauge find --json` prints.
pub const FIND_FORMAT: &str = "iogauge.find/1";
/// Format of the document that `iogauge crosscheck --json` prints.
pub const CROSSCHECK_FORMAT: &str = "iogauge.crosscheck/1";
/// Format of the document that `iogauge compare --json` prints for runs of the history.
pub const COMPARE_FORMAT: &str = "iogauge.compare/1";
/// Format of the document that `iogauge doctor --json` prints.
pub const DOCTOR_FORMAT: &str = "iogauge.doctor/1";
/// Format of the document that `iogauge profile --json` prints.
pub const PROFILE_FORMAT: &str = "iogauge.profile/1";
/// Format of the document that `iogauge suite --json` prints.
pub const SUITE_FORMAT: &str = "iogauge.suite/1";
/// Format of the document that `iogauge db beside --json` prints.
pub const BESIDE_FORMAT: &str = "iogauge.beside/1";
/// Format of the document that `iogauge db verify --json` prints.
pub const DB_VERIFY_FORMAT: &str = "iogauge.db-verify/1";
/// Format of the document that `iogauge history list --json` prints.
pub const HISTORY_FORMAT: &str = "iogauge.history-list/1";
/// Format of the document that `iogauge history trend --json` prints.
pub const TREND_FORMAT: &str = "iogauge.trend/1";
/// Format of the document that `iogauge history show --format json` prints for a run without a result.
pub const UNFINISHED_FORMAT: &str = "iogauge.unfinished/1";
/// Format of the document that `iogauge suite --dry-run --json` prints.
pub const SUITE_PLAN_FORMAT: &str = "iogauge.suite-plan/1";
