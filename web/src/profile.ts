// A training that Python's lacuna.Profiler follows: speedup, energy efficiency and zeros over its steps.
import type { Answer } from "./answer";
import type { Picture } from "./parts/card";
import { operands, type Operand, type PageData, type ProfileRow } from "./data";
import { isNumber, percent, plain, times, whole } from "./parts/format";
import { drawLines, type Line } from "./parts/lines";
import { tableCard } from "./parts/table";
import { baseTitle, machineColour } from "./parts/theme";

const operandTitle: Record<Operand, string> = { A: "activations", W: "weights", G: "gradients" };
const dashes = [undefined, "7 3", "2 3", "5 2"];
const at = (step: number): string => `step ${whole(step)}`;
const common = { xLabel: "training steps", at };

// One line per machine. Machines of one colour differ by their dashes.
function machineLines(page: PageData, value: (row: ProfileRow) => number | null, spread?: (row: ProfileRow) => number | null): Line[] {
  const used = new Map<string, number>();
  return [...new Set(page.profile!.rows.map((row) => row.machine))].map((name) => {
    const base = page.simulate?.runs.find((run) => run.arch === name)?.base ?? name;
    const colour = machineColour(base);
    const same = used.get(colour) ?? 0;
    used.set(colour, same + 1);
    const rows = page.profile!.rows.filter((row) => row.machine === name && isNumber(value(row)));
    return {
      title: name === base ? baseTitle(base) : name,
      colour,
      dash: dashes[same % dashes.length],
      points: rows.map((row) => ({ x: row.step, y: value(row)! })),
      band: spread && rows.filter((row) => isNumber(spread(row))).map((row) => ({ x: row.step, low: value(row)! - 2 * spread(row)!, high: value(row)! + 2 * spread(row)! })),
    };
  });
}

export function profilePictures(page: PageData): Picture[] {
  const profile = page.profile!;
  const dots = new Set(profile.rows.map((row) => row.step)).size <= 60;
  const rows = () => profile.rows.map((row) => ({ ...row }));
  const first = profile.rows.filter((row) => row.machine === profile.rows[0]?.machine);
  const speedup = machineLines(page, (row) => row.speedup, (row) => row.standard_error);
  const energy = machineLines(page, (row) => row.energy_efficiency);
  const zeros: Line[] = operands.map((operand, i) => ({ title: operandTitle[operand], colour: "var(--zeros)", dash: dashes[i], points: first.map((row) => ({ x: row.step, y: 100 * row[`zeros_${operand}`] })) }));
  const pictures: Picture[] = [
    { name: "profile-speedup", title: "Speedup", note: "Compared with the same machine without skipping, whole training step. The band is two standard errors wide on each side, from the measured samples.", rows,
      draw: (width) => drawLines(speedup, { ...common, width, dots, one: true, yLabel: "speedup (times)", label: "Speedup over the training", value: (value) => times(value, 4) }) },
    { name: "profile-energy", title: "Energy efficiency", note: "Energy of the same machine without skipping, divided by that with skipping.", rows,
      draw: (width) => drawLines(energy, { ...common, width, dots, one: true, yLabel: "efficiency (times)", label: "Energy efficiency over the training", value: (value) => times(value, 4) }) },
    { name: "profile-zeros", title: "Zeros", note: "Share of zeros of all layers together.", rows,
      draw: (width) => drawLines(zeros, { ...common, width, dots, top: 100, yLabel: "zeros (%)", label: "Zeros over the training", value: (value) => `${plain(value, 4)} %` }) },
  ];
  return pictures.filter((picture) => profile.rows.length > 0 && (picture.name !== "profile-energy" || energy.some((line) => line.points.length > 0)));
}

export function profileAnswer(page: PageData): Answer {
  const { title, steps, dropped, failures, rows } = page.profile!;
  const last = rows.filter((row) => row.step === rows.at(-1)?.step);
  return {
    sentences: [
      `${title}: ${whole(steps)} steps so far, ${whole(new Set(rows.map((row) => row.step)).size)} measured, ${whole(dropped)} dropped because the simulation was still busy.`,
      ...failures,
    ],
    numbers: last.map((row) => ({ label: baseTitle(row.machine), value: times(row.speedup, 3), detail: `${isNumber(row.standard_error) ? `± ${plain(row.standard_error, 2)}, ` : ""}${at(row.step)}`, colour: machineColour(row.machine) })),
  };
}

export function profileLayers(page: PageData): HTMLElement {
  const share = (value: number): string => percent(value, 1);
  return tableCard("profile-layers", "Zeros by layer", "The last measured step.", [{ name: "layer", title: "layer" }, ...operands.map((operand) => ({ name: operand, title: operandTitle[operand], text: share }))],
    Object.entries(page.profile!.layers).map(([layer, [A, W, G]]) => ({ layer, A, W, G })));
}
