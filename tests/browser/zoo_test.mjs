// The documentation site's page of every recorded network (docs/site/gallery.py) in a real browser. See `run`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { file, fits, open, program, root, saved, value, runTests } from "./harness.mjs";

const tests = {
  async zoo() {
    const script = `import sys; sys.path.insert(0, "docs/site"); import gallery, reference, pathlib
gallery.write_zoo(reference.Program(sys.argv[1]), pathlib.Path(sys.argv[2]))`;
    const written = spawnSync("python3", ["-B", "-c", script, program, file("zoo.html")], { cwd: root, encoding: "utf8" });
    assert.equal(written.status, 0, written.stderr);
    const { page, close } = await open("zoo.html");

    // The table and the picture hold what was measured.
    const [head, ...rows] = readFileSync(path.join(root, "docs/results/data/zoo/machines.csv"), "utf8").trim().split("\n").map((line) => line.split(","));
    const column = (name) => head.indexOf(name);
    const measured = [...new Set(rows.map((row) => row[0]))];
    const last = measured.filter((trace) => trace.endsWith("_p100"));
    assert.equal(await page.$$eval("#table tbody tr", (all) => all.length), measured.length);
    const cells = (line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/);
    const csv = (await saved(page, "#table button:text('CSV')")).text.trim().split("\n").map(cells);
    const alexnet = csv.find((row) => row[0] === "alexnet");
    assert.equal(Number(alexnet[csv[0].indexOf("speedup_ant")]), Number(rows.find((row) => row[0] === "alexnet_p100" && row[column("design")] === "ANT")[column("speedup")]));
    // Measured speedups of the CPU kernels are those of the file; the rest is explained.
    const kernels = readFileSync(path.join(root, "docs/results/data/zoo/kernels.csv"), "utf8").trim().split("\n").slice(1).map((line) => line.split(","));
    const timed = new Map(csv.slice(1).filter((row) => row[csv[0].indexOf("kernels")] !== "").map((row) => [row[0], Number(row[csv[0].indexOf("kernels")])]));
    assert.deepEqual([...timed].sort(), kernels.map(([trace, speedup]) => [trace.replace(/_p100$/, ""), Number(speedup)]).sort());
    if (timed.size < measured.length) assert.match(await page.textContent("#table"), /Without a number: .*no convolution/s);
    assert.equal(await page.$$eval("#zoo circle", (all) => all.length), 6 * last.length);
    assert.match(await page.textContent(".lead"), new RegExp(`of ${last.length} recorded trainings`));

    // Crossovers: faster above the share and nowhere below it, but for the exceptions counted.
    assert.equal(await page.$$eval("#crossovers circle", (all) => all.length), rows.length);
    const parted = (await saved(page, "#crossovers button:text('CSV')")).text.trim().split("\n").map((line) => line.split(","));
    for (const [machine, above, exceptions] of parted.slice(1)) {
      const wrong = rows.filter((row) => row[column("design")] === machine).filter((row) => {
        const listed = csv.find((one) => one[0] === row[0].replace(/_p100$/, ""));
        const share = 1 - 1 / Number(listed[csv[0].indexOf("at_best")]);
        return (Number(row[column("speedup")]) >= 1.01) !== (above !== "" && share >= Number(above));
      });
      assert.equal(wrong.length, Number(exceptions), machine);
    }
    assert.match(await value(page, "At best"), /x$/);

    // Another measure, a sorted column, the numbers of a row on hover.
    await page.click("#zoo button:text('energy efficiency')");
    assert.equal(await page.getAttribute("#zoo button:text('energy efficiency')", "aria-pressed"), "true");
    await page.click("#table th button:text('at best')");
    const best = (await page.$$eval("#table tbody tr", (all) => all.map((row) => parseFloat(row.cells[5].textContent)))).slice(0, 2);
    assert.ok(best[0] >= best[1], best.join(" "));
    await (await page.$("#zoo svg")).focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await page.textContent(".tip"), /at best .*TensorDash/s);
    await page.screenshot({ path: file("zoo.png"), fullPage: true });
    await close();
    const phone = await open("zoo.html", { viewport: { width: 390, height: 740 }, hasTouch: true, isMobile: true });
    assert.ok(await fits(phone.page), "nothing is wider than a phone");
    await phone.page.screenshot({ path: file("zoo-phone.png"), fullPage: true });
    await phone.close();
  },
};

await runTests(tests);
