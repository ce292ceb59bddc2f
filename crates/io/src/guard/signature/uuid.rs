//! UUIDs and serial numbers of formats, written as by blkid(8).

use super::Source;
use super::known::{self, Signature};

/// How a format stores its UUID.
enum Place {
    /// 16 bytes in written order.
    Bytes(u64),
    /// Text of this length at most, which ends at a zero.
    Text(u64, usize),
    /// 4 bytes, the last first: the serial number of DOS file systems.
    DosSerial(u64),
    /// Something else.
    Read(fn(&dyn Source) -> Option<String>),
}

use Place::{Bytes, DosSerial, Read, Text};

/// Where each format that has a UUID stores it.
const PLACES: &[(Signature, Place)] = &[
    (Signature::Ext2, Bytes(0x468)),
    (Signature::Ext3, Bytes(0x468)),
    (Signature::Ext4, Bytes(0x468)),
    (Signature::Xfs, Bytes(0x20)),
    (Signature::Btrfs, Bytes(0x1_0020)),
    (Signature::F2fs, Bytes(0x46c)),
    (Signature::Vfat, Read(vfat)),
    (Signature::Ntfs, Read(ntfs)),
    (Signature::Exfat, DosSerial(0x64)),
    (Signature::Erofs, Bytes(0x430)),
    (Signature::Zfs, Read(zfs)),
    (Signature::Bcachefs, Bytes(0x1038)),
    (Signature::Bcache, Bytes(0x1028)),
    (Signature::Lvm2, Read(lvm2)),
    (Signature::MdRaid, Read(md_raid)),
    (Signature::Luks1, Text(0xa8, 40)),
    (Signature::Luks2, Text(0xa8, 40)),
    (Signature::Swap, Bytes(0x40c)),
    (Signature::CephBluestore, Text(23, 36)),
    (Signature::Gpt, Read(gpt)),
    (Signature::Mbr, Read(mbr)),
];

/// Returns the UUID of the first format that has one.
pub(in super::super) fn uuid_of(source: &dyn Source) -> Option<String> {
    let found = known::all(source);
    let places = found.iter().filter_map(|format| PLACES.iter().find(|(known, _)| known == format));
    places.into_iter().find_map(|(_, place)| match place {
        Bytes(at) => written(&source.read(*at, 16)?),
        Text(at, most) => text(&source.read(*at, *most)?),
        DosSerial(at) => dos_serial(source, *at),
        Read(read) => read(source),
    })
}

fn written(bytes: &[u8]) -> Option<String> {
    (bytes.iter().any(|byte| *byte != 0)).then(|| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let groups = [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]];
        groups.map(|group| group.concat()).join("-")
    })
}

fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_plain && !text.is_empty()).then(|| text.to_owned())
}

fn dos_serial(source: &dyn Source, at: u64) -> Option<String> {
    let serial = source.le32(at)?;
    Some(format!("{:04X}-{:04X}", serial >> 16, serial & 0xffff))
}

fn vfat(source: &dyn Source) -> Option<String> {
    dos_serial(source, if source.has(0x52, b"FAT32   ") { 0x43 } else { 0x27 })
}

fn ntfs(source: &dyn Source) -> Option<String> {
    let serial = u64::from_le_bytes(source.read(0x48, 8)?.try_into().ok()?);
    Some(format!("{serial:016X}"))
}

/// Returns the UUID of the physical volume, which LVM writes in groups of letters and digits.
fn lvm2(source: &dyn Source) -> Option<String> {
    let label = (0..4u64).map(|sector| sector * 512).find(|at| source.has(*at, b"LABELONE"))?;
    let id = text(&source.read(label + 32, 32)?)?;
    let groups = [0..6, 6..10, 10..14, 14..18, 18..22, 22..26, 26..32];
    let groups: Option<Vec<&str>> = groups.into_iter().map(|group| id.get(group)).collect();
    Some(groups?.join("-"))
}

/// Returns the UUID of the array. Version 0.90 stores it in two places.
fn md_raid(source: &dyn Source) -> Option<String> {
    const MAGIC: [u8; 4] = 0xa92b_4efcu32.to_le_bytes();
    let size = source.size_bytes();
    let v1 = [Some(0), Some(4096), (size & !0xfff).checked_sub(8192)];
    if let Some(at) = v1.into_iter().flatten().find(|at| source.has(*at, &MAGIC)) {
        return written(&source.read(at + 16, 16)?);
    }
    let at = (size & !0xffff).checked_sub(65536)?;
    let mut bytes = source.read(at + 20, 4)?;
    bytes.extend(source.read(at + 52, 12)?);
    // The words have the byte order of the machine that made them.
    if source.has(at, &MAGIC) {
        bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    }
    written(&bytes)
}

