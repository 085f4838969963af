// Every kind of report in a real browser, but for the papers' figures (figures_test.mjs). See `run`.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { file, fits, json, lacuna, open, root, saved, three, trace, value, runTests } from "./harness.mjs";

const tests = {
  async simulate() {
    lacuna(["simulate", trace("alexnet_p050"), trace("alexnet_p100"), "--arch", "dense,tensordash,cnvlutin", "--energy", "--html", file("simulate.html"), "--json", file("simulate.json")]);
    lacuna(["inspect", trace("alexnet_p100"), "--json", file("alexnet.json")]);
    const run = json("simulate.json").runs.find((one) => one.progress === 1 && one.arch === "tensordash");
    const inspected = json("alexnet.json").traces[0];
    const { page, close } = await open("simulate.html");

    const speedup = run.per_batch.all.speedup;
    const best = inspected.per_batch.all.potential;
    assert.equal(parseFloat(await value(page, "TensorDash")), three(speedup));
    assert.equal(parseFloat(await value(page, "At best")), three(best));
    assert.equal(parseFloat(await value(page, "TensorDash, energy")), three(run.energy.all.chip_efficiency));
    const zeros = Math.round(100 * (1 - inspected.per_batch.all.remaining_macs / inspected.per_batch.all.macs));
    assert.match(await page.textContent(".lead"), new RegExp(`^${zeros} % of this training step's multiplications are on zeros`));
    for (const id of ["zeros", "machines", "layers", "time", "energy", "area", "progress", "progress-zeros", "table", "how"]) assert.ok(await page.$(`#${id}`), `section ${id}`);
    const how = await page.textContent("#how");
    assert.match(how, /--arch dense,tensordash,cnvlutin --energy/);
    // What was read, whatever the file is called, and what the machines rest on.
    const sum = readFileSync(path.join(root, "data", "MANIFEST.csv"), "utf8").split("\n").find((line) => line.startsWith("alexnet_p100")).match(/[0-9a-f]{64}/)[0];
    assert.ok(how.includes(sum), "the trace's SHA-256");
    assert.match(how, /Assumptions: TensorDash.*A4How rows of a tile stay together.*Our choice: Lock-step/s);
    assert.match(await page.textContent("#area .note"), /at best/);

    // The machine chart's numbers as CSV, against the JSON.
    const csv = await saved(page, "#machines button:text('CSV')");
    assert.equal(csv.name, "lacuna-machines.csv");
    const row = csv.text.split("\n").find((line) => line.startsWith("tensordash,weight_grad,")).split(",");
    const pair = run.per_batch.weight_grad;
    assert.ok(Math.abs(Number(row[2]) - pair.speedup_from_zeros) < 1e-12);
    assert.ok(Math.abs(Number(row[3]) - pair.speedup_without_zeros) < 1e-12);
    assert.ok(Math.abs(Number(row[4]) - pair.speedup) < 1e-12);
    assert.equal(Number(row[7]), pair.cycles);
    // A picture as SVG: whole, with colours instead of the page's variables.
    const svg = await saved(page, "#machines button:text('SVG')");
    assert.match(svg.text, /^<\?xml/);
    assert.match(svg.text, /rgb\(0, 114, 178\)/); // TensorDash
    assert.match(svg.text, /speedup over dense/);

    // Numbers on hover, then the layer behind them.
    const chart = await page.$("#zeros svg");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
    const tip = await page.textContent(".tip");
    const hovered = inspected.layers.find((layer) => tip.startsWith(layer.name));
    assert.ok(hovered, tip);
    assert.ok(tip.includes(`${(100 * hovered.zeros.G).toFixed(2)} % zeros`), tip);
    await page.mouse.click(box.x + box.width * 0.5, box.y + 60);
    assert.equal(await page.textContent("#layer h3"), hovered.name);
    const machineOp = run.layers.find((layer) => layer.name === hovered.name).ops.find((op) => op.op === "forward");
    assert.ok((await page.textContent("#layer")).includes(machineOp.cycles.toLocaleString("en")));
    await page.click("#layer button");
    assert.ok(await page.isHidden("#layer"));
    // The same by keyboard.
    await chart.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    assert.equal(await page.textContent("#layer h3"), inspected.layers[0].name);
    // Hovering over a bar names that bar.
    const bars = await page.$("#machines svg");
    await bars.scrollIntoViewIfNeeded();
    const area = await bars.boundingBox();
    const first = await page.$$eval("#machines svg g[aria-label=bar] rect", (all) => { const one = all[0].getBoundingClientRect(); return [one.x + one.width / 2, one.y + one.height / 2]; });
    assert.ok(first[1] > area.y);
    await page.mouse.move(...first);
    assert.match(await page.textContent(".tip"), /^TensorDash, all three operations/);

    // The roofline has every operation of every machine, and says where one stands.
    const drawn = json("simulate.json").runs.filter((one) => one.progress === run.progress);
    const operations = drawn.reduce((sum, one) => sum + one.layers.reduce((count, layer) => count + layer.ops.filter((op) => op.macs_per_dram_byte > 0 && op.macs_per_cycle > 0).length, 0), 0);
    const roofline = await saved(page, "#roofline button:text('CSV')");
    assert.ok(operations > 0);
    assert.equal(roofline.text.trim().split("\n").length, operations + 1);
    await page.click("#roofline button:text-is('forward')");
    assert.match(await page.textContent("#roofline .note"), /forward/);
    await (await page.$("#roofline svg")).focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await page.textContent(".tip"), /MACs per byte/);

    // One operation only.
    await page.click("#layers button:text-is('forward')");
    assert.equal(await page.getAttribute("#layers button:text-is('forward')", "aria-pressed"), "true");

    // The table filters, sorts and exports what it shows.
    const rows = () => page.$$eval("#table tbody tr", (all) => all.map((one) => [...one.cells].map((cell) => cell.textContent)));
    const all = run.layers.reduce((sum, layer) => sum + layer.ops.length, 0);
    await page.selectOption("#table select[aria-label='Only this machine']", "TensorDash");
    assert.equal((await rows()).length, all);
    await page.click("#table th button:text('speedup')");
    const column = await page.$$eval("#table th", (all) => all.findIndex((one) => one.textContent.startsWith("speedup")));
    const speeds = (await rows()).map((cells) => parseFloat(cells[column]));
    assert.deepEqual(speeds, [...speeds].sort((a, b) => b - a));
    await page.fill("#table input", hovered.name);
    const kept = await rows();
    assert.ok(kept.length > 0 && kept.every((cells) => cells[0].includes(hovered.name)));
    const table = await saved(page, "#table button:text('CSV')");
    assert.equal(table.text.trim().split("\n").length, kept.length + 1);

    // The other step.
    await page.selectOption("#step", "0");
    const early = json("simulate.json").runs.find((one) => one.progress === 0.5 && one.arch === "tensordash");
    assert.equal(parseFloat(await value(page, "TensorDash")), three(early.per_batch.all.speedup));

    // Dark, by the button.
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await background();
    await page.click("#theme");
    assert.notEqual(await background(), before);
    await close();

    // Dark by the system's wish, a phone, and paper.
    const dark = await open("simulate.html", { colorScheme: "dark" });
    assert.match(await dark.page.evaluate(() => getComputedStyle(document.body).color), /rgb\(2\d\d, 2\d\d, 2\d\d\)/);
    await dark.page.screenshot({ path: file("simulate-dark.png"), fullPage: true });
    await dark.close();
    const phone = await open("simulate.html", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    assert.ok(await fits(phone.page), "nothing is wider than a phone");
    await phone.page.screenshot({ path: file("simulate-phone.png"), fullPage: true });
    await phone.close();
    const paper = await open("simulate.html");
    await paper.page.screenshot({ path: file("simulate-light.png"), fullPage: true });
    const pdf = await paper.page.pdf({ path: file("simulate.pdf"), preferCSSPageSize: true });
    assert.ok(pdf.length > 10_000);
    await paper.close();
    // Without its data the page stays small.
    assert.ok(statSync(file("simulate.html")).size < 700_000 + 2 * statSync(file("simulate.json")).size);
  },

  async inspect() {
    lacuna(["inspect", trace("gcn_p100"), trace("snli_p100"), "--html", file("inspect.html"), "--json", file("inspect.json")]);
    const { page, close } = await open("inspect.html");
    const [first, second] = json("inspect.json").traces;
    assert.equal(parseFloat(await value(page, "At best")), three(first.per_batch.all.potential));
    await page.selectOption("#step", "1");
    assert.equal(parseFloat(await value(page, "At best")), three(second.per_batch.all.potential));
    await close();
  },

  async compare() {
    const small = (name, rows) => lacuna(["simulate", trace("gcn_p100"), "--energy", "--set", `rows=${rows}`, "--json", file(name)]);
    small("a.json", 4);
    small("b.json", 8);
    lacuna(["compare", file("a.json"), file("b.json"), "--html", file("compare.html")], [1]);
    const result = JSON.parse(lacuna(["compare", file("a.json"), file("b.json"), "--json"], [1]).stdout);
    const { page, close } = await open("compare.html");
    assert.equal(Number(await value(page, "Cycles, B / A")), Number(result.runs[0].total.all.ratio.toPrecision(4)));
    assert.match(await page.textContent(".lead"), /differ in 1 of 1 runs/);
    assert.ok((await page.textContent("#settings")).includes("rows"));
    assert.equal((await page.$$("#table tbody tr")).length, Math.min(100, result.runs[0].changes.length));
    await close();
  },

  async bench() {
    lacuna(["bench", "layers", "--shapes", "alexnet", "--layer", "features.8", "--zeros", "0,50,90", "--batch", "1", "--rounds", "1", "--seconds", "0", "--no-auto", "--html", file("bench.html"), "--json", file("bench.json")]);
    const { page, close } = await open("bench.html");
    const cases = json("bench.json").cases;
    assert.equal(Number(await value(page, "Cases")), cases.length);
    assert.match(await page.textContent("#bench-zeros .note"), /'at best', no time for any zero/);
    const paid = await value(page, "Pays from");
    assert.ok(/^\d+ %$|^–$/.test(paid), paid);
    const csv = await saved(page, "#table button:text('CSV')");
    assert.equal(Number(csv.text.split("\n")[1].split(",").at(-2)), cases[0].x_direct);
    await close();
  },

  async train() {
    lacuna(["train", "--steps", "6", "--report-every", "2", "--batch", "8", "--out", file("run"), "--html", file("train.html"), "--compare", "1"]);
    const { page, close } = await open("train.html");
    const log = readFileSync(file("run/log.csv"), "utf8").trim().split("\n").slice(1).map((line) => line.split(","));
    assert.equal((await page.$$("#table tbody tr")).length, log.length);
    assert.equal(Number(await value(page, "Loss")), three(Number(log.at(-1)[2])));
    await close();
  },

  // As python/lacuna/_profiler/page.py fills in the data, with a step in detail and without.
  async profiler() {
    lacuna(["simulate", trace("snli_p100"), "--arch", "tensordash", "--html", file("step.html")]);
    const row = (step, speedup) => ({ step, seconds: step, rank: 0, machine: "tensordash", speedup, speedup_from_zeros: speedup, standard_error: step ? 0.05 : null, energy_efficiency: null, zeros_A: 0.5, zeros_W: 0, zeros_G: 0.7, samples: 2, dropped: 0 });
    const profile = { title: "Net, every 10 steps, 2 samples", live: false, steps: 30, dropped: 1, failures: [], rows: [row(0, 1.5), row(10, 1.75), row(20, 2)], layers: { conv1: [0.25, 0, 0.5] } };
    const step = readFileSync(file("step.html"), "utf8");
    const data = /(id="lacuna-data">)\{(.*?)(<\/script>)/s;
    for (const alone of [false, true]) {
      writeFileSync(file("profile.html"), step.replace(data, (_, begin, rest, end) => `${begin}{"profile":${JSON.stringify(profile)},${alone ? JSON.stringify({ kind: "simulate", command: "x", lacuna: "0", build: {} }).slice(1) : rest}${end}`));
      const { page, close } = await open("profile.html");
      assert.match(await page.textContent(".lead"), /30 steps so far, 3 measured, 1 dropped/);
      assert.equal(await value(page, "TensorDash"), "2.00x");
      assert.equal((await page.$$("#profile-speedup svg g[aria-label=area] path")).length, 1);
      assert.equal(await page.$("#profile-energy"), null);
      assert.equal((await page.$$("#profile-zeros svg g[aria-label=line] path")).length, 3);
      assert.equal((await page.$("#machines")) === null, alone);
      assert.equal((await page.$("#profile-layers")) !== null, alone);
      await close();
    }
  },

  async demo() {
    const { stdout } = lacuna(["demo", "--steps", "20", "--out", file("demo")]);
    assert.match(stdout, /open .*report\.html in a browser/);
    const { page, close } = await open("demo/report.html");
    const runs = json("demo/results.json").runs.filter((run) => run.arch === "tensordash");
    const last = runs.at(-1).per_batch.all;
    assert.equal(parseFloat(await value(page, "TensorDash")), three(last.speedup));
    assert.equal(await page.$$eval("#step option", (all) => all.length), 3);
    // Each of the three traces by its sum; 'at best' beside what was measured.
    assert.equal((await page.textContent("#how")).match(/SHA-256[0-9a-f]{64}/g).length, 3);
    assert.ok(await page.$("#cpu g[aria-label=tick] line"));
    // The answer first, the page last.
    assert.match(stdout.split("\n")[1], /of this training's multiplications are on zeros/);
    assert.match(stdout.trim().split("\n").at(-1), /open .*report\.html in a browser/);
    for (const id of ["cpu", "loss", "progress"]) assert.ok(await page.$(`#${id}`), `section ${id}`);
    await close();
  },

  // Names from a trace are text wherever they appear.
  async injection() {
    const name = "</script><script>window.broken=1</script><img/src=x/onerror=window.broken=1>";
    lacuna(["synth", "--layer", `conv2d in=16 out=16 kernel=3 padding=1 input=6 name=${name}`, "--layer", "linear in=16 out=8 name=<!--<b>", "--model", `${name}\u2028<b>`, "-o", file("names.safetensors")]);
    lacuna(["simulate", file("names.safetensors"), "--html", file("names.html")]);
    assert.equal(readFileSync(file("names.html"), "utf8").split("</script>").length, 3);
    const { page, close } = await open("names.html");
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.equal(await page.$("#page img, #page b, #page script"), null);
    assert.ok((await page.textContent("h1")).includes(name));
    await page.selectOption("#pick", "0");
    assert.equal(await page.textContent("#layer h3"), name);
    await close();
  },

  async manyLayers() {
    const layers = Array.from({ length: 2000 }, (_, i) => ["--layer", `linear in=16 out=16 batch=1 name=block.${i}.fc A=${(i % 10) / 10}`]).flat();
    lacuna(["synth", ...layers, "-o", file("many.safetensors")]);
    lacuna(["simulate", file("many.safetensors"), "--arch", "dense,tensordash,cnvlutin", "--html", file("many.html")]);
    const { page, took, close } = await open("many.html");
    assert.ok(took < 10_000, `opened in ${took} ms`);
    const time = await page.evaluate(async () => {
      const begin = performance.now();
      const input = document.querySelector("#table input");
      input.value = "block.1999";
      input.dispatchEvent(new Event("input"));
      const svg = document.querySelector("#layers svg");
      const area = svg.getBoundingClientRect();
      for (let i = 0; i < 200; ++i) svg.dispatchEvent(new PointerEvent("pointermove", { clientX: area.left + (area.width * i) / 200, clientY: area.top + 50 }));
      await new Promise((done) => requestAnimationFrame(done));
      return performance.now() - begin;
    });
    assert.ok(time < 3000, `a filter and 200 moves took ${time} ms`);
    assert.equal(await page.$eval("#table .count", (one) => one.textContent), "9 of 17,997 rows");
    console.log(`  2,000 layers: open in ${Math.round(took)} ms, a filter and 200 moves in ${Math.round(time)} ms`);
    await close();
  },

  async refusals() {
    const refused = (args, words) => {
      const { stderr } = lacuna(args, [2]);
      assert.equal(stderr.trim().split("\n").length, 1);
      assert.match(stderr, words);
    };
    const gcn = trace("gcn_p100");
    refused(["inspect", gcn, "--html", file("nowhere/x.html")], /there is no folder/);
    refused(["inspect", gcn, "--html", "-"], /standard output/);
    refused(["inspect", gcn, "--json", file("same"), "--html", file("same")], /same file/);
    refused(["inspect", file("names.safetensors"), "--html", file("names.safetensors")], /this is an input/);
  },
};

await runTests(tests);
