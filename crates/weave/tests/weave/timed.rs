//! Tests timed paths: every path is counted correctly, and no program changes its behavior, with
//! every LLVM, at every level.

use crate::support;
use std::process::Command;

use crate::support::{
    KINDS_TIMED, PatchedModule, Program, SETUPS, Workspace, check_kinds, library, options, weave,
};
use holloway_abi::Kind;
use holloway_format::{Load, LoadShape};
use holloway_weave::ModuleOptions;
use holloway_weave::OptLevel::{self, O0, O1, O2, O3};

fn check(name: &str, source: &str, levels: &[OptLevel]) {
    let args = ["-Wno-everything"];
    check_kinds(name, source, levels, &args, &|_| {}, &KINDS_TIMED);
}

fn random_programs(levels: &[OptLevel]) {
    for seed in 500..502 {
        let source = Program::new(seed, false).text;
        check(&format!("timed{seed}.c"), &source, levels);
    }
}

#[test]
fn random_programs_at_low_levels() {
    random_programs(&[O0, O1]);
}

#[test]
fn random_programs_at_o2() {
    random_programs(&[O2]);
}

#[test]
fn random_programs_at_o3() {
    random_programs(&[O3]);
}

/// A program with a large function, in which many values live across many loops, and with a small
/// function that computes the same result.
fn large_function_program(values: usize, loops: usize) -> String {
    let names: Vec<String> = (0..values).map(|value| format!("v{value}")).collect();
    let inner_loop = |number: usize| {
        let [bound, to, from] = [number, number * 7 + 1, number * 3].map(|value| value % values);
        format!(
            "  for (unsigned long j = 0; j < (i + v{bound}) % 3; j++) {{ T;
   v{to} += v{from} ^ j;
   if (v{bound} & 4) v{bound}++;
   else {{ T; }}
  }}\n"
        )
    };
    let definitions = names
        .iter()
        .map(|name| format!(" unsigned long {name} = source++;\n"));
    let definitions: String = definitions.collect();
    let inner_loops: String = (0..loops).map(inner_loop).collect();
    let sum = names.join(" + 3 * (") + &")".repeat(values - 1);
    format!(
        "#include <stdio.h>
static volatile unsigned long source;
__attribute__((noinline)) static unsigned long large(unsigned long n) {{
{definitions} for (unsigned long i = 0; i < n; i++) {{ T;
{inner_loops} }}
 return {sum};
}}
__attribute__((noinline)) static unsigned long small(unsigned long n) {{
 unsigned long v[{values}];
 for (int k = 0; k < {values}; k++) v[k] = source++;
 for (unsigned long i = 0; i < n; i++)
  for (int k = 0; k < {loops}; k++)
   for (unsigned long j = 0; j < (i + v[k % {values}]) % 3; j++) {{
    v[(k * 7 + 1) % {values}] += v[k * 3 % {values}] ^ j;
    if (v[k % {values}] & 4) v[k % {values}]++;
   }}
 unsigned long sum = 0;
 for (int k = {values}; k-- > 0;) sum = v[k] + 3 * sum;
 return sum;
}}
int main(void) {{
 unsigned long one = large(5);
 source = 0;
 if (one != small(5)) return 1;
 return 0;
}}
"
    )
}

#[test]
fn many_values_that_live_at_many_loops() {
    check("giant.c", &large_function_program(170, 90), &[O2]);
}

