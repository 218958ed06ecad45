int all(int n, int (*visit)(int)) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += visit(i);
  return sum;
}
