//! The known formats, and where their magic numbers are.

use super::Source;

macro_rules! signatures {
    ($($name:ident = $word:literal,)+) => {
        /// A format found on a device.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "each is the format it is named for")]
        pub enum Signature { $($name,)+ }

        impl Signature {
            /// Every format.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The format's usual name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }
        }
    };
}

signatures! {
    Ext2 = "ext2",
    Ext3 = "ext3",
    Ext4 = "ext4",
    Xfs = "xfs",
    Btrfs = "btrfs",
    F2fs = "f2fs",
    Vfat = "vfat",
    Ntfs = "ntfs",
    Exfat = "exfat",
    Iso9660 = "iso9660",
    Squashfs = "squashfs",
    Erofs = "erofs",
    Zfs = "zfs member",
    Bcachefs = "bcachefs",
    Bcache = "bcache",
    Lvm2 = "LVM2 physical volume",
    MdRaid = "Linux RAID member",
    Luks1 = "LUKS1",
    Luks2 = "LUKS2",
    Swap = "swap",
    CephBluestore = "Ceph BlueStore",
    OracleAsm = "Oracle ASM disk",
    Gpt = "GPT partition table",
    Mbr = "MBR partition table",
}

/// Returns the format if its magic number is found.
type Check = fn(&dyn Source) -> Option<Signature>;

const CHECKS: &[Check] = &[ext, luks, lvm2, md_raid, zfs, swap, vfat, gpt, mbr];

/// Formats identified by one magic number at a fixed offset.
const FIXED: &[(Signature, u64, &[u8])] = &[
    (Signature::Xfs, 0, b"XFSB"),
    (Signature::Btrfs, 0x1_0040, b"_BHRfS_M"),
    (Signature::F2fs, 0x400, &0xf2f5_2010u32.to_le_bytes()),
    (Signature::Ntfs, 3, b"NTFS    "),
    (Signature::Exfat, 3, b"EXFAT   "),
    (Signature::Iso9660, 0x8001, b"CD001"),
    (Signature::Squashfs, 0, b"hsqs"),
    (Signature::Erofs, 0x400, &0xe0f5_e1e2u32.to_le_bytes()),
    (Signature::Bcachefs, 0x1018, &uuid(0xc685_73f6_66ce_90a9_d96a_60cf_803d_f7ef)),
    (Signature::Bcache, 0x1018, &uuid(0xc685_73f6_4e1a_45ca_8265_f57f_48ba_6d81)),
    (Signature::CephBluestore, 0, b"bluestore block device"),
    (Signature::OracleAsm, 32, b"ORCLDISK"),
];

/// Returns the bytes of a UUID in written order.
const fn uuid(value: u128) -> [u8; 16] {
    value.to_be_bytes()
}

/// Returns every format found.
pub(super) fn all(source: &dyn Source) -> Vec<Signature> {
    let fixed = FIXED.iter().filter(|(_, offset, magic)| source.has(*offset, magic));
    fixed.map(|(found, ..)| *found).chain(CHECKS.iter().filter_map(|check| check(source))).collect()
}

/// Recognizes ext2, ext3 and ext4. They share a magic number and differ in their features, as in the kernel.
fn ext(source: &dyn Source) -> Option<Signature> {
    const SUPERBLOCK: u64 = 1024;
    const HAS_JOURNAL: u32 = 0x4;
    /// Read-only compatible features of ext3: sparse_super, large_file, btree_dir.
    const EXT3_RO_COMPAT: u32 = 0x7;
    /// Incompatible features of ext3: filetype, recover, meta_bg.
    const EXT3_INCOMPAT: u32 = 0x16;
    if !source.has(SUPERBLOCK + 0x38, &0xef53u16.to_le_bytes()) {
        return None;
    }
    let compat = source.le32(SUPERBLOCK + 0x5c)?;
    let incompat = source.le32(SUPERBLOCK + 0x60)?;
    let ro_compat = source.le32(SUPERBLOCK + 0x64)?;
    Some(if incompat & !EXT3_INCOMPAT != 0 || ro_compat & !EXT3_RO_COMPAT != 0 {
        Signature::Ext4
    } else if compat & HAS_JOURNAL != 0 {
        Signature::Ext3
    } else {
        Signature::Ext2
    })
}

