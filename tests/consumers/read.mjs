// Opens an exported file with a program that is not ours, and prints what it read as JSON.
// `node read.mjs FORMAT FILE`; tests/tests/export.rs compares the output with the report.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { gunzipSync } from "node:zlib";

const require = createRequire(import.meta.url);
const packages = path.join(import.meta.dirname, "node_modules");

/** Validates a document, and throws the validator's errors. */
function validate(schemaFile, document) {
  const Ajv = require("ajv");
  const validator = new Ajv({ schemaId: "auto", allErrors: true });
  validator.addMetaSchema(require("ajv/lib/refs/json-schema-draft-04.json"));
  const schema = JSON.parse(readFileSync(path.join(packages, schemaFile)));
  if (!validator.validate(schema, document)) {
    throw new Error(validator.errorsText());
  }
}

/** Opens the file in speedscope itself, and returns the page's title and table of functions. */
function speedscope(file) {
  validate("speedscope/dist/release/file-format-schema.json", JSON.parse(readFileSync(file)));
  const folder = mkdtempSync(path.join(tmpdir(), "speedscope-"));
  try {
    const script = path.join(folder, "profile.js");
    const content = readFileSync(file).toString("base64");
    writeFileSync(script, `speedscope.loadFileFromBase64("run.json", "${content}")`);
    const page = path.join(packages, "speedscope/dist/release/index.html");
    const html = execFileSync("chromium", [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--allow-file-access-from-files", `--user-data-dir=${folder}/user`,
      "--virtual-time-budget=5000", "--dump-dom",
      `file://${page}#localProfilePath=${script}&view=sandwich`,
    ], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26 });
    const cells = (row) => [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)]
      .map(([, cell]) => cell.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim());
    const rows = [...html.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) => cells(row));
    return { title: /<title>(.*?)<\/title>/.exec(html)?.[1], rows };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function pprof(file) {
  const { Profile } = await import("pprof-format");
  const profile = Profile.decode(gunzipSync(readFileSync(file)));
  const text = (index) => profile.stringTable.strings[Number(index)];
  const functions = new Map(profile.function.map((f) => [Number(f.id), text(f.name)]));
  const locations = new Map(profile.location.map((location) =>
    [Number(location.id), functions.get(Number(location.line[0].functionId))]));
  return {
    types: profile.sampleType.map((type) => `${text(type.type)}/${text(type.unit)}`),
    samples: profile.sample.map((sample) => ({
      stack: sample.locationId.map((id) => locations.get(Number(id))).reverse(),
      values: sample.value.map(Number),
    })),
  };
}

async function parquet(file) {
  const { asyncBufferFromFile, parquetReadObjects } = await import("hyparquet");
  return parquetReadObjects({ file: await asyncBufferFromFile(file) });
}

/**
 * Opens the file with the Firefox Profiler's own code, without its window. Returns the stacks that
 * each thread's call tree ends with, and their weights.
 *
 * `profiler-cli load` gives its server half a second to start, which a busy machine exceeds. So the
 * server is started here.
 */
async function firefox(file) {
  const folder = mkdtempSync(path.join(tmpdir(), "profiler-"));
  const program = path.join(packages, "@firefox-devtools/profiler-cli/dist/profiler-cli.js");
  const env = { ...process.env, PROFILER_CLI_SESSION_DIR: folder };
  const server = spawn("node", [program, "--daemon", file, "--session", "run"], {
    env, stdio: ["ignore", "ignore", "inherit"],
  });
  // A client that comes before both files are there removes the session.
  const isReady = () =>
    ["run.json", "run.sock"].every((name) => existsSync(path.join(folder, name)));
  const profiler = async (...words) => {
    const command = [program, "thread", ...words, "--session", "run", "--json"];
    const options = { encoding: "utf8", env, maxBuffer: 1 << 26, stdio: "pipe" };
    for (let tries = 20; ; tries--) {
      try {
        return JSON.parse(execFileSync("node", command, options));
      } catch (error) {
        // The server may still be loading the file.
        if (tries === 0) {
          throw error;
        }
        await setTimeout(100);
      }
    }
  };
  const stacks = (node, above) => {
    const stack = [...above, node.name];
    const own = node.selfSamples > 0 ? [{ stack, weight: node.selfSamples }] : [];
    return [...own, ...(node.children ?? []).flatMap((child) => stacks(child, stack))];
  };
  try {
    while (!isReady()) {
      if (server.exitCode !== null) {
        throw new Error("the Firefox Profiler's server ended");
      }
      await setTimeout(50);
    }
    const { threads } = await profiler("list");
    const read = [];
    for (const { threadHandle, name, cpuMs } of threads) {
      const words = ["--thread", threadHandle, "--max-lines", "100000"];
      const { regularCallTree } = await profiler("samples-top-down", ...words);
      read.push({
        name,
        cpu: cpuMs,
        total: regularCallTree.totalSamples,
        stacks: regularCallTree.children.flatMap((child) => stacks(child, [])),
      });
    }
    return read;
  } finally {
    const ended = once(server, "exit");
    server.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

function sarif(file) {
  const document = JSON.parse(readFileSync(file));
  validate("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json", document);
  return document;
}

const [format, file] = process.argv.slice(2);
const read = { firefox, parquet, pprof, sarif, speedscope }[format];
const value = await read(path.resolve(file));
const number = (_, value) => (typeof value === "bigint" ? Number(value) : value);
console.log(JSON.stringify(value, number));
