//! What each option that is handled does to a section.

use super::engines;
use super::options::JobOptions;
use super::value::{KbBase, Value, Wrong, number};
use iogauge_model::load::{BlockSplit, Distribution, LoadError, Rw};

type Set = Result<(), Wrong>;

/// Files one job may have, and clones.
pub(super) const MOST: u32 = 4096;
/// Most files that a message names.
const MOST_SUGGESTED: usize = 8;

/// Takes an option's value into the section.
pub(super) type Setter = fn(&mut JobOptions, &Value<'_>) -> Set;

fn wrong(error: LoadError) -> Wrong {
    Wrong::Value(error.reason)
}

fn from_1(number: u32, most: u32) -> Result<u32, Wrong> {
    if (1..=most).contains(&number) {
        Ok(number)
    } else {
        Err(Wrong::value(format!("{number} is not from 1 to {most}")))
    }
}

pub(super) fn kb_base(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.kb_base = match value.word()? {
        "1024" => KbBase::Old,
        "1000" => KbBase::Iec,
        other => return Err(Wrong::value(format!("\"{other}\" is not 1000 or 1024"))),
    };
    Ok(())
}

pub(super) fn name(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.name = Some(value.word()?.to_owned());
    Ok(())
}

pub(super) fn rw(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let word = text.split_once(':').map_or(text, |(word, _)| word);
    if word.contains("trim") {
        return Err(Wrong::unsupported("iogauge reads and writes, and trims nothing"));
    }
    let rw = text.parse::<Rw>().map_err(wrong)?;
    (o.rw, o.rw_number) = (rw.pattern, Some(rw));
    Ok(())
}

pub(super) fn rwmixread(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.read_percent = value.percent()?;
    Ok(())
}

pub(super) fn rwmixwrite(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.read_percent = 100 - value.percent()?;
    Ok(())
}

pub(super) fn bs(o: &mut JobOptions, value: &Value<'_>) -> Set {
    for (own, text) in o.block_bytes.iter_mut().zip(value.directions()?) {
        if let Some(text) = text {
            *own = text.number()?;
        }
    }
    Ok(())
}

pub(super) fn rw_sequencer(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.rw_sequencer = value.word()?.parse().map_err(wrong)?;
    Ok(())
}

pub(super) fn bsrange(o: &mut JobOptions, value: &Value<'_>) -> Set {
    for (own, range) in o.split.iter_mut().zip(value.directions()?) {
        let Some(range) = range else { continue };
        let text = range.word()?;
        let Some((least, most)) = text.split_once(['-', ':']) else {
            return Err(Wrong::value(format!("\"{text}\" is not a range; hint: use 4k-64k")));
        };
        let (a, b) = (number(least, value.kb_base)?, number(most, value.kb_base)?);
        // fio puts the ends in order.
        let plain = format!("{}-{}", a.min(b), a.max(b));
        *own = Some(BlockSplit::parse_range(&plain).map_err(wrong)?);
    }
    Ok(())
}

pub(super) fn bs_unaligned(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.bs_unaligned = value.switch()?;
    Ok(())
}

pub(super) fn blockalign(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let [read, write] = value.directions()?;
    let (read, write) = (read.map(|v| v.number()), write.map(|v| v.number()));
    let (read, write) = (read.transpose()?, write.transpose()?);
    if let (Some(read), Some(write)) = (read, write)
        && read != write
    {
        let why = "reads and writes have one alignment; hint: use one number";
        return Err(Wrong::unsupported(why));
    }
    o.blockalign = read.or(write).filter(|bytes| *bytes > 0);
    Ok(())
}

pub(super) fn fdatasync(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.fdatasync_every = value.small()?;
    Ok(())
}

pub(super) fn end_fsync(o: &mut JobOptions, value: &Value<'_>) -> Set {
    value.word()?;
    o.end_fsync = value.switch()?;
    Ok(())
}

pub(super) fn startdelay(o: &mut JobOptions, value: &Value<'_>) -> Set {
    if value.word()?.contains(['-', ':']) {
        return Err(Wrong::unsupported("a delay is not drawn; hint: use startdelay=5"));
    }
    o.startdelay_ns = value.duration_ns(1e9)?;
    Ok(())
}

pub(super) fn thinktime(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.thinktime_ns = value.duration_ns(1e3)?;
    Ok(())
}

pub(super) fn thinktime_blocks(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.thinktime_blocks = value.small()?.max(1);
    Ok(())
}

pub(super) fn buffer_compress_percentage(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.content.compress_percent = value.percent()?;
    Ok(())
}

pub(super) fn buffer_compress_chunk(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.content.compress_chunk_bytes = value.small()?;
    Ok(())
}

pub(super) fn dedupe_percentage(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.content.dedupe_percent = value.percent()?;
    Ok(())
}

pub(super) fn verify(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.verify = match value.word()? {
        "0" | "none" => None,
        word @ ("crc7" | "null") => {
            let why = format!("{word} proves next to nothing; hint: use verify=crc32c");
            return Err(Wrong::unsupported(why));
        }
        word => Some(word.parse().map_err(wrong)?),
    };
    Ok(())
}

pub(super) fn do_verify(o: &mut JobOptions, value: &Value<'_>) -> Set {
    value.word()?;
    o.do_verify = value.switch()?;
    Ok(())
}

pub(super) fn verify_interval(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.verify_interval = Some(value.number()?).filter(|bytes| *bytes > 0);
    Ok(())
}

pub(super) fn verify_pattern(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let text = value.word()?;
    // fio fills in offsets, reads files, and strings several patterns together.
    if text.contains('%') || text.starts_with('\'') || text.trim_matches('"').contains('"') {
        let why = "a pattern is one run of bytes; hint: use 0xaa55 or \"text\"";
        return Err(Wrong::unsupported(why));
    }
    o.verify_pattern = Some(text.parse().map_err(wrong)?);
    Ok(())
}

pub(super) fn verify_fatal(o: &mut JobOptions, value: &Value<'_>) -> Set {
    value.word()?;
    o.verify_fatal = value.switch()?;
    Ok(())
}

pub(super) fn verify_only(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.verify_only = value.switch()?;
    Ok(())
}

pub(super) fn cpus_allowed(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.cpus = Some(value.word()?.parse().map_err(wrong)?);
    Ok(())
}

pub(super) fn cpus_allowed_policy(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.cpu_policy = value.word()?.parse().map_err(wrong)?;
    Ok(())
}

pub(super) fn nice(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let nice = text.parse().ok().filter(|nice| (-20..=19).contains(nice));
    o.nice = nice.ok_or_else(|| Wrong::value(format!("\"{text}\" is not from -20 to 19")))?;
    Ok(())
}

pub(super) fn bssplit(o: &mut JobOptions, value: &Value<'_>) -> Set {
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
        plain.push(format!("{}{share}", number(size, value.kb_base)?));
    }
    BlockSplit::parse(&plain.join(":")).map_err(wrong)
}

