//! The same work on RocksDB by iogauge and by a bare loop over the library, to compare them.
//!
//! `rocksdb_bare URL iogauge|bare fill GLOBALS SUBSCRIPTS` fills new globals behind those that are there;
//! `rocksdb_bare URL iogauge|bare write WORKERS SECONDS` does transactions of 50 updates without pauses.
//! Each prints `operations seconds cpu_seconds`; of writing without what goes before and behind it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "it ends where something fails")]

use iogauge_db::acknowledged::{Acknowledged, FORMAT, RunOfWorkers};
use iogauge_db::backend::{Global, RunPlan};
use iogauge_db::crew::{Crew, CrewPlan, Mode};
use iogauge_db::draws::Draws;
use iogauge_db::value::Stamp;
use iogauge_db::{BACKENDS, Database, DbUrl, Progress, backend};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType,
    IngestExternalFileOptions, Options, SstFileWriter, WriteBatch, WriteOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const LENGTH: u32 = 50;
const VALUE_BYTES: usize = 100;
const SETUP_BYTES: u64 = 64 << 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, who, what, count, amount] = arguments.as_slice() else {
        panic!("right would be URL iogauge|bare fill|write COUNT AMOUNT")
    };
    let url: DbUrl = url.parse().unwrap();
    let (count, amount): (u32, u64) = (count.parse().unwrap(), amount.parse().unwrap());
    let db = backend::open(&url).unwrap();
    if !db.is_there().unwrap() {
        db.setup(SETUP_BYTES, &mut quiet(&mut |_, _| {}, &AtomicBool::new(false))).unwrap();
    }
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    let operations = match (who.as_str(), what.as_str()) {
        ("iogauge", "fill") => fill(db.as_ref(), count, amount),
        ("bare", "fill") => bare_fill(&folder(&url), count, amount),
        ("iogauge", "write") => write(db.as_ref(), count, amount),
        ("bare", "write") => bare_write(&folder(&url), &url, count, amount),
        _ => panic!("{who} {what} is nothing to do, of {:?}", BACKENDS),
    };
    if what == "fill" {
        tell(operations, begin, cpu);
    }
}

fn tell(operations: u64, begin: Instant, cpu: f64) {
    let seconds = begin.elapsed().as_secs_f64();
    println!("{operations} {seconds:.3} {:.3}", cpu_seconds() - cpu);
}

fn quiet<'a>(tell: &'a mut dyn FnMut(u64, u64), stop: &'a AtomicBool) -> Progress<'a> {
    Progress::new(tell, stop)
}

fn folder(url: &DbUrl) -> PathBuf {
    Path::new(&url.place).join(&url.name)
}

/// Of all threads of this process.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

fn fill(db: &dyn Database, globals: u32, subscripts: u64) -> u64 {
    let first = db.globals().unwrap().len() as u32 + 1;
    for number in first..first + globals {
        let global = Global { number, subscripts, value_bytes: VALUE_BYTES };
        let stop = AtomicBool::new(false);
        db.create_global(global, &mut quiet(&mut |_, _| {}, &stop)).unwrap();
    }
    u64::from(globals) * subscripts
}

fn write(db: &dyn Database, workers: u32, seconds: u64) -> u64 {
    let globals = db.globals().unwrap();
    let committed = db.committed().unwrap();
    let of = |worker| committed.iter().find(|(w, _)| *w == worker).map_or(0, |(_, n)| *n);
    let before: Vec<u64> = (1..=workers).map(of).collect();
    let plan = CrewPlan {
        mode: Mode::Write,
        workers,
        transaction_length: LENGTH,
        hang: Duration::ZERO,
        seed: 7,
    };
    let run = RunOfWorkers {
        format: FORMAT.to_owned(),
        database: db.identity().unwrap(),
        seed: 7,
        transaction_length: LENGTH,
        workers,
    };
    let path = db.acknowledged_path().unwrap();
    let acknowledged = Acknowledged::begin(&path, &run, &before).unwrap();
    let activity = db.begin(&RunPlan { workers, reads: false, writes: true }).unwrap();
    let mut crew =
        Crew::start(Arc::from(activity), plan, &globals, &before, Some(acknowledged)).unwrap();
    crew.activity().drain().unwrap();
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    crew.set_active(workers);
    let mut updates = 0;
    for _ in 0..seconds {
        std::thread::sleep(Duration::from_secs(1));
        updates += crew.cut().iter().map(|books| books.updates.count()).sum::<u64>();
    }
    let books = crew.stop();
    assert_eq!(crew.fault(), None);
    updates += books.iter().map(|books| books.updates.count()).sum::<u64>();
    tell(updates, begin, cpu);
    updates
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
    options.set_max_total_wal_size(512 << 20);
    options.set_bytes_per_sync(1 << 20);
    options
}

