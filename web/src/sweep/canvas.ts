// Thousands of marks as one image in an SVG: they cost the page nothing once drawn, and are saved with the picture.

const space = "http://www.w3.org/2000/svg";

export function markImage(width: number, height: number, draw: (canvas: CanvasRenderingContext2D) => void): SVGImageElement {
  const canvas = document.createElement("canvas");
  const scale = Math.min(2, Math.max(1, devicePixelRatio || 1));
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  draw(context);
  const image = document.createElementNS(space, "image");
  for (const [name, value] of Object.entries({ x: 0, y: 0, width, height, href: canvas.toDataURL() })) image.setAttribute(name, String(value));
  return image;
}

// The value that a variable of the style sheet has now: a canvas knows no var().
export function colourNow(colour: string): string {
  const name = /^var\((--[a-z]+)\)$/.exec(colour)?.[1];
  return name ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : colour;
}

export function svgElement<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number>, text?: string): SVGElementTagNameMap[K] {
  const node = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text !== undefined) node.textContent = text;
  return node;
}
