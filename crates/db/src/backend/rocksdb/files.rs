//! Names of files that RocksDB and bulk loading create in the folder.

/// Name prefix of files that are written for ingestion.
pub const FILLING: &str = "filling-";

/// Returns the name of the n-th of them.
pub fn filling(n: u64) -> String {
    format!("{FILLING}{n:06}.sst")
}

/// Returns true for files of the log.
pub fn is_log(name: &str) -> bool {
    name.strip_suffix(".log").is_some_and(is_number)
}

/// Returns true for all files that RocksDB creates (as in its `file/filename.cc`) and for files written for ingestion.
pub fn is_ours(name: &str) -> bool {
    let numbered = |prefix: &str| name.strip_prefix(prefix).is_some_and(is_number);
    let ends = [".sst", ".log", ".blob", ".dbtmp"];
    ["CURRENT", "IDENTITY", "LOCK", "LOG"].contains(&name)
        || ends.iter().any(|end| name.strip_suffix(end).is_some_and(is_number))
        || ["MANIFEST-", "OPTIONS-", "LOG.old."].into_iter().any(numbered)
        || name
            .strip_prefix("OPTIONS-")
            .and_then(|rest| rest.strip_suffix(".dbtmp"))
            .is_some_and(is_number)
        || name
            .strip_prefix(FILLING)
            .and_then(|rest| rest.strip_suffix(".sst"))
            .is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rocksdb_file_names_are_recognized() {
        for name in [
            "000012.sst",
            "000007.log",
            "CURRENT",
            "IDENTITY",
            "LOCK",
            "LOG",
            "LOG.old.1795328066096694",
            "MANIFEST-000005",
            "OPTIONS-000007",
            "OPTIONS-000009.dbtmp",
            "000001.dbtmp",
            &filling(3),
        ] {
            assert!(is_ours(name), "{name}");
        }
        for name in [
            "thesis.txt",
            "a.sst",
            ".sst",
            "filling-.sst",
            "filling-1.txt",
            "log",
            "LOG.txt",
            "MANIFEST-",
            "12",
            "OPTIONS-x",
        ] {
            assert!(!is_ours(name), "{name}");
        }
        assert!(is_log("000007.log") && !is_log("LOG") && !is_log("000007.sst"));
    }
}
