// std::thread, std::async and thread_local objects whose destructors run woven code when their thread ends.
//#expect-calls Local::~Local 13
//#expect-calls work 12
#include "marks.h"
#include <future>
#include <numeric>
#include <thread>
#include <vector>

struct Local {
  int uses = 0;
  KEPT Local() {}
  KEPT ~Local() { MARK(uses); }
};
thread_local Local local;

KEPT int work(int n) {
  local.uses++;
  return n * n;
}

int main() {
  local.uses++;
  std::vector<std::thread> threads;
  std::vector<int> results(8);
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&results, i] { results[i] = work(i); });
  for (auto &t : threads)
    t.join();
  int sum = std::accumulate(results.begin(), results.end(), 0);
  for (int i = 0; i < 4; i++)
    sum += std::async(std::launch::async, work, i).get();
  printf("%d\n", sum);
}
