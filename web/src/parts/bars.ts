// Plain horizontal bars with a line at 1x, for comparisons and measurements.
import * as Plot from "@observablehq/plot";
import { shorten } from "./dom";
import { times } from "./format";
import { addHover, type Spot } from "./hover";

// `best`: what would be possible, drawn as a tick.
export interface Bar { group: string; name: string; value: number; best?: number | null; colour: string; text: string; lines: string[] }

export function drawBars(bars: Bar[], width: number, axis: string, label: string): SVGSVGElement {
  const groups = [...new Set(bars.map((bar) => bar.group))];
  const names = [...new Set(bars.map((bar) => bar.name))];
  const longest = Math.max(1.1, ...bars.map((bar) => bar.value));
  const ticks = bars.filter((bar) => typeof bar.best === "number");
  // A tick far beyond every bar is written out at the edge, so that the bars stay readable.
  const limit = Math.min(Math.max(longest, ...ticks.map((bar) => bar.best!)), 2.2 * longest) * 1.08;
  // Labels stand behind their bars, the longest of which ends near the edge.
  const right = Math.min(0.4 * width, Math.max(44, 12 + 7 * Math.max(...bars.map((bar) => bar.text.length))));
  const plot = Plot.plot({
    width, height: 20 + groups.length * (names.length * 22 + 26) + 42, marginLeft: width < 560 ? 104 : 150, marginRight: right, marginTop: 24, marginBottom: 42,
    x: { domain: [0, limit], label: axis, labelAnchor: "center", labelArrow: "none", grid: true, ticks: width < 560 ? 4 : 8 },
    y: { domain: names, label: null, tickSize: 0, padding: 0.2, tickFormat: (name: string) => shorten(name, width < 560 ? 14 : 20) },
    fy: { domain: groups, label: null, axis: null, padding: 0.2 },
    marks: [
      Plot.text(groups, { fy: (group) => group, text: (group) => shorten(group, 60), frameAnchor: "top-left", dy: -14, fontWeight: 600, fontSize: 12 }),
      Plot.barX(bars, { fy: "group", y: "name", x: "value", fill: "colour" }),
      Plot.ruleX([1], { stroke: "var(--text)", strokeOpacity: 0.7 }),
      Plot.tickX(ticks.filter((bar) => bar.best! <= limit), { fy: "group", y: "name", x: (bar) => bar.best!, stroke: "var(--dense)", strokeWidth: 3 }),
      Plot.text(ticks.filter((bar) => bar.best! > limit), { fy: "group", y: "name", x: limit, text: (bar) => `at best ${times(bar.best)} →`, textAnchor: "end", fill: "var(--muted)", fontSize: 11 }),
      Plot.text(bars, { fy: "group", y: "name", x: "value", text: "text", textAnchor: "start", dx: 5, fontSize: 12, fontVariant: "tabular-nums", stroke: "var(--card)", strokeWidth: 4, fill: "var(--text)" }),
    ],
  }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number; bandwidth?: number } | undefined };
  const x = plot.scale("x")!;
  const y = plot.scale("y")!;
  const fy = plot.scale("fy")!;
  addHover(plot, label, bars.map((bar): Spot => {
    const top = fy.apply(bar.group) - 24 + y.apply(bar.name);
    return { x: x.apply(bar.value), y: top + y.bandwidth! / 2, box: [x.apply(0), top, width - right, top + y.bandwidth!], lines: [`${bar.group}: ${bar.name}`, ...bar.lines] };
  }));
  return plot;
}
