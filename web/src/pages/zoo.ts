// Every trace of data/ on every machine: a page of the documentation site (docs/site/gallery.py).
import type { PageData } from "../data";
import { pictureCard, type Picture } from "../parts/card";
import { crossoverPicture, zooAnswer, zooPicture, zooTable, type ZooMeasure } from "../zoo";
import { plainPage, type PageKind } from "./page";

function build(data: PageData, root: HTMLElement): void {
  const zoo = data.zoo!;
  let measure: ZooMeasure = "speedup";
  const choose = (chosen: ZooMeasure): void => { measure = chosen; redraw(); };
  const { card, redraw } = pictureCard((): Picture => zooPicture(zoo, measure, choose));
  plainPage(data, root, "The zoo", zooAnswer(zoo), [card, pictureCard(() => crossoverPicture(zoo)).card, zooTable(zoo)]);
}

export const zooPage: PageKind = { shows: (data) => !!data.zoo, build };
