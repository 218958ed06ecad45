// The part of a grammar's graph around one of its rules: the rules that use it, and the largest rules
// and events that it stands for (Larus 1999, section 3: the grammar as a directed acyclic graph).

import type { Grammar, Part } from "./grammar";

export interface RuleNode {
  part: Part;
  /** 0 for the chosen rule, −1 for its users, and from 1 on for its parts. */
  level: number;
  /** Different symbols of its right side that are not shown. */
  hidden: number;
}

export interface RuleEdge {
  from: RuleNode;
  to: RuleNode;
  /** How often the symbol stands on the right side. */
  times: number;
}

export interface RuleGraph {
  nodes: RuleNode[];
  edges: RuleEdge[];
  /** Users that are not shown. */
  hiddenUsers: number;
}

/** A symbol of a right side, with how often it stands there. */
interface Child {
  part: Part;
  times: number;
  /** Events that it stands for on this right side. */
  events: number;
}

const MAX_NODES = 15;
const MAX_CHILDREN = 4;
const MAX_USERS = 4;
const MAX_LEVEL = 4;

export function ruleGraph(grammar: Grammar, rule: number): RuleGraph {
  const root: RuleNode = { part: { sort: "rule", id: rule }, level: 0, hidden: 0 };
  const nodes = new Map<string, RuleNode>([[key(root.part), root]]);
  const edges: RuleEdge[] = [];
  const waiting = [root];
  while (waiting.length > 0) {
    // The node with the most events is opened first.
    waiting.sort((a, b) => grammar.eventsOf(b.part) - grammar.eventsOf(a.part));
    const node = waiting.shift()!;
    if (node.part.sort !== "rule") continue;
    const children = childrenOf(grammar, node.part.id);
    const isFull = nodes.size >= MAX_NODES || node.level >= MAX_LEVEL;
    const shown = children.slice(0, isFull ? 0 : MAX_CHILDREN);
    node.hidden = children.length - shown.length;
    for (const { part, times } of shown) {
      const known = nodes.get(key(part));
      const child = known ?? { part, level: node.level + 1, hidden: 0 };
      child.level = Math.max(child.level, node.level + 1);
      edges.push({ from: node, to: child, times });
      if (known) continue;
      nodes.set(key(part), child);
      waiting.push(child);
    }
  }
  deepen(edges, nodes.size);
  const users = usersOf(grammar, rule);
  for (const { rule: user, times } of users.slice(0, MAX_USERS)) {
    const node: RuleNode = { part: { sort: "rule", id: user }, level: -1, hidden: 0 };
    nodes.set(`user ${user}`, node);
    edges.push({ from: node, to: root, times });
  }
  return {
    nodes: [...nodes.values()],
    edges,
    hiddenUsers: Math.max(0, users.length - MAX_USERS),
  };
}

/** Moves each node below all of its users. */
function deepen(edges: RuleEdge[], rounds: number): void {
  for (let round = 0; round < rounds; round++) {
    let isStable = true;
    for (const { from, to } of edges) {
      if (to.level > from.level) continue;
      to.level = from.level + 1;
      isStable = false;
    }
    if (isStable) return;
  }
}

/** The different symbols of a right side, those with the most events first. */
export function childrenOf(grammar: Grammar, rule: number): Child[] {
  const children = new Map<string, Child>();
  for (const part of grammar.rightSide(rule)) {
    const child = children.get(key(part)) ?? { part, times: 0, events: 0 };
    child.times += 1;
    child.events += grammar.eventsOf(part);
    children.set(key(part), child);
  }
  return [...children.values()].sort((a, b) => b.events - a.events);
}

function usersOf(grammar: Grammar, rule: number): { rule: number; times: number }[] {
  const users = [];
  for (let user = 0; user < grammar.length; user++) {
    let times = 0;
    for (const part of grammar.rightSide(user))
      if (part.sort === "rule" && part.id === rule) times += 1;
    if (times > 0) users.push({ rule: user, times });
  }
  return users.sort((a, b) => b.times - a.times);
}

function key(part: Part): string {
  return `${part.sort} ${part.id}`;
}
