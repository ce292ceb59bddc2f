//! Man pages, shell completions and the list of commands, generated from the argument definitions.

use crate::args::Cli;
use crate::exit::Exit;
use clap::CommandFactory;
use clap_complete::Shell;
use iogauge_lab::output::{OutputDirectory, OutputFile, Replace};
use std::path::Path;

/// Lists the commands, for a call without one. Fits a terminal of 24 rows.
pub fn commands() -> String {
    let cli = Cli::command();
    let mut text = "Usage: iogauge <COMMAND>\n\n".to_owned();
    for command in cli.get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("  {:<12} {about}\n", command.get_name()));
    }
    text.push_str("Try iogauge find . or iogauge COMMAND --help.");
    text
}

/// Writes one page for the program and one for each command. With `force`, replaces files that
/// iogauge did not make.
///
/// # Errors
/// The directory cannot be written.
pub fn man(directory: &Path, force: bool) -> anyhow::Result<Exit> {
    let directory = OutputDirectory::make(directory)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    render(&command, &mut pages)?;
    let replace = Replace::from(force);
    let file = |(name, text): (String, _)| Ok((directory.check(&name, replace)?, text));
    // Every path is checked before the first file is written.
    let files =
        pages.into_iter().map(file).collect::<anyhow::Result<Vec<(OutputFile, Vec<u8>)>>>()?;
    files.into_iter().try_for_each(|(file, text)| file.put(&text))?;
    Ok(Exit::Done)
}

/// Renders the pages of a command and its subcommands, keyed by file name.
fn render(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        render(below, pages)?;
    }
    let man = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text)?;
    pages.push((man.get_filename(), text));
    Ok(())
}

/// Prints completions for a shell. Those for bash, zsh and fish also complete the ids of runs.
///
/// # Errors
/// stdout cannot be written.
pub fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "iogauge", &mut text);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    match shell {
        Shell::Bash => text.push_str(include_str!("completions/runs.bash")),
        Shell::Fish => text.push_str(include_str!("completions/runs.fish")),
        Shell::Zsh => text = with_runs_for_zsh(&text),
        _ => {}
    }
    crate::screen::data(&text)?;
    Ok(Exit::Done)
}

/// Adds a function for the ids of runs, and uses it for each argument with runs.
fn with_runs_for_zsh(text: &str) -> String {
    // The last statement starts the completion, and needs all functions.
    let (functions, start) = text.split_at(text.rfind("if [ ").unwrap_or(text.len()));
    let with_runs = ["'*::runs -- ", "'::run -- With --for"];
    let line = |line: &str| match with_runs.iter().any(|begin| line.starts_with(begin)) {
        true => line.replace(":_default'", ":_iogauge_runs'"),
        false => line.to_owned(),
    };
    let functions = functions.split('\n').map(line).collect::<Vec<_>>().join("\n");
    format!("{functions}{}{start}", include_str!("completions/runs.zsh"))
}
