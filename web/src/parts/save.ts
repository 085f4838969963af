// Pictures as SVG and numbers as CSV, made in the page: nothing is fetched.

export type Row = Record<string, string | number | null | undefined>;

function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// RFC 4180. What a spreadsheet would take for a formula gets an apostrophe: names come from files.
function cell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvText(rows: Row[]): string {
  if (rows.length === 0) return "\n";
  const columns = Object.keys(rows[0]!);
  return [columns.map(cell).join(","), ...rows.map((row) => columns.map((name) => cell(row[name])).join(","))].join("\n") + "\n";
}

export const saveCsv = (name: string, rows: Row[]): void => download(`${name}.csv`, "text/csv;charset=utf-8", csvText(rows));

const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order"];

// The picture with the colours it has on the screen, readable without the page's style sheet.
export function svgText(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const to = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  from.forEach((node, i) => {
    const target = to[i]!;
    if (node.tagName === "style") return;
    const style = getComputedStyle(node);
    for (const name of kept) {
      const value = style.getPropertyValue(name);
      if (value && node.tagName !== "defs") target.setAttribute(name, value.replace(/url\("?[^#]*(#[^")]*)"?\)/, "url($1)"));
    }
  });
  copy.querySelectorAll("style, .hover").forEach((node) => node.remove());
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = getComputedStyle(document.body).getPropertyValue("--card").trim();
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

export const saveSvg = (name: string, svg: SVGSVGElement): void => download(`${name}.svg`, "image/svg+xml", svgText(svg));
