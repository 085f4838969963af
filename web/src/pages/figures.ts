// The papers' figures and tables compared with ours: `reproduce`.
import type { Answer } from "../answer";
import { assumptionText } from "../assumptions";
import type { PageData } from "../data";
import { el } from "../parts/dom";
import { figureCard, figureRows } from "../figures/card";
import { agrees, compared, isCounted, paperColour, type Reproduction } from "../figures/data";
import { overviewPicture } from "../figures/overview";
import { saveCsv } from "../parts/save";
import { fixed, plainPage, type PageKind } from "./page";

function figuresAnswer(result: Reproduction): Answer {
  const all = result.figures.flatMap(compared);
  const counted = all.filter(isCounted);
  const grade = result.grade;
  const numbers = grade.near + grade.far + grade.apart;
  const statements = grade.hold + grade.fail;
  const others = numbers - grade.near + grade.fail;
  const circular = all.length - counted.length;
  const papers = [...new Set(result.figures.map((figure) => figure.paper))];
  const print = papers.length === 1 ? "paper prints" : "papers print";
  const moved = result.moved.length;
  const timed = result.figures.filter((figure) => figure.timed).length;
  const simulated = result.figures.length - timed;
  const sentences = [
    counted.length === 0 ? `The ${print} no number to compare with.`
      : [
        numbers > 0 && `${grade.near} of the ${numbers} numbers that the ${print} come out within 5\u00a0%`,
        statements > 0 && `${grade.hold} of ${statements} statements and bounds hold`,
        others > 0 && `${others === 1 ? "the other one has its" : `each of the other ${others} has its`} measured reason below`,
      ].filter(Boolean).join("; ") + ".",
    grade.drawn > 0 && `${grade.drawn} of the ${numbers} and ${grade.drawn_near} of the ${grade.near} are of masks drawn to a potential that the paper gives.`,
    [
      simulated > 0 && (moved === 0 ? "Every simulated number is what the repository records." : `${moved} simulated ${moved === 1 ? "number has" : "numbers have"} moved from what the repository records.`),
      timed > 0 && "SparseTrain's networks were timed on this machine.",
    ].filter(Boolean).join(" "),
  ];
  return {
    sentences: sentences.filter((one): one is string => Boolean(one)),
    numbers: [
      ...papers.flatMap((paper) => {
        const own = counted.filter((one) => one.figure.paper === paper);
        return own.length === 0 ? [] : [{ label: paper, value: `${own.filter(agrees).length} of ${own.length}`, detail: "numbers of the paper within 5\u00a0%, bounds that hold included", colour: paperColour(paper) }];
      }),
      { label: "Figures and tables", value: String(result.figures.length), detail: `${result.figures.reduce((sum, figure) => sum + figure.tables.reduce((cells, table) => cells + table.cells.length, 0), 0).toLocaleString("en")} numbers of ours${circular > 0 ? `; ${circular} were made from the papers' and are not counted` : ""}`, colour: "var(--dense)" },
      { label: "Moved", value: String(moved), detail: "simulated numbers that are not what data/papers/recorded.yaml records", colour: "var(--dense)" },
    ],
  };
}

function build(data: PageData, root: HTMLElement): void {
  const result = data.reproduce!;
  const cards = result.figures.map(figureCard);
  const open = (index: number): void => {
    cards[index]?.scrollIntoView({ block: "start" });
    cards[index]?.focus({ preventScroll: true });
  };
  const overview = overviewPicture(result.figures, open);
  const several = result.figures.length > 1;
  const links = several ? el("nav", { class: "links", "aria-label": "Figures and tables" }, ...result.figures.map((figure) => el("a", { href: `#${figure.id}`, title: figure.title, style: `--accent:${paperColour(figure.paper)}` }, figure.id))) : null;
  const moved = result.moved.length > 0 ? el("section", { class: "card", id: "moved" }, el("header", {}, el("h2", {}, "Moved from what the repository records")), el("ul", {}, ...result.moved.map((one) => el("li", {}, `${one.key}: recorded ${one.recorded ?? "nothing"}, now ${one.now ?? "gone"}`)))) : null;
  const csv = el("button", { type: "button", class: "small", "aria-label": "Save all numbers as CSV", click: () => saveCsv("lacuna-figures", result.figures.flatMap(figureRows)) }, "CSV");
  const citations = new Map(result.figures.map((figure) => [figure.paper, figure.citation]));
  const traces = [...new Set(result.figures.flatMap((figure) => figure.traces))].sort();
  const assumed = [...new Set(result.figures.flatMap(compared).flatMap((one) => one.cell.assumptions ?? []))].sort((x, y) => x.localeCompare(y, "en", { numeric: true }));
  plainPage(data, root, several ? "The papers' figures and tables next to ours" : `${result.figures[0]?.paper}, ${result.figures[0]?.place}`, figuresAnswer(result), [links, moved, several && overview ? fixed(overview) : null, ...cards], [csv], {
    facts: [...citations],
    rests: [
      "The papers' values come from data/papers, which says for each where it is and how exactly it can be read. Difference: ours / the paper's - 1; of factors within 15 % of 1 the same of their distances from 1. A statement of a paper holds or fails by bounds that stand next to its words.",
      "Everything that is not marked as timed is simulated from recorded training steps, whose checksums (data/MANIFEST.csv) were verified while reading; zeros at random come from fixed seeds.",
    ],
    lists: [
      ...(traces.length > 0 ? [{ title: traces.length === 1 ? "The trace" : `${traces.length} traces`, entries: result.figures.filter((figure) => figure.traces.length > 0).map((figure): [string, string] => [figure.id, figure.traces.join(", ")]) }] : []),
      ...(assumed.length > 0 ? [{ title: "Assumptions that the reasons name", entries: assumed.map((number): [string, string] => [number, assumptionText(number)]) }] : []),
    ],
  });
}

export const figuresPage: PageKind = { shows: (data) => !!data.reproduce, build };
