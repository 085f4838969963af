// Parallel coordinates: one line per design through its parameters and metrics. Dragging along an axis of a metric keeps
// the designs in that range. On a narrow page the axes lie below each other.
import { type Picture } from "../parts/card";
import { el, shorten } from "../parts/dom";
import { hideTip, showTip } from "../parts/hover";
import { machineColour } from "../parts/theme";
import { colourNow, markImage, svgElement } from "./canvas";
import { settingText, type Point, type Sweep } from "./data";
import { csvRows } from "./scatter";
import { exactNumber, metricTitle, shortNumber } from "./text";

const mostLines = 4000;

// The same for the same number, from -0.5 to 0.5.
const noise = (seed: number): number => { const part = Math.sin(seed * 12.9898) * 43758.5453; return part - Math.floor(part) - 0.5; };

interface Coordinate {
  title: string;
  metric: number | null;
  place: (point: Point) => number | null; // 0 to 1
  ticks: { at: number; text: string }[];
  share: (value: number) => number; // of a metric, and back
  value: (share: number) => number;
}

function parameterAxis(sweep: Sweep, index: number): Coordinate {
  const { name, values, of } = sweep.data.parameters[index]!;
  const spread = (i: number): number => (values.length === 1 ? 0.5 : i / (values.length - 1));
  const every = Math.ceil(values.length / 9);
  return {
    title: name, metric: null, share: (value) => value, value: (share) => share,
    place: (point) => (of[point.design]! < 0 ? null : spread(of[point.design]!)),
    ticks: values.flatMap((value, i) => (i % every === 0 ? [{ at: spread(i), text: shorten(settingText(value), 14) }] : [])),
  };
}

function metricAxis(sweep: Sweep, metric: number): Coordinate | null {
  const known = sweep.data.sets[sweep.set]!.columns[metric]!.filter((value): value is number => value !== null);
  if (known.length === 0) return null;
  const low = known.reduce((a, b) => Math.min(a, b));
  const high = known.reduce((a, b) => Math.max(a, b));
  const log = low > 0 && high > 30 * low;
  const share = (value: number): number => (high === low ? 0.5 : log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  const value = (at: number): number => (log ? low * (high / low) ** at : low + at * (high - low));
  return {
    title: metricTitle(sweep, metric), metric, share, value,
    place: (point) => { const one = sweep.value(point, metric); return one === null ? null : share(one); },
    ticks: [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: shortNumber(value(at)) })),
  };
}

export function coordinates(sweep: Sweep): Coordinate[] {
  const wanted = ["energy_efficiency", "energy_delay", "seconds"].map((name) => sweep.data.metrics.indexOf(name)).filter((metric) => metric >= 0);
  const metrics = [...new Set([...wanted.slice(0, 2), sweep.x, sweep.y])];
  return [...sweep.data.parameters.keys()].slice(0, 9).map((i) => parameterAxis(sweep, i)).concat(metrics.map((metric) => metricAxis(sweep, metric)).filter((axis): axis is Coordinate => axis !== null));
}

export function parallelPicture(sweep: Sweep, points: Point[], front: Point[], changed: () => void): Picture {
  const thinned = points.length > mostLines;
  const ranges = [...sweep.limits].map(([metric, [low, high]]) => `${sweep.data.metrics[metric]} ${shortNumber(low)} to ${shortNumber(high)}`);
  return {
    name: "parallel",
    title: "Which configurations lead to which results",
    note: `One line per design, those of the front drawn bold${thinned ? `; of the others one in ${Math.ceil(points.length / mostLines)}` : ""}. Drag along an axis of a metric to keep the designs in that range${ranges.length > 0 ? `; now: ${ranges.join(", ")}` : ""}.`,
    rows: () => csvRows(sweep, points, new Set(front.map((point) => point.design))),
    controls: sweep.limits.size > 0 ? el("button", { type: "button", class: "small", click: () => { sweep.limits.clear(); changed(); } }, "Remove ranges") : undefined,
    draw: (width) => draw(sweep, points, front, changed, width),
  };
}

