//! The targets of indirect calls.

/// A target of an indirect call.
///
/// Training counts the targets of a function's indirect calls in one hash table. The key of a count
/// is a number of 64 bits:
///
/// ```text
/// bits 48 to 63   call site: the number of the indirect call in the function, in the order of the
///                 code
/// bits  0 to 47   address of the target, minus the address at which the image with the call was
///                 loaded (`__ehdr_start`)
/// ```
/// Example: the third indirect call of a function called the code at 0x1150: key
/// `0x0002_0000_0000_1150`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// The number of the indirect call in its function, from 0.
    pub site: u16,
    /// The target's address relative to the image. Code of other images has an address outside of
    /// the image.
    pub address: u64,
}

impl CallTarget {
    /// The number of bits of an address.
    pub const ADDRESS_BITS: u32 = 48;
    /// Only so many call sites of a function have keys.
    pub const SITE_LIMIT: usize = 1 << 15;

    /// The key of the target's count.
    pub fn key(self) -> u64 {
        u64::from(self.site) << Self::ADDRESS_BITS | self.address
    }

    /// The target with this key.
    pub fn from_key(key: u64) -> Self {
        Self {
            site: (key >> Self::ADDRESS_BITS) as u16,
            address: key & ((1 << Self::ADDRESS_BITS) - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_a_key() {
        let target = CallTarget {
            site: 2,
            address: 0x1150,
        };
        assert_eq!(target.key(), 0x0002_0000_0000_1150);
        assert_eq!(CallTarget::from_key(target.key()), target);
    }
}
