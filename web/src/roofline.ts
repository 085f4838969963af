// Roofline: every operation of every layer on every machine, below what multipliers and DRAM could do.
import * as Plot from "@observablehq/plot";
import { choice, type Picture } from "./parts/card";
import { opTitle, ops, opsAndAll, type Op, type OpOrAll, type OpResult } from "./data";
import { el, lastPart } from "./parts/dom";
import { isNumber, percent, plain, whole } from "./parts/format";
import { addHover, type Spot } from "./parts/hover";
import type { Machine, Step } from "./model";

interface Point { machine: Machine; layer: number; name: string; op: Op; result: OpResult; x: number; y: number; share: number }
interface Roof { machine: Machine; multipliers: number; bandwidth: number }

const number = (machine: Machine, name: string): number => Number(machine.run.config[name] ?? NaN);

// Bytes that cross the bus in a cycle of the machine, and MACs of all multipliers: what the machine's JSON implies.
function roofOf(machine: Machine): Roof | null {
  const bandwidth = (number(machine, "dram_channels") * (number(machine, "dram_channel_bits") / 8) * number(machine, "dram_mts")) / number(machine, "frequency_mhz");
  const busy = machine.run.layers.flatMap((layer) => layer.ops).find((op) => (op.utilisation ?? 0) > 0 && op.cycles > 0);
  const multipliers = busy ? Math.round(busy.scheduled_macs / busy.utilisation! / busy.cycles) : NaN;
  return bandwidth > 0 && multipliers > 0 ? { machine, multipliers, bandwidth } : null;
}

function pointsOf(step: Step, machine: Machine, chosen: OpOrAll): Point[] {
  const all = machine.run.per_batch.all.cycles || 1;
  return machine.run.layers.flatMap((layer, index) =>
    layer.ops.filter((op) => chosen === "all" || op.op === chosen).flatMap((result): Point[] => {
      const x = result.macs_per_dram_byte, y = result.macs_per_cycle;
      if (!x || !y) return [];
      return [{ machine, layer: index, name: layer.name, op: result.op, result, x, y, share: (result.cycles * layer.batch_scale) / all }];
    }));
}

const roofText = (roof: Roof): string =>
  `${whole(roof.multipliers)} multipliers, ${plain((roof.bandwidth * number(roof.machine, "frequency_mhz")) / 1e3, 4)} GB/s`;

const digits = (value: number): string => (value >= 100 ? whole(value) : value.toPrecision(3));

