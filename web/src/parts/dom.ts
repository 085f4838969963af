// Elements without markup: whatever comes from a file becomes text, never HTML.

export type Child = Node | string | null | undefined | false;
type Props = Record<string, string | number | boolean | undefined | ((event: Event) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) node.append(child);
  return node;
}

export function replace(node: Element, ...children: Child[]): void {
  node.replaceChildren(...children.filter((child): child is Node | string => !!child));
}

// Names of layers differ at their ends.
export function lastPart(text: string, most: number): string {
  return text.length <= most ? text : `…${text.slice(-Math.max(1, most - 1))}`;
}

// A name from a file, short enough for a label.
export function shorten(text: string, most = 28): string {
  return text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
}
