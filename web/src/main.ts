// The data decides which kind of page this is.
import { readPage } from "./data";
import { el, replace } from "./parts/dom";
import { benchPage } from "./pages/bench";
import { comparePage } from "./pages/compare";
import { figuresPage } from "./pages/figures";
import type { PageKind } from "./pages/page";
import { profilePage } from "./pages/profile";
import { stepsPage } from "./pages/steps";
import { sweepPage } from "./pages/sweep";
import { trainPage } from "./pages/train";
import { zooPage } from "./pages/zoo";

// The first that knows the data: a demo has steps, a training and times of kernels, and is a page of steps.
const kinds: PageKind[] = [stepsPage, benchPage, comparePage, trainPage, profilePage, figuresPage, sweepPage, zooPage];

const data = readPage();
const root = document.getElementById("page")!;
const kind = kinds.find((one) => one.shows(data));
if (kind) kind.build(data, root);
else replace(root, el("p", {}, "This page has no results."));
document.documentElement.dataset.ready = "true";
