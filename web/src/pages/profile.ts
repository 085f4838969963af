// A profiled training without a step in detail: the live page, and one on which nothing was measured yet.
import { answerView } from "../answer";
import { forgetPictures } from "../parts/card";
import type { PageData, Profile } from "../data";
import { el, replace } from "../parts/dom";
import { howCard } from "../how";
import { profileAnswer, profileLayers, profilePictures } from "../profile";
import { fixed, header, pair, type PageKind } from "./page";

const seconds = 2; // between two questions to the server

function build(page: PageData, root: HTMLElement): void {
  const body = el("main");
  const lost = el("p", { class: "note", role: "status" });
  document.title = "Training profile - Lacuna";
  replace(root, el("div", { id: "title" }, header("Training profile", [])), lost, body);
  const show = (profile: Profile): void => {
    forgetPictures();
    const now = { ...page, profile };
    const [speedup, energy, zeros] = profilePictures(now).map(fixed);
    replace(body, answerView(profileAnswer(now)), pair(speedup, energy), zeros ?? null, profileLayers(now), howCard(page));
  };
  show(page.profile!);
  if (!page.profile!.live) return;
  let shown = JSON.stringify(page.profile);
  setInterval(() => {
    fetch("data.json").then((answer) => answer.text()).then((text) => {
      replace(lost);
      if (text !== shown) show(JSON.parse(text) as Profile);
      shown = text;
    }).catch(() => replace(lost, "The training has ended, or its process is gone."));
  }, 1000 * seconds);
}

export const profilePage: PageKind = { shows: (data) => !!data.profile, build };
