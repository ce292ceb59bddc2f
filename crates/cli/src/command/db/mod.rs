//! `iogauge db`: one file for each of its commands.

mod beside;
mod compare;
mod export;
mod find;
mod globals;
mod load;
mod purge;
mod reset;
mod run;
mod setup;
mod verify;
mod work;

use crate::args::{DbAction, DbArgs};
use crate::detach;
use crate::exit::Exit;
use iogauge_lab::Interrupt;
use std::ffi::OsString;

/// Runs the command.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &DbArgs, arguments: &[OsString], interrupt: Interrupt) -> anyhow::Result<Exit> {
    match &args.action {
        DbAction::Setup(args) => setup::run(args, &interrupt),
        DbAction::CreateGlobals(args) => globals::create(args, &interrupt),
        DbAction::AddGlobals(args) => globals::add(args, &interrupt),
        DbAction::CountSubscripts(args) => globals::count(args, &interrupt),
        DbAction::Sizes(args) => globals::sizes(args),
        DbAction::Run(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        DbAction::Find(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        DbAction::Compare(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        DbAction::Beside(args) if args.output.detach => {
            detach::start(arguments, &args.output, &interrupt)
        }
        DbAction::Run(args) => run::run(args, interrupt),
        DbAction::Find(args) => find::run(args, interrupt),
        DbAction::Compare(args) => compare::run(args, interrupt),
        DbAction::Beside(args) => beside::run(args, interrupt),
        DbAction::Verify(args) => verify::run(args, &interrupt),
        DbAction::Stop(args) => super::stop::run(args, &interrupt),
        DbAction::Reset(args) => reset::run(args),
        DbAction::Purge(args) => purge::run(args),
        DbAction::Export(args) => export::run(args),
    }
}
