//! Setters too long for a row of the table.

use super::MOST;
use super::typed::{Rates, Typed};
use super::value::{Dialect, KbBase, Value, Wrong, number};
use crate::load::{
    BlockSplit, DataPattern, DataPatternError, Distribution, EngineKind, Logs, Rw, SteadyMetric,
    VerifyBacklog,
};

type Set = Result<(), Wrong>;

/// Maximum number of files named in a message.
const MOST_SUGGESTED: usize = 8;
/// Maximum length of fio's list of percentiles.
const MOST_PERCENTILES: usize = 20;
/// The largest block of an I/O.
const LARGEST_BLOCK_BYTES: u64 = 1 << 30;

/// Stores a value.
pub(super) fn put<T>(place: &mut T, value: T) -> Set {
    *place = value;
    Ok(())
}

/// Checks that a number is from 1 to `most`.
pub(super) fn from_1(number: u32, most: u32) -> Result<u32, Wrong> {
    if (1..=most).contains(&number) {
        Ok(number)
    } else {
        Err(Wrong::value(format!("must be between 1 and {most}, not {number}")))
    }
}

pub(super) fn kb_base(o: &mut Typed, value: &Value<'_>) -> Set {
    o.dialect = Dialect::Fio(match value.word()? {
        "1024" => KbBase::Old,
        "1000" => KbBase::Iec,
        other => return Err(Wrong::value(format!("must be 1000 or 1024, not \"{other}\""))),
    });
    Ok(())
}

pub(super) fn rw(o: &mut Typed, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let word = text.split_once(':').map_or(text, |(word, _)| word);
    if word.contains("trim") {
        return Err(Wrong::unsupported("iogauge does not trim"));
    }
    let rw = text.parse::<Rw>()?;
    (o.plain.rw, o.rw_number) = (rw.pattern, Some(rw));
    Ok(())
}

pub(super) fn bs(o: &mut Typed, value: &Value<'_>) -> Set {
    for (own, text) in o.block_bytes.iter_mut().zip(value.directions()?) {
        if let Some(text) = text {
            *own = text.number()?;
            if !(1..=LARGEST_BLOCK_BYTES).contains(own) {
                return Err(Wrong::value(format!("must be between 1 byte and 1 GiB, not {own}")));
            }
        }
    }
    Ok(())
}

pub(super) fn bsrange(o: &mut Typed, value: &Value<'_>) -> Set {
    for (own, range) in o.split.iter_mut().zip(value.directions()?) {
        let Some(range) = range else { continue };
        let text = range.word()?;
        let Some((least, most)) = text.split_once(['-', ':']) else {
            return Err(Wrong::value(format!("\"{text}\" is not a range; hint: use 4k-64k")));
        };
        let (a, b) = (number(least, value.dialect)?, number(most, value.dialect)?);
        // fio sorts the two sizes.
        let (a, b) = if o.dialect == Dialect::Iogauge { (a, b) } else { (a.min(b), a.max(b)) };
        let plain = format!("{a}-{b}");
        *own = Some(BlockSplit::parse_range(&plain)?);
    }
    Ok(())
}

pub(super) fn blockalign(o: &mut Typed, value: &Value<'_>) -> Set {
    let [read, write] = value.directions()?;
    let (read, write) = (read.map(|v| v.number()), write.map(|v| v.number()));
    let (read, write) = (read.transpose()?, write.transpose()?);
    if let (Some(read), Some(write)) = (read, write)
        && read != write
    {
        let why = "reads and writes have one alignment; hint: use one number";
        return Err(Wrong::unsupported(why));
    }
    o.plain.blockalign_bytes = read.or(write).filter(|bytes| *bytes > 0);
    Ok(())
}

pub(super) fn startdelay(o: &mut Typed, value: &Value<'_>) -> Set {
    if value.word()?.contains(['-', ':']) {
        return Err(Wrong::unsupported("iogauge has no random delay; hint: use --startdelay=5"));
    }
    o.plain.startdelay_ns = value.duration_ns(1e9)?;
    Ok(())
}

