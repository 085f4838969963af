#!/usr/bin/env python3
"""Make a text to train language models on from Debian's documentation packages.

  apt-get download linux-doc-6.1 python3.11-doc postgresql-doc-15 rust-doc perl-doc
  debian_text.py --out ~/debian-text *.deb                           train.npy, valid.npy, corpus.json
  language.py --model relu2_gpt --data ~/debian-text

Takes the pages (HTML, plain text, manual pages, reStructuredText, Markdown) out of the packages, keeps the first of lines
that recur, and numbers byte pairs with SentencePiece (Debian: python3-sentencepiece, dpkg). Every fiftieth page goes into
the validation set.
"""

import argparse
import gzip
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Iterator, List, Optional, Set, Tuple

import numpy

from zoolib.errors import ZooError
from zoolib.training import run_script

_PAGES = re.compile(r"\.(html?|txt|rst|md|[1-8](pm|ssl|perl)?|pod)(\.gz)?$")
_TRANSLATED = re.compile(r"/(translations|[a-z]{2}_[A-Z]{2})/")


class _Text(html.parser.HTMLParser):
    """The running text of a page."""

    _HIDDEN = {"script", "style", "nav", "head", "footer"}
    _BLOCKS = {"p", "div", "li", "h1", "h2", "h3", "h4", "tr", "pre", "dt", "dd", "br", "table", "section"}

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: List[str] = []
        self._hidden = 0

    def handle_starttag(self, tag, attrs):
        self._hidden += tag in self._HIDDEN
        if tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag):
        self._hidden -= tag in self._HIDDEN and self._hidden > 0

    def handle_data(self, data):
        if not self._hidden:
            self.parts.append(data)


def _text_of(path: str) -> str:
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        content = file.read().decode("utf-8", "replace")
    if re.search(r"\.html?(\.gz)?$", path):
        parser = _Text()
        parser.feed(content)
        return "".join(parser.parts)
    # Requests of manual pages, and their font changes.
    return re.sub(r"\\f[BIRP]|\\-|\\&", "", re.sub(r"(?m)^[.'][A-Za-z\\]\S* ?", "", content))


def _pages(packages: List[str], folder: str) -> Iterator[str]:
    for package in packages:
        place = os.path.join(folder, os.path.basename(package))
        done = subprocess.run(["dpkg-deb", "-x", package, place], capture_output=True, text=True)
        if done.returncode:
            raise ZooError(f"{package}: not a Debian package ({done.stderr.strip().splitlines()[-1]})")
        for root, folders, files in os.walk(place):
            folders.sort()
            if "_sources" in folders:  # of Sphinx: the text that the HTML beside it was made from
                folders[:], files = ["_sources"], []
            for file in sorted(files):
                path = os.path.join(root, file)
                if _PAGES.search(file) and not _TRANSLATED.search(path) and os.path.isfile(path) and not os.path.islink(path):
                    yield _text_of(path)


def _paragraphs(pages: Iterator[str]) -> List[str]:
    """The pages without white space at the ends of lines and without lines that an earlier page had."""
    seen: Set[str] = set()
    kept = []
    for page in pages:
        lines = [line for line in (" ".join(line.split()) for line in page.splitlines()) if len(line) > 2]
        new = [line for line in lines if line not in seen]
        seen.update(new)
        if sum(map(len, new)) > 400:
            kept.append("\n".join(new))
    return kept


def _tokens(pages: List[str], most: int, folder: str) -> Tuple[List[List[int]], int]:
    try:
        import sentencepiece
    except ImportError as error:
        raise ZooError("numbering byte pairs needs SentencePiece (Debian: python3-sentencepiece)") from error
    text, model = os.path.join(folder, "text"), os.path.join(folder, "pieces")
    with open(text, "w", encoding="utf-8") as file:
        file.write("\n".join(pages))
    sentencepiece.SentencePieceTrainer.train(
        input=text,
        model_prefix=model,
        vocab_size=most,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        input_sentence_size=400000,
        shuffle_input_sentence=True,
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{model}.model")
    end = pieces.eos_id()
    return [[*pieces.encode(page), end] for page in pages], pieces.vocab_size()


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", metavar="PACKAGE.deb")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where the tokens go")
    parser.add_argument("--vocabulary", type=int, default=50257, help="byte pairs (default: %(default)s, GPT-2's)")
    options = parser.parse_args(arguments)
    if not 300 <= options.vocabulary <= 65535:
        raise ZooError(f"--vocabulary {options.vocabulary}: must be 300 to 65535")
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = _paragraphs(_pages(options.packages, folder))
        if len(pages) < 50:
            raise ZooError(f"{len(pages)} pages of text in these packages are too few; give packages of documentation")
        tokens, size = _tokens(pages, options.vocabulary, folder)
    for name, chosen in (("valid", tokens[49::50]), ("train", [page for n, page in enumerate(tokens) if n % 50 != 49])):
        numpy.save(os.path.join(options.out, f"{name}.npy"), numpy.array([token for page in chosen for token in page], numpy.uint16))
    names = ["_".join(os.path.basename(package).split("_")[:2]) for package in options.packages]
    with open(os.path.join(options.out, "corpus.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "Debian documentation", "packages": names, "vocabulary": size}, file, indent=1)
    print(f"{len(pages)} pages, {sum(map(len, tokens))} tokens, {size} byte pairs: {options.out}")


if __name__ == "__main__":
    sys.exit(run_script(main))
