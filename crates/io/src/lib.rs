//! iogauge-io