pub(super) fn verify(o: &mut Typed, value: &Value<'_>) -> Set {
    o.verify = match value.word()? {
        "0" | "none" => None,
        word @ ("crc7" | "null") => {
            let why = format!("{word} detects almost no errors; hint: use crc32c");
            return Err(Wrong::unsupported(why));
        }
        word => Some(word.parse()?),
    };
    Ok(())
}

pub(super) fn verify_pattern(o: &mut Typed, value: &Value<'_>) -> Set {
    put(&mut o.verify_pattern, Some(pattern(value)?))
}

pub(super) fn buffer_pattern(o: &mut Typed, value: &Value<'_>) -> Set {
    let pattern = pattern(value)?;
    if pattern.has_offsets() {
        return Err(Wrong::value("has no offset; hint: use verify_pattern=%o"));
    }
    put(&mut o.plain.buffer_pattern, Some(pattern))
}

pub(super) fn zero_buffers(o: &mut Typed, value: &Value<'_>) -> Set {
    if value.switch()? {
        o.plain.buffer_pattern.get_or_insert_with(DataPattern::zeros);
    }
    Ok(())
}

pub(super) fn verify_backlog(o: &mut Typed, value: &Value<'_>) -> Set {
    let writes = value.number()?;
    let most = VerifyBacklog::MOST_WRITES;
    let fits = u32::try_from(writes).ok().filter(|writes| *writes <= most);
    let writes =
        fits.ok_or_else(|| Wrong::value(format!("must be at most {most}, not {writes}")))?;
    put(&mut o.verify_backlog, writes)
}

pub(super) fn verify_backlog_batch(o: &mut Typed, value: &Value<'_>) -> Set {
    let batch = u32::try_from(value.number()?).unwrap_or(u32::MAX);
    put(&mut o.verify_backlog_batch, Some(batch).filter(|batch| *batch > 0))
}

fn pattern(value: &Value<'_>) -> Result<DataPattern, Wrong> {
    value.word()?.parse().map_err(|error: DataPatternError| match error {
        DataPatternError::File => Wrong::unsupported(error.to_string()),
        _ => Wrong::value(error.to_string()),
    })
}

pub(super) fn nice(o: &mut Typed, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let nice = text.parse().ok().filter(|nice| (-20..=19).contains(nice));
    o.plain.nice =
        nice.ok_or_else(|| Wrong::value(format!("must be between -20 and 19, not \"{text}\"")))?;
    Ok(())
}

pub(super) fn bssplit(o: &mut Typed, value: &Value<'_>) -> Set {
    for (own, text) in o.split.iter_mut().zip(value.directions()?) {
        if let Some(text) = text {
            *own = Some(split(&text)?);
        }
    }
    Ok(())
}

fn split(value: &Value<'_>) -> Result<BlockSplit, Wrong> {
    let mut plain = Vec::new();
    for entry in value.word()?.split(':') {
        let (size, share) = match entry.split_once('/') {
            Some((size, share)) => (size, format!("/{share}")),
            None => (entry, String::new()),
        };
        plain.push(format!("{}{share}", number(size, value.dialect)?));
    }
    Ok(BlockSplit::parse(&plain.join(":"))?)
}

pub(super) fn random_distribution(o: &mut Typed, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    if kind == "zoned_abs" || (kind == "zoned" && rest.contains(',')) {
        let why = "zones are shares of the file and the same for reads and writes; hint: use \
                   zoned:60/10:40/90";
        return Err(Wrong::unsupported(why));
    }
    if matches!(kind, "zipf" | "pareto" | "normal" | "gauss") && rest.contains(':') {
        let why = format!(
            "iogauge does not move the centre; hint: use {kind}:{}",
            rest.split(':').next().unwrap_or("")
        );
        return Err(Wrong::unsupported(why));
    }
    let text = if kind == "zoned" { format!("zoned:{}", zones(rest)) } else { text.to_owned() };
    o.plain.distribution = text.parse::<Distribution>()?;
    Ok(())
}

