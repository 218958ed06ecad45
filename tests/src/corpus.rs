//! Generates input that is the same on every machine: text, Markdown, and a tree of text files.
//! Also copies the Rust files of a crate.

use anyhow::{Context, Result};
use std::path::Path;

/// The random number generator SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }
}

const SYLLABLES: [&str; 24] = [
    "an", "ber", "ca", "do", "el", "fin", "ga", "hol", "in", "ju", "ka", "low", "men", "no", "or",
    "pa", "qui", "re", "sto", "ta", "un", "ver", "way", "zo",
];

/// Generates text of about `bytes` bytes: words of a skewed vocabulary, lines of different lengths,
/// and a few non-ASCII characters.
#[must_use]
pub fn text(seed: u64, bytes: usize) -> String {
    let mut random = Random(seed);
    let vocabulary: Vec<String> = (0..3000)
        .map(|_| {
            (0..1 + random.below(4))
                .map(|_| SYLLABLES[random.below(24) as usize])
                .collect()
        })
        .collect();
    let mut text = String::with_capacity(bytes + 100);
    while text.len() < bytes {
        for _ in 0..1 + random.below(14) {
            // The product of two uniform numbers makes few words frequent and most words rare.
            let index = random.below(3000) * random.below(3000) / 3000;
            text.push_str(&vocabulary[index as usize]);
            text.push(if random.below(12) == 0 { ',' } else { ' ' });
        }
        if random.below(40) == 0 {
            text.push_str("größer → naïve");
        }
        text.push('\n');
    }
    text
}

/// Generates Markdown of about `bytes` bytes: [`text`] as headings, lists, quotes, tables, and
/// code, with links and emphasis.
#[must_use]
pub fn markdown(seed: u64, bytes: usize) -> String {
    let mut random = Random(seed);
    let mut page = String::with_capacity(bytes + 200);
    for line in text(seed, bytes).lines() {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        page += &match random.below(16) {
            0 => format!("\n## {line}\n\n"),
            1 => format!("- *{first}* {rest}\n"),
            2 => format!("  1. {first} **{rest}**\n"),
            3 => format!("> {line}\n>\n"),
            4 => format!("\n| {first} | column |\n|---|--:|\n| `{first}` | ~~{rest}~~ |\n\n"),
            5 => format!("\n```rust\nlet {first} = \"{rest}\";\n```\n\n"),
            6 => format!("[{first}](https://example.org/{first} \"{first}\") {rest}&amp;\n\n"),
            7 => format!("- [ ] {first} <b>{rest}</b>\\\n"),
            _ => format!("{line}\n"),
        };
    }
    page
}

/// Copies every Rust file below `from` to `to`, numbered in the order of their paths.
///
/// # Errors
/// If a file cannot be read or written.
pub fn rust_files(from: &Path, to: &Path) -> Result<()> {
    let (mut folders, mut files) = (vec![from.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)
            .with_context(|| format!("cannot list {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    std::fs::create_dir_all(to)?;
    for (i, file) in files.iter().enumerate() {
        std::fs::copy(file, to.join(format!("{i:03}.rs")))?;
    }
    Ok(())
}

/// Writes a directory tree of text files with `bytes` bytes in total. A `.gitignore` covers some
/// files, and some are binary.
///
/// # Errors
/// If a file cannot be written.
pub fn tree(root: &Path, seed: u64, bytes: usize) -> Result<()> {
    let files = 60;
    for i in 0..files {
        let folder = root
            .join(format!("part{}", i % 6))
            .join(format!("deep{}", i % 3));
        std::fs::create_dir_all(&folder)?;
        let extension = ["txt", "rs", "log"][i % 3];
        let file = folder.join(format!("file{i:02}.{extension}"));
        let mut content = text(seed + i as u64, bytes / files).into_bytes();
        if i % 20 == 7 {
            content.insert(100, 0);
        }
        std::fs::write(file, content)?;
    }
    std::fs::create_dir_all(root.join(".git"))?;
    std::fs::write(root.join(".gitignore"), "*.log\n")?;
    Ok(())
}
