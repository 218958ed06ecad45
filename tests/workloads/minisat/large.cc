// MiniSat on one large formula with many answers (in place of driver.cc, for times of paths): what its search knows of is far larger than any cache.
#include "minisat/core/Solver.h"
#include <cstdio>
#include <cstdlib>

using namespace Minisat;

namespace {

unsigned long state = 1;

unsigned below(unsigned n) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (state >> 33) % n;
}

} // namespace

int main(int argc, char **argv) {
  const int variables = argc > 1 ? std::atoi(argv[1]) : 200000;
  const int clauses = argc > 2 ? std::atoi(argv[2]) : 600000;
  if (argc > 3)
    state = std::atoi(argv[3]);
  Solver solver;
  for (int v = 0; v < variables; v++)
    solver.newVar();
  for (int c = 0; c < clauses; c++) {
    vec<Lit> literals;
    for (int l = 0; l < 3; l++) {
      const int variable = below(variables);
      literals.push(mkLit(variable, below(2)));
    }
    solver.addClause(literals);
  }
  const bool found = solver.solve();
  unsigned long answer = 0;
  for (int v = 0; found && v < solver.nVars(); v++)
    answer = answer * 31 + (toInt(solver.modelValue(v)) == 0);
  std::printf("%s %lu conflicts %lu decisions %lx\n", found ? "yes" : "no", static_cast<unsigned long>(solver.conflicts),
              static_cast<unsigned long>(solver.decisions), answer);
  return 0;
}