/// Completes a last zone without a size: it gets the rest of the target.
fn zones(text: &str) -> String {
    let Some(open) = text.strip_suffix('/') else { return text.to_owned() };
    let sizes = open.split(':').filter_map(|zone| zone.split_once('/')?.1.parse::<f64>().ok());
    format!("{open}/{}", 100.0 - sizes.sum::<f64>())
}

/// Parses one rate, or one each for reads and writes. `number` parses a single rate.
pub(super) fn rates(
    own: &mut Rates,
    value: &Value<'_>,
    number: fn(&Value<'_>) -> Result<u64, Wrong>,
) -> Set {
    let is_own = value.dialect == Dialect::Iogauge;
    if is_own && !value.word()?.contains(',') {
        *own = Rates { both: Some(number(value)?), ..Rates::default() };
        return Ok(());
    }
    for (own, text) in own.each.iter_mut().zip(value.directions()?) {
        if let Some(text) = text {
            *own = Some(number(&text)?).filter(|rate| is_own || *rate > 0);
        }
    }
    Ok(())
}

/// Splits a list at colons. `\:` is a colon within a path.
pub(super) fn paths(value: &Value<'_>) -> Result<Vec<String>, Wrong> {
    let text = value.word()?;
    let mut list = Vec::new();
    let mut path = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ':' => list.push(std::mem::take(&mut path)),
            '\\' => path.push(chars.next_if_eq(&':').unwrap_or('\\')),
            c => path.push(c),
        }
    }
    list.push(path);
    list.retain(|path| !path.is_empty());
    if list.is_empty() || list.len() > MOST as usize {
        let reason = format!("must name 1 to {MOST} paths, not \"{text}\"; hint: use /a:/b");
        return Err(Wrong::value(reason));
    }
    Ok(list)
}

pub(super) fn filename(o: &mut Typed, value: &Value<'_>) -> Set {
    let list = paths(value)?;
    if list.iter().any(|path| path == "-") {
        return Err(Wrong::unsupported("a stream has no offsets; hint: use a file"));
    }
    if !o.filename.is_empty() {
        return Err(Wrong::value(second_filename(&o.filename, &list)));
    }
    o.filename = list;
    Ok(())
}

/// Returns the error for a second line of files, with the one line that would replace both.
fn second_filename(first: &[String], second: &[String]) -> String {
    let mut all: Vec<&String> = first.iter().collect();
    all.extend(second.iter().filter(|name| !first.contains(name)));
    let right = if all.len() == first.len() {
        "remove this line".to_owned()
    } else if all.len() > MOST_SUGGESTED {
        "use one line with all of them, and a colon between each two".to_owned()
    } else {
        let names: Vec<String> = all.iter().map(|name| name.replace(':', "\\:")).collect();
        format!("use filename={} in place of both lines", names.join(":"))
    };
    format!("a line above already names files of the job, and fio would use both; hint: {right}")
}

pub(super) fn nrfiles(o: &mut Typed, value: &Value<'_>) -> Set {
    o.nrfiles = value.small()?;
    if o.nrfiles > MOST {
        let why = format!("one job has up to {MOST} files here");
        return Err(Wrong::unsupported(why));
    }
    o.nrfiles = o.nrfiles.max(1);
    Ok(())
}

pub(super) fn filesize(o: &mut Typed, value: &Value<'_>) -> Set {
    let text = value.word()?;
    if text.contains(['-', ':']) && !text.starts_with('(') {
        return Err(Wrong::unsupported("all files have one size; hint: use --filesize=1g"));
    }
    o.file_size = Some(value.number()?).filter(|size| *size > 0);
    Ok(())
}

