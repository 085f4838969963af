// Patterns that tell parts of one colour apart. Each picture carries them, so that a saved one is whole.

const ns = "http://www.w3.org/2000/svg";

function pattern(id: string, size: number, draw: (group: SVGElement) => void): SVGElement {
  const node = document.createElementNS(ns, "pattern");
  for (const [name, value] of Object.entries({ id, width: size, height: size, patternUnits: "userSpaceOnUse" })) node.setAttribute(name, String(value));
  draw(node);
  return node;
}
function shape(parent: SVGElement, tag: string, attributes: Record<string, string | number>): void {
  const node = document.createElementNS(ns, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  parent.append(node);
}

// Drawn in the card's colour over a plain bar.
export function addPatterns(svg: SVGSVGElement): void {
  const defs = document.createElementNS(ns, "defs");
  const ink = "var(--card)";
  defs.append(
    pattern("p-hatch", 6, (p) => shape(p, "path", { d: "M-1,1l2,-2M0,6l6,-6M5,7l2,-2", stroke: ink, "stroke-width": 2.4 })),
    pattern("p-input_grad", 5, (p) => shape(p, "path", { d: "M0,2.5h5", stroke: ink, "stroke-width": 1.3 })),
    pattern("p-weight_grad", 6, (p) => shape(p, "circle", { cx: 3, cy: 3, r: 1.3, fill: ink })),
  );
  svg.prepend(defs);
}
