// An instrumented library opened and closed again and again, its functions called by two threads.
//#glibc musl loads no library with thread-local storage of the static kind after the start
//#shared libplugin.so plugin.c
//#build -ldl
//#expect-calls plugin_work 1500
//#expect-calls plugin_start 50
//#expect-calls plugin_end 50
//#expect-calls host 50
#include "marks.h"
#include <dlfcn.h>
#include <pthread.h>

static int (*entry)(int);

KEPT void *host(void *unused) {
  for (int i = 0; i < 10; i++)
    entry(i);
  return unused;
}

int main(void) {
  int sum = 0;
  for (int round = 0; round < 50; round++) {
    void *library = dlopen("./libplugin.so", RTLD_NOW);
    if (!library) {
      puts(dlerror());
      return 1;
    }
    entry = (int (*)(int))dlsym(library, "plugin_entry");
    pthread_t thread;
    pthread_create(&thread, 0, host, 0);
    for (int i = 0; i < 5; i++)
      sum += entry(i);
    pthread_join(thread, 0);
    if (dlclose(library))
      return 2;
  }
  printf("%d\n", sum);
}