fn luks(source: &dyn Source) -> Option<Signature> {
    const SECOND_HEADERS: [u64; 9] =
        [0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000];
    if source.has(0, b"LUKS\xba\xbe") {
        let luks1 = source.has(6, &1u16.to_be_bytes());
        return Some(if luks1 { Signature::Luks1 } else { Signature::Luks2 });
    }
    // LUKS2 keeps a second header, which remains if the first is lost.
    SECOND_HEADERS.iter().any(|at| source.has(*at, b"SKUL\xba\xbe")).then_some(Signature::Luks2)
}

/// Recognizes LVM2 by its label in one of the first four sectors.
fn lvm2(source: &dyn Source) -> Option<Signature> {
    (0..4u64)
        .map(|sector| sector * 512)
        .any(|at| source.has(at, b"LABELONE") && source.has(at + 24, b"LVM2 001"))
        .then_some(Signature::Lvm2)
}

/// Recognizes md superblocks: version 1.1 at the start, 1.2 at 4 KiB, 1.0 and 0.90 near the end.
fn md_raid(source: &dyn Source) -> Option<Signature> {
    const MAGIC: u32 = 0xa92b_4efc;
    let size = source.size_bytes();
    let v1_0 = (size & !0xfff).checked_sub(8192);
    let v0_90 = (size & !0xffff).checked_sub(65536);
    let little_endian = [Some(0), Some(4096), v1_0, v0_90];
    let found = little_endian.into_iter().flatten().any(|at| source.has(at, &MAGIC.to_le_bytes()))
        // Version 0.90 uses the byte order of the machine that created it.
        || v0_90.is_some_and(|at| source.has(at, &MAGIC.to_be_bytes()));
    found.then_some(Signature::MdRaid)
}

/// Recognizes ZFS by its four labels of 256 KiB, two at each end. The second half of each is a ring of uberblocks.
fn zfs(source: &dyn Source) -> Option<Signature> {
    const LABEL: u64 = 256 << 10;
    const UBERBLOCKS: u64 = 128 << 10;
    const MAGIC: u64 = 0x00ba_b10c;
    let end = source.size_bytes() / LABEL * LABEL;
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    labels
        .into_iter()
        .flatten()
        .filter_map(|label| source.read(label + UBERBLOCKS, (LABEL - UBERBLOCKS) as usize))
        .any(|ring| {
            ring.chunks_exact(1024).any(|block| {
                block.starts_with(&MAGIC.to_le_bytes()) || block.starts_with(&MAGIC.to_be_bytes())
            })
        })
        .then_some(Signature::Zfs)
}

/// Recognizes swap by the magic number at the end of the first page. The page size is that of the machine that created
/// it.
fn swap(source: &dyn Source) -> Option<Signature> {
    const MAGICS: [&[u8]; 5] =
        [b"SWAPSPACE2", b"SWAP-SPACE", b"S1SUSPEND\0", b"S2SUSPEND\0", b"LINHIB0001"];
    [4096u64, 8192, 16384, 32768, 65536]
        .iter()
        .any(|page| MAGICS.iter().any(|magic| source.has(page - 10, magic)))
        .then_some(Signature::Swap)
}

fn vfat(source: &dyn Source) -> Option<Signature> {
    let names: [(u64, &[u8]); 4] =
        [(0x36, b"FAT12   "), (0x36, b"FAT16   "), (0x36, b"FAT     "), (0x52, b"FAT32   ")];
    names.iter().any(|(at, name)| source.has(*at, name)).then_some(Signature::Vfat)
}

/// Recognizes a GPT by the header in the second block, for both common block sizes, or its copy in the last block.
fn gpt(source: &dyn Source) -> Option<Signature> {
    let size = source.size_bytes();
    [Some(512), Some(4096), size.checked_sub(512), size.checked_sub(4096)]
        .into_iter()
        .flatten()
        .any(|at| source.has(at, b"EFI PART"))
        .then_some(Signature::Gpt)
}

/// Recognizes an MBR. Boot sectors of file systems end with the same two bytes, so the partition entries must be valid
/// too.
fn mbr(source: &dyn Source) -> Option<Signature> {
    const PROTECTIVE: u8 = 0xee;
    let sector = source.read(0, 512)?;
    if sector[510..] != [0x55, 0xaa] || vfat(source).is_some() {
        return None;
    }
    let entries: Vec<&[u8]> = sector[446..510].chunks_exact(16).collect();
    let sound = entries.iter().all(|entry| entry[0] & 0x7f == 0);
    let used = entries.iter().any(|entry| entry[4] != 0 && entry[12..16] != [0; 4]);
    let protective = entries.iter().any(|entry| entry[4] == PROTECTIVE);
    (sound && used && !protective).then_some(Signature::Mbr)
}

