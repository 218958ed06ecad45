// Static objects with init_priority, iostreams in constructors, function statics, destructors at exit.
//#expect-calls Noisy::Noisy 4
//#expect-calls Noisy::~Noisy 4
#include "marks.h"
#include <iostream>
#include <string>

struct Noisy {
  std::string name;
  KEPT Noisy(const char *n) : name(n) {
    static std::ios_base::Init streams; // the early one comes before the streams' own
    std::cout << "hello " << name << std::endl;
  }
  KEPT ~Noisy() { std::cout << "goodbye " << name << std::endl; }
};

Noisy plain("plain");
__attribute__((init_priority(200))) Noisy early("early");
static Noisy other("other");

int main() {
  static Noisy inside("inside");
  std::cout << "main" << std::endl;
}
