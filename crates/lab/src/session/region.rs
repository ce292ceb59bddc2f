//! The part of a target that a job uses.

use iogauge_io::targets::{Part, Target};
use iogauge_model::Step;
use iogauge_model::load::Load;
use serde::{Deserialize, Serialize};

/// Where on a target a job does its I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Region {
    /// The whole target.
    All,
    /// These parts, by their number from 0.
    Parts(Vec<usize>),
    /// No part: engine null pretends to have this many bytes.
    Nothing { size_bytes: u64 },
}

impl Region {
    /// Returns the workloads of a step with the region of each. Those after the last region use the
    /// whole target.
    #[must_use]
    pub fn of_jobs(step: &Step, regions: &[Self]) -> Vec<(Load, Self)> {
        let regions = regions.iter().cloned().chain(std::iter::repeat(Self::All));
        step.jobs.iter().map(|job| job.load.clone()).zip(regions).collect()
    }

    pub(crate) fn parts(&self, target: &Target) -> Vec<Part> {
        match self {
            Self::All => target.parts.clone(),
            Self::Parts(numbers) => {
                numbers.iter().filter_map(|number| target.parts.get(*number).cloned()).collect()
            }
            Self::Nothing { .. } => Vec::new(),
        }
    }

    /// Returns the target's numbers of the region's parts.
    pub(crate) fn numbers(&self, target: &Target) -> Vec<usize> {
        let all = target.parts.len();
        match self {
            Self::All => (0..all).collect(),
            Self::Parts(numbers) => numbers.iter().copied().filter(|n| *n < all).collect(),
            Self::Nothing { .. } => Vec::new(),
        }
    }

    /// Returns the target's number of a part of this region.
    pub(crate) fn number_of(&self, part: u32) -> u32 {
        match self {
            Self::Parts(numbers) => {
                numbers.get(part as usize).map_or(part, |number| *number as u32)
            }
            Self::All | Self::Nothing { .. } => part,
        }
    }
}
