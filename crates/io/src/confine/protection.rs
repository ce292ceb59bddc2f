//! Which protection this machine has.

use super::namespace;
use std::fmt;
use std::sync::OnceLock;

/// The first version of Landlock that covers truncation (Linux 6.2).
const FIRST_FOR_FILES: u32 = 3;
/// The first version that covers the ioctls of devices (Linux 6.10).
const FIRST_FOR_DEVICES: u32 = 5;

/// How the kernel holds threads and children to what the guards allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protection {
    /// Landlock, with the version of its interface that the kernel has.
    Landlock {
        /// Version of its interface, at least 3.
        abi: u32,
    },
    /// A mount namespace of its own in which everything is read-only; needs root.
    MountNamespace,
    /// None: the guards alone decide.
    Nothing {
        /// Why, in a clause.
        why: String,
    },
}

impl Protection {
    /// True where the kernel enforces what the guards decide.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        !matches!(self, Self::Nothing { .. })
    }

    /// True where Landlock distinguishes the ioctls of devices.
    pub(super) fn covers_ioctls(&self) -> bool {
        matches!(self, Self::Landlock { abi } if *abi >= FIRST_FOR_DEVICES)
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landlock { abi } => write!(f, "Landlock, ABI {abi}"),
            Self::MountNamespace => f.write_str("private mount namespace"),
            Self::Nothing { why } => write!(f, "none: {why}"),
        }
    }
}

/// The protection of this machine, found out once: Landlock from ABI 5, else a private mount namespace, else
/// Landlock from ABI 3, which leaves the ioctls of devices to the guards.
#[must_use]
pub fn protection() -> &'static Protection {
    static FOUND: OnceLock<Protection> = OnceLock::new();
    FOUND.get_or_init(find)
}

fn find() -> Protection {
    let abi = landlock_abi();
    if abi >= FIRST_FOR_DEVICES {
        return Protection::Landlock { abi };
    }
    let namespace = namespace::is_possible();
    if namespace.is_ok() {
        return Protection::MountNamespace;
    }
    if abi >= FIRST_FOR_FILES {
        return Protection::Landlock { abi };
    }
    let landlock = match abi {
        0 => "the kernel has no Landlock, or it is not enabled".to_owned(),
        abi => format!("the kernel's Landlock is too old (ABI {abi}, {FIRST_FOR_FILES} is needed)"),
    };
    Protection::Nothing { why: format!("{landlock}, and a private mount namespace needs root") }
}

/// Version of Landlock's interface; 0 where it is missing, disabled or forbidden.
fn landlock_abi() -> u32 {
    const VERSION: libc::c_ulong = 1;
    let (attributes, size_bytes) = (std::ptr::null::<libc::c_void>(), 0usize);
    // SAFETY: with this flag the call reads no memory and makes no descriptor.
    let abi = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, attributes, size_bytes, VERSION)
    };
    u32::try_from(abi).unwrap_or(0)
}
