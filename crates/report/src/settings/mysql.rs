//! The I/O capacity of InnoDB, the storage engine of MySQL.

use super::evidence::{Evidence, whole};
use super::load::{SettingLoad, one_of};
use super::{Body, MeasuredBy, Reason, Setting};
use iogauge_model::load::{Load, Pattern};

/// The smallest value of both variables.
const LEAST: u64 = 100;
/// The manual recommends no larger value without need.
const USUAL_MOST: u64 = 20_000;

/// InnoDB writes pages, which have 16 KiB by default (`innodb_page_size`).
const LOADS: &[SettingLoad] = &[SettingLoad { rw: Pattern::RandWrite, block_bytes: 16 * 1024 }];

pub(super) const SETTING: Setting = Setting {
    name: "mysql",
    alias: None,
    about: "MySQL: the I/O capacity of InnoDB",
    sets: &["innodb_io_capacity", "innodb_io_capacity_max"],
    definition: "innodb_io_capacity is about the number of I/Os per second that the system can perform, by which \
                 InnoDB paces its background work: it flushes pages, which have 16 KiB by default. \
                 innodb_io_capacity_max is the most to which InnoDB raises it when flushing falls behind.",
    source: "https://dev.mysql.com/doc/refman/8.4/en/innodb-configuring-io-capacity.html",
    measured_by: MeasuredBy::Search { loads: LOADS, fits, is_maximum: true },
    body,
};

fn fits(load: &Load) -> Result<(), Reason> {
    one_of(LOADS, load)
}

fn body(evidence: &Evidence<'_>) -> Result<Body, Reason> {
    let capacity = evidence.maximum()?;
    let value = capacity.answer.iops.mean.floor() as u64;
    if value < LEAST {
        return Err(Reason::TooSmall { found: value, least: LEAST });
    }
    let mut remarks = vec![capacity.iops_remark()];
    remarks.extend(capacity.doubt("innodb_io_capacity"));
    remarks.push(
        "The manual advises to keep innodb_io_capacity as low as practical: lower it while background work keeps up."
            .to_owned(),
    );
    if value > USUAL_MOST {
        remarks.push(format!(
            "The manual recommends no value above {} unless lower ones are too little for the workload.",
            whole(USUAL_MOST as f64)
        ));
    }
    let lines = vec![
        "[mysqld]".to_owned(),
        format!("innodb_io_capacity = {value}"),
        format!("innodb_io_capacity_max = {value}"),
    ];
    Ok(Body { remarks, to_do: Vec::new(), lines })
}
