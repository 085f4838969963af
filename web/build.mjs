// Bundles the page into one file with a gap for the data: node build.mjs OUTPUT [FOLDER WITH node_modules]
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const [output = "report.html", modules = here] = process.argv.slice(2);
const esbuild = createRequire(path.join(path.resolve(modules), "package.json"))("esbuild");

// The numbered assumptions of docs/assumptions.md, by section: [section, number, what the papers leave open, our choice].
const words = (cell) => cell.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "").replace(/\\([|*])/g, "$1").trim();
const assumptions = [];
let section = "";
for (const line of (await readFile(path.join(here, "..", "docs", "assumptions.md"), "utf8")).split("\n")) {
  if (line.startsWith("## ")) section = line.slice(3).trim();
  const cells = line.split(/(?<!\\)\|/);
  if (/^ [A-Z]\d+ $/.test(cells[1] ?? "")) assumptions.push([section, cells[1].trim(), words(cells[2]), words(cells[3])]);
}
if (assumptions.length < 50) throw new Error("docs/assumptions.md no longer has the tables that the page shows");

const bundle = async (entry) => {
  const built = await esbuild.build({
    entryPoints: [path.join(here, "src", entry)],
    nodePaths: [path.join(path.resolve(modules), "node_modules")],
    bundle: true,
    minify: true,
    charset: "utf8",
    define: { LACUNA_ASSUMPTIONS: JSON.stringify(assumptions) },
    format: "iife",
    target: "es2022",
    legalComments: "none",
    write: false,
    logLevel: "error",
  });
  return built.outputFiles[0].text.trim();
};

const parts = { style: await bundle("style.css"), script: await bundle("main.ts"), data: "{{data}}" };
// Either would end its element, or hide its end.
if (/<\/script|<!--/i.test(parts.script) || /<\/style/i.test(parts.style)) throw new Error("the bundle holds the end of its own element");
parts["script-hash"] = `sha256-${createHash("sha256").update(parts.script).digest("base64")}`;
const template = await readFile(path.join(here, "src", "page.html"), "utf8");
const html = template.replace(/\{\{([a-z-]+)\}\}/g, (_, name) => parts[name]);
if (html.split("{{data}}").length !== 2) throw new Error("the page needs exactly one gap for the data");
await writeFile(output, html);
