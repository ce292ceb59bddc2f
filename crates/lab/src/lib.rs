//! iogauge-lab
