// Places the blocks of a graph in layers, from top to bottom. A loop's blocks stay together: code
// after a loop is below all of the loop's blocks (the idea of iongraph). Edges that skip layers
// pass through invisible nodes, so that they do not cross blocks.

import { EdgeKind, type Graph } from "./graph";
import { findLoops, type Loops } from "./loops";

export const NODE_WIDTH = 176;
export const NODE_HEIGHT = 46;
const GAP_X = 26;
const GAP_Y = 44;
const THIN = 14;
const SWEEPS = 8;

export interface Box {
  block: number;
  x: number;
  y: number;
}

export interface Line {
  edge: number;
  isBack: boolean;
  points: [number, number][];
}

export interface Layout {
  /** By block; null for blocks that are not shown. */
  boxes: (Box | null)[];
  lines: Line[];
  width: number;
  height: number;
  loops: Loops;
}

interface Node {
  block: number;
  layer: number;
  width: number;
  x: number;
  up: Node[];
  down: Node[];
}

/** Lays out the blocks for which `isShown` holds. */
export function layOut(graph: Graph, isShown: (block: number) => boolean): Layout {
  const edges = graph.edges
    .map((_, number) => number)
    .filter((number) => {
      const { from, to, kind } = graph.edges[number]!;
      return kind !== EdgeKind.Exit && to !== graph.exit && isShown(from) && isShown(to);
    });
  const blocks = graph.instructions.map((_, block) => block).filter(isShown);
  const loops = findLoops(graph, blocks, edges);
  const forward = edges.filter((edge) => !loops.isBack.has(edge));
  const layers = layersOf(graph, forward, loops);
  const nodes = layers.map((layer, block) => (layer < 0 ? null : node(block, layer, NODE_WIDTH)));
  const routes = new Map<number, Node[]>();
  const rows: Node[][] = [];
  const place = (each: Node): void => void (rows[each.layer] ??= []).push(each);
  loops.order.forEach((block) => nodes[block] && place(nodes[block]!));
  for (const edge of forward) {
    const [from, to] = [nodes[graph.edges[edge]!.from]!, nodes[graph.edges[edge]!.to]!];
    const route = [from];
    for (let layer = from.layer + 1; layer < to.layer; layer++) {
      const thin = node(-1, layer, THIN);
      place(thin);
      route.push(thin);
    }
    route.push(to);
    routes.set(edge, route);
    for (let index = 1; index < route.length; index++) {
      route[index - 1]!.down.push(route[index]!);
      route[index]!.up.push(route[index - 1]!);
    }
  }
  order(rows);
  position(rows);
  return finish(graph, loops, edges, nodes, routes, rows);
}

function node(block: number, layer: number, width: number): Node {
  return { block, layer, width, x: 0, up: [], down: [] };
}

/** The longest way to each block, with code after a loop below the whole loop. -1: not reached. */
function layersOf(graph: Graph, forward: number[], loops: Loops): number[] {
  const layers = graph.instructions.map(() => -1);
  const into: number[][] = graph.instructions.map(() => []);
  forward.forEach((edge) => into[graph.edges[edge]!.to]!.push(edge));
  for (const block of loops.order) {
    let layer = 0;
    for (const edge of into[block]!) {
      const { from } = graph.edges[edge]!;
      layer = Math.max(layer, layers[from]! + 1);
      // The loops of the source that do not contain the target end above it.
      for (
        let loop = loops.innermost[from]!;
        loop >= 0 && !loops.bodies[loop]!.has(block);
        loop = loops.parents[loop]!
      ) {
        for (const inside of loops.bodies[loop]!) layer = Math.max(layer, layers[inside]! + 1);
      }
    }
    layers[block] = layer;
  }
  return layers;
}

/** Reorders the nodes of each layer by the mean position of their neighbors. */
function order(rows: Node[][]): void {
  const number = (row: Node[]): void => row.forEach((each, index) => (each.x = index));
  rows.forEach(number);
  const sort = (row: Node[], neighbors: (node: Node) => Node[]): void => {
    const key = new Map(
      row.map((each) => {
        const list = neighbors(each);
        return [
          each,
          list.length === 0 ? each.x : list.reduce((sum, other) => sum + other.x, 0) / list.length,
        ];
      }),
    );
    row.sort((a, b) => key.get(a)! - key.get(b)!);
    number(row);
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const row of rows) sort(row, (each) => each.up);
    for (const row of [...rows].reverse()) sort(row, (each) => each.down);
  }
}

