// The thread's first woven code with every argument register in use: integers, doubles, vectors, a hidden result
// pointer, a nest of 20 arguments. The slow path must save them all.
//#shared libwide.so wide.c
//#build -L. -lwide -Wl,-rpath,$ORIGIN
//#expect-calls ints 4
//#expect-calls doubles 4
//#expect-calls big 4
//#expect-calls vectors 4
#include "marks.h"
#include <pthread.h>

struct big { long a[12]; };
typedef float v4 __attribute__((vector_size(16)));
long ints(long, long, long, long, long, long, long, long);
double doubles(double, double, double, double, double, double, double, double, double);
struct big big(struct big, long, double);
v4 vectors(v4, v4, v4, v4, v4, v4, v4, v4);

static volatile int which;
static double results[4];

static void *body(void *unused) {
  struct big b = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  v4 v = {1, 2, 3, 4};
  int start = which;
  double sum = 0;
  for (int i = 0; i < 4; i++)
    switch ((start + i) % 4) {
    case 0: sum += ints(1, 2, 3, 4, 5, 6, 7, 8); break;
    case 1: sum += doubles(1, 2, 3, 4, 5, 6, 7, 8, 9); break;
    case 2: sum += big(b, 5, 0.5).a[11]; break;
    case 3: sum += vectors(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7)[2]; break;
    }
  results[start] = sum;
  return unused;
}

int main(void) {
  for (which = 0; which < 4; which++) {
    pthread_t thread;
    pthread_create(&thread, 0, body, 0);
    pthread_join(thread, 0);
  }
  printf("%.2f %.2f %.2f %.2f\n", results[0], results[1], results[2], results[3]);
}