/// Returns the number of the pool. It is in the label's list of names and values, which has the format XDR.
fn zfs(source: &dyn Source) -> Option<String> {
    const LABEL: u64 = 256 << 10;
    const NAME: &[u8] = b"pool_guid\0\0\0";
    let end = source.size_bytes() / LABEL * LABEL;
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    labels.into_iter().flatten().find_map(|label| {
        let list = source.read(label + (16 << 10), 112 << 10)?;
        let name = list.windows(NAME.len()).position(|window| window == NAME)?;
        // The name is followed by the type and the number of values.
        let value = list.get(name + NAME.len() + 8..)?.get(..8)?;
        Some(u64::from_be_bytes(value.try_into().ok()?).to_string())
    })
}

/// Returns the UUID of the disk, whose first three groups have their bytes the last first.
fn gpt(source: &dyn Source) -> Option<String> {
    let size = source.size_bytes();
    let headers = [Some(512), Some(4096), size.checked_sub(512), size.checked_sub(4096)];
    let header = headers.into_iter().flatten().find(|at| source.has(*at, b"EFI PART"))?;
    let mut bytes = source.read(header + 56, 16)?;
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    written(&bytes)
}

fn mbr(source: &dyn Source) -> Option<String> {
    source.le32(0x1b8).filter(|id| *id != 0).map(|id| format!("{id:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An image of 1 MiB with these bytes at these offsets.
    fn image(patches: &[(usize, &[u8])]) -> Vec<u8> {
        let mut image = vec![0; 1 << 20];
        patches.iter().for_each(|(at, bytes)| image[*at..*at + bytes.len()].copy_from_slice(bytes));
        image
    }

    #[test]
    fn formats_without_a_tool_here_have_their_uuid() {
        let uber = 0x00ba_b10cu64.to_le_bytes();
        let pool = b"\0\0\0\x09pool_guid\0\0\0\0\0\0\x08\0\0\0\x01\0\0\0\0\0\0\x30\x39";
        let zfs = image(&[((128 << 10) + 4096, &uber), ((16 << 10) + 100, pool)]);
        assert_eq!(uuid_of(&zfs).unwrap(), "12345");
        let ceph = b"bluestore block device\n0fc63daf-8483-4772-8e79-3d69d8477de4\n";
        assert_eq!(uuid_of(&image(&[(0, ceph)])).unwrap(), "0fc63daf-8483-4772-8e79-3d69d8477de4");
        let ntfs =
            image(&[(3, b"NTFS    "), (0x48, &[0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 1])]);
        assert_eq!(uuid_of(&ntfs).unwrap(), "0123456789ABCDEF");
        let magic = 0xa92b_4efcu32;
        let at = (1 << 20) - 65536;
        let words = [(0x0011_2233u32, 20), (0x4455_6677, 52), (0x8899_aabb, 56), (0xccdd_eeff, 60)];
        for big in [false, true] {
            let bytes = |word: u32| if big { word.to_be_bytes() } else { word.to_le_bytes() };
            let mut old = image(&[(at, &bytes(magic))]);
            for (word, offset) in words {
                old[at + offset..at + offset + 4].copy_from_slice(&bytes(word));
            }
            assert_eq!(uuid_of(&old).unwrap(), "00112233-4455-6677-8899-aabbccddeeff");
        }
        // Nothing, and a format whose UUID is zero.
        assert_eq!(uuid_of(&image(&[])), None);
        assert_eq!(uuid_of(&image(&[(0, b"XFSB")])), None);
    }

    #[test]
    fn every_format_has_a_place_or_no_uuid() {
        let without = [Signature::Iso9660, Signature::Squashfs, Signature::OracleAsm];
        for format in Signature::ALL {
            let places = PLACES.iter().filter(|(known, _)| known == format).count();
            assert_eq!(places, usize::from(!without.contains(format)), "{format:?}");
        }
    }

    proptest! {
        #[test]
        fn reading_a_uuid_never_panics(
            format in 0usize..24,
            size in 0usize..200_000,
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
        ) {
            const MAGICS: [(usize, &[u8]); 6] = [
                (0x438, b"\x53\xef"), (512, b"LABELONE"), (536, b"LVM2 001"), (512, b"EFI PART"),
                (0, b"LUKS\xba\xbe\x00\x01"), (4086, b"SWAPSPACE2"),
            ];
            let mut image = vec![0; size];
            let (at, magic) = MAGICS[format % MAGICS.len()];
            for (offset, byte) in bytes.into_iter().chain(magic.iter().copied()).enumerate() {
                if let Some(slot) = image.get_mut((at + offset) % size.max(1)) {
                    *slot = byte;
                }
            }
            let _ = uuid_of(&image);
        }
    }
}
