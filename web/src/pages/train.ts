// A training: `train`.
import { kernelsPicture } from "../bench";
import type { PageData } from "../data";
import { percent, plain, whole } from "../parts/format";
import { tableCard } from "../parts/table";
import { trainAnswer, trainPictures } from "../training";
import { fixed, pair, plainPage, type PageKind } from "./page";

function build(data: PageData, root: HTMLElement): void {
  const train = data.train!;
  const { sentences, facts } = trainAnswer(train);
  const pictures = trainPictures(train).map(fixed);
  plainPage(data, root, `Training of ${train.config.model ?? "a network"}`, { sentences, numbers: facts }, [
    pair(pictures[0], pictures[1]), pair(pictures[2], pictures[3]), data.kernels ? fixed(kernelsPicture(data.kernels)) : null,
    tableCard("table", "All numbers", "One row per line of the log.", [{ name: "steps", title: "steps", text: whole }, { name: "epoch", title: "epoch", text: (value: number) => plain(value, 4) }, { name: "loss", title: "loss" }, { name: "train_accuracy", title: "training accuracy", text: (value: number) => percent(value, 1) }, { name: "test_accuracy", title: "test accuracy", text: (value: number) => percent(value, 1) }, { name: "images_per_second", title: "speed", unit: "images/s", text: (value: number) => plain(value, 4) }, { name: "zeros_A", title: "zeros A", text: (value: number) => percent(value, 1) }, { name: "zeros_G", title: "zeros G", text: (value: number) => percent(value, 1) }, { name: "zeros_W", title: "zeros W", text: (value: number) => percent(value, 1) }], train.log.map((one) => ({ ...one })))]);
}

export const trainPage: PageKind = { shows: (data) => !!data.train, build };
