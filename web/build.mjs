// Bundles the page into crates/report/src/html/bundle, where the crate includes it.
// `node build.mjs --check` fails if the committed bundle differs from its sources.

import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../crates/report/src/html/bundle/", import.meta.url));
const source = (name) => fileURLToPath(new URL(`src/${name}`, import.meta.url));

const result = await build({
  entryPoints: { page: source("main.ts"), style: source("style.css") },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome123", "firefox120", "safari17.5"],
  charset: "utf8",
  legalComments: "none",
  write: false,
});

let differs = false;
for (const file of result.outputFiles) {
  const name = file.path.endsWith(".css") ? "page.css" : "page.js";
  if (process.argv.includes("--check")) {
    differs ||= readFileSync(folder + name, "utf8") !== file.text;
  } else {
    writeFileSync(folder + name, file.text);
  }
}
if (differs) {
  console.error("the bundle in crates/report/src/html/bundle is old: run `npm run build` in web/");
  process.exit(1);
}
