#include "marks.h"

__attribute__((constructor)) KEPT void plugin_start(void) { MARK(1); }
__attribute__((destructor)) KEPT void plugin_end(void) { MARK(2); }

KEPT int plugin_work(int n) {
  if (n & 1)
    MARK(3);
  return n + 1;
}

int plugin_entry(int n) { return plugin_work(n) + plugin_work(n + 1) - 1; }