// Null where no machine has a memory system, or the file is of an earlier version.
export function rooflinePicture(step: Step, op: OpOrAll, choose: (op: OpOrAll) => void, open: (layer: number) => void): Picture | null {
  const machines = [...step.machines, ...(step.dense ? [step.dense] : [])];
  const points = machines.flatMap((machine) => pointsOf(step, machine, op));
  const roofs = machines.map(roofOf).filter((roof): roof is Roof => roof !== null);
  if (points.length === 0 || roofs.length === 0) return null;
  // Machines with the same roof share a line.
  const different = [...new Map(roofs.map((roof) => [`${roof.multipliers} ${roof.bandwidth}`, roof])).values()];
  const bound = points.filter((point) => point.result.activity?.bound === "dram").length;
  const ideal = machines.filter((machine) => machine.run.config.memory === "ideal").map((machine) => machine.title);
  return {
    name: "roofline",
    title: bound > 0 ? `${bound} of ${points.length} operations wait for DRAM` : "No operation waits for DRAM",
    note: `Roofline, ${opTitle[op]}: MACs of the dense operation per cycle over those per byte on the DRAM bus; a point is an operation of a layer, as large as its share of the machine's time. Flat lines are all multipliers, slopes the DRAM's bandwidth. Skipped zeros lift a point above the flat line.${ideal.length > 0 ? ` With ideal memory (${ideal.join(", ")}) nothing waits, so points may lie left of the slope.` : ""} A click opens the layer.`,
    controls: choice("Operation", opsAndAll, (one) => (one === "all" ? "all" : opTitle[one]), op, choose),
    key: [...machines.map((machine) => el("span", { style: `color: ${machine.colour}` }, `● ${machine.title}`)), ...ops.map((one, i) => el("span", {}, `${"○□△"[i]} ${opTitle[one]}`)), ...different.map((roof) => el("span", {}, `― ${roofText(roof)}`))],
    rows: () => points.map((point) => ({
      layer: point.name, operation: point.op, machine: point.machine.run.arch, macs_per_dram_byte: point.x, macs_per_cycle: point.y,
      utilisation: point.result.utilisation ?? null, dram_bytes_per_cycle: point.result.dram_bytes_per_cycle ?? null, bound: point.result.activity?.bound ?? null,
    })),
    draw: (width) => {
      const narrow = width < 560;
      const xs = points.map((point) => point.x), ys = points.map((point) => point.y);
      const ridge = Math.max(...roofs.map((roof) => roof.multipliers / roof.bandwidth));
      const x0 = Math.min(...xs, ridge) / 1.6, x1 = Math.max(...xs, ridge) * 1.6;
      const y1 = Math.max(...ys, ...roofs.map((roof) => roof.multipliers)) * 1.7, y0 = Math.min(...ys) / 1.7;
      const lines = different.flatMap((roof) => {
        const corner = roof.multipliers / roof.bandwidth;
        const from = Math.max(x0, y0 / roof.bandwidth);
        return [{ roof, x: from, y: from * roof.bandwidth }, { roof, x: corner, y: roof.multipliers }, { roof, x: x1, y: roof.multipliers }];
      });
      const most = Math.max(...points.map((point) => point.share));
      const plot = Plot.plot({
        width,
        height: narrow ? 320 : 420,
        marginLeft: 56,
        marginRight: 16,
        marginTop: 24,
        marginBottom: 42,
        x: { type: "log", domain: [x0, x1], label: "MACs per byte of DRAM traffic", labelAnchor: "center", labelArrow: "none", grid: true, ticks: narrow ? 4 : 8, tickFormat: "~g" },
        y: { type: "log", domain: [y0, y1], label: "MACs per cycle", labelArrow: "none", grid: true, ticks: narrow ? 4 : 6, tickFormat: "~s" },
        r: { domain: [0, most], range: [2.5, narrow ? 7 : 10] },
        symbol: { domain: ops, range: ["circle", "square", "triangle"] },
        marks: [
          Plot.line(lines, { x: "x", y: "y", z: (point) => `${point.roof.multipliers} ${point.roof.bandwidth}`, stroke: "var(--text)", strokeWidth: 1.5, strokeOpacity: 0.75, clip: true }),
          // On a phone the key says which roof it is: a label would lie on points.
          narrow ? null : Plot.text(lines.filter((_, i) => i % 3 === 1), { x: "x", y: "y", text: (point) => roofText(point.roof), textAnchor: "end", dy: -8, dx: -4, fill: "var(--muted)", stroke: "var(--card)", strokeWidth: 4, fontSize: 11 }),
          Plot.dot(points, { x: "x", y: "y", r: "share", symbol: "op", fill: (point) => point.machine.colour, fillOpacity: 0.75, stroke: "var(--card)", strokeWidth: 0.6, clip: true }),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
      const x = plot.scale("x")!, y = plot.scale("y")!;
      const reach = 7; // around a point's centre
      const spots = points.map((point): Spot => ({
        x: x.apply(point.x), y: y.apply(point.y),
        box: [x.apply(point.x) - reach, y.apply(point.y) - reach, x.apply(point.x) + reach, y.apply(point.y) + reach],
        lines: [
          `${lastPart(point.name, 40)}, ${opTitle[point.op]}`, point.machine.title, `${digits(point.x)} MACs per byte, ${digits(point.y)} MACs per cycle`,
          ...(!isNumber(point.result.utilisation) ? [] : [`${percent(point.result.utilisation, 1)} of the multipliers' cycles used`]),
          ...(!isNumber(point.result.dram_bytes_per_cycle) ? [] : [`${digits(point.result.dram_bytes_per_cycle)} bytes per cycle on the DRAM bus`]),
          `bound by ${point.result.activity?.bound ?? "-"}`, `${percent(point.share, 2)} of the machine's time`,
        ],
        layer: point.layer,
      }));
      addHover(plot, `Roofline, ${opTitle[op]}. Arrow keys move between operations, Enter opens a layer.`, spots, open);
      return plot;
    },
  };
}
