// The page of `lacuna reproduce`: its numbers are those of the JSON, the papers' those of data/papers. See `run`.
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { file, fits, json, lacuna, open, root, runTests, saved } from "./harness.mjs";

// Every value of a paper's file by its key, read here line by line and not by the program.
function paperValues(name, folder = path.join(root, "data")) {
  const values = new Map();
  for (const line of readFileSync(path.join(folder, "papers", `${name}.yaml`), "utf8").split("\n")) {
    const found = /^  ([\w.-]+): *\{(?:words: [^,]*, *)?(value|at_least|at_most): *([\d.]+)/.exec(line);
    if (found) values.set(found[1], Number(found[3]));
  }
  return values;
}
// The rows "with the paper" as the reader sees them.
const comparisons = (page) => page.$$eval("tr[data-key]", (rows) => rows.map((row) => ({ key: row.dataset.key, figure: row.closest(".figure").id, ours: row.querySelector(".ours").textContent, theirs: row.querySelector(".theirs").textContent, difference: row.cells[3].textContent })));
const numberIn = (text) => Number(text.replace("−", "-").replace(/[^\d.-]/g, ""));

async function checkPapers(page, values, result) {
  const rows = await comparisons(page);
  const cells = result.figures.flatMap((figure) => figure.tables.flatMap((table) => table.cells.filter((cell) => cell.paper).map((cell) => ({ figure, table, cell }))));
  assert.equal(rows.length, cells.length);
  rows.forEach((row, i) => {
    const { figure, table, cell } = cells[i];
    assert.equal(row.figure, figure.id);
    assert.equal(row.key, cell.paper.key);
    assert.equal(numberIn(row.ours).toFixed(table.digits), cell.ours.toFixed(table.digits));
    if (cell.paper.words !== undefined) return assert.ok(row.theirs.includes(cell.paper.words));
    if (cell.verdict === "circular") return assert.equal(row.difference, "not counted");
    assert.ok(values.has(row.key), row.key);
    assert.equal(numberIn(row.theirs).toFixed(table.digits), values.get(row.key).toFixed(table.digits), row.key);
    const theirs = values.get(row.key);
    const difference = 100 * ((cell.paper.effect ? (cell.ours - 1) / (theirs - 1) : cell.ours / theirs) - 1);
    if (cell.paper.value !== undefined) assert.ok(Math.abs(numberIn(row.difference) - difference) < 0.051, `${row.key} ${row.difference} ${difference}`);
  });
  return rows;
}

const tests = {
  async figures() {
    lacuna(["reproduce", "gcn", "table3", "--html", file("figures.html"), "--json", file("figures.json")]);
    const result = json("figures.json");
    const { page, close } = await open("figures.html");
    const rows = await checkPapers(page, paperValues("tensordash"), result);
    assert.ok(rows.length >= 15);
    const verdicts = result.figures.flatMap((figure) => figure.tables.flatMap((table) => table.cells)).filter((cell) => cell.paper).map((cell) => cell.verdict);
    const count = (...names) => verdicts.filter((verdict) => names.includes(verdict)).length;
    assert.ok(count("circular") > 0);
    assert.match(await page.textContent(".lead"), new RegExp(`^${count("near")} of the ${count("near", "far", "apart")} numbers that the paper prints come out within 5`));
    const statements = count("holds", "fails");
    assert.equal((await page.textContent(".lead")).includes(`; ${count("holds")} of ${statements} statements and bounds hold`), statements > 0);
    assert.match(await page.textContent("#answer"), /Every simulated number is what the repository records/);
    assert.match(await page.textContent("#how"), /reproduce gcn table3 --html/);
    assert.deepEqual(await page.$$eval(".links a", (links) => links.map((link) => link.getAttribute("href"))), ["#gcn", "#table3"]);
    // Paired marks on one axis: a diamond for each of the paper's values, where its number lies between 0 and ours.
    const area = result.figures[1].tables.find((table) => table.id === "area");
    const marks = await page.$eval("#table3-area svg", (svg) => {
      const middle = (node) => { const box = node.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; };
      const bars = [...svg.querySelectorAll("g[aria-label=bar] path, g[aria-label=bar] rect")].map((node) => node.getBoundingClientRect());
      return { diamonds: [...svg.querySelectorAll("g[aria-label=dot] path")].map(middle), bars: bars.map((bar) => [bar.left, bar.right, bar.top, bar.bottom]) };
    });
    assert.equal(marks.diamonds.length, area.cells.filter((cell) => cell.paper).length);
    area.cells.forEach((cell, i) => {
      const [left, right] = marks.bars[i];
      const [x, y] = marks.diamonds.reduce((best, one) => (Math.abs(one[1] - (marks.bars[i][2] + marks.bars[i][3]) / 2) + Math.abs(one[0] - right) < Math.abs(best[1] - (marks.bars[i][2] + marks.bars[i][3]) / 2) + Math.abs(best[0] - right) ? one : best));
      assert.ok(y > marks.bars[i][2] && y < marks.bars[i][3], cell.row);
      assert.ok(Math.abs((x - left) / (right - left) - cell.paper.value / cell.ours) < 0.15 + 2 / (right - left), cell.row);
    });
    // Saved: the picture with its colours, the numbers with the paper's keys.
    const svg = await saved(page, "#table3-area button:text('SVG')");
    assert.match(svg.text, /rgb\(0, 114, 178\)/);
    assert.match(svg.text, /area \(mm²\)/);
    const csv = await saved(page, "#gcn > header button:text('CSV')");
    assert.equal(csv.name, "lacuna-gcn.csv");
    assert.match(csv.text, /^figure,table,row,column,ours,low,high,unit,paper,paper_key,difference,reason,assumptions\ngcn,gcn,TensorDash,potential,1\.0/);
    const all = await saved(page, "#title button:text('CSV')");
    assert.equal(all.text.trim().split("\n").length, 1 + result.figures.flatMap((figure) => figure.tables).reduce((sum, table) => sum + table.cells.length, 0));
    // Hover: the number of ours with all digits, and where the paper's is from.
    const chart = await page.$("#gcn-gcn svg");
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.match(await page.textContent(".tip"), /TensorDash, speedup.*ours 1\.0001.*the paper's 1\.0100x/);
    // A click in the overview goes to the figure.
    await page.focus("#overview svg");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "gcn");
    await close();
  },

  // A value changed in data/papers changes on the page, with its difference and the reason.
  async papersFile() {
    const data = file("data");
    mkdirSync(data);
    for (const name of ["MANIFEST.csv", "gcn_p100.safetensors.zst", "gcn_unpadded_p100.safetensors.zst", "papers"]) cpSync(path.join(root, "data", name), path.join(data, name), { recursive: true });
    const yaml = path.join(data, "papers", "tensordash.yaml");
    writeFileSync(yaml, readFileSync(yaml, "utf8").replace("gcn.speedup: {value: 1.01", "gcn.speedup: {value: 7.25"));
    const recorded = path.join(data, "papers", "recorded.yaml");
    writeFileSync(recorded, readFileSync(recorded, "utf8").replace(/^("gcn\/gcn\/with power gating\/speedup": ).*/m, "$13"));
    lacuna(["reproduce", "gcn", "--data", data, "--html", file("changed.html"), "--json", file("changed.json")], [1]);
    const { page, close } = await open("changed.html", { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true, colorScheme: "dark" });
    const rows = await checkPapers(page, paperValues("tensordash", data), json("changed.json"));
    assert.equal(rows[0].theirs, "7.2500x");
    assert.equal(rows[0].difference, "−86.2 %");
    assert.ok((await page.textContent("tr[data-key='gcn.speedup'] .why")).length > 20);
    assert.match(await page.textContent("#moved"), /with power gating\/speedup: recorded 3, now 1/);
    assert.match(await page.evaluate(() => getComputedStyle(document.body).color), /rgb\(2\d\d, 2\d\d, 2\d\d\)/);
    assert.ok(await fits(page), "nothing is wider than a phone");
    await close();
  },

  // All of TensorDash's figures: FIGURES is the JSON that the test reproduce.tensordash has just written.
  async allFigures() {
    const written = process.env.FIGURES;
    if (!written || !existsSync(written)) return console.log("  not all figures: FIGURES, which would be the JSON of them, is not there");
    const text = readFileSync(file("figures.html"), "utf8");
    const [begin, end] = [text.indexOf('id="lacuna-data">') + 17, text.indexOf("</script>")];
    const data = JSON.parse(text.slice(begin, end));
    data.reproduce = JSON.parse(readFileSync(written, "utf8"));
    writeFileSync(file("all.html"), text.slice(0, begin) + JSON.stringify(data).replaceAll("<", "\\u003c") + text.slice(end));
    const { page, took, close } = await open("all.html");
    const count = await page.$$eval(".figure", (all) => all.length);
    assert.ok(count >= 13, `${count} figures`);
    assert.equal(await page.$$eval("tr[data-key]", (rows) => rows.filter((row) => /\d/.test(row.cells[3].textContent) && Math.abs(Number(row.cells[3].textContent.replace("−", "-").replace(/[^\d.-]/g, ""))) > 5 && row.cells[4].textContent.trim().length < 9).length), 0, "a difference over 5 % without its reason");
    const values = new Map([...paperValues("tensordash"), ...paperValues("tensordash-micro"), ...paperValues("ant"), ...paperValues("sparsetrain")]);
    const rows = await checkPapers(page, values, data.reproduce);
    assert.ok(rows.length > 60);
    await page.screenshot({ path: file("figures-light.png"), clip: { x: 0, y: 0, width: 1240, height: 1500 }, fullPage: true });
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.$$eval("tr.later", (rows) => rows.filter((row) => getComputedStyle(row).display === "none").length), 0, "paper shows every comparison");
    assert.ok((await page.pdf({ preferCSSPageSize: true })).length > 50_000);
    await close();
    const phone = await open("all.html", { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true });
    assert.ok(await fits(phone.page), "nothing is wider than a phone");
    await phone.close();
    console.log(`  ${count} figures: ${Math.round(statSync(file("all.html")).size / 1000)} KB, open in ${Math.round(took)} ms`);
  },
};

await runTests(tests);