function draw(sweep: Sweep, points: Point[], front: Point[], changed: () => void, width: number): SVGSVGElement {
  const axes = coordinates(sweep);
  const upright = width >= 84 * axes.length; // axes stand; else they lie
  const height = upright ? 340 : 40 + 62 * (axes.length - 1) + 34;
  const [begin, end] = upright ? [46, height - 18] : [14, width - 14];
  // Labels stand left of their axis.
  const left = 20 + 7 * Math.max(3, ...(axes[0]?.ticks.map((tick) => tick.text.length) ?? []));
  const across = (i: number): number => {
    const share = axes.length === 1 ? 0.5 : i / (axes.length - 1);
    return upright ? left + share * (width - left - 44) : 34 + share * (height - 34 - 26);
  };
  // Along an axis values grow upwards, or to the right.
  const along = (share: number): number => (upright ? end - share * (end - begin) : begin + share * (end - begin));
  const place = (point: Point, i: number, spread: number): [number, number] | null => {
    const exact = axes[i]!.place(point);
    if (exact === null) return null;
    // Designs share the few values of a parameter: a little room for each shows how many there are.
    const share = axes[i]!.metric === null ? exact + spread * noise(point.design * 31 + i) : exact;
    return upright ? [across(i), along(share)] : [along(share), across(i)];
  };
  // Through the axes that the design has.
  const route = (point: Point, spread = 0): [number, number][] => axes.map((_, i) => place(point, i, spread)).filter((one): one is [number, number] => one !== null);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", fill: "currentColor", "aria-label": `Parallel coordinates of ${points.length} designs: ${axes.map((axis) => axis.title).join(", ")}` });
  const onFront = new Set(front.map((point) => point.design));
  const others = points.filter((point) => !onFront.has(point.design));
  const every = Math.ceil(others.length / mostLines);
  svg.append(markImage(width, height, (canvas) => {
    canvas.lineWidth = 1;
    canvas.globalAlpha = Math.min(0.5, Math.max(0.05, 60 / others.length));
    for (let k = 0; k < others.length; k += every) {
      const point = others[k]!;
      canvas.strokeStyle = colourNow(machineColour(sweep.data.designs[point.design]![2]));
      canvas.beginPath();
      route(point, 0.07).forEach(([x, y], i) => (i === 0 ? canvas.moveTo(x, y) : canvas.lineTo(x, y)));
      canvas.stroke();
    }
  }));
  const routes = front.map((point) => route(point));
  front.forEach((point, i) => svg.append(svgElement("polyline", { points: routes[i]!.map((one) => one.join(",")).join(" "), fill: "none", stroke: machineColour(sweep.data.designs[point.design]![2]), "stroke-width": 2, "stroke-opacity": front.length > 40 ? 0.5 : 0.9, "stroke-linejoin": "round" })));
  axes.forEach((axis, i) => svg.append(axisMarks(axis, across(i), along, upright, width)));
  addBrush(svg, sweep, axes, across, [begin, end], upright, changed);
  svg.addEventListener("pointerleave", hideTip);
  return svg;
}

