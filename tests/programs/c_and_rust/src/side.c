long rust_square(long);

__attribute__((noinline)) long c_sum(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += rust_square(i);
  return sum;
}
