//! iogauge-report
