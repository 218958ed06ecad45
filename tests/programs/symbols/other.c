int weak_one(int n) { return n * 10; }
int weak_two(int n) { return n * 20; }
