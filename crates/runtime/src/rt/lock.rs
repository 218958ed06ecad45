//! The signal mask and the lock that protect the runtime's state.
//!
//! A *slow path* is code of the runtime that needs the lock or system calls. A thread always masks
//! signals before it takes the lock. Without the mask, a signal handler could wait forever for the
//! lock that its thread holds. Raw system calls mask even the signals that libc reserves for
//! cancellation and setuid, so that nothing unwinds out of a slow path.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

use super::{arch, sys};

/// The stack that every slow path has room for, in bytes: the deepest one needs 3,000 on x86-64.
///
/// A kernel kills a process whose stack overflows while SIGSEGV is masked. So the stack must
/// overflow before the mask is set, where the program's own handler can run.
const STACK: usize = 3072;

/// A guard. Every signal is masked while it lives.
pub(super) struct Masked {
    old: u64,
}

impl Masked {
    #[inline(always)]
    pub(super) fn all() -> Masked {
        arch::probe_stack::<STACK>();
        Masked {
            old: sys::set_signal_mask(u64::MAX),
        }
    }

    /// Ends the guard without restoring the mask, and returns the mask to restore later.
    pub(super) fn into_mask(self) -> u64 {
        let old = self.old;
        core::mem::forget(self);
        old
    }

    /// The opposite of [`Masked::into_mask`].
    pub(super) fn from_mask(old: u64) -> Masked {
        Masked { old }
    }
}

impl Drop for Masked {
    fn drop(&mut self) {
        sys::set_signal_mask(self.old);
    }
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Attempts to take the lock before a thread sleeps. All holders but the first hold it briefly.
const SPINS: u32 = 100;

/// A futex lock around a value. A thread takes it only with signals masked.
pub(super) struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a `Guard` only, and the lock gives out one guard at a time.
// The value has raw pointers into mappings of this process, which every thread may use.
unsafe impl<T> Sync for Lock<T> {}

/// The right to use the locked value.
pub(super) struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    pub(super) const fn new(value: T) -> Lock<T> {
        Lock {
            word: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    pub(super) fn lock(&self) -> Guard<'_, T> {
        for _ in 0..SPINS {
            if self
                .word
                .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return Guard { lock: self };
            }
            core::hint::spin_loop();
        }
        while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            sys::futex_wait(&self.word, CONTENDED);
        }
        Guard { lock: self }
    }

    /// Creates a second guard without taking the lock. Either the calling thread holds the lock
    /// (after a fork), or it is the only thread (in the child of a raw fork, where the holder may
    /// not exist).
    ///
    /// # Safety
    /// No other thread holds a guard.
    pub(super) unsafe fn take_over(&self) -> Guard<'_, T> {
        self.word.store(CONTENDED, Ordering::Relaxed);
        Guard { lock: self }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so no other thread has the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, so no other thread has the value.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.lock.word.swap(FREE, Ordering::Release) == CONTENDED {
            sys::futex_wake(&self.lock.word);
        }
    }
}
