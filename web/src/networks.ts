// Several networks: the machines on each of them.
import { drawBars } from "./parts/bars";
import { keys, type Picture } from "./parts/card";
import { exactTimes, times } from "./parts/format";
import { atBest, speedup, type Step } from "./model";

export function networksPicture(steps: Step[]): Picture | null {
  const latest = new Map<string, Step>();
  for (const step of steps) {
    const before = latest.get(step.info.model);
    if (!before || (step.info.progress ?? 0) >= (before.info.progress ?? 0)) latest.set(step.info.model, step);
  }
  const shown = [...latest.values()].filter((step) => step.machines.length > 0);
  if (shown.length < 2) return null;
  return {
    name: "networks", title: "All networks", note: "Speedup over the baseline, all three operations, at the last recorded step of each network.",
    key: [shown.some((step) => step.inspect) && keys.best()],
    rows: () => shown.flatMap((step) => step.machines.map((machine) => ({ model: step.info.model, machine: machine.run.arch, speedup: speedup(machine.run, "all"), at_best: atBest(step, "all", machine.both) }))),
    draw: (width) => drawBars(shown.flatMap((step) => step.machines.flatMap((machine) => { const value = speedup(machine.run, "all"); return value === null ? [] : [{ group: step.info.model, name: machine.title, value, best: atBest(step, "all", machine.both), colour: machine.colour, text: times(value), lines: [exactTimes(value), `at best ${exactTimes(atBest(step, "all", machine.both))}`] }]; })), width, "speedup (times)", "Speedup of each machine on each network"),
  };
}
