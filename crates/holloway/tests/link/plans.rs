//! Faults of LLVM in a build with a plan. They cost one module its plan, and the build goes on.

use crate::failures::{faulty_llvm, holloway_lines};
use crate::link_support::{Sandbox, succeed};

/// A program of two modules that carries its bitcode, and its plan: `app` and `app.plan`. Line 2 of
/// `f.c` has a load to prefetch.
fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "main.c",
        "int f(const int *, const int *, int);
        int main(void) {
            int at[300], table[300];
            for (int i = 0; i < 300; i++) table[at[i] = i] = i % 7;
            return f(at, table, 300) != 897;
        }",
    );
    sandbox.write(
        "f.c",
        "int f(const int *at, const int *table, int n) {
            int sum = 0; for (int i = 0; i < n; i++) sum += table[at[i]];
            return sum;
        }",
    );
    sandbox.build("cc --embed -O2 -g main.c f.c -o app");
    sandbox.build("plan train -o app.plan ./app");
    let plan = std::fs::read_to_string(sandbox.path("app.plan")).unwrap();
    let counts = plan.strip_suffix("end\n").unwrap();
    let counts = counts.split("prefetches\n").next().unwrap();
    assert!(counts.contains("late\n"), "{plan}");
    let plan = format!("{counts}prefetches\nload 2 0 4 f\nend\n");
    sandbox.write("app.plan", &plan);
    sandbox
}

/// Applies the plan with a faulty libLLVM. Returns holloway's warnings about modules without counts
/// of the plan. Before, the program is linked for training, to find its functions, and that may
/// fail in the same way. There is no cache: a build that goes on from kept code has fewer steps.
fn warnings(sandbox: &Sandbox, llvm: &std::path::Path, fault: &str) -> Vec<String> {
    let mut command = sandbox.holloway("plan apply -o fast --plan app.plan ./app");
    command.env("HOLLOWAY_LLVM", llvm).env("FAULT", fault);
    command.env("HOLLOWAY_CACHE", "");
    let stderr = succeed(&mut command);
    assert_eq!(sandbox.run_status("fast"), Some(0), "{fault}");
    holloway_lines(&stderr)
        .into_iter()
        .filter(|line| line.ends_with(": compiled without the plan's counts"))
        .map(str::to_owned)
        .collect()
}

/// The faulty libLLVM never finishes the module of `f` if its worker has a limit of CPU time. It
/// lowers the limit, so that the test is short.
#[test]
fn a_module_that_takes_too_long_is_compiled_without_counts() {
    let sandbox = trained();
    let llvm = faulty_llvm(
        &sandbox,
        "#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <sys/resource.h>
        void *LLVMGetNamedFunction(void *, const char *);
        int LLVMIsDeclaration(void *);
        void *LLVMRunPasses(void *module, const char *passes, void *machine, void *options) {
            void *(*real)(void *, const char *, void *, void *) = dlsym(RTLD_NEXT, \"LLVMRunPasses\");
            void *function = LLVMGetNamedFunction(module, \"f\");
            struct rlimit limit;
            getrlimit(RLIMIT_CPU, &limit);
            if (function && !LLVMIsDeclaration(function) && limit.rlim_cur != RLIM_INFINITY) {
                limit.rlim_cur = 1;
                setrlimit(RLIMIT_CPU, &limit);
                for (volatile int forever = 1; forever;) {}
            }
            return real(module, passes, machine, options);
        }",
    );
    let warnings = warnings(&sandbox, &llvm, "");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let end = " took too much CPU time while optimising: compiled without the plan's counts";
    assert!(warnings[0].ends_with(end), "{warnings:?}");
    assert!(warnings[0].contains("f-"), "{warnings:?}");
}

/// The verifier of the faulty libLLVM fails when it is called for the FAULTth time in a process. So
/// the test shows, too, after which steps the verifier runs.
#[test]
fn a_module_that_is_invalid_after_a_step_is_compiled_without_counts() {
    let sandbox = trained();
    let llvm = faulty_llvm(
        &sandbox,
        "#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdlib.h>
        #include <string.h>
        void *LLVMGetNamedFunction(void *, const char *);
        int LLVMIsDeclaration(void *);
        int LLVMVerifyModule(void *module, int action, char **message) {
            int (*real)(void *, int, char **) = dlsym(RTLD_NEXT, \"LLVMVerifyModule\");
            static int calls;
            void *function = LLVMGetNamedFunction(module, \"f\");
            if (!function || LLVMIsDeclaration(function) || ++calls != atoi(getenv(\"FAULT\")))
                return real(module, action, message);
            *message = strdup(\"no terminator\");
            return 1;
        }",
    );
    let steps = [
        "attaching the plan",
        "calling targets directly",
        "making code for sizes",
        "reading optimized code",
        "attaching the late counts",
        "inserting prefetches",
    ];
    for (number, step) in steps.into_iter().enumerate() {
        // The first call is after the bitcode has been read.
        let warnings = warnings(&sandbox, &llvm, &(number + 2).to_string());
        assert_eq!(warnings.len(), 1, "{step}: {warnings:?}");
        let warning = &warnings[0];
        assert!(warning.contains(step), "{step}: {warning}");
        assert!(warning.contains("no terminator"), "{step}: {warning}");
    }
}
