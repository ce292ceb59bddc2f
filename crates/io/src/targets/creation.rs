//! Creates and removes test files.
//!
//! A file gets its name when it is complete, and loses it before it is removed. Until then it has no name at all
//! (`O_TMPFILE`). If the file system requires a name, it has a private one made of the random identity that is also in
//! its header. So a process that is killed at any moment leaves a complete test file, nothing, or a file with a private
//! name, which [`leftovers`] verifies and removes.

use super::descriptor::{Identity, reopen, reopen_error, reopen_quietly};
use super::error::TargetError;
use super::header::{Header, random_id};
use super::marker::{
    ATTRIBUTE, length_of, lock_open, read_header, read_side, set_length, write_header,
};
use super::place::{FilePlace, side_name};
use crate::guard::{GuardError, takes_writes};
use crate::kernel::{Roots, name_file, unnamed_file};
use rustix::fs::{FlockOperation, Mode, OFlags, XattrFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const PRIVATE: &str = ".iogauge-";

/// Returns the private name of a test file that does not yet have its name, or has lost it.
fn private_name(id: u128) -> OsString {
    format!("{PRIVATE}{id:032x}").into()
}

/// Returns the identity in a private name.
fn id_of(name: &OsStr) -> Option<u128> {
    let id = u128::from_str_radix(name.to_str()?.strip_prefix(PRIVATE)?, 16).ok()?;
    (private_name(id) == name).then_some(id)
}

/// Removes the file at a path if it is one of `wanted`, and returns which. unlink(2) would remove whatever file has the
/// name at that moment.
///
/// # Errors
/// Returns [`TargetError::Changed`] if another file has the name; it is not removed. Also fails if the system reports
/// an error.
pub fn remove_one_of(path: &Path, wanted: &[Identity]) -> Result<Identity, TargetError> {
    let place = FilePlace::of(path)?;
    match place.identity() {
        Some(identity) if wanted.contains(&identity) => {
            let aside = place.beside(private_name(random_id()?));
            place.remove_exactly(identity, &aside, || Ok(())).map(|()| identity)
        }
        None if !place.is_taken() => Err(TargetError::io(path, "remove it", Errno::NOENT)),
        _ => Err(TargetError::Changed { path: path.into() }),
    }
}

/// Creates a locked test file at a place, completely or not at all.
///
/// # Errors
/// Returns [`TargetError::Changed`] if the name is taken.
pub(super) fn create(place: &FilePlace, header: &Header) -> Result<File, TargetError> {
    created(Draft::begin(place, header)?)
}

fn created(mut draft: Draft<'_>) -> Result<File, TargetError> {
    match draft.complete() {
        Ok(()) => Ok(draft.file),
        Err(error) => {
            draft.discard();
            Err(error)
        }
    }
}

/// A test file that is being created.
struct Draft<'a> {
    place: &'a FilePlace,
    private: FilePlace,
    header: &'a Header,
    file: File,
    /// True if it has its private name.
    named: bool,
}

impl<'a> Draft<'a> {
    fn begin(place: &'a FilePlace, header: &'a Header) -> Result<Self, TargetError> {
        let mode = Mode::RUSR | Mode::WUSR;
        match unnamed_file(place.directory(), OFlags::RDWR, mode) {
            Ok(Some(file)) => Ok(Self::of(file, place, header, false)),
            Ok(None) => Self::begin_named(place, header),
            Err(source) => Err(TargetError::io(place.path(), "make it", source)),
        }
    }

