// Metrics and designs as text.
import { shorten } from "../parts/dom";
import { plain, si } from "../parts/format";
import { settingText, type Point, type Sweep } from "./data";

// "area", "energy delay", "time"
export const metricWords = (sweep: Sweep, metric: number): string => sweep.data.metrics[metric]!.replace(/_(mm2|joules|bytes)$/, "").replace(/^seconds$/, "time").replaceAll("_", " ");
export const metricTitle = (sweep: Sweep, metric: number): string => {
  const name = metricWords(sweep, metric);
  const unit = sweep.data.units[metric]!;
  return unit && unit !== "x" && unit !== name ? `${name} (${unit})` : name;
};
export const better = (sweep: Sweep, metric: number): string => (sweep.data.more_is_better[metric] ? "more is better" : "less is better");

// Three digits, with an SI prefix where the number is large or small.
export function shortNumber(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e4) return si(value, 3);
  if (size === 0 || size >= 1e-3) return String(Number(value.toPrecision(3)));
  for (const [scale, unit] of [[1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]] as const) if (size >= scale) return `${Number((value / scale).toPrecision(3))} ${unit}`;
  return value.toExponential(2);
}
export const exactNumber = (value: number | null): string => (value === null ? "–" : plain(value, 6));
export const withUnit = (sweep: Sweep, metric: number, value: number | null): string => {
  const unit = sweep.data.units[metric]!;
  const text = exactNumber(value);
  return unit === "x" ? `${text}x` : unit ? `${text} ${unit}` : text;
};

export const designName = (sweep: Sweep, design: number, most = 60): string => {
  const [, machine, , parameters] = sweep.data.designs[design]!;
  return shorten(`${machine} ${parameters}`.trim(), most);
};

// The configuration, one parameter per line: those that were varied.
export function hoverLines(sweep: Sweep, point: Point, front: boolean): string[] {
  const [id, machine] = sweep.data.designs[point.design]!;
  const settings = sweep.data.parameters.flatMap(({ name }, i) => {
    const value = sweep.setting(point.design, i);
    return name === "machine" || value === null ? [] : [`${name} ${settingText(value)}`];
  });
  return [
    `${shorten(machine, 40)}, design ${id}${front ? ", on the front" : ""}`,
    ...[sweep.y, sweep.x].map((metric) => `${sweep.data.metrics[metric]}: ${withUnit(sweep, metric, sweep.value(point, metric))}`),
    ...settings,
  ];
}
