// A card holds one picture: its answer as a title, what is shown with units, and buttons to save it.
import { el, replace, type Child } from "./dom";
import { hideTip } from "./hover";
import { saveCsv, saveSvg, type Row } from "./save";

export interface Picture {
  name: string; // of the files
  title: string;
  note: string;
  draw: (width: number) => SVGSVGElement;
  rows: () => Row[];
  key?: Child[]; // what patterns and marks mean
  controls?: HTMLElement;
}

const redraws = new Set<() => void>();
export function redrawAll(): void {
  hideTip();
  for (const redraw of redraws) redraw();
}

// Before a page replaces all of its pictures.
export function forgetPictures(): void {
  hideTip();
  redraws.clear();
  sizes.disconnect();
}

const sizes = new ResizeObserver((entries) => {
  for (const entry of entries) (entry.target as HTMLElement & { onWidth?: (width: number) => void }).onWidth?.(entry.contentRect.width);
});

// `make` is asked again each time, so that the title follows what is chosen. A picture is its own card, or a part of one
// that shows several.
export function pictureCard(make: () => Picture, part = false): { card: HTMLElement; redraw: () => void } {
  const heading = el(part ? "h3" : "h2");
  const note = el("p", { class: "note" });
  const area = el("div", { class: "picture" });
  const key = el("div", { class: "key" });
  const controls = el("div", { class: "controls" });
  let picture = make();
  let width = 0;
  let svg: SVGSVGElement | null = null;
  const id = picture.name;
  const save = (title: string, label: string, act: () => void): HTMLElement =>
    el("button", { type: "button", class: "small", "aria-label": `${label}: ${id}`, click: act }, title);
  const card = el(
    part ? "div" : "section",
    { class: part ? "part" : "card", id },
    el("header", {}, heading,
      el("div", { class: "tools" },
        save("SVG", "Save the picture as SVG", () => svg && saveSvg(`lacuna-${id}`, svg)),
        save("CSV", "Save the numbers as CSV", () => saveCsv(`lacuna-${id}`, picture.rows())))),
    note,
    controls,
    area,
    key,
  );
  const redraw = (): void => {
    if (width < 40) return;
    picture = make();
    heading.textContent = picture.title;
    note.textContent = picture.note;
    replace(controls, picture.controls);
    replace(key, ...(picture.key ?? []));
    svg = picture.draw(Math.floor(width));
    svg.removeAttribute("height");
    replace(area, svg);
  };
  (area as HTMLElement & { onWidth?: (width: number) => void }).onWidth = (now) => {
    if (Math.abs(now - width) < 1) return;
    width = now;
    redraw();
  };
  sizes.observe(area);
  redraws.add(redraw);
  return { card, redraw };
}

// A row of choices of which one is set.
export function choice<T extends string>(label: string, options: readonly T[], titles: (option: T) => string, now: T, choose: (option: T) => void): HTMLElement {
  return el("div", { class: "choice", role: "group", "aria-label": label },
    ...options.map((option) => el("button", { type: "button", class: "small", "aria-pressed": String(option === now), click: () => choose(option) }, titles(option))));
}

const swatch = (style: string, text: string): HTMLElement => el("span", { class: "swatch" }, el("i", { class: style }), text);
export const keys = {
  withoutZeros: () => swatch("hatch", "without any zero"),
  best: () => swatch("best", "at best"),
  forward: () => swatch("solid", "forward"),
  input: () => swatch("lines", "input gradients"),
  weight: () => swatch("dots", "weight gradients"),
  wait: () => swatch("wait", "waiting for memory"),
  paper: () => swatch("diamond", "the paper's value"),
};
