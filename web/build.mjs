// Bundles src/ into the two assets that `roofline report` puts into a page.
//
//   node build.mjs [FOLDER]     FOLDER is ../roofline/report/page
//
// The same sources and lock file give the same bytes.  The script begins with the licences of what
// is in it, and with a digest of the sources by which a test knows an asset that was not rebuilt.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, "..", "roofline", "report", "page");
const common = { absWorkingDir: here, bundle: true, minify: true, write: false, metafile: true, charset: "utf8", target: ["es2022"] };

const script = await build({ ...common, entryPoints: ["src/main.ts"], format: "iife", legalComments: "none" });
const style = await build({ ...common, entryPoints: ["src/page.css"] });
const notices = await licences(Object.keys(script.metafile.inputs));
const banner = `/*! Page of roofline, Apache-2.0. Sources: ${await digest()}\nIt contains:\n\n${notices}\n*/\n`;

await mkdir(folder, { recursive: true });
await writeFile(join(folder, "page.js"), banner + script.outputFiles[0].text);
await writeFile(join(folder, "page.css"), style.outputFiles[0].text);

/** One digest over names and contents of everything that the assets come from. */
async function digest() {
  const sources = (await readdir(join(here, "src"))).map((name) => `src/${name}`);
  const hash = createHash("sha256");
  for (const name of [...sources, "build.mjs", "package-lock.json"].sort()) {
    hash.update(`${name}\n`).update(await readFile(join(here, name)));
  }
  return `sha256-${hash.digest("hex")}`;
}

/** The licence texts of the packages in the bundle, each text once with the packages it is for. */
async function licences(inputs) {
  const packages = new Set(inputs.map((path) => /node_modules\/([^/]+)\//.exec(path)?.[1]).filter(Boolean));
  const texts = new Map();
  for (const name of [...packages].sort()) {
    const root = join(here, "node_modules", name);
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const file = (await readdir(root)).find((entry) => /^(un)?licen[cs]e/i.test(entry));
    const text = (await readFile(join(root, file), "utf8")).trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}`]);
  }
  return [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}`).join("\n\n----\n\n").replaceAll("*/", "* /");
}
