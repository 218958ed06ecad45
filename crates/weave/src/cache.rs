//! A cache of woven modules, so that a relink weaves only the modules that changed. It also keeps
//! optimized code, from which several builds go on.
//!
//! The key is a hash of everything that determines the result. An entry is a file whose name is its
//! key. The entry is written under another name and then renamed, so that concurrent links see
//! either all of it or nothing. Each entry has a checksum. A damaged entry counts as missing and is
//! written again. If the cache exceeds its limit, the least recently used entries are deleted.
//! Unfinished files of killed links are deleted too.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0   32  the key
//!     32    8  HLWCACHE for a woven module, HLWOPTIM for optimized code
//!     40   32  BLAKE3 of all that follows
//!     72    …  the content
//! ```

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The size of what precedes the content of an entry.
const HEAD: usize = 40;
/// The maximum size of a cache. This is enough for about 400 builds of a program as large as
/// ripgrep, whose woven modules have 10 MB.
const LIMIT: u64 = 4 << 30;
/// The minimum time between two checks of the limit.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// The prefix of the names of unfinished files.
const UNFINISHED: &str = ".new-";
/// The age at which an unfinished file counts as abandoned. Writing takes seconds.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// The key of an entry: a hash of everything that determines the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of the result of weaving `bitcode`. `settings` is text with every option and version
    /// that affects the result.
    pub fn new(bitcode: &[u8], settings: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(settings.len() as u64).to_le_bytes());
        hasher.update(settings.as_bytes());
        hasher.update(bitcode);
        Self(hasher.finalize())
    }

    /// The key as text, in hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.to_hex().to_string()
    }

    /// Reads what [`Self::to_hex`] wrote.
    pub fn from_hex(hex: &str) -> Option<Self> {
        blake3::Hash::from_hex(hex).ok().map(Self)
    }
}

/// What a cache keeps.
pub trait Entry: Sized {
    /// The first bytes of an entry of this type.
    const MAGIC: [u8; 8];

    /// Appends the content to `bytes`.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Reads the content. `None` if it is too short.
    fn read(content: &[u8]) -> Option<Self>;
}

/// The place of an entry.
#[derive(Clone, Debug)]
pub struct Place {
    /// The cache.
    pub cache: Cache,
    /// The entry's key.
    pub key: Key,
}

/// A directory of entries.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Opens the cache at `dir`, and creates the directory if necessary.
    ///
    /// # Errors
    /// If the directory cannot be created or is not writable.
    pub fn open(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let (_, trial_file) = create_unfinished(dir)?;
        fs::remove_file(&trial_file)?;
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// The entry of `key`. `None` if the entry is missing or damaged.
    pub fn find<E: Entry>(&self, key: Key) -> Option<E> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let entry = decode(bytes.strip_prefix(key.0.as_bytes().as_slice())?)?;
        // Marks the entry as used. On a read-only disk this fails, but the entry is still usable.
        let _ = fs::File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_modified(SystemTime::now()));
        Some(entry)
    }

    /// Stores `entry` under `key`.
    ///
    /// # Errors
    /// If the entry cannot be written, for example because the disk is full. Then no file remains.
    pub fn store(&self, key: Key, entry: &impl Entry) -> io::Result<()> {
        let path = self.path(key);
        let dir = path.parent().expect("entries lie in a subdirectory");
        fs::create_dir_all(dir)?;
        let bytes = [key.0.as_bytes().as_slice(), &encode(entry)].concat();
        write_atomically(dir, &path, &bytes)
    }

    /// Deletes unfinished files of killed links, and the least recently used entries until the
    /// cache is within its limit. Does nothing if the last call was less than an hour ago.
    pub fn prune(&self) {
        let stamp = self.dir.join("pruned");
        let recent = fs::metadata(&stamp)
            .and_then(|meta| meta.modified())
            .ok()
            .and_then(|modified| modified.elapsed().ok());
        if recent.is_some_and(|age| age < PRUNE_EVERY) || fs::write(&stamp, b"").is_err() {
            return;
        }
        self.prune_stale();
        self.prune_to(LIMIT);
    }

    fn prune_stale(&self) {
        let dirs = subdirectories(&self.dir).chain([self.dir.clone()]);
        for (written, _, path) in dirs.flat_map(|dir| files(&dir)) {
            if is_unfinished(&path) && written.elapsed().is_ok_and(|age| age > STALE) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn prune_to(&self, limit: u64) {
        let mut entries: Vec<_> = subdirectories(&self.dir)
            .flat_map(|dir| files(&dir))
            .filter(|(_, _, path)| !is_unfinished(path))
            .collect();
        let mut total: u64 = entries.iter().map(|entry| entry.1).sum();
        entries.sort_unstable();
        for (_, size, path) in entries {
            if total <= limit {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        let hex = key.0.to_hex();
        self.dir.join(&hex[..2]).join(&hex[2..])
    }
}

fn subdirectories(dir: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
}

/// The last use, size, and path of each file in `dir`.
fn files(dir: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let described = entries.filter_map(|entry| {
        let meta = entry.metadata().ok()?;
        Some((meta.modified().ok()?, meta.len(), entry.path()))
    });
    described.collect()
}

/// Whether [`create_unfinished`] created a file.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes())
}

/// Creates a file in `dir` under a unique name. Process ids alone are not unique: processes in two
/// containers that share a cache may have the same id.
fn create_unfinished(dir: &Path) -> io::Result<(fs::File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let path = dir.join(format!(
            "{UNFINISHED}{}-{}-{:x}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed),
            now.unwrap_or_default().as_nanos()
        ));
        match fs::File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (file, path)),
        }
    }
}

