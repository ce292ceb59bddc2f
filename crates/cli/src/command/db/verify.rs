//! `iogauge db verify`: checks that all acknowledged data is there.

use super::work::{Unit, with_progress};
use crate::args::VerifyArgs;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::db::{DbError, check};
use iogauge_lab::{Interrupt, LabError};
use iogauge_report::terminal;

/// Runs the command.
///
/// # Errors
/// The database cannot be read.
pub fn run(args: &VerifyArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let quiet = args.quiet || args.json;
    let mut failed: Option<LabError> = None;
    let count = Unit::Count("values");
    let checked = with_progress("checking", count, quiet, None, interrupt, |progress| {
        check(url, &mut |done, of| progress.done(done, of)).map_err(|error| match error {
            LabError::Db(error) => error,
            other => {
                let text = other.to_string();
                failed = Some(other);
                DbError::Failed(text)
            }
        })
    });
    let checked = match (failed, checked) {
        (Some(error), _) => return Err(error.into()),
        (None, checked) => checked?,
    };
    if args.json {
        screen::data(&screen::json(&checked)?)?;
    } else {
        screen::print(&terminal::db_check(&checked, screen::page(false)))?;
    }
    Ok(if checked.holds() { Exit::Done } else { Exit::IoErrors })
}
