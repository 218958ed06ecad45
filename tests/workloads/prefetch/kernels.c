/* Irregular kernels, and the loops of Figures 8 to 10 of Perelman, Chilimbi, Calder (2005):
   `kernels NAME [SCALE]` runs one of them on random data, and prints a checksum and, to stderr, the
   CPU seconds of the kernel without the setup. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 88172645463325252u;
static uint64_t drawn(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % below;
}
static void *zeroed(long count, size_t size) {
  void *memory = calloc(count, size);
  if (!memory) exit(1);
  return memory;
}
static long *permuted(long count) {
  long *order = zeroed(count, sizeof *order);
  for (long i = 0; i < count; i++) order[i] = i;
  for (long i = count - 1; i > 0; i--) {
    long j = drawn(i + 1), kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  return order;
}
static double begin;
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}
#define PRINT(format, value) \
  do { \
    begin = now(); \
    __typeof__(value) result = value; \
    fprintf(stderr, "%.6f\n", now() - begin); \
    printf(format "\n", result); \
  } while (0)
static inline uint64_t hash(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 24; }

/* Hash tables. */
struct entry { uint64_t key, value; struct entry *next; };
__attribute__((noinline)) static uint64_t join(struct entry *const *buckets, uint64_t mask, const uint64_t *keys, long n) {
  uint64_t sum = 0;
  for (long i = 0; i < n; i++) {
    const struct entry *entry = buckets[hash(keys[i]) & mask];
    while (entry && entry->key != keys[i]) entry = entry->next;
    if (entry) sum += entry->value;
  }
  return sum;
}
__attribute__((noinline)) static uint64_t probe(const uint64_t *table, uint64_t mask, const uint64_t *keys, long n) {
  uint64_t found = 0;
  for (long i = 0; i < n; i++) {
    uint64_t at = hash(keys[i]) & mask;
    while (table[at] && table[at] != keys[i]) at = (at + 1) & mask;
    if (table[at]) found += at;
  }
  return found;
}
__attribute__((noinline)) static void histogram(uint32_t *counts, uint64_t mask, const uint64_t *keys, long n) {
  for (long i = 0; i < n; i++)
    counts[hash(keys[i]) & mask]++;
}

/* Graphs. */
struct graph { long nodes; const long *first; const int *to; };
__attribute__((noinline)) static long breadth_first(const struct graph *graph, int *depths, int *queue) {
  long head = 0, tail = 1;
  memset(depths, -1, graph->nodes * sizeof *depths);
  depths[queue[0] = 0] = 0;
  while (head < tail) {
    int node = queue[head++];
    for (long e = graph->first[node]; e < graph->first[node + 1]; e++)
      if (depths[graph->to[e]] < 0) {
        depths[graph->to[e]] = depths[node] + 1;
        queue[tail++] = graph->to[e];
      }
  }
  return tail + depths[queue[tail - 1]];
}
__attribute__((noinline)) static long triangles(const struct graph *graph, const int *colors) {
  long same = 0;
  for (long node = 0; node < graph->nodes; node++)
    for (long e = graph->first[node]; e < graph->first[node + 1]; e++)
      if (colors[graph->to[e]] == colors[node]) same++;
      else same ^= e;
  return same;
}
__attribute__((noinline)) static double sparse(const struct graph *matrix, const double *x, double *y) {
  double all = 0;
  for (long row = 0; row < matrix->nodes; row++) {
    double sum = 0;
    for (long e = matrix->first[row]; e < matrix->first[row + 1]; e++)
      sum += x[matrix->to[e]];
    y[row] = sum;
    all += sum;
  }
  return all;
}

/* Objects behind pointers. */
struct object { int kind, value; char pad[120]; };
__attribute__((noinline)) static long objects(struct object *const *all, long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) {
    const struct object *object = all[i];
    switch (object->kind) {
    case 0: sum += object->value; break;
    case 1: sum ^= object->value * 3; break;
    case 2: sum -= object->value >> 1; break;
    default: sum += sum >> 3;
    }
  }
  return sum;
}
__attribute__((noinline)) static long gather(const int *at, const long *table, long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) {
    long value = table[at[i]];
    if (value & 1) sum += value;
    else sum ^= value >> 2;
  }
  return sum;
}

/* Lists. */
struct node { long value; struct node *next; struct object *object; char pad[104]; };
__attribute__((noinline)) static long list(const struct node *node) {
  long sum = 0;
  do {
    long x = node->value;
    for (int i = 0; i < 60; i++) x = x * 31 + (x >> 7);
    sum += x;
    node = node->next;
  } while (node);
  return sum;
}

/* Figure 8: a heap that is sifted down. */
__attribute__((noinline)) static long sift(struct object **heap, long tail, long n) {
  long steps = 0;
  for (long i = 0; i < n; i++) {
    struct object *last = heap[tail - 1];
    last->value += i & 1023;
    heap[1] = last;
    long from = 1, to = 2;
    while (to < tail) {
      if (to + 1 < tail && heap[to + 1]->value < heap[to]->value) to++;
      if (heap[to]->value > heap[from]->value) break;
      struct object *kept = heap[to];
      heap[to] = heap[from];
      heap[from] = kept;
      from = to;
      to = 2 * from;
      steps++;
    }
  }
  return steps;
}
/* Figure 9: a nest of loops over rows behind pointers. */
__attribute__((noinline)) static double nest(const double *p, double **bus, long rows, long columns, double *y) {
  double all = 0;
  for (long tj = 0; tj < columns; tj++) {
    double sum = 0;
    for (long ti = 0; ti < rows; ti++)
      sum += p[ti] * bus[ti][tj];
    y[tj] = sum;
    all += sum;
  }
  return all;
}
/* Figure 10: a list whose nodes lead to other objects. */
__attribute__((noinline)) static long prices(const struct node *node) {
  long changed = 0;
  while (node) {
    if (node->object->kind & 1) {
      changed += node->value;
      node = node->next;
      continue;
    }
    changed ^= node->object->value;
    node = node->next;
  }
  return changed;
}