/** Moves nodes toward the middle of their neighbors, without changing their order. */
function position(rows: Node[][]): void {
  for (const row of rows) {
    let x = 0;
    for (const each of row) {
      each.x = x + each.width / 2;
      x += each.width + GAP_X;
    }
  }
  const settle = (row: Node[], neighbors: (node: Node) => Node[]): void => {
    const wanted = row.map((each) => {
      const list = neighbors(each);
      return list.length === 0
        ? each.x
        : list.reduce((sum, other) => sum + other.x, 0) / list.length;
    });
    spread(row, wanted);
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const row of rows) settle(row, (each) => each.up);
    for (const row of [...rows].reverse()) settle(row, (each) => each.down);
  }
  for (const row of rows) settle(row, (each) => [...each.up, ...each.down]);
}

/** Gives the nodes of a row the wanted positions as far as their widths allow: nodes that overlap
 * become a group around the mean of their wishes. */
function spread(row: Node[], wanted: number[]): void {
  interface Group {
    first: number;
    last: number;
    start: number;
    width: number;
    sum: number;
    count: number;
  }
  const groups: Group[] = [];
  row.forEach((each, index) => {
    let group: Group = {
      first: index,
      last: index,
      start: wanted[index]! - each.width / 2,
      width: each.width,
      sum: wanted[index]! - each.width / 2,
      count: 1,
    };
    for (
      let before = groups[groups.length - 1];
      before && before.start + before.width + GAP_X > group.start;
      before = groups[groups.length - 1]
    ) {
      groups.pop();
      const offset = before.width + GAP_X;
      const sum = before.sum + group.sum - group.count * offset;
      const count = before.count + group.count;
      group = {
        first: before.first,
        last: group.last,
        start: sum / count,
        width: offset + group.width,
        sum,
        count,
      };
    }
    groups.push(group);
  });
  for (const group of groups) {
    let x = group.start;
    for (let index = group.first; index <= group.last; index++) {
      row[index]!.x = x + row[index]!.width / 2;
      x += row[index]!.width + GAP_X;
    }
  }
}

function finish(
  graph: Graph,
  loops: Loops,
  edges: number[],
  nodes: (Node | null)[],
  routes: Map<number, Node[]>,
  rows: Node[][],
): Layout {
  const all = rows.flat();
  // Back edges run on the left side of their loop's blocks, or of their two blocks.
  const left = Math.min(0, ...all.map((each) => each.x - each.width / 2));
  const right = Math.max(0, ...all.map((each) => each.x + each.width / 2));
  const margin = 30 + 10 * Math.min(12, loops.bodies.length);
  const shift = margin - left;
  const top = (layer: number): number => 20 + layer * (NODE_HEIGHT + GAP_Y);
  const boxes = nodes.map(
    (each) => each && { block: each.block, x: each.x + shift - NODE_WIDTH / 2, y: top(each.layer) },
  );
  const lines = edges.map((edge): Line => {
    const { from, to } = graph.edges[edge]!;
    const [a, b] = [boxes[from]!, boxes[to]!];
    const route = routes.get(edge);
    if (!route) {
      const loop = loops.isBack.get(edge)!;
      const inside = [...loops.bodies[loop]!].map((block) => boxes[block]!.x);
      const side = Math.min(...inside) - 14 - 6 * (loop % 3);
      const [start, end] = [a.y + NODE_HEIGHT, b.y];
      return {
        edge,
        isBack: true,
        points: [
          [a.x + NODE_WIDTH / 2 - 12, start],
          [a.x + NODE_WIDTH / 2 - 12, start + 14],
          [side, start + 14],
          [side, end - 14],
          [b.x + NODE_WIDTH / 2 - 12, end - 14],
          [b.x + NODE_WIDTH / 2 - 12, end],
        ],
      };
    }
    const points: [number, number][] = [[a.x + port(graph, edge, from), a.y + NODE_HEIGHT]];
    for (const thin of route.slice(1, -1)) {
      points.push(
        [thin.x + shift, top(thin.layer) - 4],
        [thin.x + shift, top(thin.layer) + NODE_HEIGHT + 4],
      );
    }
    points.push([b.x + NODE_WIDTH / 2, b.y]);
    return { edge, isBack: false, points };
  });
  return { boxes, lines, width: right + shift + 20, height: top(rows.length) + 10, loops };
}

/** Where an edge leaves its block: the edges of a block leave side by side. */
function port(graph: Graph, edge: number, from: number): number {
  const siblings = graph.out[from]!;
  const share = (siblings.indexOf(edge) + 1) / (siblings.length + 1);
  return NODE_WIDTH * (0.2 + 0.6 * share);
}
