"""Reads strings, a line each, symbols as numbers; prints scikit-sequitur's grammar of each: right sides, ';' after each, rules as r<number>."""

import sys

from sksequitur import Grammar, Parser, Production

for line in sys.stdin:
    parser = Parser()
    parser.feed(int(word) for word in line.split())
    grammar = Grammar(parser.tree)
    sides = (grammar[rule] for rule in sorted(grammar))
    print(";".join(" ".join(f"r{int(v)}" if isinstance(v, Production) else str(v) for v in side) for side in sides))
