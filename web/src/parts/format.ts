// Numbers for people: two digits in charts, three in headlines, all of them on hover and in tables.

const finite = (value: number | null | undefined): value is number => typeof value === "number" && Number.isFinite(value);

function digits(value: number, count: number): string {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(count));
  const decimals = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  return rounded.toLocaleString("en", { minimumFractionDigits: Math.min(decimals, 6), maximumFractionDigits: Math.min(decimals, 6) });
}

export const times = (value: number | null | undefined, count = 2): string => (finite(value) ? `${digits(value, count)}x` : "–");
export const exactTimes = (value: number | null | undefined): string => (finite(value) ? `${Number(value.toPrecision(6))}x` : "–");
export const percent = (share: number | null | undefined, decimals = 0): string =>
  finite(share) ? `${(100 * share).toFixed(decimals)} %` : "–";
export const whole = (value: number | null | undefined): string => (finite(value) ? Math.round(value).toLocaleString("en") : "–");
export const plain = (value: number | null | undefined, count = 6): string => (finite(value) ? String(Number(value.toPrecision(count))) : "–");

// 386 M, 12.4 k
export function si(value: number | null | undefined, count = 3): string {
  if (!finite(value)) return "–";
  for (const [limit, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const)
    if (Math.abs(value) >= limit) return `${digits(value / limit, count)} ${unit}`;
  return digits(value, count);
}

export function joules(value: number | null | undefined, count = 3): string {
  if (!finite(value)) return "–";
  if (value === 0) return "0 J";
  for (const [limit, unit] of [[1, "J"], [1e-3, "mJ"], [1e-6, "µJ"]] as const)
    if (Math.abs(value) >= limit) return `${digits(value / limit, count)} ${unit}`;
  return `${digits(value / 1e-9, count)} nJ`;
}
export const isNumber = finite;
