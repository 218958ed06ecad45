// Exceptions that leave loops in threads, travel as exception_ptr, and are thrown again, nested in others, elsewhere.
//#build -std=c++20
//#expect-calls fails 96
//#expect-calls Guard::~Guard 192
//#expect-calls rethrow 48
//#expect-calls unwrap 96
#include "marks.h"
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local long dropped;

struct Guard {
  int n;
  KEPT explicit Guard(int n) : n(n) {}
  KEPT ~Guard() {
    for (int i = 0; i <= n % 3; i++)
      dropped++;
  }
};

KEPT int fails(int n) {
  int sum = 0;
  for (int i = 0;; i++) {
    Guard guard(i);
    sum += i;
    if (i == 1) {
      if (n % 2)
        throw std::runtime_error(std::to_string(n));
      return sum;
    }
  }
}

KEPT std::exception_ptr caught(int n, long &sum) {
  try {
    sum += fails(n);
  } catch (...) {
    try {
      std::throw_with_nested(std::logic_error("nested"));
    } catch (...) {
      return std::current_exception();
    }
  }
  return nullptr;
}

KEPT long unwrap(const std::exception &e) {
  long sum = e.what()[0];
  try {
    std::rethrow_if_nested(e);
  } catch (const std::exception &inner) {
    for (int i = 0; i < 3; i++)
      sum += unwrap(inner);
  }
  return sum;
}

KEPT long rethrow(std::exception_ptr pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const std::logic_error &e) {
    long sum = 0;
    try {
      std::rethrow_if_nested(e);
    } catch (const std::runtime_error &inner) {
      sum = unwrap(inner);
    }
    return sum + unwrap(std::logic_error("plain"));
  }
}

int main() {
  std::vector<std::thread> threads;
  std::vector<std::vector<std::exception_ptr>> pointers(4);
  std::vector<long> sums(4);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 24; i++)
        pointers[t].push_back(caught(t * 24 + i, sums[t]));
      sums[t] += 1000 * dropped;
    });
  for (auto &thread : threads)
    thread.join();
  long sum = 0;
  for (int t = 0; t < 4; t++) {
    for (auto &pointer : pointers[t])
      if (pointer)
        sum += rethrow(pointer);
    sum += sums[t];
  }
  printf("%ld\n", sum);
}
