// Light and dark, and what every colour means (the same on each page).

const machines: Record<string, string> = {
  dense: "var(--dense)",
  tensordash: "var(--tensordash)",
  ant: "var(--ant)",
  scnn: "var(--scnn)",
  cnvlutin: "var(--cnvlutin)",
  sparten: "var(--sparten)",
  "structured-2of4": "var(--structured)",
};
const titles: Record<string, string> = {
  dense: "dense",
  tensordash: "TensorDash",
  ant: "ANT",
  scnn: "SCNN-like",
  cnvlutin: "Cnvlutin",
  sparten: "SparTen",
  "structured-2of4": "2:4",
};

const own = (table: Record<string, string>, key: string): string | undefined => (Object.hasOwn(table, key) ? table[key] : undefined);
export const machineColour = (base: string): string => own(machines, base) ?? "var(--other)";
export const baseTitle = (base: string): string => own(titles, base) ?? base;
export const cpuColour = "var(--cpu)";

export const isDark = (): boolean =>
  (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

// Share of zeros: light to dark blue, on a dark page dark to light.
export const zeroRange = (): [string, string, string] =>
  isDark() ? ["#17222E", "#2B6CA3", "#CDE6FA"] : ["#EEF4FA", "#6FAFDB", "#08306B"];
export const zeroText = (share: number): string => {
  const onDark = isDark() ? share < 0.62 : share > 0.55;
  return onDark ? "#FFFFFF" : "#10202E";
};

export function toggleTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
}
