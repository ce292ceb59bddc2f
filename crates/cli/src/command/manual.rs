//! Man pages and shell completions, made from the arguments themselves.

use crate::args::Cli;
use crate::exit::Exit;
use anyhow::Context;
use clap::CommandFactory;
use std::path::Path;

/// Writes a page for the program and one for each command.
///
/// # Errors
/// Where the directory cannot be written.
pub fn man(directory: &Path) -> anyhow::Result<Exit> {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .with_context(|| format!("cannot write man pages into {}", directory.display()))?;
    Ok(Exit::Done)
}

/// Prints completions for a shell.
///
/// # Errors
/// Where stdout cannot be written.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "iogauge", &mut text);
    crate::screen::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
