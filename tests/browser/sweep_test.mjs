// The page of `lacuna sweep pareto --html` in a real browser. See `run`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import path from "node:path";
import { file, fits, lacuna, open, program, saved, value, runTests } from "./harness.mjs";

const fixture = path.join(path.dirname(program), "sweep_fixture");
const results = (name, designs) => assert.equal(spawnSync(fixture, [file(name), String(designs)]).status, 0, "sweep_fixture writes results");
const close = (a, b) => Math.abs(a - b) <= 1e-5 * Math.abs(b);

const tests = {
  async sweep() {
    results("sweep.sqlite", 600);
    const pareto = (...args) => JSON.parse(lacuna(["sweep", "pareto", file("sweep.sqlite"), "--json", "-", ...args]).stdout).front;
    lacuna(["sweep", "pareto", file("sweep.sqlite"), "--html", file("sweep.html")]);
    const { page, close: end } = await open("sweep.html");

    // The front and its best designs are those of the JSON, in the two metrics that the page starts with.
    const front = pareto("--y", "seconds");
    const designs = () => page.$$eval("#table tbody tr", (rows) => rows.map((row) => Number(row.cells[0].textContent)));
    assert.deepEqual(await designs(), front.map((one) => one.design));
    assert.equal(Number(await value(page, "On the front")), front.length);
    assert.ok(close(parseFloat(await value(page, "Best time (s)")), Number(front.at(-1).metrics.seconds.toPrecision(3))));
    assert.equal(await page.$$eval("#front circle[stroke]", (all) => all.length), front.length);
    assert.match(await page.textContent(".lead"), new RegExp(`^${front.length} of 600 designs`));
    assert.match(await page.textContent("#how"), /lacuna sweep pareto/);

    // Every visible design as CSV, with the numbers of the JSON.
    const csv = (await saved(page, "#front button:text('CSV')")).text.trim().split("\n").map((line) => line.split(","));
    assert.equal(csv.length, 601);
    const column = (name) => csv[0].indexOf(name);
    const row = csv.find((cells) => Number(cells[0]) === front[0].design);
    for (const name of ["speedup", "seconds", "area_mm2", "energy_delay"]) assert.ok(close(Number(row[column(name)]), front[0].metrics[name]), name);
    const svg = await saved(page, "#front button:text('SVG')");
    assert.match(svg.text, /data:image\/png/); // the cloud goes with the picture

    // By keyboard along the front, then the design behind the point.
    const chart = await page.$("#front svg");
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    const tip = await page.textContent(".tip");
    assert.ok(tip.includes(`design ${front[0].design}`), tip);
    assert.ok(tip.includes(`rows ${front[0].settings.rows}`), tip);
    await page.keyboard.press("Enter");
    assert.match(await page.textContent("#design h3"), new RegExp(`^Design ${front[0].design}:`));
    await page.click("#design button");
    assert.ok(await page.isHidden("#design"));
    // The mouse finds the nearest.
    const dot = await page.$eval("#front circle[stroke]", (one) => { const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; });
    await page.mouse.move(dot[0] + 2, dot[1] + 2);
    assert.ok((await page.textContent(".tip")).includes(`design ${front[0].design}`));

    // A filter gives the front of `--where`.
    await page.click("#filters [aria-label='Values of machine'] button:text-is('tensordash')");
    await page.click("#filters [aria-label='Values of rows'] button:text-is('4')");
    await page.click("#filters [aria-label='Values of rows'] button:text-is('8')");
    const some = pareto("--y", "seconds", "--where", "machine = 'tensordash' and rows in (4, 8)");
    assert.deepEqual(await designs(), some.map((one) => one.design));
    assert.equal(await page.textContent("#filters .count"), `${some[0].of} of 600 designs`);
    await page.click("#filters button:text('Show all')");
    assert.deepEqual(await designs(), front.map((one) => one.design));

    // Another network and another metric.
    await page.selectOption("#network", { label: "vgg16" });
    await page.selectOption("#y", { label: "energy efficiency" });
    const vgg = pareto("--network", "vgg16", "--y", "energy_efficiency");
    assert.deepEqual(await designs(), vgg.map((one) => one.design));
    // Main effects as the program has them.
    const effects = JSON.parse(lacuna(["sweep", "effects", file("sweep.sqlite"), "--network", "vgg16", "--metric", "energy_efficiency", "--json", "-"]).stdout).effects;
    const effectRows = (await saved(page, "#effects-y button:text('CSV')")).text.trim().split("\n").slice(1).map((line) => line.split(","));
    assert.equal(effectRows[0][0], effects[0].parameter);
    for (const effect of effects) for (const level of effect.levels) {
      const name = level.value === true ? "on" : level.value === false ? "off" : String(level.value);
      const found = effectRows.find((cells) => cells[0] === effect.parameter && cells[1] === name);
      assert.ok(found && close(Number(found[2]), level.relative), `${effect.parameter} ${name}`);
    }

    // A range along an axis of the parallel coordinates.
    const brush = await page.$(".brush[data-metric=area_mm2]");
    await brush.scrollIntoViewIfNeeded();
    const area = await brush.boundingBox();
    await page.mouse.move(area.x + area.width / 2, area.y + area.height - 2);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width / 2, area.y + area.height / 2, { steps: 4 });
    await page.mouse.up();
    const kept = Number((await page.textContent("#filters .count")).split(" ")[0]);
    assert.ok(kept > 0 && kept < 600, `${kept} designs in the range`);
    await page.click("#parallel button:text('Remove ranges')");
    assert.equal(await page.textContent("#filters .count"), "600 designs");

    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await background();
    await page.click("#theme");
    assert.notEqual(await background(), before);
    await page.screenshot({ path: file("sweep-dark.png"), fullPage: true });
    await end();

    const phone = await open("sweep.html", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    assert.ok(await fits(phone.page), "nothing is wider than a phone");
    await phone.page.screenshot({ path: file("sweep-phone.png"), fullPage: true });
    await phone.close();
  },

  async sweepOfTenThousand() {
    results("large.sqlite", 10000);
    lacuna(["sweep", "pareto", file("large.sqlite"), "--html", file("large.html"), "--json", file("large.json")]);
    assert.ok(statSync(file("large.html")).size < 8_000_000);
    const { page, took, close: end } = await open("large.html");
    const time = await page.evaluate(async () => {
      const begin = performance.now();
      document.querySelector("#filters [aria-label='Values of machine'] button").click();
      const filtered = performance.now() - begin;
      const svg = document.querySelector("#front svg");
      const box = svg.getBoundingClientRect();
      for (let i = 0; i < 200; ++i) svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + (box.width * i) / 200, clientY: box.top + 100 }));
      await new Promise((done) => requestAnimationFrame(done));
      return { filtered, moved: performance.now() - begin - filtered };
    });
    assert.ok(time.filtered < 3000 && time.moved < 3000, JSON.stringify(time));
    console.log(`  10,000 designs: open in ${Math.round(took)} ms, a filter in ${Math.round(time.filtered)} ms, 200 moves in ${Math.round(time.moved)} ms`);
    await end();
  },
};

await runTests(tests);
