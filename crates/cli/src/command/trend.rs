//! `iogauge history trend`: finds the runs at which a series changed.

use super::pictures::{self, Outputs};
use crate::args::TrendArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::history::{Filter, History, RunRef};
use iogauge_lab::output::{OutputFile, Replace};
use iogauge_lab::trend::{Analysis, Series, SeriesError};
use iogauge_model::result::TrendDocument;
use iogauge_report::exhibit::{Exhibit, GroupBy, Shown, grouped};
use iogauge_report::panel::{PANELS, Panel};
use iogauge_report::terminal;

/// Runs the command. Returns the damaged rows that are left out as well.
///
/// # Errors
/// There are no such runs, none of them has an answer of its own, or a file cannot be written.
pub fn run(args: &TrendArgs, history: &History) -> anyhow::Result<(Exit, Vec<String>)> {
    let (runs, damaged) = selected(args, history)?;
    let series = Series::read(history, &runs, args.target.as_deref());
    let series = series.map_err(|error| match error {
        SeriesError::History(error) => anyhow::Error::from(error),
        error => Usage(error.to_string()).into(),
    })?;
    let replace = Replace::from(args.force);
    let csv = args.csv.as_ref().map(|path| OutputFile::check(path, replace)).transpose()?;
    let mut table = Vec::new();
    series.write_csv(&mut table)?;
    let analysis = Analysis {
        metric: args.metric.into(),
        p_max: args.p / 100.0,
        min_change: args.min_change / 100.0,
    };
    let document = analysis.of(series, env!("CARGO_PKG_VERSION"));
    if args.html.is_some() || args.svg.is_some() || args.png.is_some() {
        draw(args, &document)?;
    }
    if let Some(file) = csv {
        pictures::write(file, &table, tell)?;
    }
    if args.json {
        screen::data(&screen::json(&document)?)?;
    } else {
        screen::print(&terminal::trend(&document, screen::page(false)))?;
    }
    Ok((exit(args, &document), damaged))
}

/// Returns the runs that are named, or all runs, and the damaged rows among them.
fn selected(args: &TrendArgs, history: &History) -> anyhow::Result<(Vec<RunRef>, Vec<String>)> {
    if !args.runs.is_empty() {
        return Ok((history.select_all(&args.runs)?, Vec::new()));
    }
    let (rows, damaged) = history.list_undamaged(&Filter::default())?;
    Ok((rows.iter().map(|row| RunRef::Name(row.id.to_string())).collect(), damaged))
}

/// Writes the chart as HTML, SVG and PNG, as far as they are requested.
///
/// # Errors
/// There is no run to draw, or a file cannot be written.
fn draw(args: &TrendArgs, document: &TrendDocument) -> anyhow::Result<()> {
    let exhibit = Exhibit::from(Shown::Trend(Box::new(document.clone())));
    let title = exhibit.place();
    let panels: Vec<&'static Panel> = PANELS.iter().collect();
    let outputs = Outputs {
        html: args.html.as_deref(),
        svg: args.svg.as_deref(),
        png: args.png.as_deref(),
        theme: args.theme,
        force: args.force,
        say: tell,
    };
    let groups = grouped(vec![exhibit], GroupBy::System);
    let needs_figures = args.svg.is_some() || args.png.is_some();
    if needs_figures && document.points.is_empty() {
        let metric = document.metric.word();
        let text =
            format!("none of these runs has the metric {metric}; hint: use another --metric");
        return Err(Usage(text).into());
    }
    pictures::put(&groups, &panels, &title, needs_figures, &outputs)
}

/// Prints the path of a file on stderr; stdout has the result.
fn tell(path: &str) -> anyhow::Result<()> {
    screen::tell(path);
    Ok(())
}

/// Returns the exit code.
fn exit(args: &TrendArgs, document: &TrendDocument) -> Exit {
    let Some(newest) = args.fail_on_worse else { return Exit::Done };
    let runs = u32::try_from(document.points.len()).unwrap_or(u32::MAX);
    let last = document.changes.last().filter(|change| change.worse);
    let is_worse = last.is_some_and(|change| runs - change.at <= newest);
    if is_worse || document.failed_of_newest(newest).next().is_some() {
        return Exit::Differs;
    }
    if document.has_too_few_runs() { Exit::Undecided } else { Exit::Done }
}
