//! Digests of a unit.

use crc_fast::{CrcAlgorithm, checksum};
use iogauge_model::load::VerifyAlgorithm;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};

/// Length of the longest digest.
pub(super) const MOST_BYTES: usize = 64;

/// A digest, padded with zeros.
pub(super) type Sum = [u8; MOST_BYTES];

/// Returns the digest of some bytes. Numbers are little-endian. All zeros for algorithms without a digest.
pub(super) fn digest(algorithm: VerifyAlgorithm, bytes: &[u8]) -> Sum {
    let mut sum = [0; MOST_BYTES];
    let mut put = |digest: &[u8]| sum[..digest.len()].copy_from_slice(digest);
    let mut crc = |crc: CrcAlgorithm| put(&checksum(crc, bytes).to_le_bytes());
    match algorithm {
        VerifyAlgorithm::Crc32c => crc(CrcAlgorithm::Crc32Iscsi),
        VerifyAlgorithm::Crc32 => crc(CrcAlgorithm::Crc32IsoHdlc),
        VerifyAlgorithm::Crc64 => crc(CrcAlgorithm::Crc64Nvme),
        VerifyAlgorithm::Crc16 => crc(CrcAlgorithm::Crc16T10Dif),
        VerifyAlgorithm::Xxhash => put(&xxhash_rust::xxh3::xxh3_64(bytes).to_le_bytes()),
        VerifyAlgorithm::Md5 => put(&Md5::digest(bytes)),
        VerifyAlgorithm::Sha1 => put(&Sha1::digest(bytes)),
        VerifyAlgorithm::Sha256 => put(&Sha256::digest(bytes)),
        VerifyAlgorithm::Sha512 => put(&Sha512::digest(bytes)),
        VerifyAlgorithm::Sha3_224 => put(&Sha3_224::digest(bytes)),
        VerifyAlgorithm::Sha3_256 => put(&Sha3_256::digest(bytes)),
        VerifyAlgorithm::Sha3_384 => put(&Sha3_384::digest(bytes)),
        VerifyAlgorithm::Sha3_512 => put(&Sha3_512::digest(bytes)),
        VerifyAlgorithm::Meta | VerifyAlgorithm::Pattern | VerifyAlgorithm::PatternHeader => {}
    }
    sum
}

/// Returns the CRC-32C, which every header contains of itself.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values: digests of "123456789" from CRC catalogues, and of "abc" from FIPS 180 and 202.
    #[test]
    fn digests_match_published_check_values() {
        let hex = |algorithm: VerifyAlgorithm, text: &str| -> String {
            let sum = digest(algorithm, text.as_bytes());
            let (used, rest) = sum.split_at(algorithm.info().digest_bytes);
            assert!(rest.iter().all(|byte| *byte == 0), "{algorithm}");
            used.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let number = |algorithm| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&digest(algorithm, b"123456789")[..8]);
            u64::from_le_bytes(bytes)
        };
        assert_eq!(number(VerifyAlgorithm::Crc32c), 0xe306_9283);
        assert_eq!(number(VerifyAlgorithm::Crc32), 0xcbf4_3926);
        assert_eq!(number(VerifyAlgorithm::Crc64), 0xae8b_1486_0a79_9888);
        assert_eq!(number(VerifyAlgorithm::Crc16), 0xd0db);
        assert_eq!(number(VerifyAlgorithm::Xxhash), xxhash_rust::xxh3::xxh3_64(b"123456789"));
        for (algorithm, begin) in [
            (VerifyAlgorithm::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (VerifyAlgorithm::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (VerifyAlgorithm::Sha256, "ba7816bf8f01cfea"),
            (VerifyAlgorithm::Sha512, "ddaf35a193617aba"),
            (VerifyAlgorithm::Sha3_224, "e642824c3f8cf24a"),
            (VerifyAlgorithm::Sha3_256, "3a985da74fe225b2"),
            (VerifyAlgorithm::Sha3_384, "ec01498288516fc9"),
            (VerifyAlgorithm::Sha3_512, "b751850b1a57168a"),
            (VerifyAlgorithm::Meta, ""),
            (VerifyAlgorithm::Pattern, ""),
        ] {
            assert!(hex(algorithm, "abc").starts_with(begin), "{algorithm}");
        }
    }
}
