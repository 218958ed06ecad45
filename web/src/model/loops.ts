// The loops of a graph, from a depth-first search: an edge to a block on the search's stack goes
// back. A loop is the blocks that reach its back edges without passing its head.

import type { Graph } from "./graph";

export interface Loops {
  /** Blocks in reverse postorder. */
  order: number[];
  /** Back edges, each with its loop. */
  isBack: Map<number, number>;
  /** By loop: its blocks. */
  bodies: Set<number>[];
  heads: number[];
  /** By loop: the smallest loop around it, or -1. */
  parents: number[];
  /** By block: the innermost loop, or -1. */
  innermost: number[];
}

/** Finds the loops of these blocks and edges. The counts of samples may leave out the blocks that
 * lead to a block, so the search begins at every block that it has not reached yet. */
export function findLoops(graph: Graph, blocks: number[], edges: number[]): Loops {
  const count = graph.instructions.length;
  const out: number[][] = Array.from({ length: count }, () => []);
  const into: number[][] = Array.from({ length: count }, () => []);
  for (const edge of edges) {
    out[graph.edges[edge]!.from]!.push(edge);
    into[graph.edges[edge]!.to]!.push(edge);
  }
  const { order, back } = search(graph, [graph.entry, ...blocks], out);
  const heads = [...new Set(back.map((edge) => graph.edges[edge]!.to))];
  const backEdges = new Set(back);
  const bodies = heads.map((head) =>
    body(
      graph,
      head,
      back.filter((edge) => graph.edges[edge]!.to === head),
      into,
      backEdges,
    ),
  );
  const bySize = bodies.map((_, loop) => loop).sort((a, b) => bodies[b]!.size - bodies[a]!.size);
  const innermost = Array.from({ length: count }, () => -1);
  const parents = bodies.map(() => -1);
  for (const loop of bySize) {
    parents[loop] = innermost[heads[loop]!]!;
    for (const block of bodies[loop]!) innermost[block] = loop;
  }
  const isBack = new Map(back.map((edge) => [edge, heads.indexOf(graph.edges[edge]!.to)]));
  return { order, isBack, bodies, heads, parents, innermost };
}

function search(
  graph: Graph,
  roots: number[],
  out: number[][],
): { order: number[]; back: number[] } {
  const state = new Uint8Array(out.length);
  const back: number[] = [];
  const orders = roots.map((root) =>
    state[root] === 0 ? searchFrom(graph, root, out, state, back) : [],
  );
  // A later search has edges to blocks of earlier ones, but not the other way around.
  return { order: orders.reverse().flat(), back };
}

/** A depth-first search without recursion, because graphs may be deep. Returns the blocks in
 * reverse postorder. State 1: on the stack, 2: done. */
function searchFrom(
  graph: Graph,
  root: number,
  out: number[][],
  state: Uint8Array,
  back: number[],
): number[] {
  const postorder: number[] = [];
  const stack = [{ block: root, next: 0 }];
  state[root] = 1;
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    const edge = out[top.block]![top.next++];
    if (edge === undefined) {
      state[top.block] = 2;
      postorder.push(top.block);
      stack.pop();
      continue;
    }
    const { to } = graph.edges[edge]!;
    if (state[to] === 1) back.push(edge);
    else if (state[to] === 0) {
      state[to] = 1;
      stack.push({ block: to, next: 0 });
    }
  }
  return postorder.reverse();
}

function body(
  graph: Graph,
  head: number,
  back: number[],
  into: number[][],
  backEdges: Set<number>,
): Set<number> {
  const body = new Set([head]);
  const waiting = back.map((edge) => graph.edges[edge]!.from);
  for (let block = waiting.pop(); block !== undefined; block = waiting.pop()) {
    if (body.has(block)) continue;
    body.add(block);
    for (const edge of into[block]!) {
      const isEntryFromElsewhere = backEdges.has(edge) && graph.edges[edge]!.to === head;
      if (!isEntryFromElsewhere) waiting.push(graph.edges[edge]!.from);
    }
  }
  return body;
}
