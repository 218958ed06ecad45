// Short names of files.

/** By file: as many of the last parts of its path as tell it apart from the other files. */
export function shortNames(paths: string[]): string[] {
  const all = [...new Set(paths)].map((path) => path.split("/"));
  const end = (parts: string[], length: number): string => parts.slice(-length).join("/");
  return paths.map((path) => {
    const parts = path.split("/");
    let length = 1;
    const isShared = (): boolean =>
      all.filter((other) => end(other, length) === end(parts, length)).length > 1;
    while (length < parts.length && isShared()) length += 1;
    return end(parts, length);
  });
}
