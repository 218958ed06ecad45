//! Tells calls, returns, and jumps apart: what the instruction at the source of a branch is.
//!
//! Branch records give the address of the instruction, so one instruction is decoded, and only its
//! first bytes matter:
//!
//! ```text
//! x86-64   prefixes 26 2e 36 3e 40-4f 64-67 f2 f3, then
//!          e8 call · ff /2 /3 call · c2 c3 ca cb return
//!          70-7f e0-e3 e9 eb · 0f 80-8f · ff /4 /5 jump
//! AArch64  bl blr call · ret return · b br b.cond cbz cbnz tbz tbnz jump
//! ```

use std::path::Path;

use object::{Architecture, Object as _, ObjectSegment as _, SegmentFlags};

use crate::elf::open_regular;

/// What a branch instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchInstruction {
    /// A call.
    Call,
    /// A return.
    Return,
    /// A jump, conditional or not.
    Jump,
    /// Another instruction, such as a system call. An interrupt may come at any instruction.
    Other,
}

/// The machine code of a file.
pub struct MachineCode {
    architecture: Architecture,
    /// The bytes of each executable segment, after its first address.
    segments: Vec<(u64, Vec<u8>)>,
}

/// In the flags of a segment: it is executable.
const EXECUTABLE: u32 = 1;

impl MachineCode {
    /// Reads the code of a file. `None` if it is not a readable program.
    pub fn read(path: &Path) -> Option<Self> {
        let cache = object::ReadCache::new(open_regular(path)?);
        let file = object::File::parse(&cache).ok()?;
        let is_executable = |segment: &object::Segment<'_, '_, _>| match segment.flags() {
            SegmentFlags::Elf { p_flags, .. } => p_flags.0 & EXECUTABLE != 0,
            _ => false,
        };
        let segments = file.segments().filter(is_executable);
        let segments =
            segments.map(|segment| Some((segment.address(), segment.data().ok()?.to_vec())));
        Some(Self {
            architecture: file.architecture(),
            segments: segments.collect::<Option<_>>()?,
        })
    }

    /// What the instruction at an address does, as symbols name it.
    pub fn branch_at(&self, address: u64) -> BranchInstruction {
        let find = |(start, bytes): &(u64, Vec<u8>)| {
            let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
            let code = bytes.get(offset..)?;
            Some(match self.architecture {
                Architecture::X86_64 => x86_64(code),
                Architecture::Aarch64 => aarch64(code),
                _ => BranchInstruction::Other,
            })
        };
        let found = self.segments.iter().find_map(find);
        found.unwrap_or(BranchInstruction::Other)
    }
}

fn x86_64(code: &[u8]) -> BranchInstruction {
    let is_prefix = |&byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf2 | 0xf3);
    let start = code.iter().position(|byte| !is_prefix(byte));
    let code = start
        .and_then(|start| code.get(start..))
        .unwrap_or_default();
    match *code {
        [0xe8, ..] => BranchInstruction::Call,
        [0xc2 | 0xc3 | 0xca | 0xcb, ..] => BranchInstruction::Return,
        [0x70..=0x7f | 0xe0..=0xe3 | 0xe9 | 0xeb, ..] => BranchInstruction::Jump,
        [0x0f, 0x80..=0x8f, ..] => BranchInstruction::Jump,
        [0xff, operand, ..] => match operand >> 3 & 7 {
            2 | 3 => BranchInstruction::Call,
            4 | 5 => BranchInstruction::Jump,
            _ => BranchInstruction::Other,
        },
        _ => BranchInstruction::Other,
    }
}

fn aarch64(code: &[u8]) -> BranchInstruction {
    let Some(word) = code.first_chunk().map(|word| u32::from_le_bytes(*word)) else {
        return BranchInstruction::Other;
    };
    let is = |mask: u32, value: u32| word & mask == value;
    // Bits 21 to 24 of a branch to a register; with and without authentication of pointers.
    let to_register = is(0xfe1f_f000, 0xd61f_0000);
    let operation = word >> 21 & 7;
    if is(0xfc00_0000, 0x9400_0000) || to_register && operation == 1 {
        BranchInstruction::Call
    } else if to_register && operation == 2 {
        BranchInstruction::Return
    } else if to_register && operation == 0
        || is(0xfc00_0000, 0x1400_0000)
        || is(0xff00_0000, 0x5400_0000)
        || is(0x7e00_0000, 0x3400_0000)
        || is(0x7e00_0000, 0x3600_0000)
    {
        BranchInstruction::Jump
    } else {
        BranchInstruction::Other
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Bytes from `objdump -d` of programs of gcc 12.
    #[test]
    fn instructions_of_x86_64() {
        use BranchInstruction::{Call, Jump, Other, Return};
        for (bytes, expected) in [
            (&[0xe8, 0x10, 0, 0, 0][..], Call), // call
            (&[0xff, 0x15, 0, 0, 0, 0], Call),  // call *(%rip)
            (&[0x41, 0xff, 0xd4], Call),        // call *%r12
            (&[0x3e, 0xff, 0xe0], Jump),        // notrack jmp *%rax
            (&[0xf2, 0xe9, 0, 0, 0, 0], Jump),  // bnd jmp
            (&[0x75, 0xf0], Jump),              // jne
            (&[0x0f, 0x8f, 0, 0, 0, 0], Jump),  // jg
            (&[0xeb, 0x02], Jump),              // jmp
            (&[0xc3], Return),                  // ret
            (&[0xf3, 0xc3], Return),            // repz ret
            (&[0xc2, 8, 0], Return),            // ret $8
            (&[0x0f, 0x05], Other),             // syscall
            (&[0xff, 0xc0], Other),             // inc %eax
            (&[0x48], Other),
            (&[], Other),
        ] {
            assert_eq!(x86_64(bytes), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn instructions_of_aarch64() {
        use BranchInstruction::{Call, Jump, Other, Return};
        for (word, expected) in [
            (0x9400_0010_u32, Call), // bl
            (0xd63f_0060, Call),     // blr x3
            (0xd65f_03c0, Return),   // ret
            (0xd65f_0bff, Return),   // retaa
            (0xd61f_0200, Jump),     // br x16
            (0x1400_0004, Jump),     // b
            (0x54ff_ffa1, Jump),     // b.ne
            (0xb400_0080, Jump),     // cbz x0
            (0x3500_0060, Jump),     // cbnz w0
            (0x3628_0040, Jump),     // tbz
            (0xd400_0001, Other),    // svc #0
            (0xd503_201f, Other),    // nop
        ] {
            assert_eq!(aarch64(&word.to_le_bytes()), expected, "{word:x}");
        }
        assert_eq!(aarch64(&[1, 2]), Other);
    }

    #[test]
    fn the_code_of_this_test_is_found() {
        let program = std::env::current_exe().unwrap();
        let code = MachineCode::read(&program).unwrap();
        assert!(!code.segments.is_empty());
        assert_eq!(code.branch_at(u64::MAX), BranchInstruction::Other);
        assert!(MachineCode::read(Path::new("/dev/null")).is_none());
    }
}
