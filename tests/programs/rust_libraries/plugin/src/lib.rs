//! Opened by the program: a woven shared object with a std of its own.

#[unsafe(no_mangle)]
pub extern "C" fn plugin_sum(n: u32) -> u32 {
    let items: Vec<u32> = (0..n).collect();
    plugin_inner(generic::fold(&items, 0, |a, b| a + b))
}

#[inline(never)]
fn plugin_inner(n: u32) -> u32 {
    let result = std::panic::catch_unwind(|| if n > 400 { panic!("too much") } else { n });
    result.unwrap_or(400)
}