static struct graph random_graph(long nodes, long degree) {
  long *first = zeroed(nodes + 1, sizeof *first);
  for (long i = 0; i < nodes; i++) first[i + 1] = first[i] + 1 + drawn(2 * degree - 1);
  int *to = zeroed(first[nodes], sizeof *to);
  for (long e = 0; e < first[nodes]; e++) to[e] = drawn(nodes);
  return (struct graph){nodes, first, to};
}
static struct object **random_objects(long n) {
  struct object *all = zeroed(n, sizeof *all), **to = zeroed(n, sizeof *to);
  long *order = permuted(n);
  for (long i = 0; i < n; i++) {
    all[i] = (struct object){.kind = drawn(4), .value = i};
    to[i] = &all[order[i]];
  }
  return to;
}
static struct node *random_list(long n) {
  struct node *all = zeroed(n, sizeof *all);
  long *order = permuted(n);
  struct object **objects = random_objects(n);
  for (long i = 0; i < n; i++)
    all[order[i]] = (struct node){drawn(n), i + 1 < n ? &all[order[i + 1]] : 0, objects[i]};
  return &all[order[0]];
}

int main(int count, char **words) {
  const char *name = count > 1 ? words[1] : "";
  long n = (count > 2 ? atol(words[2]) : 4) << 20;
  uint64_t mask = 1;
  while (mask < (uint64_t)n * 4) mask *= 2;
  mask--;
  uint64_t *keys = zeroed(n, sizeof *keys);
  for (long i = 0; i < n; i++) keys[i] = drawn(1ul << 60) + 1;
#define IS(kernel) (!strcmp(name, kernel))
  if (IS("join")) {
    struct entry **buckets = zeroed(mask + 1, sizeof *buckets), *all = zeroed(n, sizeof *all);
    for (long i = 0; i < n; i++) {
      struct entry *entry = &all[i];
      uint64_t at = hash(keys[drawn(n)]) & mask;
      *entry = (struct entry){keys[i], i, buckets[at]};
      buckets[at] = entry;
    }
    PRINT("%lu", join(buckets, mask, keys, n));
  } else if (IS("probe")) {
    uint64_t *table = zeroed(mask + 1, sizeof *table);
    for (long i = 0; i < n; i += 2) {
      uint64_t at = hash(keys[i]) & mask;
      while (table[at]) at = (at + 1) & mask;
      table[at] = keys[i];
    }
    PRINT("%lu", probe(table, mask, keys, n));
  } else if (IS("histogram")) {
    uint32_t *counts = zeroed(mask + 1, sizeof *counts);
    begin = now();
    for (int i = 0; i < 3; i++) histogram(counts, mask, keys, n);
    fprintf(stderr, "%.6f\n", now() - begin);
    uint64_t sum = 0;
    for (uint64_t i = 0; i <= mask; i++) sum = sum * 3 + counts[i];
    printf("%lu\n", sum);
  } else if (IS("breadth_first") || IS("triangles") || IS("sparse")) {
    struct graph graph = random_graph(n, 4);
    int *a = zeroed(n, sizeof *a), *b = zeroed(n, sizeof *b);
    double *x = zeroed(n, sizeof *x), *y = zeroed(n, sizeof *y);
    for (long i = 0; i < n; i++) x[i] = a[i] = drawn(3);
    if (IS("sparse")) PRINT("%g", sparse(&graph, x, y));
    else if (IS("triangles")) PRINT("%ld", triangles(&graph, a));
    else PRINT("%ld", breadth_first(&graph, a, b));
  } else if (IS("objects")) {
    struct object **all = random_objects(n);
    PRINT("%ld", objects(all, n) + objects(all, n));
  } else if (IS("gather")) {
    int *at = zeroed(n, sizeof *at);
    long *table = zeroed(mask + 1, sizeof *table);
    for (long i = 0; i < n; i++) at[i] = drawn(mask);
    for (uint64_t i = 0; i <= mask; i++) table[i] = drawn(1000);
    PRINT("%ld", gather(at, table, n) + gather(at, table, n));
  } else if (IS("list")) {
    struct node *all = random_list(n);
    PRINT("%ld", list(all) + list(all));
  } else if (IS("sift")) {
    struct object **heap = random_objects(n);
    PRINT("%ld", sift(heap, n, n / 16));
  } else if (IS("nest")) {
    long rows = n / 32, columns = 64;
    double *p = zeroed(rows, sizeof *p), *y = zeroed(columns, sizeof *y), **bus = zeroed(rows, sizeof *bus);
    double *memory = zeroed(rows * columns, sizeof *memory);
    long *order = permuted(rows);
    for (long i = 0; i < rows; i++) {
      p[i] = drawn(7);
      bus[i] = memory + order[i] * columns;
      for (long j = 0; j < columns; j++) bus[i][j] = drawn(5);
    }
    PRINT("%g", nest(p, bus, rows, columns, y));
  } else if (IS("prices")) {
    struct node *all = random_list(n);
    PRINT("%ld", prices(all) + prices(all));
  } else {
    fprintf(stderr, "kernels NAME [SCALE]: join, probe, histogram, breadth_first, triangles, sparse, objects, gather, list, sift, nest, prices\n");
    return 2;
  }
  return 0;
}
