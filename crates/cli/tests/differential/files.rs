//! I/Os on files in a file system, located by the position of the files' blocks on the device.

use crate::common::names;
use crate::pair::Run;
use crate::seen::{Op, Step};
use crate::stage::Stage;
use iogauge_test_support::run;
use std::path::Path;

/// A file that iogauge made begins with a header that identifies it.
const HEADER_BYTES: u64 = 1 << 20;

/// Returns the blocks of a file, from `filefrag`: the first byte of each in the file and on the device.
fn blocks(path: &Path) -> Result<Vec<(u64, u64)>, String> {
    let text = run("filefrag", &["-b4096", "-e", path.to_str().unwrap()])?;
    let mut blocks = Vec::new();
    for line in text.lines() {
        // `EXTENT: LOGICAL.. LOGICAL: PHYSICAL.. PHYSICAL: LENGTH: …`.
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        if fields.len() < 4 || fields[0].parse::<u32>().is_err() {
            continue;
        }
        let first = |field: &str| field.split("..").next()?.trim().parse().ok();
        let numbers: Option<Vec<u64>> =
            [1, 2, 3].map(|field| first(fields[field])).into_iter().collect();
        let numbers = numbers.ok_or_else(|| text.clone())?;
        let block = |n: u64| ((numbers[0] + n) * 4096, (numbers[1] + n) * 4096);
        blocks.extend((0..numbers[2]).map(block));
    }
    Ok(blocks)
}

/// Returns the reads of a run as places in the files: the number of the file and the offset in it.
fn places(run: &Run, directory: &Path, header_bytes: u64) -> Vec<(usize, Step)> {
    let files: Vec<Vec<(u64, u64)>> =
        names(directory).iter().map(|name| blocks(&directory.join(name)).unwrap()).collect();
    let place = |offset: u64| {
        files.iter().enumerate().find_map(|(file, blocks)| {
            let (in_file, _) = blocks.iter().find(|(_, on_device)| *on_device == offset)?;
            Some((file, in_file.checked_sub(header_bytes)?))
        })
    };
    // The writes lay out the files. I/Os outside the files belong to the file system.
    let reads = run.seen.moves().filter(|io| io.op == Op::Read);
    let mut places: Vec<(usize, Step)> = reads
        .filter_map(|io| {
            let (file, offset) = place(io.offset_bytes)?;
            Some((file, (io.op, offset, io.len_bytes)))
        })
        .collect();
    places.sort_unstable();
    places
}

#[test]
fn multiple_files_are_created_and_read_like_fio() {
    const TEST: &str = "multiple_files_are_created_and_read_like_fio";
    let Some((stage, mount)) = Stage::with_files(TEST) else { return };
    for job in ["nrfiles.fio", "filesize.fio"] {
        let run = |tool: &str| {
            let directory = mount.join(format!("{tool}-{job}"));
            std::fs::create_dir(&directory).unwrap();
            let variables = [("DIRECTORY", directory.to_str().unwrap())];
            let (run, header_bytes) = match tool {
                "fio" => (stage.fio(job, &variables), 0),
                _ => (stage.iogauge(job, &variables), HEADER_BYTES),
            };
            let sizes: Vec<(String, u64)> = names(&directory)
                .into_iter()
                .map(|name| {
                    (name.clone(), directory.join(name).metadata().unwrap().len() - header_bytes)
                })
                .collect();
            let places = places(&run, &directory, header_bytes);
            assert_eq!(places.len() as u64, run.report.ios[0], "{tool} {job}: seen, said");
            std::fs::remove_dir_all(&directory).unwrap();
            (sizes, run.report, places)
        };
        let (fio, iogauge) = (run("fio"), run("iogauge"));
        assert_eq!(fio.0, iogauge.0, "{job}: files of fio, iogauge");
        assert_eq!(fio.1, iogauge.1, "{job}: reports of fio, iogauge");
        assert_eq!(fio.2, iogauge.2, "{job}: places of fio, iogauge");
    }
}