/// Writes a file so that other processes see either all of it or nothing.
fn write_atomically(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, unfinished) = create_unfinished(dir)?;
    let result = file
        .write_all(bytes)
        .and_then(|()| fs::rename(&unfinished, path));
    if result.is_err() {
        let _ = fs::remove_file(unfinished);
    }
    result
}

/// Encodes an entry. Workers also send their result to the link step in this form.
pub fn encode<E: Entry>(entry: &E) -> Vec<u8> {
    let mut bytes = E::MAGIC.to_vec();
    bytes.resize(HEAD, 0);
    entry.write(&mut bytes);
    let sum = blake3::hash(&bytes[HEAD..]);
    bytes[E::MAGIC.len()..HEAD].copy_from_slice(sum.as_bytes());
    bytes
}

/// Decodes the bytes that [`encode`] made. `None` if any bit is wrong.
pub fn decode<E: Entry>(bytes: &[u8]) -> Option<E> {
    let (head, content) = bytes.split_at_checked(HEAD)?;
    let (magic, sum) = head.split_at(E::MAGIC.len());
    let is_whole = magic == E::MAGIC && blake3::hash(content).as_bytes() == sum;
    is_whole.then(|| E::read(content)).flatten()
}

/// Takes a number from the beginning of an entry's content.
pub(crate) fn take_number(content: &mut &[u8]) -> Option<u64> {
    let (number, rest) = content.split_first_chunk()?;
    *content = rest;
    Some(u64::from_le_bytes(*number))
}

