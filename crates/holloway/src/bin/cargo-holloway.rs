//! `cargo holloway …`: the same program, which looks at the name it is called by; see
//! [`holloway::main`].

fn main() -> std::process::ExitCode {
    holloway::main()
}
