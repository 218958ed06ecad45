//! Opens libplugin.so beside it, calls it from two threads.
//#expect-calls plugin_sum 60
//#expect-calls plugin_inner 60
//#expect-calls not_generic 10
//#open panics leave calls

use std::ffi::{CString, c_char, c_int, c_void};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn plugin() -> extern "C" fn(u32) -> u32 {
    let beside = std::env::current_exe().unwrap().with_file_name("libplugin.so");
    let name = CString::new(beside.to_str().unwrap()).unwrap();
    // SAFETY: both names are C strings; the function has this type in plugin/src/lib.rs.
    unsafe {
        let library = dlopen(name.as_ptr(), 2);
        assert!(!library.is_null(), "cannot open {}", beside.display());
        let symbol = dlsym(library, c"plugin_sum".as_ptr());
        assert!(!symbol.is_null());
        std::mem::transmute::<*mut c_void, extern "C" fn(u32) -> u32>(symbol)
    }
}

fn main() {
    let sum = plugin();
    let thread = std::thread::spawn(move || (0..30).map(|n| sum(n)).sum::<u32>());
    let here: u32 = (0..30).map(|n| sum(n)).sum();
    let more: u32 = (0..10).map(generic::not_generic).sum();
    let items: Vec<u64> = (0..10).collect();
    println!("{here} {} {more} {} {}", thread.join().unwrap(), generic::fold(&items, 1, |a, b| a + b * 2), env!("BUILT"));
}
