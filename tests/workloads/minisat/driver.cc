// MiniSat's main program reads gzipped files: `minisat SIZE` makes its formulas itself. Random 3-SAT where half of them
// have a solution, pigeons in holes, and a colouring; it prints each answer and how the search went.
#include "minisat/simp/SimpSolver.h"
#include <cstdio>
#include <cstdlib>

using namespace Minisat;

namespace {

unsigned state = 1;

unsigned below(unsigned n) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % n;
}

void report(const char *name, SimpSolver &solver) {
  const bool found = solver.solve();
  unsigned long answer = 0;
  for (int v = 0; found && v < solver.nVars(); v++)
    answer = answer * 31 + (toInt(solver.modelValue(v)) == 0);
  std::printf("%s %s %lu conflicts %lu decisions %lx\n", name, found ? "yes" : "no",
              static_cast<unsigned long>(solver.conflicts), static_cast<unsigned long>(solver.decisions), answer);
}

void random_formula(int variables, int clauses) {
  SimpSolver solver;
  for (int v = 0; v < variables; v++)
    solver.newVar();
  for (int c = 0; c < clauses; c++) {
    int a = below(variables), b = below(variables), d = below(variables);
    unsigned signs = below(8);
    solver.addClause(mkLit(a, signs & 1), mkLit(b, signs & 2), mkLit(d, signs & 4));
  }
  report("random", solver);
}

void pigeons(int holes) {
  SimpSolver solver;
  for (int v = 0; v < (holes + 1) * holes; v++)
    solver.newVar();
  for (int p = 0; p <= holes; p++) {
    vec<Lit> somewhere;
    for (int h = 0; h < holes; h++)
      somewhere.push(mkLit(p * holes + h));
    solver.addClause(somewhere);
  }
  for (int h = 0; h < holes; h++)
    for (int p = 0; p <= holes; p++)
      for (int q = 0; q < p; q++)
        solver.addClause(~mkLit(p * holes + h), ~mkLit(q * holes + h));
  report("pigeons", solver);
}

void colouring(int nodes, int edges) {
  SimpSolver solver;
  for (int v = 0; v < nodes * 3; v++)
    solver.newVar();
  for (int n = 0; n < nodes; n++)
    solver.addClause(mkLit(n * 3), mkLit(n * 3 + 1), mkLit(n * 3 + 2));
  for (int e = 0; e < edges; e++) {
    int a = below(nodes), b = below(nodes);
    if (a != b)
      for (int colour = 0; colour < 3; colour++)
        solver.addClause(~mkLit(a * 3 + colour), ~mkLit(b * 3 + colour));
  }
  report("colouring", solver);
}

} // namespace

int main(int argc, char **argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int round = 0; round < size; round++) {
    random_formula(150, 639);
    colouring(160, 368);
  }
  pigeons(size < 4 ? 6 : 7);
  return 0;
}
