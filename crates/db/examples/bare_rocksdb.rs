//! Batches of a write test on RocksDB by a bare loop over the library: what `benches/versus_db.sh` holds
//! iogauge against. One value for all updates, no latencies, no statistics.
//!
//! `bare_rocksdb write FOLDER WORKERS SUBSCRIPTS LENGTH RAMP_MS MS` updates what iogauge made in the folder;
//! `bare_rocksdb rest FOLDER` flushes what is in memory there, and waits until nothing is compacted;
//! `bare_rocksdb fill FOLDER GLOBALS SUBSCRIPTS` fills a database in a folder that is empty.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "it ends where something fails")]

#[path = "bare/timed.rs"]
mod timed;

use iogauge_db::subscript_stream::SubscriptStream;
use iogauge_db::value::DEFAULT_BYTES;
use rocksdb::properties::{COMPACTION_PENDING, NUM_RUNNING_COMPACTIONS};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType,
    IngestExternalFileOptions, Options, SstFileWriter, WriteBatch, WriteOptions,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use timed::Count;

/// Bytes of a file that is ingested: what RocksDB makes by itself.
const FILE_BYTES: u64 = 64 << 20;
/// Rows between two looks at a file's length.
const ROWS_BETWEEN: u64 = 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder, numbers @ ..] = arguments.as_slice() else { usage() };
    let folder = Path::new(folder);
    match (what.as_str(), timed::numbers(numbers).as_slice()) {
        ("write", &[workers, subscripts, length, ramp, time]) => {
            let db = open(folder);
            let (ramp, time) = (Duration::from_millis(ramp), Duration::from_millis(time));
            timed::work(workers as u32, ramp, time, |worker, count| {
                write(&db, worker, (subscripts, length), count);
            });
        }
        ("rest", &[]) => rest(&open(folder), folder),
        ("fill", &[globals, subscripts]) => fill(folder, globals, subscripts),
        _ => usage(),
    }
}

fn usage() -> ! {
    panic!("hint: use write, rest or fill, and what the head of this file says")
}

/// The options that the backend's defaults come to.
fn options() -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_size(8192);
    table.set_block_cache(&Cache::new_lru_cache(64 << 20).unwrap());
    table.set_format_version(5);
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::None);
    options.set_use_direct_reads(true);
    options.set_use_direct_io_for_flush_and_compaction(true);
    options.set_write_buffer_size(64 << 20);
    options.set_max_total_wal_size(512 << 20);
    options.set_bytes_per_sync(1 << 20);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.create_if_missing(true);
    options
}

fn open(folder: &Path) -> DB {
    let options = options();
    let names = DB::list_cf(&options, folder).unwrap();
    let families = names.iter().map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    DB::open_cf_descriptors(&options, folder, families).unwrap()
}

/// A batch for each transaction, with the worker's record in it.
fn write(db: &DB, worker: u32, (subscripts, length): (u64, u64), count: &Count) {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    let family = db.cf_handle(&format!("global_{worker}")).unwrap();
    let value = "x".repeat(DEFAULT_BYTES);
    let (mut draws, mut sequence) = (SubscriptStream::new(7, worker), 0u64);
    while count.goes_on() {
        let mut batch = WriteBatch::default();
        for _ in 0..length {
            batch.put_cf(family, draws.subscript(subscripts).to_be_bytes(), &value);
        }
        sequence += 1;
        batch.put(u64::from(worker).to_be_bytes(), sequence.to_be_bytes());
        db.write_opt(batch, &options).unwrap();
        count.committed();
    }
}

fn rest(db: &DB, folder: &Path) {
    for name in DB::list_cf(&options(), folder).unwrap() {
        let family = db.cf_handle(&name).unwrap();
        db.flush_cf(family).unwrap();
        let busy = |name| db.property_int_value_cf(family, name).unwrap() != Some(0);
        while busy(COMPACTION_PENDING) || busy(NUM_RUNNING_COMPACTIONS) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Sorted files, taken over by a column family for each global.
fn fill(folder: &Path, globals: u64, subscripts: u64) {
    let options = options();
    let mut db = DB::open(&options, folder).unwrap();
    for global in 1..=globals {
        let paths = files(folder, &options, subscripts);
        let name = format!("global_{global}");
        db.create_cf(&name, &options).unwrap();
        let mut how = IngestExternalFileOptions::default();
        how.set_move_files(true);
        db.ingest_external_file_cf_opts(db.cf_handle(&name).unwrap(), &how, paths).unwrap();
    }
}

fn files(folder: &Path, options: &Options, subscripts: u64) -> Vec<PathBuf> {
    let value = "x".repeat(DEFAULT_BYTES);
    let (mut paths, mut next) = (Vec::new(), 1u64);
    while next <= subscripts {
        let path = folder.join(format!("filling-{}.sst", paths.len() + 1));
        let mut writer = SstFileWriter::create(options);
        writer.open(&path).unwrap();
        while next <= subscripts {
            writer.put(next.to_be_bytes(), &value).unwrap();
            next += 1;
            if next.is_multiple_of(ROWS_BETWEEN) && writer.file_size() >= FILE_BYTES {
                break;
            }
        }
        writer.finish().unwrap();
        paths.push(path);
    }
    paths
}