    /// Like [`Self::begin`], for file systems without unnamed files.
    fn begin_named(place: &'a FilePlace, header: &'a Header) -> Result<Self, TargetError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let flags = flags | OFlags::CLOEXEC;
        let name = private_name(header.id);
        let fd = rustix::fs::openat(place.directory(), name, flags, Mode::RUSR | Mode::WUSR);
        let fd = fd.map_err(|source| TargetError::io(place.path(), "make it", source))?;
        Ok(Self::of(fd.into(), place, header, true))
    }

    fn of(file: File, place: &'a FilePlace, header: &'a Header, named: bool) -> Self {
        let private = place.beside(private_name(header.id));
        Self { place, private, header, file, named }
    }

    fn complete(&mut self) -> Result<(), TargetError> {
        let path = self.place.path();
        lock_open(&self.file, path)?;
        write_header(&self.file, self.header, path)?;
        set_length(&self.file, self.header, path)?;
        let seal = self.header.seal();
        match rustix::fs::fsetxattr(&self.file, ATTRIBUTE, seal.as_bytes(), XattrFlags::CREATE) {
            Ok(()) if self.named => published(&self.private, self.place),
            Ok(()) => self.link(self.place),
            Err(Errno::NOTSUP | Errno::PERM | Errno::NOSPC | Errno::TOOBIG) => {
                if !self.named {
                    self.link(&self.private)?;
                    self.named = true;
                }
                self.make_side(seal.as_bytes())?;
                published(&self.private, self.place)
            }
            Err(source) => Err(TargetError::io(path, "set its attribute", source)),
        }
    }

    /// Gives the unnamed file a name.
    fn link(&self, to: &FilePlace) -> Result<(), TargetError> {
        name_file(&self.file, to.directory(), to.name()).map_err(|error| not_placed(error, to))
    }

    fn make_side(&self, seal: &[u8]) -> Result<(), TargetError> {
        let (side, private) = (self.place.side(), self.private.side());
        if side.is_taken() {
            recover(self.place)?;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let flags = flags | OFlags::CLOEXEC;
        let file = rustix::fs::openat(private.directory(), private.name(), flags, mode);
        let mut file = file
            .map(File::from)
            .map_err(|source| TargetError::io(side.path(), "make it", source))?;
        let written = file.write_all(seal).and_then(|()| file.sync_data());
        written.map_err(|source| TargetError::io(side.path(), "write it", source))?;
        private.publish_as(&side).map_err(|error| match error {
            Errno::EXIST => GuardError::SideFileTaken {
                path: side.path().into(),
                file: self.place.path().into(),
            }
            .into(),
            source => TargetError::io(side.path(), "give it its name", source),
        })
    }

    /// Removes what was made so far. Anything that cannot be removed is left to [`leftovers`].
    fn discard(&self) {
        let Some(identity) = Identity::of(&self.file).filter(|_| self.named) else { return };
        let _ = self.private.remove_exactly(identity, &self.private, || {
            remove_side(&self.private.side(), &self.private, self.header)?;
            remove_side(&self.place.side(), &self.private, self.header)
        });
    }
}

fn published(private: &FilePlace, place: &FilePlace) -> Result<(), TargetError> {
    private.publish_as(place).map_err(|error| not_placed(error, place))
}

fn not_placed(error: Errno, place: &FilePlace) -> TargetError {
    match error {
        Errno::EXIST => TargetError::Changed { path: place.path().into() },
        source => TargetError::io(place.path(), "give it its name", source),
    }
}

/// Removes an open test file that was found to be ours, and its side file. It is not an error if the file is already
/// gone.
///
/// # Errors
/// Returns [`TargetError::Changed`] if another file has its name; it is not removed.
pub(super) fn remove_made(
    place: &FilePlace,
    file: &File,
    header: &Header,
) -> Result<(), TargetError> {
    let private = place.beside(private_name(header.id));
    let Some(identity) = Identity::of(file).filter(|_| place.is_taken()) else {
        return remove_side(&place.side(), &private, header);
    };
    // The side file is removed while the file has its private name, so that leftovers of a killed process can be
    // verified.
    place.remove_exactly(identity, &private, || remove_side(&place.side(), &private, header))
}

/// Removes a side file if it belongs to the test file with this header.
fn remove_side(side: &FilePlace, private: &FilePlace, header: &Header) -> Result<(), TargetError> {
    match read_side(side) {
        Some((identity, content)) if content == header.seal().as_bytes() => {
            side.remove_exactly(identity, &private.side(), || Ok(()))
        }
        _ => Ok(()),
    }
}

/// Removes what a killed process left of the test file of a place: its side file exists, and the file itself has its
/// private name.
fn recover(place: &FilePlace) -> Result<(), TargetError> {
    let Some((_, seal)) = read_side(&place.side()) else { return Ok(()) };
    let names = leftover_names(place)?;
    for name in names.iter().filter(|name| id_of(name).is_some_and(|id| sealed(id) == seal)) {
        remove_leftover(place, name, &names)?;
    }
    Ok(())
}

fn sealed(id: u128) -> Vec<u8> {
    Header { id, size_bytes: 0, prefilled_bytes: 0 }.seal().into_bytes()
}

/// Removes test files that killed processes left under private names in the directory of a place, and their side files.
/// Files in use are not removed. Returns their paths and the freed space, in bytes.
///
/// # Errors
/// Fails if the directory cannot be read, or one of the files cannot be removed.
pub(super) fn leftovers(place: &FilePlace) -> Result<Vec<(PathBuf, u64)>, TargetError> {
    let names = leftover_names(place)?;
    let mut removed = Vec::new();
    for name in &names {
        if let Some(freed_bytes) = remove_leftover(place, name, &names)? {
            removed.push((place.beside(name).path().to_owned(), freed_bytes));
        }
    }
    Ok(removed)
}

