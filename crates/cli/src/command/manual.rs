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
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    text.extend(synopsis(command).bytes());
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    text.extend(sections(&after.map(ToString::to_string).unwrap_or_default()).bytes());
    text.extend(PAGE_END.bytes());
    if command.get_version().is_some() {
        man.render_version_section(&mut text)?;
    }
    pages.push((man.get_filename(), text));
    Ok(())
}

/// Sections that every page has.
const PAGE_END: &str = ".SH FILES
.TP
$XDG_DATA_HOME/iogauge/history.db, or ~/.local/share/iogauge/history.db
The history of all runs; another file with \\fB\\-\\-history\\fR.
.SH \"SEE ALSO\"
iogauge(1), fio(1), https://github.com/iogauge/iogauge
";

fn synopsis(command: &clap::Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.trim_start_matches("Usage:").lines().map(|line| roff(line.trim()));
    format!(".SH SYNOPSIS\n.nf\n{}\n.fi\n", lines.collect::<Vec<_>>().join("\n"))
}

/// Renders the text after the options: a section for each block of lines under a heading that ends with a colon, with
/// its lines as they are, and the paragraphs that have none.
fn sections(help: &str) -> String {
    let (mut notes, mut blocks) = (String::new(), String::new());
    for block in help.trim().split("\n\n").filter(|block| !block.trim().is_empty()) {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        let heading = first.strip_suffix(':').filter(|_| rest.starts_with(' '));
        if heading.is_none() && !block.starts_with(' ') {
            let lines: Vec<String> = block.lines().map(roff).collect();
            notes.push_str(&format!(".PP\n{}\n", lines.join("\n")));
            continue;
        }
        if let Some(heading) = heading {
            let heading = heading.to_uppercase().replace("EXIT CODES", "EXIT STATUS");
            blocks.push_str(&format!(".SH \"{heading}\"\n"));
        }
        let shown = if heading.is_some() { rest } else { block };
        let lines: Vec<String> = shown.lines().map(roff).collect();
        blocks.push_str(&format!(".nf\n{}\n.fi\n", lines.join("\n")));
    }
    if !notes.is_empty() {
        notes.insert_str(0, ".SH NOTES\n");
    }
    notes + &blocks
}

/// Escapes a line for roff; see groff_char(7).
fn roff(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
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
