//! Options of the data that is written, and of its verification.

use super::super::LoadOption;
use super::super::set::{self, put};
use super::super::show::{self, nothing, size, switch, word};
use super::{flag, row};
use crate::load::VerifyAlgorithm;

const VERIFY: &[&str] = &["verify=crc32c", "verify_pattern=%o"];

pub(super) const ROWS: &[LoadOption] = &[
    row(
        "buffer_compress_percentage",
        "PERCENT",
        |o, v| put(&mut o.plain.content.compress_percent, v.percent()?),
        |load| word(load.content.compress_percent),
    )
    .default("0")
    .help("Compressible share of the written data; that share is zeros"),
    row("buffer_compress_chunk", "SIZE", set::compress_chunk, show::buffer_compress_chunk)
        .default("512")
        .help("Unit of compressible data: random bytes, then zeros; 0 means a whole block"),
    row(
        "dedupe_percentage",
        "PERCENT",
        |o, v| put(&mut o.plain.content.dedupe_percent, v.percent()?),
        |load| word(load.content.dedupe_percent),
    )
    .default("0")
    .help("Share of the writes that repeat earlier data"),
    row("buffer_pattern", "BYTES", set::buffer_pattern, |load| {
        load.buffer_pattern.as_ref().and_then(word)
    })
    .help("Data of the writes, repeated: 0xaa55, \"text\" in quotes, a number, or several in a row"),
    flag("zero_buffers", set::zero_buffers, nothing)
        .hidden()
        .help("Write zeros, as buffer_pattern=0x00"),
    row("verify", "KIND", set::verify, |load| show::verify(load, |verify| word(verify.algorithm)))
        .words(|| VerifyAlgorithm::ALL.iter().map(|row| row.name).collect())
        .help(
            "Write verifiable data and read it back: crc32c, crc32, crc64, crc16, xxhash, md5, \
             sha1, sha256, sha512, sha3-256, meta, pattern or pattern_hdr. A workload that only reads verifies \
             existing data",
        ),
    flag(
        "do_verify",
        |o, v| put(&mut o.do_verify, v.stated_switch()?),
        |load| show::verify(load, |verify| switch(verify.reads_back)),
    )
    .default("1")
    .requires(VERIFY)
    .help("0 skips reading the data back; a later run can verify it"),
    row(
        "verify_interval",
        "SIZE",
        |o, v| put(&mut o.verify_interval, Some(v.number()?).filter(|bytes| *bytes > 0)),
        |load| show::verify(load, |verify| size(verify.interval_bytes)),
    )
    .requires(VERIFY)
    .help(
        "Greatest number of bytes that a verification header covers. Each covers the greatest \
         length up to this that divides all block sizes",
    ),
    row(
        "verify_offset",
        "SIZE",
        |o, v| put(&mut o.verify_offset, v.number()?),
        |load| show::verify(load, |verify| size(Some(verify.header_offset_bytes).filter(|bytes| *bytes > 0))),
    )
    .requires(VERIFY)
    .help("Offset of the verification header in its data"),
    row("verify_pattern", "BYTES", set::verify_pattern, |load| {
        show::verify(load, |verify| verify.pattern.as_ref().and_then(word))
    })
    .help(
        "Data written after each header: 0xaa55, \"text\" in quotes, a number, %o for the offset, or \
         several in a row; without it, random. Alone, it means --verify=pattern_hdr",
    ),
    row(
        "verify_pattern_interval",
        "SIZE",
        |o, v| put(&mut o.verify_pattern_interval, v.number()?),
        |load| show::verify(load, |verify| size(Some(verify.pattern_interval_bytes).filter(|bytes| *bytes > 0))),
    )
    .requires(&["verify_pattern=%o"])
    .help("Begin verify_pattern anew after this many bytes, with the offset there"),
    row("verify_backlog", "N", set::verify_backlog, |load| {
        show::verify(load, |verify| verify.backlog.and_then(|backlog| word(backlog.writes)))
    })
    .requires(VERIFY)
    .help("Read back the last N writes of each worker before it goes on, not only at the end"),
    row("verify_backlog_batch", "N", set::verify_backlog_batch, |load| {
        show::verify(load, |verify| verify.backlog.and_then(|backlog| word(backlog.batch)))
    })
    .requires(&["verify_backlog=1024"])
    .help("Read back only this many of the N writes of --verify_backlog before the end"),
    flag(
        "verify_fatal",
        |o, v| put(&mut o.verify_fatal, v.stated_switch()?),
        |load| show::verify(load, |verify| switch(verify.fatal)),
    )
    .requires(VERIFY)
    .help("Stop at the first verification failure"),
    flag(
        "verify_only",
        |o, v| put(&mut o.verify_only, v.switch()?),
        |load| show::verify(load, |verify| switch(verify.only)),
    )
    .requires(VERIFY)
    .help("Write nothing; verify what a run with the same options wrote"),
    flag(
        "verify_state_save",
        |o, v| put(&mut o.verify_state_save, v.switch()?),
        |load| show::verify_state(load, |state| state.saves),
    )
    .requires(VERIFY)
    .of_run()
    .help("Write what was written where to the file local-NAME-0-verify.state, for a later --verify_only"),
    flag(
        "verify_state_load",
        |o, v| put(&mut o.verify_state_load, v.switch()?),
        |load| show::verify_state(load, |state| state.loads),
    )
    .requires(VERIFY)
    .of_run()
    .help("With --verify_only, verify what is in the file that --verify_state_save wrote"),
    flag("refill_buffers", |_, v| v.switch().map(drop), nothing)
        .hidden()
        .help("Accepted for compatibility with fio: every write has its own data"),
];
