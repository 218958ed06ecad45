struct big { long a[12]; };
typedef float v4 __attribute__((vector_size(16)));

long ints(long a, long b, long c, long d, long e, long f, long g, long h) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
double doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
struct big big(struct big x, long n, double y) {
  for (int i = 0; i < 12; i++)
    x.a[i] = x.a[i] * n + (long)(y * 4);
  return x;
}
v4 vectors(v4 a, v4 b, v4 c, v4 d, v4 e, v4 f, v4 g, v4 h) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
