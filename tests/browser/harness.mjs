// What the tests in a browser share: the program, pages opened from files, what they say on the console.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

export const [program, folder, browserPath, root] = process.argv.slice(2, 6).map((word) => path.resolve(word));
const { chromium } = createRequire(path.join(folder, "package.json"))("playwright-core");
// Pages and screenshots of one script do not meet those of another.
const out = path.join(folder, path.basename(process.argv[1], "_test.mjs"));
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
export const file = (name) => path.join(out, name);
export const trace = (name) => path.join(root, "data", `${name}.safetensors.zst`);

export function lacuna(args, codes = [0]) {
  const done = spawnSync(program, args, { encoding: "utf8", cwd: out, env: { ...process.env, OMP_WAIT_POLICY: "passive" } });
  assert.ok(codes.includes(done.status), `lacuna ${args.slice(0, 6).join(" ")}: exit code ${done.status}\n${done.stderr}`);
  return done;
}
export const json = (name) => JSON.parse(readFileSync(file(name), "utf8"));

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const problems = [];

// A page from a file, with everything it says or asks the network for.
export async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1240, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(`${name}: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`${name}: ${error.message}`));
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || problems.push(`${name}: asks for ${request.url()}`));
  const begin = performance.now();
  await page.goto(`file://${file(name)}`);
  await page.waitForSelector("html[data-ready=true]");
  await page.waitForSelector("#how");
  // Pictures are drawn once their width is known.
  await page.waitForFunction(() => [...document.querySelectorAll(".picture")].every((area) => area.querySelector("svg")));
  return { page, took: performance.now() - begin, close: () => context.close() };
}
export async function saved(page, selector) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}
export const value = (page, label) =>
  page.$$eval(".number", (boxes, wanted) => boxes.find((box) => box.querySelector("h3").textContent === wanted)?.querySelector(".value").textContent, label);
export const three = (number) => Number(number.toPrecision(3));
export const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

// Runs tests by name, those of ONLY if it is set, and ends the process.
export async function runTests(tests) {
  let failed = 0;
  const only = process.env.ONLY?.split(",");
  for (const [name, test] of Object.entries(tests)) {
    if (only && !only.includes(name)) continue;
    const begin = performance.now();
    problems.length = 0;
    try {
      await test();
      assert.deepEqual(problems, [], "nothing on the console, nothing from the network");
      console.log(`ok ${name} (${((performance.now() - begin) / 1000).toFixed(1)} s)`);
    } catch (error) {
      ++failed;
      console.log(`FAILED ${name}: ${error.stack ?? error}\n${problems.join("\n")}`);
    }
  }
  await browser.close();
  process.exit(failed === 0 ? 0 : 1);
}
