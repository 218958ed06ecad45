//! The program `cargo-holloway`, which cargo calls for `cargo holloway …`. It is the same program
//! as `holloway`; see [`holloway::main`].

fn main() -> std::process::ExitCode {
    holloway::main()
}