const INTERPRETER: &str = "#include <stdio.h>
__attribute__((noinline)) static long run(const char *code, long n) {
 static void *const labels[] = { &&add, &&twice, &&less, &&odd, &&again, &&end };
 const char *at = code;
 long sum = n, turns = 0;
 goto *labels[*at++ - 'a'];
add: T; sum += 3; goto *labels[*at++ - 'a'];
twice: T; sum *= 2; goto *labels[*at++ - 'a'];
less: T; sum -= n; if (sum < 0) { T; sum = -sum; } goto *labels[*at++ - 'a'];
odd: T; if (sum & 1) { T; at++; } goto *labels[*at++ - 'a'];
again: T; if (turns++ < n) at = code; goto *labels[*at++ - 'a'];
end: T; return sum & 0xffff;
}
int main(int argc, char **argv) {
 long sum = 0;
 for (int n = 0; n < 20 * argc; n++) { T; sum += run(\"abdcaacbebaf\", n); }
 printf(\"%ld\\n\", sum);
}
";

#[test]
fn interpreters_keep_a_jump_for_each_operation() {
    check("interpreter.c", INTERPRETER, &[O1, O2]);
    let source = format!("#define T __asm__ volatile(\"nop\")\n{INTERPRETER}");
    for patched in woven("interpreter.c", &source, Kind::Variation) {
        let workspace = Workspace::new();
        let object = workspace.write("interpreter.o", &patched.woven.object);
        let text = Command::new("objdump").arg("-d").arg(object).output();
        let text = String::from_utf8(text.unwrap().stdout).unwrap();
        let jumps = text
            .lines()
            .filter(|line| line.contains("jmp") && line.contains('*'));
        assert!(jumps.count() >= 6, "{text}");
    }
}

/// Weaves an optimized source with each setup.
fn woven(name: &str, source: &str, collect: Kind) -> Vec<PatchedModule> {
    let weave = |setup: support::Setup| {
        let workspace = Workspace::new();
        let bitcode = workspace.compile(
            setup.clang,
            name,
            source,
            &["-O2", "-fPIE", "-fno-unroll-loops"],
        );
        let options = ModuleOptions {
            collect,
            ..options(name, O2)
        };
        weave(&library(setup.llvm), &bitcode, &options, 64)
    };
    SETUPS.into_iter().map(weave).collect()
}

#[test]
fn short_functions_are_timed_with_their_callers() {
    let source = "#include <string.h>
int add(int a, int b) { return a + b; }
void some(char *to, unsigned long n) { memset(to, 7, n); }
void all(char *to) { memset(to, 7, 16); }
long sum(const int *a, long n) { long s = 0; while (n--) s += a[n]; return s; }
extern int outside(int);
int twice(int a) { return add(a, 1) + outside(a); }
";
    for patched in woven("short.c", source, Kind::Variation) {
        let skipped = patched.map.skipped.iter();
        let skipped: Vec<&str> = skipped.map(|function| &*function.linkage_name).collect();
        assert_eq!(skipped, ["add", "all"]);
        let timed = patched.map.functions.iter();
        let timed: Vec<&str> = timed.map(|function| &*function.name).collect();
        assert_eq!(timed, ["some", "sum", "twice"]);
    }
}

/// The loops of the paper's Figures 8 to 10: a heap that is sifted down, a nest over two
/// dimensions, and a list whose nodes lead to the next one at two places.
#[test]
fn loads_of_the_figures_of_the_paper_have_their_shapes() {
    let source = "#include <stddef.h>
struct entry { long pad[7]; float cost; };
void sift(struct entry **heap, long tail) {
 long from = 1, to = 2;
 while (to < tail) {
  if (to + 1 < tail && heap[to + 1]->cost < heap[to]->cost) to++;
  if (heap[to]->cost > heap[from]->cost) break;
  struct entry *kept = heap[to]; heap[to] = heap[from]; heap[from] = kept;
  from = to; to = 2 * from;
 }
}
struct layer { double p; long pad; };
double match(const struct layer *f1, double **bus, long rows, long columns, double *y) {
 double all = 0;
 for (long tj = 0; tj < columns; tj++) {
  double sum = 0;
  for (long ti = 0; ti < rows; ti++)
   sum += f1[ti].p * bus[ti][tj];
  y[tj] = sum; all += sum;
 } return all;
}
struct arc { struct node *tail, *head; long mark, cost; };
struct node { long pad; struct arc *arc; struct node *next; long potential; };
extern void see(long);
long prices(struct node *node) {
 long changed = 0;
 while (node) {
  if (node->arc->mark) { see(node->potential);
   node = node->next;
   continue;
  }
  changed += node->arc->cost;
  see(changed);
  node = node->next;
 } return changed;
}
";
    for patched in woven("figures.c", source, Kind::Variation) {
        let shapes = |name: &str, line: u32| -> Vec<LoadShape> {
            let mut functions = patched.map.functions.iter();
            let function = functions.find(|f| f.name == name).unwrap();
            let loads = function.loads.iter();
            let loads = loads.filter(|load| load.place.line == line);
            loads.map(|load| load.shape).collect()
        };
        let through = LoadShape::Geometric {
            factor: 2,
            through: true,
        };
        assert!(
            shapes("sift", 6).contains(&through),
            "{:?}",
            shapes("sift", 6)
        );
        let outer = LoadShape::Outer { stride: 8 };
        assert!(
            shapes("match", 18).contains(&outer),
            "{:?}",
            shapes("match", 18)
        );
        let field = LoadShape::Field { offset: 16 };
        assert!(
            shapes("prices", 28).contains(&field),
            "{:?}",
            shapes("prices", 28)
        );
        assert!(
            shapes("prices", 32).contains(&field),
            "{:?}",
            shapes("prices", 32)
        );
    }
}

#[test]
fn loads_with_predictable_addresses_are_found() {
    let source = "#include <stddef.h>
struct node { long pad; struct node *next; int value; };
struct pair { int left, right; };
extern void see(long);
extern int last(void);
long list(struct node *p) {
 long s = 0;
 while (p) { see(s);
  s += p->value;
  p = p->next;
 } return s;
}
long array(const struct pair *a, long n) {
 long s = 0;
 for (long i = 0; i < n; i++) { see(s);
  s += a[i].right;
 } return s;
}
long indirect(int **a, const int *b, long n) {
 long s = 0;
 for (long i = n; i > 0; i -= 2) { see(s);
  s += *a[i]
   + b[*a[i] & 7];
 } return s;
}
struct queue { long n; int head; int *trail; struct { int *data; long n; } *lists; };
long queue(struct queue *q) {
 long s = 0;
 while (q->head < q->n) { see(s);
  int next = q->trail[q->head++]; see(s);
  if (!next) next = last();
  s += q->lists[next].data[0];
  if (s < 0) q->head = q->n;
 } return s;
}
long fixed(const int *volatile *a, long n) { long s = 0; while (n--) s += **a; return s; }
long bucket(const long *const *buckets, unsigned long mask, const unsigned long *keys, long n) {
 long s = 0;
 for (long i = 0; i < n; i++) {
  const long *p =
   buckets[(keys[i] * 0x9e3779b97f4a7c15u >> 24) & mask];
  while (p && *p != s) p = (const long *)p[1]; see(s);
  if (p) s += p[2];
 } return s;
}
";
    for patched in woven("loads.c", source, Kind::Variation) {
        let loads = |name: &str| -> Vec<(u32, LoadShape)> {
            let mut functions = patched.map.functions.iter();
            let function = functions.find(|f| f.name == name).unwrap();
            let loads = function.loads.iter();
            loads
                .map(|load: &Load| (load.place.line, load.shape))
                .collect()
        };
        let chain = LoadShape::Chain { offset: 8 };
        assert_eq!(loads("list"), [(9, chain), (10, chain)]);
        let stride = LoadShape::Induction { stride: 8 };
        assert_eq!(loads("array"), [(16, stride)]);
        let (stride, through) = (
            LoadShape::Induction { stride: -16 },
            LoadShape::Through { stride: -16 },
        );
        assert_eq!(loads("indirect")[..2], [(22, stride), (22, through)]);
        // The index `head` is a member, so it is in memory.
        let (stride, through) = (
            LoadShape::Induction { stride: 4 },
            LoadShape::Through { stride: 4 },
        );
        assert_eq!(loads("queue"), [(30, stride), (32, through)]);
        assert_eq!(loads("fixed"), []);
        // The bucket is found through a hash of the key.
        let through = LoadShape::Through { stride: 8 };
        assert!(
            loads("bucket").contains(&(41, through)),
            "{:?}",
            loads("bucket")
        );
    }
    for patched in woven("loads.c", source, Kind::Paths) {
        let functions = patched.map.functions.iter();
        assert!(
            functions
                .into_iter()
                .all(|function| function.loads.is_empty())
        );
    }
}
