//! Calls the function `work` of `library.c` from threads. If panics unwind, a destructor also calls
//! it during a panic.

use std::thread;

unsafe extern "C" {
    safe fn work(times: i64);
}

struct Worker;

impl Drop for Worker {
    fn drop(&mut self) {
        work(100);
    }
}

fn main() {
    let threads: Vec<_> = (0..40).map(|_| thread::spawn(|| work(100))).collect();
    for thread in threads {
        thread.join().expect("a thread that does not panic");
    }
    if cfg!(panic = "unwind") {
        std::panic::set_hook(Box::new(|_| {}));
        let caught = std::panic::catch_unwind(|| {
            let _worker = Worker;
            panic!("on purpose");
        });
        assert!(caught.is_err());
    } else {
        work(100);
    }
}
