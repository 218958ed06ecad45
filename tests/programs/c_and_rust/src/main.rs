fn main() {
    let sum: i64 = (0..10).map(|n| c_and_rust::through_c(n * 10)).sum();
    println!("{sum}");
}
