// Parts that every page has: a kind that knows its data, a header, the answer first and how it was made last.
import { answerView, type Answer } from "../answer";
import { pictureCard, redrawAll, type Picture } from "../parts/card";
import type { PageData } from "../data";
import { el, replace } from "../parts/dom";
import { howCard, type HowMore } from "../how";
import { isDark, toggleTheme } from "../parts/theme";

// One module per kind of page; main.ts lists them.
export interface PageKind {
  shows: (data: PageData) => boolean;
  build: (data: PageData, root: HTMLElement) => void;
}

export const fixed = (picture: Picture): HTMLElement => pictureCard(() => picture).card;
export const pair = (...cards: (HTMLElement | null | undefined | false)[]): HTMLElement | null => {
  const there = cards.filter((card): card is HTMLElement => !!card);
  return there.length === 0 ? null : el("div", { class: "pair" }, ...there);
};

export function header(title: string, tools: HTMLElement[]): HTMLElement {
  const theme = el("button", { type: "button", class: "small", id: "theme", "aria-label": "Switch between light and dark" });
  const name = (): void => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { toggleTheme(); name(); redrawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { name(); redrawAll(); });
  name();
  return el("div", { class: "top" }, el("h1", {}, title), el("div", { class: "tools" }, ...tools, theme));
}

// A page whose parts do not change.
export function plainPage(data: PageData, root: HTMLElement, title: string, answer: Answer, parts: (HTMLElement | null)[], tools: HTMLElement[] = [], how: HowMore = {}): void {
  document.title = `${title} - Lacuna`;
  replace(root, el("div", { id: "title" }, header(title, tools)), el("main", {}, answerView(answer), ...parts, howCard(data, how)));
}
