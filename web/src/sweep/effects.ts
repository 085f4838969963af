// Effect of each parameter on a metric, the others averaged: one row per parameter, one dot per value.
import * as Plot from "@observablehq/plot";
import { type Picture } from "../parts/card";
import { shorten } from "../parts/dom";
import { exactTimes, percent, times } from "../parts/format";
import { addHover, type Spot } from "../parts/hover";
import { effectsOf, settingText, type Point, type Sweep } from "./data";
import { metricWords } from "./text";

export function effectsPicture(sweep: Sweep, points: Point[], metric: number, id: string): Picture | null {
  const effects = effectsOf(sweep, points, metric);
  if (effects.length === 0) return null;
  const name = metricWords(sweep, metric);
  const first = effects[0]!;
  return {
    name: id,
    title: first.ratio < 1.005 ? `No parameter moves ${name}` : `${shorten(first.parameter, 24)} moves ${name} most: ${times(first.ratio, 3)}`,
    note: "Mean of the designs with each value, relative to the mean of their machine; the other parameters are averaged.",
    rows: () => effects.flatMap((effect) => effect.levels.map((level) => ({ parameter: effect.parameter, value: settingText(level.value), relative: level.relative, rows: level.rows, share_of_variance: effect.share }))),
    draw: (width) => {
      const rows = effects.slice(0, 12);
      const dots = rows.flatMap((effect) => effect.levels.map((level, i) => ({ effect, level, tone: effect.levels.length === 1 ? 1 : 0.35 + (0.65 * i) / (effect.levels.length - 1) })));
      const ends = rows.map((effect) => {
        const sorted = [...effect.levels].sort((a, b) => a.relative - b.relative);
        return { effect, low: sorted[0]!, high: sorted.at(-1)! };
      });
      const low = Math.min(...dots.map((dot) => dot.level.relative));
      const high = Math.max(...dots.map((dot) => dot.level.relative));
      const room = Math.max(0.02, (high - low) * 0.06);
      const left = width < 480 ? 92 : 128;
      const plot = Plot.plot({
        width, height: 30 + rows.length * 34 + 42, marginLeft: left, marginRight: 16, marginTop: 14, marginBottom: 42,
        x: { domain: [Math.max(0, low - room), high + room], insetLeft: 58, insetRight: 58, label: `${name}, relative to the mean`, labelAnchor: "center", labelArrow: "none", grid: true, ticks: width < 480 ? 4 : 6, tickFormat: (value: number) => `${Number(value.toPrecision(3))}x` },
        y: { domain: rows.map((effect) => effect.parameter), label: null, tickSize: 0, padding: 0.3, tickFormat: (text: string) => shorten(text, width < 480 ? 13 : 18) },
        marks: [
          Plot.ruleX([1], { stroke: "var(--text)", strokeOpacity: 0.6 }),
          Plot.ruleY(ends, { y: (end) => end.effect.parameter, x1: (end) => end.low.relative, x2: (end) => end.high.relative, stroke: "var(--zeros)", strokeWidth: 3, strokeOpacity: 0.35 }),
          Plot.dot(dots, { y: (dot) => dot.effect.parameter, x: (dot) => dot.level.relative, r: 5, fill: "var(--zeros)", fillOpacity: "tone" as never, stroke: "var(--card)" }),
          Plot.text(ends, { y: (end) => end.effect.parameter, x: (end) => end.low.relative, text: (end) => shorten(settingText(end.low.value), 12), textAnchor: "end", dx: -9, stroke: "var(--card)", strokeWidth: 4, fill: "var(--text)" }),
          Plot.text(ends, { y: (end) => end.effect.parameter, x: (end) => end.high.relative, text: (end) => shorten(settingText(end.high.value), 12), textAnchor: "start", dx: 9, stroke: "var(--card)", strokeWidth: 4, fill: "var(--text)" }),
        ],
      }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number; bandwidth?: number } | undefined };
      const y = plot.scale("y")!;
      const x = plot.scale("x")!;
      addHover(plot, `What moves ${name}`, rows.map((effect): Spot => {
        const top = y.apply(effect.parameter);
        return {
          x: x.apply(Math.max(...effect.levels.map((level) => level.relative))), y: top + y.bandwidth! / 2, box: [0, top - 6, width, top + y.bandwidth! + 6],
          lines: [`${effect.parameter}: ${exactTimes(effect.ratio)} from lowest to highest`, `${percent(effect.share)} of the variance`, ...effect.levels.slice(0, 12).map((level) => `${settingText(level.value)}: ${exactTimes(level.relative)} (${level.rows.toLocaleString("en")} designs)`)],
        };
      }));
      return plot;
    },
  };
}
