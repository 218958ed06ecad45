// The document of the page: lines of JSON, inflated once. A line is parsed when it is needed.

import { FORMAT, type FileWire, type FunctionWire, type Head, type Parts } from "./wire";

export class Profile {
  readonly head: Head;
  private readonly starts: number[] = [0];

  constructor(private readonly text: string) {
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) {
      this.starts.push(end + 1);
    }
    this.head = this.line(0) as Head;
    if (this.head.format !== FORMAT) {
      throw new Error(
        `the document has format ${this.head.format}, and this page reads format ${FORMAT}`,
      );
    }
  }

  get functionCount(): number {
    return this.head.functions.names.length;
  }

  /** What stands before a count: a sign that it is estimated, if it is. */
  get about(): string {
    return this.head.basis === null ? "" : "≈ ";
  }

  functionWire(index: number): FunctionWire {
    if (index < 0 || index >= this.functionCount)
      throw new RangeError(`the document has no function ${index}`);
    return this.line(1 + index) as FunctionWire;
  }

  fileWire(index: number): FileWire {
    return this.line(1 + this.functionCount + index) as FileWire;
  }

  /** A part of the run besides the counts. Null if the run does not have it. */
  part<Name extends keyof Parts>(name: Name): Parts[Name] | null {
    const index = this.head.parts.indexOf(name);
    if (index === -1) return null;
    return this.line(1 + this.functionCount + this.head.files.names.length + index) as Parts[Name];
  }

  private line(number: number): unknown {
    return JSON.parse(this.text.slice(this.starts[number], this.starts[number + 1]));
  }
}

/** Inflates the document in an element of the page. */
export async function openDocument(element: Element): Promise<Profile> {
  const binary = atob((element.textContent ?? "").trim());
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Profile(await new Response(stream).text());
}
