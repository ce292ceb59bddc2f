//! The binary `iogauge`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    iogauge::main(iogauge::alone, &[])
}
