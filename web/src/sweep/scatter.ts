// The designs in a plane of two metrics, and the front: those that none beats in both.
import * as Plot from "@observablehq/plot";
import { type Picture } from "../parts/card";
import { el, shorten } from "../parts/dom";
import { hideTip, showTip } from "../parts/hover";
import { type Row } from "../parts/save";
import { machineColour } from "../parts/theme";
import { colourNow, markImage, svgElement } from "./canvas";
import { settingText, type Point, type Sweep } from "./data";
import { better, hoverLines, metricTitle, metricWords, shortNumber } from "./text";

const margin = { left: 56, right: 18, top: 26, bottom: 46 };

// From zero if that costs little of the range; logarithmic where values span more than a factor of thirty.
function axis(values: number[]): { type: "linear" | "log"; domain: [number, number] } {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(low <= high)) return { type: "linear", domain: [0, 1] };
  if (low > 0 && high > 30 * low) return { type: "log", domain: [low / (high / low) ** 0.03, high * (high / low) ** 0.03] };
  if (low > 0 && low < 0.35 * high) low = 0;
  const room = (high - low || Math.abs(high) || 1) * 0.04;
  return { type: "linear", domain: [low === 0 ? 0 : low - room, high + room] };
}

// From the best x on: along x while nothing better in y is known, then to it.
function steps(sweep: Sweep, front: Point[], at: (point: Point) => [number, number]): string {
  const order = sweep.data.more_is_better[sweep.x] ? [...front].reverse() : front;
  return order.map((point, i) => { const [x, y] = at(point); return i === 0 ? `M${x},${y}` : `H${x}V${y}`; }).join("");
}

export function csvRows(sweep: Sweep, points: Point[], front: Set<number>): Row[] {
  return points.map((point) => {
    const [id, machine, , parameters] = sweep.data.designs[point.design]!;
    const row: Row = { design: id, machine, parameters, network: sweep.network(), front: front.has(point.design) ? 1 : 0 };
    sweep.data.parameters.forEach(({ name }, i) => { if (name !== "machine") row[name] = settingText(sweep.setting(point.design, i)); });
    sweep.data.metrics.forEach((name, i) => { row[name] = sweep.value(point, i); });
    return row;
  });
}

export function scatterPicture(sweep: Sweep, points: Point[], front: Point[], open: (design: number) => void, controls: HTMLElement): Picture {
  const onFront = new Set(front.map((point) => point.design));
  const [x, y] = [metricWords(sweep, sweep.x), metricWords(sweep, sweep.y)];
  const machines = new Map(points.map((point) => [sweep.data.designs[point.design]![1], sweep.data.designs[point.design]![2]]));
  return {
    name: "front",
    title: front.length === 0 ? "No design meets the filters" : `${y[0]!.toUpperCase()}${y.slice(1)} against ${x}, and the designs that none beats in both`,
    note: `One point per design, on ${sweep.network()}; the line is the front. Click a point for its configuration; with the keyboard the arrow keys walk along the front and Enter opens a design.`,
    controls,
    key: [...machines].slice(0, 12).map(([name, model]) => el("span", { class: "swatch" }, el("i", { class: "dot", style: `background: ${machineColour(model)}` }), shorten(name, 30))),
    rows: () => csvRows(sweep, points, onFront),
    draw: (width) => draw(sweep, points, front, onFront, open, width),
  };
}

