// Bundles the extension into dist/extension.js.

import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

await build({
  entryPoints: [path("src/extension.ts")],
  outfile: path("dist/extension.js"),
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  legalComments: "none",
});
