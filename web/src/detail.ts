// One layer, opened: its operations on every machine.
import { ops, opTitle, type EnergyPair, type Op, type OpResult, type Run } from "./data";
import { el, replace } from "./parts/dom";
import { isNumber, joules, percent, plain, times, whole } from "./parts/format";
import { ratio, type Step } from "./model";

export type LayerRow = Record<"layer" | "shape" | "operation" | "skips", string> &
  Record<"machine" | "arch" | "bound" | "mapping", string | null> &
  Record<"macs" | "effectual_macs" | "batch_scale", number> &
  Record<"baseline_cycles" | "cycles" | "speedup" | "from_zeros" | "at_best" | "joules" | "utilisation" | "dram_gigabytes_per_second", number | null>;

// The energy of each operation; looked up by name.
const energies = new WeakMap<Run, Map<string, EnergyPair>>();
function energyOf(run: Run, layer: string, op: Op): EnergyPair | undefined {
  let found = energies.get(run);
  if (!found) energies.set(run, (found = new Map((run.energy?.operations ?? []).map((one) => [`${one.op} ${one.layer}`, one]))));
  return found.get(`${op} ${layer}`);
}

// Achieved on the DRAM bus.
const bandwidth = (run: Run, op: OpResult): number | null =>
  isNumber(op.dram_bytes_per_cycle) && typeof run.config.frequency_mhz === "number" ? (op.dram_bytes_per_cycle * run.config.frequency_mhz) / 1e3 : null;

export function layerRows(step: Step, index: number): LayerRow[] {
  const layer = step.layers[index]!;
  const inspect = step.inspect?.layers[index];
  return ops.flatMap((op): LayerRow[] => {
    const potential = inspect?.ops.find((one) => one.op === op);
    const machines = [...(step.dense ? [step.dense] : []), ...step.machines];
    const rows = machines.flatMap((machine): LayerRow[] => {
      const found = machine.run.layers[index]?.ops.find((one) => one.op === op);
      if (!found) return [];
      const energy = energyOf(machine.run, layer.name, op);
      return [{
        layer: layer.name, shape: layer.shape, operation: op as string, machine: machine.title, arch: machine.run.arch, skips: found.scheduled,
        macs: found.macs, effectual_macs: found.effectual_macs, baseline_cycles: found.baseline_cycles, cycles: found.cycles,
        from_zeros: found.speedup_from_zeros ?? ratio(found.baseline_cycles, found.cycles), speedup: ratio(found.baseline_cycles, found.cycles), at_best: potential?.potential ?? null,
        utilisation: found.utilisation ?? null, dram_gigabytes_per_second: bandwidth(machine.run, found),
        mapping: found.mapping ? Object.entries(found.mapping).map(([name, value]) => `${name} ${value}`).join(", ") : null,
        bound: found.activity?.bound ?? null, joules: energy?.machine.total ?? null, batch_scale: layer.scale,
      }];
    });
    if (rows.length === 0 && potential)
      return [{ layer: layer.name, shape: layer.shape, operation: op as string, machine: null, arch: null, skips: potential.targeted, macs: potential.macs, effectual_macs: potential.effectual_macs, baseline_cycles: null, cycles: null, speedup: null, from_zeros: null, at_best: potential.potential, bound: null, utilisation: null, dram_gigabytes_per_second: null, mapping: null, joules: null, batch_scale: layer.scale }];
    return rows;
  });
}

export function showLayer(panel: HTMLElement, step: Step, index: number, close: () => void): void {
  const layer = step.layers[index];
  if (!layer) return;
  const zeros = step.inspect?.layers[index]?.zeros ?? {};
  const rows = layerRows(step, index);
  const machines = rows.some((row) => row.machine !== null);
  const energy = rows.some((row) => row.joules !== null);
  const roofs = rows.some((row) => row.utilisation !== null);
  const mapped = rows.filter((row) => row.mapping !== null);
  replace(panel,
    el("header", {}, el("h3", { tabindex: "-1" }, layer.name), el("button", { type: "button", class: "small", click: close, "aria-label": "Close the layer" }, "Close")),
    el("p", { class: "note" }, `${layer.shape}; ${percent(layer.share, 2)} of the step's multiplications; zeros: ${Object.entries(zeros).map(([name, share]) => `${name} ${percent(share, 1)}`).join(", ") || "not known"}. Cycles are of the recorded samples, ${layer.scale === 1 ? "which are the whole batch" : `which are 1/${Number(layer.scale.toPrecision(4))} of the batch`}.`),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ...["operation", ...(machines ? ["machine"] : []), "skips zeros of"].map((title) => el("th", { scope: "col" }, title)),
        ...["MACs", "both operands non-zero", ...(machines ? ["cycles", "from zeros", "speedup"] : []), "at best", ...(roofs ? ["multipliers used", "DRAM, GB/s"] : []), ...(energy ? ["energy per batch"] : [])].map((title) => el("th", { scope: "col", class: "n" }, title)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, el("td", {}, opTitle[row.operation as Op]), machines && el("td", {}, row.machine), el("td", {}, row.skips),
        ...[whole(row.macs), whole(row.effectual_macs), ...(machines ? [whole(row.cycles), times(row.from_zeros, 4), times(row.speedup, 4)] : []), times(row.at_best, 4), ...(roofs ? [percent(row.utilisation, 1), plain(row.dram_gigabytes_per_second, 3)] : []), ...(energy ? [joules(row.joules)] : [])].map((text) => el("td", { class: "n" }, text))))))),
    mapped.length > 0 && el("details", {}, el("summary", {}, "How it is laid on the machines"),
      ...mapped.map((row) => el("p", { class: "note" }, `${row.machine}, ${opTitle[row.operation as Op]}: ${row.mapping}`))));
  panel.hidden = false;
}