function draw(sweep: Sweep, points: Point[], front: Point[], onFront: Set<number>, open: (design: number) => void, width: number): SVGSVGElement {
  const narrow = width < 560;
  const height = Math.round(Math.min(520, Math.max(320, width * 0.5)));
  const [across, up] = [sweep.x, sweep.y].map((metric) => axis(points.map((point) => sweep.value(point, metric)!))) as [ReturnType<typeof axis>, ReturnType<typeof axis>];
  const plot = Plot.plot({
    width, height, marginLeft: margin.left, marginRight: margin.right, marginTop: margin.top, marginBottom: margin.bottom,
    x: { ...across, label: `${metricTitle(sweep, sweep.x)}, ${better(sweep, sweep.x)}${across.type === "log" ? " (logarithmic)" : ""}`, labelAnchor: "center", labelArrow: "none", grid: true, ticks: narrow ? 4 : 8, tickFormat: shortNumber },
    y: { ...up, label: `${metricTitle(sweep, sweep.y)}, ${better(sweep, sweep.y)}${up.type === "log" ? " (logarithmic)" : ""}`, labelArrow: "none", grid: true, ticks: 6, tickFormat: shortNumber },
    marks: [Plot.frame({ stroke: "none" })],
  }) as SVGSVGElement & { scale(name: string): { apply(value: unknown): number } | undefined };
  const xScale = plot.scale("x")!;
  const yScale = plot.scale("y")!;
  const at = (point: Point): [number, number] => [xScale.apply(sweep.value(point, sweep.x)), yScale.apply(sweep.value(point, sweep.y))];
  const places = points.map(at);
  plot.append(markImage(width, height, (canvas) => {
    const radius = points.length > 3000 ? 2 : 2.8;
    canvas.globalAlpha = points.length > 3000 ? 0.35 : points.length > 300 ? 0.5 : 0.75;
    points.forEach((point, i) => {
      if (onFront.has(point.design)) return;
      canvas.fillStyle = colourNow(machineColour(sweep.data.designs[point.design]![2]));
      canvas.beginPath();
      canvas.arc(places[i]![0], places[i]![1], radius, 0, 2 * Math.PI);
      canvas.fill();
    });
  }));
  plot.append(svgElement("path", { d: steps(sweep, front, at), fill: "none", stroke: "var(--text)", "stroke-width": 1.6, "stroke-opacity": 0.8 }));
  const dots = svgElement("g", { "aria-label": "front" });
  for (const point of front) {
    const [cx, cy] = at(point);
    dots.append(svgElement("circle", { cx, cy, r: narrow ? 4 : 5, fill: machineColour(sweep.data.designs[point.design]![2]), stroke: "var(--card)", "stroke-width": 1.5 }));
  }
  plot.append(dots);
  addPointHover(plot, sweep, points, places, front, onFront, open);
  return plot;
}

// The nearest point within reach; a design of the front wins over one that is as near.
function addPointHover(svg: SVGSVGElement, sweep: Sweep, points: Point[], places: [number, number][], front: Point[], onFront: Set<number>, open: (design: number) => void): void {
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${sweep.data.metrics[sweep.y]} over ${sweep.data.metrics[sweep.x]} of ${points.length} designs, ${front.length} on the front`);
  svg.setAttribute("tabindex", "0");
  svg.classList.add("opens");
  const marker = svgElement("circle", { r: 8, class: "hover", visibility: "hidden" });
  svg.append(marker);
  const index = new Map(points.map((point, i) => [point.design, i]));
  let current = -1;
  let step = -1;
  const show = (next: number): void => {
    if (next === current) return;
    current = next;
    marker.setAttribute("visibility", next < 0 ? "hidden" : "visible");
    if (next < 0) return hideTip();
    const [x, y] = places[next]!;
    marker.setAttribute("cx", String(x));
    marker.setAttribute("cy", String(y));
    showTip(svg, x, y, hoverLines(sweep, points[next]!, onFront.has(points[next]!.design)));
  };
  const nearest = (event: MouseEvent): number => {
    const area = svg.getBoundingClientRect();
    const scale = (svg.viewBox.baseVal.width || area.width) / area.width;
    const x = (event.clientX - area.left) * scale;
    const y = (event.clientY - area.top) * scale;
    let best = -1;
    let least = 24 * 24;
    for (let i = 0; i < places.length; ++i) {
      const dx = places[i]![0] - x;
      const dy = places[i]![1] - y;
      const distance = (dx * dx + dy * dy) * (onFront.has(points[i]!.design) ? 0.4 : 1);
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  };
  svg.addEventListener("pointermove", (event) => show(nearest(event)));
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("blur", () => { step = -1; show(-1); });
  svg.addEventListener("click", (event) => { const found = nearest(event); if (found >= 0) open(points[found]!.design); });
  svg.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowRight" || event.key === "ArrowUp" ? 1 : event.key === "ArrowLeft" || event.key === "ArrowDown" ? -1 : 0;
    if (by !== 0 && front.length > 0) {
      step = step < 0 ? (by > 0 ? 0 : front.length - 1) : (step + by + front.length) % front.length;
      show(index.get(front[step]!.design)!);
    } else if (event.key === "Enter" && current >= 0) open(points[current]!.design);
    else if (event.key === "Escape") show(-1);
    else return;
    event.preventDefault();
  });
}
