//! A cache of woven modules, so that a relink weaves only the modules that changed.
//!
//! The key is a hash of everything that determines the result. An entry is a file whose name is its
//! key. The entry is written under another name and then renamed, so that concurrent links see
//! either all of it or nothing. Each entry has a checksum. A damaged entry counts as missing and is
//! written again. If the cache exceeds its limit, the least recently used entries are deleted.
//! Unfinished files of killed links are deleted too.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  HLWCACHE
//!      8   32  BLAKE3 of all that follows
//!     40    8  size of the counters in bytes
//!     48    8  length s of the base symbol
//!     56    8  length f of the fragment
//!     64    8  number of functions with counts of a plan
//!     72    s  base symbol
//!      …    f  fragment (format::map)
//!      …    …  object
//! ```

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::WovenModule;

const MAGIC: [u8; 8] = *b"HLWCACHE";
const HEAD: usize = 72;
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
}

/// A directory of entries.
#[derive(Debug)]
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
    pub fn find(&self, key: Key) -> Option<WovenModule> {
        let path = self.path(key);
        let entry = decode(&fs::read(&path).ok()?)?;
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
    pub fn store(&self, key: Key, entry: &WovenModule) -> io::Result<()> {
        let path = self.path(key);
        let dir = path.parent().expect("entries lie in a subdirectory");
        fs::create_dir_all(dir)?;
        write_atomically(dir, &path, &encode(entry))
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
pub fn encode(entry: &WovenModule) -> Vec<u8> {
    let WovenModule {
        object,
        fragment,
        counters_size,
        base_symbol,
        planned_functions,
        // A module that reads files is never cached.
        reads_files: _,
    } = entry;
    let mut bytes = Vec::with_capacity(HEAD + base_symbol.len() + fragment.len() + object.len());
    bytes.extend(MAGIC);
    bytes.extend([0; 32]);
    bytes.extend(counters_size.to_le_bytes());
    bytes.extend((base_symbol.len() as u64).to_le_bytes());
    bytes.extend((fragment.len() as u64).to_le_bytes());
    bytes.extend(planned_functions.to_le_bytes());
    bytes.extend(base_symbol.as_bytes());
    bytes.extend(fragment);
    bytes.extend(object);
    let sum = blake3::hash(&bytes[40..]);
    bytes[8..40].copy_from_slice(sum.as_bytes());
    bytes
}

/// Decodes the bytes that [`encode`] made. `None` if any bit is wrong.
pub fn decode(bytes: &[u8]) -> Option<WovenModule> {
    if bytes.len() < HEAD
        || bytes[..8] != MAGIC
        || blake3::hash(&bytes[40..]).as_bytes() != &bytes[8..40]
    {
        return None;
    }
    let field = |offset: usize| {
        u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
    };
    let content = &bytes[HEAD..];
    let (symbol, content) = content.split_at_checked(usize::try_from(field(48)).ok()?)?;
    let (fragment, object) = content.split_at_checked(usize::try_from(field(56)).ok()?)?;
    Some(WovenModule {
        object: object.to_vec(),
        fragment: fragment.to_vec(),
        counters_size: field(40),
        planned_functions: field(64),
        base_symbol: String::from_utf8(symbol.to_vec()).ok()?,
        reads_files: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(seed: u8, size: usize) -> WovenModule {
        WovenModule {
            object: vec![seed; size],
            fragment: vec![seed ^ 1; 33],
            counters_size: 64 * u64::from(seed),
            base_symbol: format!("__holloway_base_{seed:032x}"),
            planned_functions: u64::from(seed),
            reads_files: false,
        }
    }

    fn are_equal(left: &WovenModule, right: &WovenModule) -> bool {
        encode(left) == encode(right)
    }

    #[test]
    fn stored_entries_are_found() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(&dir.path().join("deep/cache")).expect("opens");
        let (o2_key, o3_key) = (Key::new(b"one", "O2"), Key::new(b"one", "O3"));
        assert!(cache.find(o2_key).is_none());
        cache.store(o2_key, &module(1, 1000)).expect("stores");
        cache.store(o3_key, &module(2, 0)).expect("stores");
        cache.store(o3_key, &module(2, 0)).expect("stores again");
        let find = |key| cache.find(key).expect("found");
        assert!(are_equal(&find(o2_key), &module(1, 1000)));
        assert!(are_equal(&find(o3_key), &module(2, 0)));
    }

    #[test]
    fn keys_separate_settings_and_bitcode() {
        assert_ne!(Key::new(b"bc", "a"), Key::new(b"c", "ab"));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_detected() {
        let bytes = encode(&module(3, 50));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_none(), "length {length}");
        }
    }

    #[test]
    fn a_damaged_entry_is_replaced() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let key = Key::new(b"x", "");
        cache.store(key, &module(4, 9)).expect("stores");
        fs::write(cache.path(key), b"rubbish").expect("written");
        assert!(cache.find(key).is_none());
        cache.store(key, &module(4, 9)).expect("stores");
        assert!(cache.find(key).is_some());
    }

    #[test]
    fn the_least_recently_used_entries_are_deleted_first() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let keys: Vec<_> = (0..5).map(|seed| Key::new(&[seed], "")).collect();
        for (age, &key) in keys.iter().enumerate() {
            cache.store(key, &module(5, 1000)).expect("stores");
            let file = fs::File::options()
                .append(true)
                .open(cache.path(key))
                .expect("opens");
            let used = SystemTime::now() - Duration::from_secs(1000 - age as u64);
            file.set_modified(used).expect("dated");
        }
        cache.prune_to(2 * encode(&module(5, 1000)).len() as u64);
        let remains: Vec<bool> = keys.iter().map(|&key| cache.find(key).is_some()).collect();
        assert_eq!(remains, [false, false, false, true, true]);
    }

    #[test]
    fn unfinished_files_of_killed_links_are_deleted_after_a_day() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(dir.path()).expect("opens");
        let key = Key::new(b"x", "");
        cache.store(key, &module(6, 10)).expect("stores");
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
        assert!(cache.find(key).is_some());
    }
}
