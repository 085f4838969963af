"""Words: sentence pairs of SNLI, captions of COCO, running text of WikiText-2 or of other sources."""

import collections
import json
import os
from typing import Dict, Iterable, List, Optional, Tuple

import numpy
import torch

from .errors import ZooError, need

PAD, UNKNOWN, START, END = range(4)
SNLI_REMEDY = "download SNLI 1.0 (snli_1.0.zip), unpack it and give the folder with snli_1.0_train.jsonl"
COCO_REMEDY = (
    "download COCO's captions (annotations/captions_train2017.json) and the images they name, and give the folder of both"
)
WIKITEXT_REMEDY = "download WikiText-2 (wikitext-2-v1.zip), unpack it and give the folder with wiki.train.tokens"
_LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2}


class Vocabulary:
    """Numbers for words: the most frequent ones, after padding, unknown, start and end."""

    def __init__(self, sentences: Iterable[List[str]], most: int):
        counts = collections.Counter(word for sentence in sentences for word in sentence)
        # by count, then by letters: the same file gives the same numbers
        words = sorted(counts, key=lambda word: (-counts[word], word))[: max(0, most - 4)]
        self.numbers: Dict[str, int] = {word: number for number, word in enumerate(words, 4)}

    def __len__(self) -> int:
        return len(self.numbers) + 4

    def encode(self, words: List[str]) -> List[int]:
        return [self.numbers.get(word, UNKNOWN) for word in words]


def words_of(sentence: str) -> List[str]:
    letters = "".join(letter if letter.isalnum() else " " for letter in sentence.lower())
    return letters.split()


def padded(sentences: List[List[int]], length: int) -> torch.Tensor:
    """[N, length], cut or padded."""
    rows = [(sentence + [PAD] * length)[:length] for sentence in sentences]
    return torch.tensor(rows, dtype=torch.long)