pub(super) fn latency_percentile(o: &mut Typed, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let percent = text.parse().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    let fail = || Wrong::value(format!("must be above 0 and at most 100, not \"{text}\""));
    o.latency_percentile = percent.ok_or_else(fail)?;
    Ok(())
}

pub(super) fn percentile_list(o: &mut Typed, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let percent = |text: &str| {
        text.trim().parse().ok().filter(|percent: &f64| *percent > 0.0 && *percent <= 100.0)
    };
    let all: Option<Vec<f64>> = text.split(':').map(percent).collect();
    let mut all = all.filter(|all| all.len() <= MOST_PERCENTILES).ok_or_else(|| {
        let most = MOST_PERCENTILES;
        Wrong::value(format!("must be up to {most} percentiles, each above 0 and at most 100, not \"{text}\"; hint: use 50:99.9"))
    })?;
    all.sort_by(f64::total_cmp);
    all.dedup();
    o.plain.percentiles = all;
    Ok(())
}

pub(super) fn log_hist_coarseness(o: &mut Typed, value: &Value<'_>) -> Set {
    let coarseness = value.small()?;
    if coarseness > Logs::MOST_COARSE {
        let most = Logs::MOST_COARSE;
        return Err(Wrong::value(format!("must be between 0 and {most}, not {coarseness}")));
    }
    put(&mut o.logs.coarseness, coarseness)
}

pub(super) fn ioengine(o: &mut Typed, value: &Value<'_>) -> Set {
    put(&mut o.plain.engine, EngineKind::parse(value.word()?, value.dialect)?)
}

/// A chunk that exceeds 32 bits is larger than any block: 0 stands for the whole block.
pub(super) fn compress_chunk(o: &mut Typed, value: &Value<'_>) -> Set {
    put(&mut o.plain.content.compress_chunk_bytes, u32::try_from(value.number()?).unwrap_or(0))
}

pub(super) fn steadystate(o: &mut Typed, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let fail = || {
        Wrong::value(format!(
            "\"{text}\" is not a criterion with a bound; hint: use iops:5%, bw:1m, lat:100us or one of \
             iops_slope, bw_slope and lat_slope"
        ))
    };
    let (criterion, bound) = text.split_once(':').ok_or_else(fail)?;
    let (word, is_slope) =
        criterion.strip_suffix("_slope").map_or((criterion, false), |word| (word, true));
    let metric = match word {
        "iops" => SteadyMetric::Iops,
        "bw" => SteadyMetric::Bw,
        "lat" => SteadyMetric::Lat,
        _ => return Err(fail()),
    };
    let plain = |text: &str| text.trim().parse::<f64>().map_err(|_| fail());
    let bound_only = Value { text: Some(bound), ..*value };
    let (bound, is_percent) = match (bound.strip_suffix('%'), metric) {
        (Some(percent), _) => (plain(percent)?, true),
        (None, SteadyMetric::Iops) => (plain(bound)?, false),
        (None, SteadyMetric::Bw) => (bound_only.number()? as f64, false),
        (None, SteadyMetric::Lat) => (bound_only.duration_ns(1.0)? as f64, false),
    };
    if !(bound > 0.0 && bound < 1e15) {
        return Err(Wrong::value(format!("the bound of \"{text}\" is not above 0")));
    }
    let steady = &mut o.steady_state;
    (steady.metric, steady.is_slope, steady.bound, steady.is_percent) =
        (metric, is_slope, bound, is_percent);
    Ok(())
}

/// An LFSR of fio visits every block once, whatever `norandommap` is.
pub(super) fn random_generator(o: &mut Typed, value: &Value<'_>) -> Set {
    match value.word()? {
        "lfsr" => put(&mut o.is_lfsr, true),
        "tausworthe" | "tausworthe64" => put(&mut o.is_lfsr, false),
        other => {
            let reason = format!("\"{other}\" is not one of tausworthe, tausworthe64, lfsr");
            Err(Wrong::value(reason))
        }
    }
}