pub(super) fn random_distribution(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    if kind == "zoned_abs" || (kind == "zoned" && rest.contains(',')) {
        let why = "zones are shares of the file and the same for reads and writes; hint: use \
                   zoned:60/10:40/90";
        return Err(Wrong::unsupported(why));
    }
    if matches!(kind, "zipf" | "pareto" | "normal" | "gauss") && rest.contains(':') {
        let why = format!(
            "the centre cannot be moved; hint: use {kind}:{}",
            rest.split(':').next().unwrap_or("")
        );
        return Err(Wrong::unsupported(why));
    }
    let text = if kind == "zoned" { format!("zoned:{}", zones(rest)) } else { text.to_owned() };
    o.distribution = text.parse::<Distribution>().map_err(wrong)?;
    Ok(())
}

/// A last zone without a size takes what the others leave.
fn zones(text: &str) -> String {
    let Some(open) = text.strip_suffix('/') else { return text.to_owned() };
    let sizes = open.split(':').filter_map(|zone| zone.split_once('/')?.1.parse::<f64>().ok());
    format!("{open}/{}", 100.0 - sizes.sum::<f64>())
}

pub(super) fn norandommap(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.norandommap = value.switch()?;
    Ok(())
}

pub(super) fn direct(o: &mut JobOptions, value: &Value<'_>) -> Set {
    value.word()?;
    o.direct = value.switch()?;
    Ok(())
}

pub(super) fn buffered(o: &mut JobOptions, value: &Value<'_>) -> Set {
    value.word()?;
    o.direct = !value.switch()?;
    Ok(())
}

pub(super) fn sync(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.sync = value.word()?.parse().map_err(wrong)?;
    Ok(())
}

pub(super) fn fsync(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.fsync_every = value.small()?;
    Ok(())
}

pub(super) fn ioengine(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.engine = engines::engine(value.word()?)?;
    Ok(())
}

pub(super) fn iodepth(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.iodepth = from_1(value.small()?, 65_536)?;
    Ok(())
}

pub(super) fn iodepth_batch(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.batch_submit = Some(value.small()?);
    Ok(())
}

pub(super) fn iodepth_batch_complete_min(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.batch_complete_min = Some(value.small()?);
    Ok(())
}

pub(super) fn iodepth_batch_complete_max(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.batch_complete_max = Some(value.small()?);
    Ok(())
}

pub(super) fn numjobs(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.numjobs = from_1(value.small()?, MOST)?;
    Ok(())
}

pub(super) fn loops(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.loops = value.number()?.max(1);
    Ok(())
}

fn rates(own: &mut [Option<u64>; 2], value: &Value<'_>) -> Set {
    for (own, text) in own.iter_mut().zip(value.directions()?) {
        if let Some(text) = text {
            *own = Some(text.number()?).filter(|rate| *rate > 0);
        }
    }
    Ok(())
}

pub(super) fn rate(o: &mut JobOptions, value: &Value<'_>) -> Set {
    rates(&mut o.rate, value)
}