def _lines(path: str) -> List[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except UnicodeDecodeError as error:
        raise ZooError(f"{path}: not UTF-8 text; download it again") from error


def open_snli(folder: str, part: str, most: int) -> Tuple[List[List[str]], List[List[str]], torch.Tensor]:
    """Premises, hypotheses and labels of "train" or "dev"; pairs without a label are left out."""
    path = need(os.path.join(folder, f"snli_1.0_{part}.jsonl"), f"SNLI's part '{part}'", SNLI_REMEDY)
    premises, hypotheses, labels = [], [], []
    for number, line in enumerate(_lines(path), 1):
        if len(labels) == most:
            break
        try:
            pair = json.loads(line)
            first, second, label = pair["sentence1"], pair["sentence2"], pair["gold_label"]
        except (ValueError, KeyError, TypeError) as error:
            raise ZooError(f"{path}:{number}: not a sentence pair of SNLI; download it again") from error
        if label in _LABELS:  # "-": the annotators did not agree
            premises.append(words_of(first))
            hypotheses.append(words_of(second))
            labels.append(_LABELS[label])
    if not labels:
        raise ZooError(f"{path}: no sentence pair with a label in it; download it again")
    return premises, hypotheses, torch.tensor(labels)


def open_captions(folder: str, most_images: int) -> Tuple[List[str], List[Tuple[int, List[str]]]]:
    """Files of images, and captions as (image, words), from a caption file of COCO's format below the folder."""
    need(folder, "the data set", COCO_REMEDY)
    names = ("captions_train2017.json", "captions_train2014.json", "captions_val2017.json", "captions.json")
    places = [os.path.join(folder, place, name) for name in names for place in ("", "annotations")]
    path = next((place for place in places if os.path.exists(place)), None)
    if path is None:
        raise ZooError(f"{folder}: none of {', '.join(names)} in it or in its annotations; {COCO_REMEDY}")
    try:
        content = json.loads("\n".join(_lines(path)))
        names_of = {image["id"]: image["file_name"] for image in content["images"]}
        notes = [(note["image_id"], words_of(note["caption"])) for note in content["annotations"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ZooError(f"{path}: not a caption file of COCO's format; download it again") from error
    folders = [folder, *(os.path.join(folder, name) for name in ("train2017", "train2014", "val2017", "images"))]
    files: List[str] = []
    index: Dict[object, int] = {}
    for image, name in sorted(names_of.items(), key=lambda item: item[1]):
        if len(files) == most_images:
            break
        places = [os.path.join(place, name) for place in folders]
        found = next((place for place in places if os.path.exists(place)), None)
        if found is not None:  # a part of the images is enough
            index[image] = len(files)
            files.append(found)
    captions = [(index[image], words) for image, words in notes if image in index and words]
    if not captions:
        raise ZooError(f"{path}: none of its images is in {folder}, its train2017 or images; {COCO_REMEDY}")
    return files, captions


def open_wikitext(folder: str, part: str) -> List[str]:
    """The words of "train" or "valid", with <eos> at the end of each line."""
    path = os.path.join(folder, f"wiki.{part}.tokens")
    if not os.path.exists(path) and os.path.exists(os.path.join(folder, f"wiki.{part}.raw")):
        path = os.path.join(folder, f"wiki.{part}.raw")
    need(path, f"WikiText-2's part '{part}'", WIKITEXT_REMEDY)
    words: List[str] = []
    for line in _lines(path):
        if line.strip():
            words += [*line.split(), "<eos>"]
    if not words:
        raise ZooError(f"{path}: no words in it; download it again")
    return words


def open_tokens(folder: str) -> Optional[Tuple[torch.Tensor, torch.Tensor, int, str]]:
    """Tokens to train on and to test with, their vocabulary's size and the text's name; None if the folder has none."""
    place = os.path.join(folder, "corpus.json")
    if not os.path.exists(place):
        return None
    try:
        with open(place, encoding="utf-8") as file:
            corpus = json.load(file)
        size, name = int(corpus["vocabulary"]), str(corpus["name"])
        parts = [numpy.load(os.path.join(folder, f"{part}.npy")) for part in ("train", "valid")]
        if any(part.ndim != 1 or part.dtype != numpy.uint16 or int(part.max(initial=0)) >= size for part in parts):
            raise ValueError("tokens that its vocabulary does not have")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ZooError(f"{folder}: not a text of debian_text.py ({error}); make it again") from error
    train, valid = (torch.from_numpy(part.astype(numpy.int32)) for part in parts)
    return train, valid, size, name


class BytePairs:
    """Byte-pair tokens: words are spelled in bytes; the most frequent pair becomes a token until there are `most`."""

    def __init__(self, words: List[str], most: int):
        counts = collections.Counter(words)
        self._spelled = {word: [*word.encode(), 256] for word in counts}  # 256 ends a word
        pairs: collections.Counter = collections.Counter()
        where: Dict[Tuple[int, int], set] = collections.defaultdict(set)
        for word, tokens in self._spelled.items():
            for pair in zip(tokens, tokens[1:]):
                pairs[pair] += counts[word]
                where[pair].add(word)
        self._merges: Dict[Tuple[int, int], int] = {}
        self.size = 257
        while self.size < most and pairs:
            best = max(pairs, key=lambda pair: (pairs[pair], pair))
            if pairs[best] < 2:
                break
            self._merges[best] = self.size
            for word in sorted(where.pop(best)):
                old = self._spelled[word]
                new = _merged(old, best, self.size)
                for pair in zip(old, old[1:]):
                    pairs[pair] -= counts[word]
                for pair in zip(new, new[1:]):
                    pairs[pair] += counts[word]
                    where[pair].add(word)
                self._spelled[word] = new
            del pairs[best]
            self.size += 1

    def __len__(self) -> int:
        return self.size

    def encode(self, words: List[str]) -> List[int]:
        tokens: List[int] = []
        for word in words:
            if word not in self._spelled:
                spelled = [*word.encode(), 256]
                for pair, token in self._merges.items():
                    spelled = _merged(spelled, pair, token)
                self._spelled[word] = spelled
            tokens += self._spelled[word]
        return tokens


def _merged(tokens: List[int], pair: Tuple[int, int], token: int) -> List[int]:
    result: List[int] = []
    place = 0
    while place < len(tokens):
        if tuple(tokens[place : place + 2]) == pair:
            result.append(token)
            place += 2
        else:
            result.append(tokens[place])
            place += 1
    return result
