//! Settings of a URL, and the library's options that result from them.

use super::SETTINGS;
use crate::error::DbError;
use crate::url::DbUrl;
use ::rocksdb::{BlockBasedOptions, Cache, DBCompressionType, Options};
use iogauge_model::units::parse_size_bytes;

/// Values of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// True if each commit waits for its log.
    pub sync: bool,
    /// True if data files bypass the page cache.
    pub direct: bool,
    /// Block size in bytes, if it was set.
    pub block_bytes: Option<u64>,
    /// Name of the compression.
    pub compression: String,
    /// Size of the block cache in bytes.
    pub cache_bytes: usize,
    /// Size of a memtable in bytes.
    pub memtable_bytes: usize,
    /// Size of the log that forces a flush, in bytes.
    pub wal_bytes: u64,
    /// Maximum number of concurrent flushes and compactions.
    pub jobs: i32,
}

/// Default block size, in bytes.
const BLOCK_BYTES: u64 = 8 << 10;
/// Number of information logs that are kept. Each process that opens the database starts one.
const INFO_LOGS: usize = 4;

impl Settings {
    /// Parses the settings of a URL.
    ///
    /// # Errors
    /// [`DbError::Usage`] for invalid values.
    pub fn of(url: &DbUrl) -> Result<Self, DbError> {
        let set = |key: &str| url.settings.get(key).map(String::as_str);
        let text = |key| set(key).unwrap_or_else(|| default(key)).to_ascii_lowercase();
        let choice = |key, yes: &str, no: &str| match text(key) {
            text if text == yes => Ok(true),
            text if text == no => Ok(false),
            text => Err(wrong(key, &text, &format!("{yes} or {no}"))),
        };
        let size = |key, least: u64, most: u64, right| match parse_size_bytes(&text(key)) {
            Ok(bytes) if (least..=most).contains(&bytes) => Ok(bytes),
            _ => Err(wrong(key, &text(key), right)),
        };
        let block_bytes = size("block", 1 << 10, 1 << 20, "a power of two from 1k to 1m")?;
        if !block_bytes.is_power_of_two() {
            return Err(wrong("block", &text("block"), "a power of two from 1k to 1m"));
        }
        let compression = text("compression");
        if compression_type(&compression).is_none() {
            return Err(wrong("compression", &compression, "none, snappy, lz4, zstd or zlib"));
        }
        let jobs = text("jobs");
        let Some(jobs) = jobs.parse().ok().filter(|jobs| (1..=64).contains(jobs)) else {
            return Err(wrong("jobs", &jobs, "1 to 64"));
        };
        const MOST: u64 = 1 << 40;
        Ok(Self {
            sync: choice("synchronous", "full", "off")?,
            direct: choice("direct", "yes", "no")?,
            block_bytes: set("block").map(|_| block_bytes),
            compression,
            cache_bytes: size("cache", 64 << 10, MOST, "64k or more")? as usize,
            memtable_bytes: size("memtable", 64 << 10, 1 << 34, "64k to 16g")? as usize,
            wal_bytes: size("wal", 64 << 10, MOST, "64k or more")?,
            jobs,
        })
    }

    /// Returns the block size of a new database, in bytes.
    pub fn setup_block_bytes(&self) -> u64 {
        self.block_bytes.unwrap_or(BLOCK_BYTES)
    }

    /// Returns the library's options for a database and each of its column families.
    pub fn options(&self, block_bytes: u64) -> Result<Options, DbError> {
        let cache = Cache::new_lru_cache(self.cache_bytes)
            .map_err(|error| DbError::Failed(format!("no block cache can be made: {error}")))?;
        let mut table = BlockBasedOptions::default();
        table.set_block_size(block_bytes as usize);
        table.set_block_cache(&cache);
        table.set_format_version(5);
        let mut options = Options::default();
        options.set_block_based_table_factory(&table);
        options.set_compression_type(
            compression_type(&self.compression).unwrap_or(DBCompressionType::None),
        );
        options.set_use_direct_reads(self.direct);
        options.set_use_direct_io_for_flush_and_compaction(self.direct);
        options.set_write_buffer_size(self.memtable_bytes);
        options.set_max_total_wal_size(self.wal_bytes);
        options.set_max_background_jobs(self.jobs);
        options.set_keep_log_file_num(INFO_LOGS);
        // Evenly writes back files that use the page cache: the log and bulk-loaded files.
        options.set_bytes_per_sync(1 << 20);
        options.set_stats_dump_period_sec(0);
        options.set_stats_persist_period_sec(0);
        Ok(options)
    }

    /// Returns names and values of the settings that affect a result.
    pub fn shown(&self) -> Vec<(String, String)> {
        let yes = |set: bool| set.to_string();
        let shown = [
            ("WriteOptions.sync", yes(self.sync)),
            ("use_direct_reads", yes(self.direct)),
            ("use_direct_io_for_flush_and_compaction", yes(self.direct)),
            ("compression", self.compression.clone()),
            ("block_cache", self.cache_bytes.to_string()),
            ("write_buffer_size", self.memtable_bytes.to_string()),
            ("max_total_wal_size", self.wal_bytes.to_string()),
            ("max_background_jobs", self.jobs.to_string()),
        ];
        shown.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn default(key: &str) -> &'static str {
    SETTINGS.iter().find(|setting| setting.key == key).map_or("", |setting| setting.default)
}

fn wrong(key: &str, value: &str, right: &str) -> DbError {
    DbError::Usage(format!("setting {key}={value} is not possible; hint: use {right}"))
}

fn compression_type(name: &str) -> Option<DBCompressionType> {
    match name {
        "none" => Some(DBCompressionType::None),
        "snappy" => Some(DBCompressionType::Snappy),
        "lz4" => Some(DBCompressionType::Lz4),
        "zstd" => Some(DBCompressionType::Zstd),
        "zlib" => Some(DBCompressionType::Zlib),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(query: &str) -> Result<Settings, DbError> {
        Settings::of(&format!("rocksdb:/x?{query}").parse().unwrap())
    }

    #[test]
    fn rocksdb_defaults_match_the_settings_table() {
        let plain = settings("").unwrap();
        let all: Vec<String> =
            SETTINGS.iter().map(|s| format!("{}={}", s.key, s.default)).collect();
        let named = settings(&all.join("&")).unwrap();
        assert_eq!(Settings { block_bytes: None, ..named }, plain);
        assert!(plain.sync && plain.direct);
        assert_eq!(plain.setup_block_bytes(), 8192);
    }

    #[test]
    fn invalid_rocksdb_settings_are_rejected() {
        for query in [
            "synchronous=maybe",
            "direct=1",
            "block=100",
            "block=3k",
            "block=2m",
            "cache=x",
            "compression=rar",
            "memtable=1",
            "jobs=0",
            "jobs=many",
            "wal=1",
        ] {
            let error = settings(query).unwrap_err();
            assert!(matches!(error, DbError::Usage(_)), "{query}: {error}");
            assert!(error.to_string().contains(query), "{query}: {error}");
        }
    }
}
