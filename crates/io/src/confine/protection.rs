//! Which protection this machine offers.

use super::namespace;
use std::fmt;
use std::sync::OnceLock;

/// First Landlock ABI that covers truncation (Linux 6.2).
const FIRST_FOR_FILES: u32 = 3;
/// First Landlock ABI that covers device ioctls (Linux 6.10).
const FIRST_FOR_DEVICES: u32 = 5;

/// How the kernel restricts threads and children to what the guards allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protection {
    /// Landlock.
    Landlock {
        /// ABI version of the kernel, at least 3.
        abi: u32,
    },
    /// A private mount namespace in which everything is read-only. Needs root.
    MountNamespace,
    /// None: only the guards protect.
    Nothing {
        /// The reason, as a clause.
        why: String,
    },
}

impl Protection {
    /// Returns true if the kernel enforces the guards' decisions.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        !matches!(self, Self::Nothing { .. })
    }

    /// Returns true if Landlock can restrict device ioctls.
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

/// Returns the protection of this machine, detected once: Landlock from ABI 5, otherwise a private mount namespace,
/// otherwise Landlock from ABI 3, which does not restrict device ioctls.
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

/// Returns the Landlock ABI version; 0 if Landlock is missing, disabled or forbidden.
fn landlock_abi() -> u32 {
    const VERSION: libc::c_ulong = 1;
    let (attributes, size_bytes) = (std::ptr::null::<libc::c_void>(), 0usize);
    // SAFETY: with this flag the call reads no memory and creates no descriptor.
    let abi = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, attributes, size_bytes, VERSION)
    };
    u32::try_from(abi).unwrap_or(0)
}
