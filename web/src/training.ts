// Over the training: machines on several recorded steps, and the log of a training run.
import type { Picture } from "./parts/card";
import { ops, opTitle, type Kernels, type Train } from "./data";
import { percent, plain, times } from "./parts/format";
import { drawLines, type Line } from "./parts/lines";
import { atBest, speedup, type Step } from "./model";
import { cpuColour } from "./parts/theme";

const bySteps = (steps: Step[]): Step[] => [...steps].filter((step) => typeof step.info.progress === "number").sort((a, b) => a.info.progress! - b.info.progress!);

export function progressPictures(all: Step[]): Picture[] {
  const steps = bySteps(all);
  if (steps.length < 2) return [];
  const x = (step: Step): number => 100 * step.info.progress!;
  const pictures: Picture[] = [];
  const titles = [...new Set(steps.flatMap((step) => step.machines.map((machine) => machine.title)))];
  if (titles.length > 0) {
    const lines: Line[] = titles.map((title) => ({
      title,
      colour: steps.flatMap((step) => step.machines).find((machine) => machine.title === title)!.colour,
      points: steps.flatMap((step) => {
        const machine = step.machines.find((one) => one.title === title);
        const value = machine ? speedup(machine.run, "all") : null;
        return value === null ? [] : [{ x: x(step), y: value }];
      }),
    }));
    const best: Line = { title: "at best", colour: "var(--dense)", dash: "3 3", points: steps.flatMap((step) => { const y = atBest(step, "all", false); return y === null ? [] : [{ x: x(step), y }]; }) };
    pictures.push({
      name: "progress",
      title: "Over the training: speedup",
      note: `Speedup over the baseline, all three operations, ${steps.length} recorded steps of ${steps[0]!.info.model}.`,
      rows: () => steps.flatMap((step) => step.machines.map((machine) => ({ model: step.info.model, progress: step.info.progress, machine: machine.run.arch, speedup: speedup(machine.run, "all"), at_best: atBest(step, "all", false) }))),
      draw: (width) => drawLines([...lines, ...(best.points.length ? [best] : [])], { width, xLabel: "progress of the training (%)", yLabel: "speedup (times)", label: "Speedup over the training", one: true, value: (value) => times(value, 4), at: (value) => `at ${plain(value, 3)} %` }),
    });
  }
  if (steps.every((step) => step.inspect)) {
    const operands = (["A", "W", "G"] as const).filter((operand) => steps.some((step) => step.inspect!.zeros_by_macs[operand] !== undefined));
    const names = { A: "activations", W: "weights", G: "gradients" };
    const dashes = { A: undefined, W: "2 3", G: "7 3" };
    pictures.push({
      name: "progress-zeros",
      title: "Over the training: zeros",
      note: "Share of zeros by operand, each layer weighted by its multiplications.",
      rows: () => steps.flatMap((step) => operands.map((operand) => ({ model: step.info.model, progress: step.info.progress, operand, zeros: step.inspect!.zeros_by_macs[operand] ?? null }))),
      draw: (width) => drawLines(operands.map((operand) => ({ title: names[operand], colour: "var(--zeros)", dash: dashes[operand], points: steps.map((step) => ({ x: x(step), y: 100 * (step.inspect!.zeros_by_macs[operand] ?? 0) })) })), { width, xLabel: "progress of the training (%)", yLabel: "zeros (%)", label: "Share of zeros over the training", top: 100, value: (value) => `${plain(value, 4)} %`, at: (value) => `at ${plain(value, 3)} %` }),
    });
  }
  return pictures;
}