pub(super) fn rate_iops(o: &mut JobOptions, value: &Value<'_>) -> Set {
    rates(&mut o.rate_iops, value)
}

pub(super) fn rate_process(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.rate_process = value.word()?.parse().map_err(wrong)?;
    Ok(())
}

/// Splits a list at colons; `\:` is a colon within a path.
fn paths(value: &Value<'_>) -> Result<Vec<String>, Wrong> {
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
        let reason = format!("\"{text}\" does not name 1 to {MOST} paths; hint: use /a:/b");
        return Err(Wrong::value(reason));
    }
    Ok(list)
}

pub(super) fn filename(o: &mut JobOptions, value: &Value<'_>) -> Set {
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

/// What is wrong with a second line of files, and the one line that would be right.
fn second_filename(first: &[String], second: &[String]) -> String {
    let mut all: Vec<&String> = first.iter().collect();
    all.extend(second.iter().filter(|name| !first.contains(name)));
    let right = if all.len() == first.len() {
        "drop this line".to_owned()
    } else if all.len() > MOST_SUGGESTED {
        "use one line with all of them, and a colon between each two".to_owned()
    } else {
        let names: Vec<String> = all.iter().map(|name| name.replace(':', "\\:")).collect();
        format!("use filename={} in place of both lines", names.join(":"))
    };
    format!("the job has files by a line above, and fio would use those of both; hint: {right}")
}

pub(super) fn directory(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.directory = paths(value)?;
    Ok(())
}

pub(super) fn filename_format(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.filename_format = value.word()?.to_owned();
    Ok(())
}

pub(super) fn nrfiles(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.nrfiles = value.small()?;
    if o.nrfiles > MOST {
        let why = format!("one job has up to {MOST} files here");
        return Err(Wrong::unsupported(why));
    }
    o.nrfiles = o.nrfiles.max(1);
    Ok(())
}

pub(super) fn size(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.size = Some(value.span()?);
    Ok(())
}

pub(super) fn io_size(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.io_size = Some(value.span()?);
    Ok(())
}

pub(super) fn filesize(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let text = value.word()?;
    if text.contains(['-', ':']) && !text.starts_with('(') {
        return Err(Wrong::unsupported("files have one size; hint: use filesize=1g"));
    }
    o.file_size = Some(value.number()?).filter(|size| *size > 0);
    Ok(())
}

pub(super) fn offset(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.offset = value.span()?;
    Ok(())
}

pub(super) fn offset_increment(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.offset_increment = value.span()?;
    Ok(())
}

pub(super) fn offset_align(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.offset_align = value.number()?;
    Ok(())
}

pub(super) fn number_ios(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.number_ios = Some(value.number()?).filter(|ios| *ios > 0);
    Ok(())
}

pub(super) fn runtime(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.runtime_ns = value.duration_ns(1e9)?;
    Ok(())
}

pub(super) fn time_based(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.time_based = value.switch()?;
    Ok(())
}

pub(super) fn ramp_time(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.ramp_ns = value.duration_ns(1e9)?;
    Ok(())
}

pub(super) fn randrepeat(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.randrepeat = value.switch()?;
    Ok(())
}

pub(super) fn randseed(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.randseed = Some(value.number()?);
    Ok(())
}

pub(super) fn stonewall(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.stonewall = value.switch()?;
    Ok(())
}

pub(super) fn wait_for(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.wait_for = Some(value.word()?.to_owned());
    Ok(())
}

pub(super) fn group_reporting(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.group_reporting = value.switch()?;
    Ok(())
}

pub(super) fn latency_target(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.latency_target_ns = value.duration_ns(1e3)?;
    Ok(())
}

pub(super) fn latency_percentile(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let percent = text.parse().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    let fail = || Wrong::value(format!("\"{text}\" is not above 0 and up to 100"));
    o.latency_percentile = percent.ok_or_else(fail)?;
    Ok(())
}

/// Most percentiles of a list in fio.
const MOST_PERCENTILES: usize = 20;

pub(super) fn percentile_list(o: &mut JobOptions, value: &Value<'_>) -> Set {
    let text = value.word()?;
    let percent = |text: &str| {
        text.trim().parse().ok().filter(|percent: &f64| *percent > 0.0 && *percent <= 100.0)
    };
    let all: Option<Vec<f64>> = text.split(':').map(percent).collect();
    let mut all = all.filter(|all| all.len() <= MOST_PERCENTILES).ok_or_else(|| {
        let most = MOST_PERCENTILES;
        Wrong::value(format!("\"{text}\" is not up to {most} of above 0 and up to 100, as 50:99.9"))
    })?;
    all.sort_by(f64::total_cmp);
    all.dedup();
    o.percentiles = all;
    Ok(())
}

pub(super) fn invalidate(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.invalidate = value.switch()?;
    Ok(())
}

pub(super) fn unlink(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.unlink = value.switch()?;
    Ok(())
}

pub(super) fn allow_file_create(o: &mut JobOptions, value: &Value<'_>) -> Set {
    o.allow_file_create = value.switch()?;
    Ok(())
}
