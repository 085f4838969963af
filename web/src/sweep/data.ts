// The data of `lacuna sweep pareto --html`: designs, and what they reach on each network and on all together.

export type Setting = string | number | boolean | null;
export interface SweepData {
  file: string;
  program: string;
  where: string;
  x: string;
  y: string;
  metrics: string[];
  more_is_better: boolean[];
  units: string[];
  parameters: { name: string; values: Setting[]; of: number[] }[]; // of: per design the place in values, -1: it has none
  designs: [id: number, machine: string, model: string, parameters: string][];
  sets: { network: string | null; designs: number[]; columns: (number | null)[][] }[]; // columns: one per metric
}

// One design on the chosen network.
export interface Point { design: number; row: number }

export const settingText = (value: Setting | undefined): string =>
  value === undefined || value === null ? "–" : value === true ? "on" : value === false ? "off" : String(value);

// The choices on the page. Every picture is drawn from them.
export class Sweep {
  set = 0;
  x: number;
  y: number;
  readonly shown: boolean[][]; // per parameter and value; the last one stands for designs without the parameter
  readonly limits = new Map<number, [number, number]>(); // per metric

  constructor(readonly data: SweepData) {
    this.x = Math.max(0, data.metrics.indexOf(data.x));
    this.y = Math.max(0, data.metrics.indexOf(data.y));
    this.shown = data.parameters.map((parameter) => [...parameter.values.map(() => true), true]);
  }

  network(set = this.set): string {
    return this.data.sets[set]?.network ?? `all ${this.data.sets.length - 1} networks`;
  }
  value(point: Point, metric: number): number | null {
    return this.data.sets[this.set]!.columns[metric]![point.row] ?? null;
  }
  setting(design: number, parameter: number): Setting {
    const { values, of } = this.data.parameters[parameter]!;
    return values[of[design]!] ?? null;
  }
  isFiltered(): boolean {
    return this.limits.size > 0 || this.shown.some((values) => values.includes(false));
  }
  reset(): void {
    this.limits.clear();
    for (const values of this.shown) values.fill(true);
  }

  allows(point: Point): boolean {
    const { parameters } = this.data;
    for (let i = 0; i < parameters.length; ++i) {
      const at = parameters[i]!.of[point.design]!;
      if (!this.shown[i]![at < 0 ? parameters[i]!.values.length : at]) return false;
    }
    for (const [metric, [low, high]] of this.limits) {
      const value = this.value(point, metric);
      if (value === null || value < low || value > high) return false;
    }
    return true;
  }
  points(): Point[] {
    const { designs } = this.data.sets[this.set]!;
    const all = designs.map((design, row) => ({ design, row }));
    return all.filter((point) => this.value(point, this.x) !== null && this.value(point, this.y) !== null && this.allows(point));
  }
}

// The points that none beats in both metrics, by ascending x. Equal ones are all on the front.
export function frontOf(sweep: Sweep, points: Point[]): Point[] {
  const sign = (metric: number): number => (sweep.data.more_is_better[metric] ? -1 : 1);
  const [bx, by] = [sign(sweep.x), sign(sweep.y)];
  const scored = points.map((point) => ({ point, x: bx * sweep.value(point, sweep.x)!, y: by * sweep.value(point, sweep.y)! }));
  scored.sort((a, b) => a.x - b.x || a.y - b.y || a.point.row - b.point.row);
  const front: typeof scored = [];
  for (const one of scored) {
    const last = front.at(-1);
    if (!last || one.y < last.y || (one.y === last.y && one.x === last.x)) front.push(one);
  }
  if (bx < 0) front.reverse();
  return front.map((one) => one.point);
}

export interface Level { value: Setting; relative: number; rows: number }
export interface Effect { parameter: string; levels: Level[]; ratio: number; share: number }

// Main effects as `lacuna sweep effects` has them: logarithms, relative to the mean of the same machine.
export function effectsOf(sweep: Sweep, points: Point[], metric: number): Effect[] {
  const effects: Effect[] = [];
  sweep.data.parameters.forEach((parameter, index) => {
    const samples: { at: number; group: string; log: number }[] = [];
    for (const point of points) {
      const at = parameter.of[point.design]!;
      const value = sweep.value(point, metric);
      if (at >= 0 && value !== null && value > 0) samples.push({ at, group: parameter.name === "machine" ? "" : sweep.data.designs[point.design]![1], log: Math.log(value) });
    }
    const groups = new Map<string, { sum: number; rows: number }>();
    const add = <K>(map: Map<K, { sum: number; rows: number }>, key: K, value: number): void => {
      const one = map.get(key) ?? { sum: 0, rows: 0 };
      one.sum += value;
      ++one.rows;
      map.set(key, one);
    };
    for (const { group, log } of samples) add(groups, group, log);
    const levels = new Map<number, { sum: number; rows: number }>();
    let total = 0;
    for (const { at, group, log } of samples) {
      const mean = groups.get(group)!;
      const centred = log - mean.sum / mean.rows;
      add(levels, at, centred);
      total += centred * centred;
    }
    if (levels.size < 2) return;
    const list = [...levels].sort((a, b) => a[0] - b[0]).map(([at, { sum, rows }]) => ({ value: sweep.data.parameters[index]!.values[at]!, relative: Math.exp(sum / rows), rows }));
    const between = [...levels.values()].reduce((sum, one) => sum + (one.sum * one.sum) / one.rows, 0);
    const means = list.map((level) => level.relative);
    effects.push({ parameter: parameter.name, levels: list, ratio: Math.max(...means) / Math.min(...means), share: total > 1e-20 ? Math.min(1, between / total) : 0 });
  });
  return effects.sort((a, b) => b.ratio - a.ratio);
}