export function trainPictures(train: Train): Picture[] {
  const log = train.log;
  const at = (value: number): string => `after ${value.toLocaleString("en")} steps`;
  const line = (title: string, colour: string, dash: string | undefined, value: (line: (typeof log)[number]) => number | null): Line => ({
    title, colour, dash, points: log.flatMap((one) => { const y = value(one); return typeof y === "number" && Number.isFinite(y) ? [{ x: one.steps, y }] : []; }),
  });
  const rows = () => log.map((one) => ({ ...one }));
  const common = { xLabel: "training steps", at, dots: log.length <= 60 };
  return [
    { name: "loss", title: "Loss", note: "Mean of the training batches since the previous point, and of the test images.", rows,
      draw: (width) => drawLines([line("training", "var(--text)", undefined, (one) => one.loss), line("test", "var(--text)", "5 3", (one) => one.test_loss)].filter((one) => one.points.length), { ...common, width, yLabel: "loss", label: "Loss over the training", value: (value) => plain(value, 5) }) },
    { name: "accuracy", title: "Accuracy", note: "Share of images that are classified right, in %.", rows,
      draw: (width) => drawLines([line("training", "var(--text)", undefined, (one) => 100 * one.train_accuracy), line("test", "var(--text)", "5 3", (one) => (one.test_accuracy === null ? null : 100 * one.test_accuracy))].filter((one) => one.points.length), { ...common, width, top: 100, yLabel: "accuracy (%)", label: "Accuracy over the training", value: (value) => `${plain(value, 4)} %` }) },
    { name: "train-zeros", title: "Zeros while training", note: "Share of zeros of the activations and gradients that the layers see, in %.", rows,
      draw: (width) => drawLines([line("activations", "var(--zeros)", undefined, (one) => 100 * one.zeros_A), line("gradients", "var(--zeros)", "7 3", (one) => 100 * one.zeros_G), ...(log.some((one) => one.zeros_W > 0) ? [line("weights", "var(--zeros)", "2 3", (one) => 100 * one.zeros_W)] : [])], { ...common, width, top: 100, yLabel: "zeros (%)", label: "Zeros over the training", value: (value) => `${plain(value, 4)} %` }) },
    { name: "images", title: "Speed", note: "Images per second of wall-clock time on this machine.", rows,
      draw: (width) => drawLines([line("", cpuColour, undefined, (one) => one.images_per_second)], { ...common, width, yLabel: "images/s", label: "Images per second over the training", value: (value) => `${plain(value, 4)} images/s` }) },
  ];
}

export function trainAnswer(train: Train): { sentences: string[]; facts: { label: string; value: string; detail: string; colour?: string }[] } {
  const last = train.log.at(-1);
  if (!last) return { sentences: ["Nothing was logged."], facts: [] };
  const test = [...train.log].reverse().find((one) => one.test_accuracy !== null);
  return {
    sentences: [
      `${train.config.model ?? "The network"} classifies ${percent(test?.test_accuracy ?? last.train_accuracy, 1)} of the ${test ? "test" : "training"} images right after ${last.steps.toLocaleString("en")} steps.`,
      `${percent(last.zeros_A)} of its activations and ${percent(last.zeros_G)} of its gradients are zeros.`,
    ],
    facts: [
      { label: test ? "Test accuracy" : "Accuracy", value: percent(test?.test_accuracy ?? last.train_accuracy, 1), detail: `after ${last.steps.toLocaleString("en")} steps` },
      { label: "Loss", value: plain(last.loss, 3), detail: "of the last training batches" },
      { label: "Zeros", value: `A ${percent(last.zeros_A)}  G ${percent(last.zeros_G)}`, detail: "of activations (A) and gradients (G)" },
      { label: "Speed", value: plain(last.images_per_second, 3), detail: `images per second, ${train.config.kernels ?? ""} kernels`, colour: cpuColour },
    ],
  };
}

export function kernelRows(kernels: Kernels) {
  return kernels.layers.flatMap((one) => (one.dense_ms > 0 ? [{ layer: one.layer, operation: one.op, dense_ms: one.dense_ms, sparse_ms: one.sparse_ms, speedup: one.sparse_ms > 0 ? one.dense_ms / one.sparse_ms : null }] : []));
}
export const kernelOps = ops.map((op) => opTitle[op]);
