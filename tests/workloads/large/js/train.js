// The training script: other programs than those of quickjs/work.js. `size` and `print` come from the
// driver.
"use strict";

function queens(n) {
  const place = (row, columns, left, right) => {
    if (row === n) return 1;
    let found = 0;
    for (let column = 0; column < n; column++) {
      if (columns.has(column) || left.has(row + column) || right.has(row - column)) continue;
      columns.add(column); left.add(row + column); right.add(row - column);
      found += place(row + 1, columns, left, right);
      columns.delete(column); left.delete(row + column); right.delete(row - column);
    }
    return found;
  };
  return place(0, new Set(), new Set(), new Set());
}

function matrix(n) {
  const row = (i) => Array.from({ length: n }, (_, k) => ((i * 7 + k * 3) % 11) / 4);
  const a = Array.from({ length: n }, (_, i) => row(i));
  const product = a.map((line) => a[0].map((_, k) => line.reduce((sum, x, i) => sum + x * a[i][k], 0)));
  return product.flat().reduce((sum, x) => sum + x, 0).toFixed(2);
}

class Account {
  #balance = 0;
  constructor(owner) { this.owner = owner; }
  add(amount) {
    if (amount < 0 && this.#balance + amount < 0) throw new Error(`${this.owner} has no money`);
    this.#balance += amount;
    return this;
  }
  get balance() { return this.#balance; }
}
class Savings extends Account {
  add(amount) { return super.add(Math.trunc(amount * 1.01)); }
}

function bank(n) {
  const accounts = ["ann", "bob", "cyd"].map((name, i) => (i ? new Savings(name) : new Account(name)));
  let refused = 0;
  for (let i = 0; i < n; i++) {
    try {
      accounts[i % 3].add((i * 37) % 101 - 45);
    } catch ({ message }) {
      refused += message.length;
    }
  }
  return [refused, ...accounts.map((account) => account.balance)].join(" ");
}

function tokens(n) {
  const source = "let total = (price + 4.25) * count - offset[12]; // the sum\n".repeat(n);
  const counts = {};
  for (const [word] of source.matchAll(/[a-z]+|\d+(?:\.\d+)?|[^\s\w]/g)) counts[word] = (counts[word] || 0) + 1;
  return JSON.stringify(counts);
}

function* primes() {
  const found = [];
  for (let n = 2; ; n++) {
    if (found.every((p) => n % p)) { found.push(n); yield n; }
  }
}

function collatz(n) {
  let longest = 0;
  for (let i = 1; i < n; i++) {
    let steps = 0;
    for (let k = i; k !== 1; k = k % 2 ? 3 * k + 1 : k / 2) steps++;
    if (steps > longest) longest = steps;
  }
  return longest;
}

function heap(n) {
  const items = [];
  for (let i = 0; i < n; i++) {
    let at = items.push({ key: (i * 7919) % 1009, name: "n" + i }) - 1;
    while (at > 0 && items[(at - 1) >> 1].key > items[at].key) {
      const up = (at - 1) >> 1;
      [items[at], items[up]] = [items[up], items[at]];
      at = up;
    }
  }
  return items.slice(0, 3).map(({ key, name }) => name + ":" + key).join(",");
}

print("queens", queens(5), queens(6));
print("matrix", matrix(10 * size));
print("bank", bank(3000 * size));
print("tokens", tokens(60 * size));
let last = 0;
for (const prime of primes()) { if (prime > 300 * size) break; last = prime; }
print("primes", last);
print("collatz", collatz(400 * size));
print("heap", heap(1500 * size));
print("powers", 3n ** BigInt(100 * size) % 1000003n);
print("names", "x y zz".repeat(200 * size).split(" ").map((w) => w.padStart(4, "-")).join("").length);
