//! The backing file or device of a loop device, as its driver reports it (loop(4)).

use super::{BlockDevice, DeviceNumber, Roots};
use rustix::fs::{FileType, Mode, OFlags};
use std::os::fd::AsRawFd;

/// The backing object of a loop device: a regular file or a block device.
///
/// sysfs only shows a path. It may be missing, or mean a different file here than in the mount namespace where the
/// device was set up. The driver reports device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopBacking {
    /// A regular file.
    File {
        /// The device that contains the file.
        device: DeviceNumber,
        /// Inode number.
        inode: u64,
    },
    /// A block device.
    Device(DeviceNumber),
}

/// `struct loop_info64` of the kernel.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    backing_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<LoopInfo64>() == 232);

const LOOP_GET_STATUS64: libc::c_ulong = 0x4c05;

impl LoopBacking {
    /// Asks the driver of a loop device. Returns `None` if the loop device is not set up, the device is not a loop
    /// device, or its node cannot be opened.
    pub fn of(device: &BlockDevice, roots: &Roots) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(device.node(roots), flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        // The node with this name may belong to another device.
        let is_it = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice
            && Some(DeviceNumber::from_raw(stat.st_rdev)) == device.number();
        if !is_it || !device.is_loop() {
            return None;
        }
        // SAFETY: zero is a valid value for every field of this plain structure.
        let mut info: LoopInfo64 = unsafe { std::mem::zeroed() };
        let argument: *mut LoopInfo64 = &mut info;
        // SAFETY: the kernel writes one `struct loop_info64`, which is the size of `info`, and keeps no pointer to it.
        let result = unsafe { libc::ioctl(fd.as_raw_fd(), LOOP_GET_STATUS64 as _, argument) };
        (result == 0).then(|| match info.backing_device {
            0 => Self::File { device: DeviceNumber::from_raw(info.device), inode: info.inode },
            number => Self::Device(DeviceNumber::from_raw(number)),
        })
    }
}