/// Takes so many bytes from the beginning of an entry's content.
pub(crate) fn take_bytes<'c>(content: &mut &'c [u8], length: u64) -> Option<&'c [u8]> {
    let (bytes, rest) = content.split_at_checked(usize::try_from(length).ok()?)?;
    *content = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of a byte and more bytes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Content(u8, Vec<u8>);

    impl Entry for Content {
        const MAGIC: [u8; 8] = *b"CONTENTS";

        fn write(&self, bytes: &mut Vec<u8>) {
            bytes.push(self.0);
            bytes.extend(&self.1);
        }

        fn read(content: &[u8]) -> Option<Self> {
            let (first, rest) = content.split_first()?;
            Some(Self(*first, rest.to_vec()))
        }
    }

    /// An entry of another type.
    #[derive(Debug)]
    struct Other;

    impl Entry for Other {
        const MAGIC: [u8; 8] = *b"OTHERONE";

        fn write(&self, _: &mut Vec<u8>) {}

        fn read(_: &[u8]) -> Option<Self> {
            Some(Self)
        }
    }

    fn content(seed: u8, size: usize) -> Content {
        Content(seed, vec![seed ^ 1; size])
    }

    fn find(cache: &Cache, key: Key) -> Option<Content> {
        cache.find(key)
    }

    #[test]
    fn stored_entries_are_found() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(&dir.path().join("deep/cache")).expect("opens");
        let (o2_key, o3_key) = (Key::new(b"one", "O2"), Key::new(b"one", "O3"));
        assert!(find(&cache, o2_key).is_none());
        cache.store(o2_key, &content(1, 1000)).expect("stores");
        cache.store(o3_key, &content(2, 0)).expect("stores");
        cache.store(o3_key, &content(2, 0)).expect("stores again");
        let find = |key| find(&cache, key).expect("found");
        assert_eq!(find(o2_key), content(1, 1000));
        assert_eq!(find(o3_key), content(2, 0));
    }

    #[test]
    fn keys_separate_settings_and_bitcode() {
        assert_ne!(Key::new(b"bc", "a"), Key::new(b"c", "ab"));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_detected() {
        let bytes = encode(&content(3, 50));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode::<Content>(&damaged).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(
                decode::<Content>(&bytes[..length]).is_none(),
                "length {length}"
            );
        }
    }

    #[test]
    fn an_entry_is_found_as_what_it_is() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let key = Key::new(b"x", "");
        cache.store(key, &content(1, 9)).expect("stores");
        assert!(cache.find::<Other>(key).is_none());
        cache.store(key, &Other).expect("stores");
        assert!(cache.find::<Other>(key).is_some());
        assert!(find(&cache, key).is_none());
    }

    #[test]
    fn an_entry_is_found_under_its_own_key_only() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let [key, other] = [b"x", b"y"].map(|bitcode| Key::new(bitcode, ""));
        for key in [key, other] {
            cache.store(key, &content(1, 9)).expect("stores");
        }
        fs::copy(cache.path(key), cache.path(other)).expect("copied");
        assert!(find(&cache, key).is_some());
        assert!(find(&cache, other).is_none());
    }

    #[test]
    fn keys_are_written_and_read() {
        let key = Key::new(b"x", "");
        let hex = key.to_hex();
        assert_eq!(Key::from_hex(&hex), Some(key));
        assert_eq!(Key::from_hex(&hex[1..]), None);
    }

    #[test]
    fn a_damaged_entry_is_replaced() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let key = Key::new(b"x", "");
        cache.store(key, &content(4, 9)).expect("stores");
        fs::write(cache.path(key), b"rubbish").expect("written");
        assert!(find(&cache, key).is_none());
        cache.store(key, &content(4, 9)).expect("stores");
        assert!(find(&cache, key).is_some());
    }

    #[test]
    fn the_least_recently_used_entries_are_deleted_first() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let keys: Vec<_> = (0..5).map(|seed| Key::new(&[seed], "")).collect();
        for (age, &key) in keys.iter().enumerate() {
            cache.store(key, &content(5, 1000)).expect("stores");
            let file = fs::File::options()
                .append(true)
                .open(cache.path(key))
                .expect("opens");
            let used = SystemTime::now() - Duration::from_secs(1000 - age as u64);
            file.set_modified(used).expect("dated");
        }
        cache.prune_to(2 * (32 + encode(&content(5, 1000)).len() as u64));
        let remains: Vec<bool> = keys
            .iter()
            .map(|&key| find(&cache, key).is_some())
            .collect();
        assert_eq!(remains, [false, false, false, true, true]);
    }

    #[test]
    fn unfinished_files_of_killed_links_are_deleted_after_a_day() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let key = Key::new(b"x", "");
        cache.store(key, &content(6, 10)).expect("stores");
        let entry = cache.path(key);
        let inner = entry.parent().expect("a subdirectory");
        let [old, young, outer] =
            [inner, inner, dir.path()].map(|dir| create_unfinished(dir).expect("made"));
        let long_ago = SystemTime::now() - 2 * STALE;
        for (file, _) in [&old, &outer] {
            file.set_modified(long_ago).expect("dated");
        }
        cache.prune();
        let remains = [old, young, outer].map(|(_, path)| path.exists());
        assert_eq!(remains, [false, true, false]);
        assert!(find(&cache, key).is_some());
    }
}
