//! Counts of the server, by version.
//!
//! <https://www.postgresql.org/docs/current/monitoring-stats.html>: version 17 moved checkpoints to
//! their own view, and writes of sessions to `pg_stat_io`.

use super::connection::Connection;
use super::schema::Schema;
use crate::backend::Counts;
use crate::error::DbError;

/// Reads the counts of one schema's tables, and of the write daemon of the whole server.
#[derive(Debug)]
pub(super) struct Statistics {
    sql: String,
    daemon: String,
    names: Vec<&'static str>,
}

/// Work of the checkpointer so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Daemon {
    /// Log position of the last completed checkpoint.
    pub checkpoint: String,
    /// Time that checkpoints took, in milliseconds.
    pub busy_ms: u64,
    /// Number of blocks that checkpoints wrote.
    pub blocks: u64,
}

impl Statistics {
    /// Prepares the statements for a server with this `server_version_num`.
    pub(super) fn new(version: u32, schema: &Schema) -> Self {
        let of = |view: &str, sum: &str, tables: &str| {
            let name = schema.literal();
            format!(
                "(SELECT coalesce(sum({sum}), 0) FROM {view} WHERE schemaname = {name} \
                 AND relname ~ '^{tables}$')"
            )
        };
        let updates = |sum, tables| of("pg_stat_user_tables", sum, tables);
        let blocks = |sum| of("pg_statio_user_tables", sum, ".*");
        let daemon = |old: &str, new: &str| match version {
            170_000.. => format!("(SELECT {new} FROM pg_stat_checkpointer)"),
            _ => format!("(SELECT {old} FROM pg_stat_bgwriter)"),
        };
        let by_sessions = match version {
            170_000.. => {
                "(SELECT coalesce(sum(writes), 0) FROM pg_stat_io WHERE object = 'relation' AND \
                          backend_type NOT IN ('checkpointer', 'background writer'))"
            }
            _ => "(SELECT buffers_backend FROM pg_stat_bgwriter)",
        };
        // A standby inserts nothing itself, but replays the log of its primary.
        let log = "pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
                   ELSE pg_current_wal_insert_lsn() END, '0/0')";
        let mut columns = vec![
            ("updates", updates("n_tup_upd", "global[0-9]+")),
            ("commits", updates("n_tup_upd", "worker[0-9]+")),
            ("blocks_read", blocks("heap_blks_read + coalesce(idx_blks_read, 0)")),
            ("blocks_hit", blocks("heap_blks_hit + coalesce(idx_blks_hit, 0)")),
            ("log_bytes", log.to_owned()),
            ("checkpointer_blocks", daemon("buffers_checkpoint", "buffers_written")),
            ("background_writer_blocks", "(SELECT buffers_clean FROM pg_stat_bgwriter)".to_owned()),
            ("session_blocks", by_sessions.to_owned()),
            ("checkpoints_timed", daemon("checkpoints_timed", "num_timed")),
            ("checkpoints_requested", daemon("checkpoints_req", "num_requested")),
            ("checkpoint_write_ms", daemon("checkpoint_write_time", "write_time")),
            ("checkpoint_sync_ms", daemon("checkpoint_sync_time", "sync_time")),
            ("hot_updates", updates("n_tup_hot_upd", "global[0-9]+")),
            ("autovacuums", updates("autovacuum_count", ".*")),
        ];
        if version >= 140_000 {
            let field = |field| format!("(SELECT {field} FROM pg_stat_wal)");
            columns.push(("log_full_page_images", field("wal_fpi")));
            columns.push(("log_records", field("wal_records")));
        }
        let fields: Vec<String> =
            columns.iter().map(|(_, field)| format!("trunc({field}::numeric)")).collect();
        let (blocks, busy) = (
            daemon("buffers_checkpoint", "buffers_written"),
            daemon("checkpoint_write_time + checkpoint_sync_time", "write_time + sync_time"),
        );
        Self {
            sql: format!("SELECT {}", fields.join(", ")),
            daemon: format!(
                "SELECT (SELECT checkpoint_lsn FROM pg_control_checkpoint()), trunc({busy}::numeric), \
                 {blocks}"
            ),
            names: columns.iter().map(|(name, _)| *name).collect(),
        }
    }

    /// Returns all counts.
    pub(super) fn counts(&self, connection: &mut Connection) -> Result<Counts, DbError> {
        let row = connection.row(&self.sql)?;
        let mut counts = Counts { blocks_written: Some(0), ..Counts::default() };
        for (name, field) in self.names.iter().zip(row) {
            let Some(count) = field.and_then(|field| field.parse::<u64>().ok()) else { continue };
            match *name {
                "updates" => counts.updates = Some(count),
                "commits" => counts.commits = Some(count),
                "blocks_read" => counts.blocks_read = Some(count),
                "blocks_hit" => counts.blocks_hit = Some(count),
                "log_bytes" => counts.log_bytes = Some(count),
                other => {
                    if other.ends_with("_blocks") {
                        counts.blocks_written =
                            counts.blocks_written.map(|sum| sum.saturating_add(count));
                    }
                    counts.others.push((other, count));
                }
            }
        }
        Ok(counts)
    }

    /// Returns the work of the checkpointer so far.
    pub(super) fn daemon(&self, connection: &mut Connection) -> Result<Daemon, DbError> {
        let row = connection.row(&self.daemon)?;
        let number = |index: usize| row.get(index)?.as_ref()?.parse().ok();
        Ok(Daemon {
            checkpoint: row.first().cloned().flatten().unwrap_or_default(),
            busy_ms: number(1).unwrap_or(0),
            blocks: number(2).unwrap_or(0),
        })
    }
}