fn open(folder: &Path, options: &Options) -> (DB, usize) {
    let names = DB::list_cf(options, folder).unwrap();
    let families: Vec<_> =
        names.iter().map(|name| ColumnFamilyDescriptor::new(name, options.clone())).collect();
    (DB::open_cf_descriptors(options, folder, families).unwrap(), names.len())
}

/// Sorted files with values that are there already, taken over by column families of their own.
fn bare_fill(folder: &Path, globals: u32, subscripts: u64) -> u64 {
    let options = options();
    let (mut db, first) = open(folder, &options);
    let mut value = String::new();
    Stamp::initial(1, 1).write(VALUE_BYTES, &mut value);
    for number in first..first + globals as usize {
        let (mut paths, mut next) = (Vec::new(), 1u64);
        while next <= subscripts {
            let path = folder.join(format!("filling-{}.sst", paths.len() + 1));
            let mut writer = SstFileWriter::create(&options);
            writer.open(&path).unwrap();
            while next <= subscripts && (next % 1024 != 0 || writer.file_size() < 64 << 20) {
                writer.put(next.to_be_bytes(), &value).unwrap();
                next += 1;
            }
            if next <= subscripts {
                writer.put(next.to_be_bytes(), &value).unwrap();
                next += 1;
            }
            writer.finish().unwrap();
            paths.push(path);
        }
        let name = format!("bare_{number}");
        db.create_cf(&name, &options).unwrap();
        let mut how = IngestExternalFileOptions::default();
        how.set_move_files(true);
        db.ingest_external_file_cf_opts(db.cf_handle(&name).unwrap(), &how, paths).unwrap();
    }
    u64::from(globals) * subscripts
}

/// The same batches with one value, counted.
fn bare_write(folder: &Path, url: &DbUrl, workers: u32, seconds: u64) -> u64 {
    let subscripts = backend::open(url).unwrap().globals().unwrap()[0].subscripts;
    let sync = url.settings.get("synchronous").is_none_or(|text| text == "full");
    let mut options = options();
    options.enable_statistics();
    let (db, _) = open(folder, &options);
    rest(&db);
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    let (updates, end) = (AtomicU64::new(0), Instant::now() + Duration::from_secs(seconds));
    let mut value = String::new();
    Stamp::initial(1, 1).write(VALUE_BYTES, &mut value);
    std::thread::scope(|scope| {
        for worker in 1..=workers {
            let (db, updates, value) = (&db, &updates, &value);
            scope.spawn(move || {
                let mut options = WriteOptions::default();
                options.set_sync(sync);
                let family = db.cf_handle(&format!("global_{worker}")).unwrap();
                let (mut draws, mut sequence) = (Draws::new(7, worker), 0u64);
                while Instant::now() < end {
                    let mut batch = WriteBatch::default();
                    for _ in 0..LENGTH {
                        batch.put_cf(family, draws.subscript(subscripts).to_be_bytes(), value);
                    }
                    sequence += 1;
                    batch.put(u64::from(worker).to_be_bytes(), sequence.to_be_bytes());
                    db.write_opt(batch, &options).unwrap();
                    updates.fetch_add(u64::from(LENGTH), Ordering::Relaxed);
                }
            });
        }
    });
    let updates = updates.load(Ordering::Relaxed);
    tell(updates, begin, cpu);
    updates
}

/// Waits until what was left to flush and to compact is done.
fn rest(db: &DB) {
    use rocksdb::properties::{COMPACTION_PENDING, NUM_RUNNING_COMPACTIONS};
    let families = (1..).map_while(|global| db.cf_handle(&format!("global_{global}")));
    let families: Vec<_> = families.collect();
    for family in &families {
        db.flush_cf(family).unwrap();
    }
    let busy = |family: &&rocksdb::ColumnFamily| {
        [COMPACTION_PENDING, NUM_RUNNING_COMPACTIONS]
            .iter()
            .any(|name| db.property_int_value_cf(family, *name).unwrap() != Some(0))
    };
    while families.iter().any(busy) {
        std::thread::sleep(Duration::from_millis(5));
    }
}
