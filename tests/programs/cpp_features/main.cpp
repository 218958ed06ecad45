// Templates, virtual calls, lambdas, inline statics, coroutines, containers, streams: output compared, calls counted.
//#build -std=c++20
//#expect-calls Square::area 50
//#expect-calls Circle::area 50
#include "marks.h"
#include <algorithm>
#include <coroutine>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual long area() const = 0;
};
struct Square : Shape {
  long side;
  explicit Square(long s) : side(s) {}
  KEPT long area() const override { MARK(1); return side * side; }
};
struct Circle : Shape {
  long radius;
  explicit Circle(long r) : radius(r) {}
  KEPT long area() const override { MARK(2); return 3 * radius * radius; }
};

struct Generator {
  struct promise_type {
    int value;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) { value = v; return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
  ~Generator() { handle.destroy(); }
  bool next() { handle.resume(); return !handle.done(); }
};

static Generator counter(int n) {
  for (int i = 0; i < n; i++)
    co_yield i * i;
}

template <class T> struct Counted {
  static inline int made = 0;
  Counted() { made++; }
};

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 100; i++)
    if (i % 2)
      shapes.push_back(std::make_unique<Square>(i));
    else
      shapes.push_back(std::make_unique<Circle>(i));
  long sum = 0;
  for (auto &s : shapes)
    sum += s->area();
  std::map<std::string, int> words;
  std::istringstream text("one two three two three three");
  for (std::string word; text >> word;)
    words[word]++;
  std::function<int(int)> fibonacci = [&](int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); };
  Counted<int> a, b;
  Counted<long> c;
  auto generator = counter(10);
  while (generator.next())
    sum += generator.handle.promise().value;
  for (auto &[word, count] : words)
    std::cout << word << ' ' << count << '\n';
  std::cout << sum << ' ' << fibonacci(15) << ' ' << Counted<int>::made << Counted<long>::made << std::endl;
}