#[cfg(test)]
mod tests {
    use super::super::{Contents, signatures};
    use super::*;
    use proptest::prelude::*;

    const SIZE: usize = 1 << 20;

    /// Offsets and the bytes at them.
    type Patches<'a> = &'a [(usize, &'a [u8])];

    fn image(patches: Patches<'_>) -> Vec<u8> {
        let mut image = vec![0; SIZE];
        for (at, bytes) in patches {
            image[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        image
    }

    #[test]
    fn each_magic_number_is_recognized() {
        let md = 0xa92b_4efcu32.to_le_bytes();
        let uber = 0x00ba_b10cu64.to_le_bytes();
        let mut mbr = [0u8; 66];
        mbr[4] = 0x83;
        mbr[12] = 8;
        mbr[64..].copy_from_slice(&[0x55, 0xaa]);
        let cases: &[(Patches<'_>, &[Signature])] = &[
            (&[], &[]),
            (&[(0x438, b"\x53\xef")], &[Signature::Ext2]),
            (&[(0x438, b"\x53\xef"), (0x45c, b"\x04")], &[Signature::Ext3]),
            (&[(0x438, b"\x53\xef"), (0x460, b"\x40")], &[Signature::Ext4]),
            (&[(0, b"XFSB")], &[Signature::Xfs]),
            (&[(0x10040, b"_BHRfS_M")], &[Signature::Btrfs]),
            (&[(0x400, b"\x10\x20\xf5\xf2")], &[Signature::F2fs]),
            (&[(0x52, b"FAT32   "), (510, b"\x55\xaa")], &[Signature::Vfat]),
            (&[(3, b"NTFS    "), (510, b"\x55\xaa")], &[Signature::Ntfs]),
            (&[(3, b"EXFAT   ")], &[Signature::Exfat]),
            (&[(0x8001, b"CD001")], &[Signature::Iso9660]),
            (&[(0, b"hsqs")], &[Signature::Squashfs]),
            (&[(0x400, b"\xe2\xe1\xf5\xe0")], &[Signature::Erofs]),
            (&[((128 << 10) + 4096, &uber)], &[Signature::Zfs]),
            (&[(SIZE - (128 << 10), &uber)], &[Signature::Zfs]),
            (
                &[(0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81")],
                &[Signature::Bcache],
            ),
            (&[(512, b"LABELONE"), (536, b"LVM2 001")], &[Signature::Lvm2]),
            (&[(0, &md)], &[Signature::MdRaid]),
            (&[(4096, &md)], &[Signature::MdRaid]),
            (&[(SIZE - 8192, &md)], &[Signature::MdRaid]),
            (&[(SIZE - 65536, &md)], &[Signature::MdRaid]),
            (&[(0, b"LUKS\xba\xbe\x00\x01")], &[Signature::Luks1]),
            (&[(0, b"LUKS\xba\xbe\x00\x02")], &[Signature::Luks2]),
            (&[(0x4000, b"SKUL\xba\xbe\x00\x02")], &[Signature::Luks2]),
            (&[(4086, b"SWAPSPACE2")], &[Signature::Swap]),
            (&[(65526, b"SWAPSPACE2")], &[Signature::Swap]),
            (&[(0, b"bluestore block device\n")], &[Signature::CephBluestore]),
            (&[(32, b"ORCLDISKDATA1")], &[Signature::OracleAsm]),
            (&[(512, b"EFI PART")], &[Signature::Gpt]),
            (&[(SIZE - 512, b"EFI PART")], &[Signature::Gpt]),
            (&[(446, &mbr)], &[Signature::Mbr]),
        ];
        for (patches, wanted) in cases {
            assert_eq!(signatures(&image(patches)), *wanted, "{wanted:?}");
        }
    }

    #[test]
    fn signature_contents_are_described_in_text() {
        assert!(Contents::default().to_string().contains("does not mean it is empty"));
        let contents = Contents {
            whole: vec![Signature::Gpt],
            partitions: vec![("sdb1".into(), vec![Signature::Ext4]), ("sdb2".into(), vec![])],
        };
        assert_eq!(contents.to_string(), "GPT partition table; sdb1: ext4; sdb2: unknown");
    }

    proptest! {
        #[test]
        fn signature_detection_never_panics(
            size in 0usize..200_000,
            at in 0usize..200_000,
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
        ) {
            let mut image = vec![0; size];
            for (offset, byte) in bytes.into_iter().enumerate() {
                if let Some(slot) = image.get_mut(at + offset) {
                    *slot = byte;
                }
            }
            let _ = signatures(&image);
        }
    }
}
