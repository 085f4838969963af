// Map of the zeros: one column per layer, as wide as its share of the work; one row per operand.
import * as Plot from "@observablehq/plot";
import type { Operand } from "./data";
import { lastPart } from "./parts/dom";
import { percent, si } from "./parts/format";
import { addHover, type Spot } from "./parts/hover";
import type { Picture } from "./parts/card";
import { layerAtBest, type Step } from "./model";
import { zeroRange, zeroText } from "./parts/theme";
import { times } from "./parts/format";

const operands: Operand[] = ["A", "W", "G"];
const operandTitle: Record<Operand, string> = { A: "A activations", W: "W weights", G: "G gradients" };

export function zerosPicture(step: Step, open: (layer: number) => void): Picture {
  const inspect = step.inspect!;
  const shown = operands.filter((operand) => inspect.layers.some((layer) => layer.zeros[operand] !== undefined));
  const by = inspect.zeros_by_macs;
  const most = [...shown].sort((a, b) => (by[b] ?? 0) - (by[a] ?? 0))[0];
  const names: Record<Operand, string> = { A: "activations", W: "weights", G: "gradients" };
  return {
    name: "zeros",
    title: most && (by[most] ?? 0) > 0 ? `Most zeros are in the ${names[most]}: ${percent(by[most])}` : "Where are the zeros?",
    note: "One column per layer, as wide as its share of the multiplications. The number and the shade give the share of zeros in %. A click opens the layer.",
    rows: () => step.layers.flatMap((layer) => shown.map((operand) => ({
      layer: layer.name, shape: layer.shape, share_of_work: layer.share, operand, zeros: inspect.layers[layer.index]!.zeros[operand] ?? null,
    }))),
    draw: (width) => {
      let x = 0;
      const cells: { x1: number; x2: number; operand: Operand; zeros: number; layer: number }[] = [];
      const edges = step.layers.map((layer) => {
        const edge = { x1: 100 * x, x2: 100 * (x + layer.share), layer };
        x += layer.share;
        for (const operand of shown) {
          const zeros = inspect.layers[layer.index]!.zeros[operand];
          if (zeros !== undefined) cells.push({ ...edge, operand, zeros, layer: layer.index });
        }
        return edge;
      });
      const narrow = width < 560;
      const left = narrow ? 24 : 96;
      const unit = (width - left - 8) / 100;
      const room = (edge: { x1: number; x2: number }): number => (edge.x2 - edge.x1) * unit;
      const label = (layer: string, pixels: number): string => lastPart(layer, Math.max(4, Math.floor(pixels / 6.6)));
      const row = 46;
      const plot = Plot.plot({
        width,
        height: 30 + row * shown.length + 40,
        marginLeft: left,
        marginRight: 8,
        marginTop: 26,
        marginBottom: 40,
        x: { domain: [0, 100], label: "share of the multiplications of a training step (%)", labelAnchor: "center", labelArrow: "none" },
        y: { domain: shown, label: null, tickFormat: (operand: Operand) => (narrow ? operand : operandTitle[operand]), tickSize: 0, padding: 0.06 },
        color: { type: "linear", domain: [0, 0.5, 1], range: zeroRange() },
        marks: [
          Plot.barX(cells, { x1: "x1", x2: "x2", y: "operand", fill: "zeros", insetLeft: unit > 0 && step.layers.length > 300 ? 0 : 0.5, insetRight: step.layers.length > 300 ? 0 : 0.5 }),
          Plot.text(cells.filter((cell) => room(cell) > 26), {
            x: (cell) => (cell.x1 + cell.x2) / 2, y: "operand", text: (cell) => (100 * cell.zeros).toFixed(0),
            fill: (cell) => zeroText(cell.zeros), fontSize: 12, fontVariant: "tabular-nums",
          }),
          Plot.text(edges.filter((edge) => room(edge) > 44), {
            x: (edge) => (edge.x1 + edge.x2) / 2, frameAnchor: "top", dy: -12, fontSize: 11, text: (edge) => label(edge.layer.name, room(edge)),
          }),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
      const apply = plot.scale("x")!;
      const spots = edges.map((edge): Spot => {
        const zeros = inspect.layers[edge.layer.index]!.zeros;
        return {
          x: apply.apply((edge.x1 + edge.x2) / 2), y: 26 + (row * shown.length) / 2,
          box: [apply.apply(edge.x1), 24, apply.apply(edge.x2), 28 + row * shown.length],
          lines: [
            edge.layer.name, edge.layer.shape,
            ...shown.map((operand) => `${operandTitle[operand]}: ${percent(zeros[operand], 2)} zeros`),
            `${percent(edge.layer.share, 2)} of the work (${si(edge.layer.macs)} MACs per batch)`,
            `at best ${times(layerAtBest(step, edge.layer.index, "all"), 3)}`,
          ],
          layer: edge.layer.index,
        };
      });
      addHover(plot, "Share of zeros by layer and operand. Arrow keys move between layers, Enter opens one.", spots, open);
      return plot;
    },
  };
}
