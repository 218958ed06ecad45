// A fixed day's work: objects and methods, typed arrays, strings, regular expressions, closures, maps, sorting,
// generators, exceptions, JSON, big integers. `size` and `print` come from the driver.
"use strict";

let state = 42;
function random(n) {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return (state >>> 8) % n;
}

class Shape {
  constructor(w, h) { this.w = w; this.h = h; }
  area() { return this.w * this.h; }
}
class Square extends Shape {
  constructor(w) { super(w, w); }
  area() { return super.area() - 1; }
}

function shapes(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const shape = i % 3 ? new Shape(i & 15, 3) : new Square(i & 7);
    sum += shape.area();
  }
  return sum;
}

function sieve(n) {
  const composite = new Uint8Array(n);
  let primes = 0;
  for (let i = 2; i < n; i++) {
    if (composite[i]) continue;
    primes++;
    for (let k = i * i; k < n; k += i) composite[k] = 1;
  }
  return primes;
}

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

function words(n) {
  const counts = new Map();
  for (let i = 0; i < n; i++) {
    let word = "";
    for (let k = 0; k < 1 + random(3); k++) word += String.fromCharCode(97 + random(5));
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const rows = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return rows.slice(0, 4).map(([w, c]) => `${w}=${c}`).join(" ");
}

function* walk(tree) {
  if (!tree) return;
  yield* walk(tree.left);
  yield tree.key;
  yield* walk(tree.right);
}

function tree(n) {
  let root = null, sum = 0;
  const insert = (node, key) => {
    if (!node) return { key, left: null, right: null };
    if (key < node.key) node.left = insert(node.left, key);
    else if (key > node.key) node.right = insert(node.right, key);
    return node;
  };
  for (let i = 0; i < n; i++) root = insert(root, random(100000));
  for (const key of walk(root)) sum = (sum * 31 + key) | 0;
  return sum;
}

function text(n) {
  const line = "On 2024-03-17 the quick brown fox (aged 7) paid 12.50 to lazy-dog@example.org; ";
  const long = line.repeat(n);
  const dates = long.replace(/(\d+)-(\d+)-(\d+)/g, "$3.$2.$1");
  const mails = long.match(/[\w-]+@\w+\.\w+/g).length;
  const upper = long.split(" ").filter((w) => /^[a-z]+$/.test(w)).map((w) => w.toUpperCase()).join("");
  return [dates.length, mails, upper.length].join(" ");
}

function caught(n) {
  let seen = 0;
  for (let i = 0; i < n; i++) {
    try {
      if (i % 3 === 0) throw new RangeError("third " + (i & 3));
      seen++;
    } catch (error) {
      seen += error.message.length;
    } finally {
      seen ^= i;
    }
  }
  return seen;
}

function json(n) {
  const rows = [];
  for (let i = 0; i < n; i++) rows.push({ id: i, name: "row " + i, tags: ["a", "b\n", i % 2 === 0], half: i / 2 });
  const back = JSON.parse(JSON.stringify(rows));
  return back.reduce((sum, row) => sum + row.half + row.tags.length, 0);
}

function factorial(n) {
  let product = 1n;
  for (let i = 2n; i <= n; i++) product *= i;
  return product % 1000000007n;
}

print("shapes", shapes(20000 * size));
print("sieve", sieve(50000 * size));
print("fib", fib(20), Array.from({ length: size }, () => fib(19)).length);
print("words", words(4000 * size));
print("tree", tree(1500 * size));
print("text", text(60 * size));
print("caught", caught(8000 * size));
print("json", json(700 * size));
print("factorial", factorial(BigInt(80 * size)));
print("sorted", Array.from({ length: 4000 * size }, () => random(1e6)).sort((a, b) => a - b)[17]);
