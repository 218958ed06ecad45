// Finds the comments, strings, numbers, keywords, and types of Rust, C, and C++ code. The page has
// only parts of files, so a comment may have begun before the first line of a part.

export type Sort =
  "comment" | "string" | "number" | "keyword" | "type" | "call" | "macro" | "plain";

export interface Span {
  sort: Sort;
  text: string;
}

const RUST = words(`
  as async await break const continue crate dyn else enum extern false fn for if impl in let loop
  match mod move mut pub ref return self Self static struct super trait true type unsafe use where
  while yield`);
const C = words(`
  alignas alignof asm auto bool break case catch char class const constexpr consteval constinit
  const_cast continue decltype default delete do double dynamic_cast else enum explicit export
  extern false float for friend goto if inline int long mutable namespace new noexcept nullptr
  operator private protected public register reinterpret_cast restrict return short signed sizeof
  static static_assert static_cast struct switch template this throw true try typedef typeid
  typename union unsigned using virtual void volatile wchar_t while _Bool _Atomic
  _Static_assert`);

function words(text: string): Set<string> {
  return new Set(text.trim().split(/\s+/));
}

// The groups of a token, in this order: 1 line comment, 2 begin of a comment, 3 and 4 begin of a
// raw string, 5 string, 6 character, 7 directive or attribute, 8 number, 9 word.
const TOKEN = new RegExp(
  [
    /(\/\/.*)/,
    /(\/\*)/,
    /(b?r(#*)")/,
    /([bcuLU8]{0,2}"(?:[^"\\]|\\.)*"?)/,
    /('(?:[^'\\]|\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.))')/,
    /(^\s*#\s*\w+|#!?\[[^\]]*\]?)/,
    /(\b\d[\w.']*)/,
    /([A-Za-z_]\w*)/,
  ]
    .map((token) => token.source)
    .join("|"),
  "g",
);

interface State {
  comments: number;
  /** The end of a raw string, or null outside of raw strings. */
  raw: string | null;
}

/** The spans of each line of a part of a file. */
export function colorLines(lines: string[], path: string): Span[][] {
  const isRust = path.endsWith(".rs");
  const state: State = { comments: beginsInComment(lines) ? 1 : 0, raw: null };
  return lines.map((line) => colorLine(line, isRust, state));
}

/** Whether a comment ends before any begins. */
function beginsInComment(lines: string[]): boolean {
  for (const line of lines) {
    const [open, close] = [line.indexOf("/*"), line.indexOf("*/")];
    if (close !== -1 && (open === -1 || close < open)) return !line.slice(0, close).includes("//");
    if (open !== -1) return false;
  }
  return false;
}

function colorLine(line: string, isRust: boolean, state: State): Span[] {
  const spans: Span[] = [];
  const add = (sort: Sort, text: string): void => {
    if (text !== "") spans.push({ sort, text });
  };
  let at = 0;
  while (at < line.length) {
    if (state.comments > 0) {
      const end = endOfComment(line, at, isRust, state);
      add("comment", line.slice(at, end));
      at = end;
      continue;
    }
    if (state.raw !== null) {
      const close = line.indexOf(state.raw, at);
      const end = close === -1 ? line.length : close + state.raw.length;
      if (close !== -1) state.raw = null;
      add("string", line.slice(at, end));
      at = end;
      continue;
    }
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(line);
    if (!token) {
      add("plain", line.slice(at));
      break;
    }
    add("plain", line.slice(at, token.index));
    at = token.index + token[0].length;
    if (token[2]) {
      state.comments = 1;
      add("comment", token[0]);
    } else if (token[3] && isRust) {
      state.raw = '"' + (token[4] ?? "");
      add("string", token[0]);
    } else {
      add(sortOf(token, line[at] ?? "", isRust), token[0]);
    }
  }
  return spans;
}

/** Where the comment that is open at `at` ends in this line. Rust's comments nest. */
function endOfComment(line: string, at: number, isRust: boolean, state: State): number {
  const bound = /\/\*|\*\//g;
  bound.lastIndex = at;
  for (let match = bound.exec(line); match; match = bound.exec(line)) {
    if (match[0] === "*/") state.comments -= 1;
    else if (isRust) state.comments += 1;
    if (state.comments === 0) return match.index + 2;
  }
  return line.length;
}

function sortOf(token: RegExpExecArray, next: string, isRust: boolean): Sort {
  const text = token[0];
  if (token[1]) return "comment";
  if (token[3] || token[5] || token[6]) return "string";
  if (token[7]) return "macro";
  if (token[8]) return "number";
  if ((isRust ? RUST : C).has(text)) return "keyword";
  if (isRust && next === "!") return "macro";
  if (next === "(") return "call";
  if (
    /^[A-Z]/.test(text) ||
    /_t$/.test(text) ||
    (isRust && /^([iuf](8|16|32|64|128|size)|bool|char|str)$/.test(text))
  )
    return "type";
  return "plain";
}