function axisMarks(axis: Coordinate, across: number, along: (share: number) => number, upright: boolean, width: number): SVGGElement {
  const group = svgElement("g", { class: "axis" });
  const line = upright ? { x1: across, x2: across, y1: along(0), y2: along(1) } : { x1: along(0), x2: along(1), y1: across, y2: across };
  group.append(svgElement("line", { ...line, stroke: "var(--muted)", "stroke-width": 1 }));
  const halo = { "paint-order": "stroke", stroke: "var(--card)", "stroke-width": 4, "stroke-linejoin": "round" };
  const title = shorten(axis.title, upright ? 26 : 40);
  // Two lines where one would run into the next axis.
  const words = title.split(/[ _]/);
  const lines = upright && title.length > 12 && words.length > 1 ? [words.slice(0, Math.ceil(words.length / 2)).join(" "), words.slice(Math.ceil(words.length / 2)).join(" ")] : [title];
  if (upright) lines.forEach((line, i) => group.append(svgElement("text", { x: across, y: 26 - 14 * (lines.length - 1 - i), "text-anchor": "middle", "font-weight": 600, fill: "var(--text)", ...halo }, line)));
  group.append(upright
    ? svgElement("g", {})
    : svgElement("text", { x: 14, y: across - 12, "font-weight": 600, fill: "var(--text)", ...halo }, title));
  axis.ticks.forEach((tick, i) => {
    const at = along(tick.at);
    const anchor = upright ? "end" : at < 30 ? "start" : at > width - 30 ? "end" : "middle";
    // On a narrow page there is no room for all of them.
    if (!upright && axis.ticks.length > 6 && i % 2 === 1) return;
    group.append(upright
      ? svgElement("text", { x: across - 6, y: at + 4, "text-anchor": anchor, fill: "var(--muted)", ...halo }, tick.text)
      : svgElement("text", { x: at, y: across + 15, "text-anchor": anchor, fill: "var(--muted)", ...halo }, tick.text));
  });
  return group;
}

function addBrush(svg: SVGSVGElement, sweep: Sweep, axes: Coordinate[], across: (i: number) => number, [begin, end]: [number, number], upright: boolean, changed: () => void): void {
  axes.forEach((axis, i) => {
    if (axis.metric === null) return;
    const metric = axis.metric;
    const at = across(i);
    const share = (pixel: number): number => Math.min(1, Math.max(0, upright ? (end - pixel) / (end - begin) : (pixel - begin) / (end - begin)));
    const toPixel = (value: number): number => { const part = Math.min(1, Math.max(0, axis.share(value))); return upright ? end - part * (end - begin) : begin + part * (end - begin); };
    const band = svgElement("rect", { fill: "var(--focus)", "fill-opacity": 0.22, stroke: "var(--focus)", rx: 3, visibility: "hidden" });
    const mark = (a: number, b: number): void => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      const box = upright ? { x: at - 8, y: low, width: 16, height: high - low } : { x: low, y: at - 8, width: high - low, height: 16 };
      for (const [name, value] of Object.entries(box)) band.setAttribute(name, String(value));
      band.setAttribute("visibility", "visible");
    };
    const now = sweep.limits.get(metric);
    if (now) mark(toPixel(now[0]), toPixel(now[1]));
    const grip = svgElement("rect", { ...(upright ? { x: at - 14, y: begin, width: 28, height: end - begin } : { x: begin, y: at - 14, width: end - begin, height: 28 }), fill: "transparent", class: "brush", "data-metric": sweep.data.metrics[metric]! });
    let from: number | null = null;
    const pixel = (event: PointerEvent): number => {
      const area = svg.getBoundingClientRect();
      const scale = (svg.viewBox.baseVal.width || area.width) / area.width;
      return Math.min(end, Math.max(begin, upright ? (event.clientY - area.top) * scale : (event.clientX - area.left) * scale));
    };
    const value = (at_: number): number => axis.value(share(at_));
    grip.addEventListener("pointerdown", (event) => { from = pixel(event); grip.setPointerCapture(event.pointerId); event.preventDefault(); });
    grip.addEventListener("pointermove", (event) => {
      const here = pixel(event);
      if (from !== null) mark(from, here);
      showTip(svg, upright ? at : here, upright ? here : at, [axis.title, exactNumber(Number(value(here).toPrecision(3)))]);
    });
    grip.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [a, b] = [value(from), value(pixel(event))];
      // A click without a drag takes the range away.
      if (Math.abs(pixel(event) - from) < 4) sweep.limits.delete(metric);
      else sweep.limits.set(metric, [Math.min(a, b), Math.max(a, b)]);
      from = null;
      hideTip();
      changed();
    });
    svg.append(band, grip);
  });
}
