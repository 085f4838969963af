// Kernels timed on this machine: `bench`.
import { benchAnswer, benchPictures, benchTable } from "../bench";
import type { PageData } from "../data";
import { percent, plain, times } from "../parts/format";
import { tableCard } from "../parts/table";
import { fixed, plainPage, type PageKind } from "./page";

function build(data: PageData, root: HTMLElement): void {
  const bench = data.bench!;
  const columns = [{ name: "layer", title: "layer" }, { name: "network", title: "network", filter: true }, { name: "shape", title: "shape" }, { name: "operation", title: "operation", filter: true }, { name: "zeros", title: "zeros", text: (value: number) => percent(value, 1) }, { name: "used", title: "kernel used" }, { name: "microseconds", title: "ours", unit: "µs", text: (value: number) => plain(value, 4) }, { name: "direct_microseconds", title: "oneDNN direct", unit: "µs", text: (value: number) => plain(value, 4) }, { name: "x_direct", title: "over direct", text: (value: number) => times(value, 4) }, { name: "x_auto", title: "over oneDNN's choice", text: (value: number) => times(value, 4) }];
  plainPage(data, root, `Kernels that skip zeros on ${bench.machine.cpu}`, benchAnswer(bench), [...benchPictures(bench).map(fixed), tableCard("table", "All numbers", "One row per layer, operation and share of zeros.", columns, benchTable(bench))]);
}

export const benchPage: PageKind = { shows: (data) => !!data.bench, build };
