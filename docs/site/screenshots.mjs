// node docs/site/screenshots.mjs PROGRAM FOLDER [NAME...]: writes docs/images/report-NAME.png, all if none is given, from pages
// that PROGRAM writes (minutes: every figure of the papers, a sweep of 162 designs). FOLDER has node_modules/playwright-core (build/release/tests/browser).
// Pages that are in FOLDER already (simulate.html, reproduce.html, sweep.html) are taken as they are.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const [program, folder] = process.argv.slice(2, 4).map((word) => path.resolve(word));
const names = process.argv.slice(4);
const { chromium } = createRequire(path.join(folder, "package.json"))("playwright-core");
mkdirSync(folder, { recursive: true });

function page(name, ...commands) {
  const file = path.join(folder, `${name}.html`);
  for (const command of existsSync(file) ? [] : commands) {
    const done = spawnSync(program, command.replace("{page}", file).replace("{folder}", folder).split(" "), { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    if (done.status !== 0) throw new Error(`lacuna ${command}: exit code ${done.status}`);
  }
  return file;
}
const simulate = () => page("simulate", "simulate data/alexnet_p100.safetensors.zst --energy --arch dense,tensordash,cnvlutin,sparten,ant-4096 --html {page}");
const reproduce = () => page("reproduce", "reproduce --html {page}");
const sweep = () => page("sweep", "sweep examples/sweep.yaml -o {folder}/sweep.sqlite", "sweep pareto {folder}/sweep.sqlite --x area_mm2 --y energy_delay --html {page}");

// Name, page, size, colours, and the card that the picture begins with.
const shots = [
  ["simulate", simulate, 1060, 1000, "light"],
  ["dark", simulate, 1060, 960, "dark", "#layers"],
  ["phone", simulate, 390, 844, "light"],
  ["figures", reproduce, 1060, 1130, "light"],
  ["figure13", reproduce, 1060, 640, "dark", "#fig13"],
  ["sweep", sweep, 1060, 1210, "light"],
];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
for (const [name, file, width, height, colorScheme, card] of shots) {
  if (names.length && !names.includes(name)) continue;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, isMobile: width < 500, hasTouch: width < 500 });
  const tab = await context.newPage();
  await tab.goto(`file://${file()}`);
  await tab.waitForSelector("html[data-ready=true]");
  await tab.waitForFunction(() => [...document.querySelectorAll(".picture")].every((area) => area.querySelector("svg")));
  if (card) await tab.$eval(card, (element) => scrollTo(0, element.getBoundingClientRect().top + scrollY));
  await tab.screenshot({ path: path.join(root, `docs/images/report-${name}.png`) });
  await context.close();
}
await browser.close();
