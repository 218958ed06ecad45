//! The program `holloway`: see [`holloway::main`].

fn main() -> std::process::ExitCode {
    holloway::main()
}
