// Choices where the papers are silent (docs/assumptions.md, put in by build.mjs).
declare const LACUNA_ASSUMPTIONS: [section: string, number: string, paper: string, choice: string][];

const texts = new Map(LACUNA_ASSUMPTIONS.map(([, number, paper, choice]) => [number, `${paper} Our choice: ${choice}`]));
export const assumptionText = (number: string): string => texts.get(number) ?? "see docs/assumptions.md";

const sections: Record<string, string> = { tensordash: "TensorDash", dense: "TensorDash", scnn: "SCNN", ant: "SCNN", cnvlutin: "Cnvlutin", "structured-2of4": "Structured", sparten: "SparTen", cpu: "SparseTrain" };
// The assumptions of these models, with their numbers; the dense machine shares TensorDash's tiles.
export function assumptionsOf(bases: string[]): { title: string; entries: [string, string][] }[] {
  const wanted = new Set(bases.flatMap((base) => (Object.hasOwn(sections, base) ? [sections[base]!] : [])));
  return [...wanted].map((start) => {
    const found = LACUNA_ASSUMPTIONS.filter(([section]) => section.startsWith(start));
    return { title: `Assumptions: ${found[0]?.[0] ?? start}`, entries: found.map(([, number]): [string, string] => [number, assumptionText(number)]) };
  });
}
