//#expect-calls shared_work 30
//#expect-calls own_work 30

#[inline(never)]
fn own_work(n: u64) -> usize {
    shared::shared_work(n).len()
}

fn main() {
    println!("{}", (0..30).map(own_work).sum::<usize>());
}
