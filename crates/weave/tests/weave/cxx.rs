//! Tests C++ programs: exceptions, virtual calls, coroutines, constructors, and destructors.
//!
//! `T;` calls the tracer, which counts executions of its source line. `check` compares these counts
//! with the counts of the lines in the profile.

use crate::support::{SETUPS, Workspace, check, check_with, library, options, weave};
use holloway_weave::OptLevel::{O0, O2};

#[test]
fn exceptions() {
    let source = r#"
#include <cstdio>
#include <stdexcept>
#include <string>
struct Guard { int n; ~Guard() { T; n++; } };
__attribute__((noinline)) static int risky(int n) {
    Guard guard{n};
    if (n % 3 == 0) { T; throw std::runtime_error("three"); }
    if (n % 5 == 0) { T; throw n; }
    T;
    return n * 2;
}
__attribute__((noinline)) static int nested(int n) {
    // The guard's cleanup makes unwinding stop in this frame. In a frame that unwinding only passes
    // through, the path would not end.
    Guard guard{n};
    try { T; return risky(n); }
    catch (const std::runtime_error &e) { T; if (n == 9) { T; throw; } return -1; }
}
int main(int argc, char **argv) {
    int sum = 0;
    for (int i = 1; i <= 30 * argc; i++) {
        try { T; sum += nested(i); std::string s(i, 'x'); sum += s.size() ? risky(i) : 0; }
        catch (int x) { T; sum += x; }
        catch (const std::exception &e) { T; sum -= 1; }
        T;
    }
    std::printf("%d\n", sum);
}
"#;
    check("exceptions.cpp", source, &[O0, O2]);
}

/// A `setjmp` that may unwind is an invoke.
#[test]
fn setjmp_in_a_try_block() {
    let source = r#"
#include <csetjmp>
#include <cstdio>
struct Guard { ~Guard() { T; } };
static jmp_buf env;
extern "C" int _setjmp(jmp_buf) __attribute__((returns_twice));
[[noreturn]] __attribute__((noinline)) static void leave(int n) { if (n > 3) { T; throw n; } T; longjmp(env, n + 1); }
int main(int argc, char **argv) {
    volatile int tries = 0;
    volatile int sum = 0;
    try {
        Guard guard;
        int got = (_setjmp)(env);
        if (got > 1) { T; sum += got; }
        tries++;
        leave(tries);
    } catch (int n) { T; sum += n; }
    std::printf("%d\n", sum);
}
"#;
    check("setjmp_try.cpp", source, &[O0, O2]);
}

#[test]
fn virtual_calls_templates_and_streams() {
    let source = r#"
#include <iostream>
#include <map>
#include <memory>
#include <vector>
struct Shape { virtual ~Shape() {} virtual int area() const = 0; };
struct Square : Shape { int s; Square(int s) : s(s) {} int area() const override { T; return s * s; } };
struct Strip : Shape { int w, h; Strip(int w, int h) : w(w), h(h) {} int area() const override { T; return w * h; } };
int main(int argc, char **argv) {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 40 * argc; i++) {
        if (i % 4) { T; shapes.push_back(std::make_unique<Square>(i)); } else { T; shapes.push_back(std::make_unique<Strip>(i, 2)); }
    }
    std::map<int, int> seen;
    for (auto &shape : shapes) { T; seen[shape->area() % 7]++; }
    for (auto &[k, v] : seen) { T; std::cout << k << ':' << v << '\n'; }
}
"#;
    check("shapes.cpp", source, &[O0, O2]);
}

#[test]
fn coroutines() {
    let source = r#"
#include <coroutine>
#include <cstdio>
struct Generator {
    struct promise_type {
        int value = 0;
        Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v) { T; value = v; return {}; }
        void return_void() { T; }
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
    ~Generator() { handle.destroy(); }
};
static Generator count(int n) {
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0) { T; continue; }
        T;
        co_yield i;
    }
    T;
}
int main(int argc, char **argv) {
    int sum = 0;
    for (int round = 1; round <= 5 * argc; round++) {
        Generator generator = count(round * 4);
        while (generator.handle.resume(), !generator.handle.done()) { T; sum += generator.handle.promise().value; }
        T;
    }
    std::printf("%d\n", sum);
}
"#;
    check_with(
        "coroutines.cpp",
        source,
        &[O0, O2],
        &["-std=c++20"],
        &|_| {},
    );
}

/// With bfd and lld, constructors run by priority, then the initialization of the template's
/// variable (5), then that of `late` (4).
#[test]
fn constructors_run_under_every_linker() {
    let source = r#"
#include <cstdio>
static int order[8], count;
static void note(int n) { order[count++] = n; }
__attribute__((constructor(101))) static void first() { note(1); }
struct Late { Late() { note(4); } ~Late() { std::printf("destroyed\n"); } } late;
__attribute__((constructor(65534))) static void third() { note(3); }
__attribute__((constructor(200))) static void second() { note(2); }
template <int N> struct Key { static int value; };
template <int N> int Key<N>::value = (note(5), N);
__attribute__((destructor(102))) static void last() { std::printf("last\n"); }
int main() { std::printf("%d%d%d%d%d %d\n", order[0], order[1], order[2], order[3], order[4], Key<7>::value + count); }
"#;
    for setup in SETUPS {
        for linker in ["-fuse-ld=bfd", "-fuse-ld=lld"] {
            let workspace = Workspace::new();
            let bitcode = workspace.compile(setup.clang, "ctor.cpp", source, &["-O2", "-fPIE"]);
            let patched = weave(&library(setup.llvm), &bitcode, &options("ctor", O2), 8);
            let program_run = workspace.run(
                &[patched.woven.object],
                &["-pie", linker, "-Wl,--gc-sections"],
            );
            assert_eq!(
                program_run.stdout(),
                "12354 12\ndestroyed\nlast\n",
                "{setup:?} {linker}"
            );
        }
    }
}