/// Returns the names in the directory of a place that are private names or may be those of side files.
fn leftover_names(place: &FilePlace) -> Result<Vec<OsString>, TargetError> {
    let path = place.directory_path();
    let failed = |source: Errno| TargetError::io(path, "look into it", source);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let directory = match reopen(place.directory(), flags) {
        // The directory may not be read, so it is not searched.
        Err(Errno::ACCESS) => return Ok(Vec::new()),
        opened => opened.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(directory).map_err(failed)? {
        let name = OsString::from_vec(entry.map_err(failed)?.file_name().to_bytes().to_vec());
        if id_of(&name).is_some() || name.as_bytes().ends_with(b".iogauge") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Removes a test file with a private name if its header matches the name or the file is still empty, and nobody is
/// using it. Returns the freed space.
fn remove_leftover(
    place: &FilePlace,
    name: &OsStr,
    names: &[OsString],
) -> Result<Option<u64>, TargetError> {
    let (Some(id), leftover) = (id_of(name), place.beside(name)) else { return Ok(None) };
    let Some(found) = leftover.look()? else { return Ok(None) };
    let Some(identity @ Identity::File { .. }) = Identity::of(&found) else { return Ok(None) };
    let file = match reopen_quietly(&found, OFlags::RDWR) {
        // It belongs to another user, who can remove it, or the file system is read-only.
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => return Ok(None),
        opened => opened.map_err(|error| reopen_error(leftover.path(), error))?,
    };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
    {
        return Ok(None);
    }
    let about = file.metadata();
    let about = about.map_err(|source| TargetError::io(leftover.path(), "look at it", source))?;
    let header = read_header(&file, leftover.path())?;
    let is_own = |header: Header| header.id == id && about.len() <= length_of(&header);
    if about.len() > 0 && !header.is_some_and(is_own) {
        return Ok(None);
    }
    match takes_writes(&file, leftover.path(), true, &Roots::real()) {
        Err(TargetError::Guard(_)) => return Ok(None),
        judged => judged?,
    }
    leftover.remove_exactly(identity, &leftover, || {
        // Its side file may already have its final name, or may be incomplete under a private name.
        let own = Header { id, size_bytes: 0, prefilled_bytes: 0 };
        let half = leftover.side();
        if let Some((identity, content)) = read_side(&half)
            && sealed(id).starts_with(&content)
        {
            half.remove_exactly(identity, &half, || Ok(()))?;
        }
        names.iter().filter(|name| id_of(name).is_none()).try_for_each(|name| {
            let side = place.beside(name);
            if *name == side_name(leftover.name()) {
                return Ok(());
            }
            remove_side(&side, &leftover, &own)
        })
    })?;
    Ok(Some(about.blocks().saturating_mul(512)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::marker::{Ownership, judge};
    use proptest::prelude::*;
    use std::fs;
    use std::path::Path;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn temporary_file_is_renamed_when_complete() {
        let dir = tempfile::tempdir().unwrap();
        let place = FilePlace::of(&dir.path().join("t")).unwrap();
        let header = Header::new(1 << 20).unwrap();
        let file = created(Draft::begin_named(&place, &header).unwrap()).unwrap();
        assert_eq!(names(dir.path()), ["t"]);
        assert_eq!(judge(&file, &place).unwrap(), Ownership::Ours(header));
        let other = Header::new(1 << 20).unwrap();
        let error = created(Draft::begin_named(&place, &other).unwrap()).unwrap_err();
        assert!(matches!(error, TargetError::Changed { .. }), "{error}");
        assert_eq!(names(dir.path()), ["t"], "what was made is gone, what was there is not");
        assert_eq!(judge(&file, &place).unwrap(), Ownership::Ours(header));
    }

    #[test]
    fn leftover_temporary_file_of_killed_process_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let place = FilePlace::of(&dir.path().join("t")).unwrap();
        let header = Header::new(1 << 20).unwrap();
        let draft = Draft::begin_named(&place, &header).unwrap();
        lock_open(&draft.file, place.path()).unwrap();
        assert!(leftovers(&place).unwrap().is_empty(), "somebody is at work on it");
        drop(draft);
        assert_eq!(leftovers(&place).unwrap().len(), 1, "nothing was written yet");
        let draft = Draft::begin_named(&place, &header).unwrap();
        write_header(&draft.file, &header, place.path()).unwrap();
        drop(draft);
        fs::write(place.side().path(), sealed(header.id)).unwrap();
        fs::write(dir.path().join("u.iogauge"), sealed(7)).unwrap();
        assert_eq!(leftovers(&place).unwrap().len(), 1, "header and side file are there");
        assert_eq!(names(dir.path()), ["u.iogauge"]);
    }

    proptest! {
        #[test]
        fn only_valid_temporary_names_are_recognized(id: u128, text in "\\PC{0,60}") {
            prop_assert_eq!(id_of(&private_name(id)), Some(id));
            if let Some(id) = id_of(OsStr::new(&text)) {
                prop_assert_eq!(private_name(id), OsString::from(text));
            }
        }
    }
}
