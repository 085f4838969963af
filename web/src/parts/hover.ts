// Numbers on hover, by touch and by keyboard (arrow keys; Enter opens a layer). One box of text for the whole page.
import { el } from "./dom";

export interface Spot {
  x: number; // where the marker is, in the picture's units
  y: number;
  box?: [number, number, number, number]; // what can be pointed at; without it the nearest spot by x counts
  lines: string[];
  layer?: number;
}

let tip: HTMLElement | null = null;
function tipBox(): HTMLElement {
  tip ??= document.body.appendChild(el("div", { class: "tip", role: "status", "aria-live": "polite", hidden: true }));
  return tip;
}
export function hideTip(): void {
  if (tip) tip.hidden = true;
}

// The box next to a place of the picture, in its units.
export function showTip(svg: SVGSVGElement, x: number, y: number, lines: string[]): void {
  const box = tipBox();
  box.replaceChildren(...lines.map((line, i) => el(i === 0 ? "strong" : "span", {}, line)));
  box.hidden = false;
  const area = svg.getBoundingClientRect();
  const scale = area.width / (svg.viewBox.baseVal.width || area.width);
  const left = area.left + x * scale + 14;
  const size = box.getBoundingClientRect();
  const fits = left + size.width < document.documentElement.clientWidth - 8;
  box.style.left = `${Math.max(8, fits ? left : left - size.width - 28)}px`;
  box.style.top = `${Math.min(Math.max(8, area.top + y * scale - size.height / 2), innerHeight - size.height - 8)}px`;
}

function nearest(spots: Spot[], x: number): number {
  let low = 0;
  let high = spots.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spots[middle]!.x < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - spots[low - 1]!.x < spots[low]!.x - x ? low - 1 : low;
}

function boxAt(spots: Spot[], x: number, y: number): number {
  return spots.findIndex(({ box }) => box && x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
}

// Spots without boxes are sorted by x.
export function addHover(svg: SVGSVGElement, label: string, spots: Spot[], open?: (layer: number) => void): void {
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  if (spots.length === 0) return;
  svg.setAttribute("tabindex", "0");
  const boxes = spots[0]!.box !== undefined;
  const marker = document.createElementNS("http://www.w3.org/2000/svg", boxes ? "rect" : "line");
  marker.setAttribute("class", "hover");
  marker.setAttribute("visibility", "hidden");
  svg.append(marker);
  const height = svg.viewBox.baseVal.height || svg.clientHeight;
  let current = -1;

  const show = (index: number): void => {
    current = index;
    const spot = spots[index];
    marker.setAttribute("visibility", spot ? "visible" : "hidden");
    if (!spot) return hideTip();
    if (spot.box) {
      const [x0, y0, x1, y1] = spot.box;
      for (const [name, value] of Object.entries({ x: x0, y: y0, width: Math.max(x1 - x0, 1), height: y1 - y0 })) marker.setAttribute(name, String(value));
    } else {
      for (const [name, value] of Object.entries({ x1: spot.x, x2: spot.x, y1: 18, y2: height - 28 })) marker.setAttribute(name, String(value));
    }
    showTip(svg, spot.x, spot.y, spot.lines);
  };
  const at = (event: MouseEvent): number => {
    const area = svg.getBoundingClientRect();
    const scale = (svg.viewBox.baseVal.width || area.width) / area.width;
    const x = (event.clientX - area.left) * scale;
    const y = (event.clientY - area.top) * scale;
    return boxes ? boxAt(spots, x, y) : nearest(spots, x);
  };
  svg.addEventListener("pointermove", (event) => show(at(event)));
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("blur", () => show(-1));
  const openAt = (index: number): void => {
    const layer = spots[index]?.layer;
    if (open && layer !== undefined) open(layer);
  };
  svg.addEventListener("click", (event) => openAt(at(event)));
  svg.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : event.key === "ArrowLeft" || event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) show((current + step + spots.length) % spots.length);
    else if (event.key === "Enter") openAt(current);
    else if (event.key === "Escape") show(-1);
    else return;
    event.preventDefault();
  });
  if (open) svg.classList.add("opens");
}
