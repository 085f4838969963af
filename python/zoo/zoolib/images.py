"""Images with labels: CIFAR-10's binary files and folders of images."""

import os
from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple

import torch
import torch.nn.functional as F

from .errors import ZooError, need

CIFAR_REMEDY = (
    "download CIFAR-10's binary version (cifar-10-binary.tar.gz), unpack it and give the folder with data_batch_1.bin"
)
FOLDER_REMEDY = (
    "download Imagenette (imagenette2-320.tgz) or any images, and give a folder that has train/CLASS/*.jpg and "
    "val/CLASS/*.jpg"
)
_ENDINGS = (".jpg", ".jpeg", ".png", ".ppm")


@dataclass
class Images:
    """Images of one size as bytes [N, 3, H, W], or files that are decoded when they are needed."""

    labels: torch.Tensor
    classes: int
    size: int
    pixels: Optional[torch.Tensor] = None
    files: Optional[List[str]] = None

    def __len__(self) -> int:
        return len(self.labels)

    def load(self, indices: torch.Tensor) -> torch.Tensor:
        """The images with mean zero, [n, 3, size, size]."""
        if self.pixels is not None:
            images = self.pixels[indices].float()
        else:
            images = torch.stack([read_image(self.files[i], self.size) for i in indices.tolist()])
        return (images - 127.5) / 64.0

    def batches(self, batch: int, seed: int) -> Iterator[Tuple[torch.Tensor, torch.Tensor]]:
        """Endless shuffled batches, each image mirrored or not and shifted by up to an eighth."""
        if len(self) < batch:
            remedy = f"give --batch {len(self)} or less"
            raise ZooError(f"{len(self)} training images are fewer than a batch of {batch}; {remedy}")
        generator = torch.Generator().manual_seed(seed)
        while True:
            order = torch.randperm(len(self), generator=generator)
            for start in range(0, len(self) - batch + 1, batch):
                chosen = order[start : start + batch]
                yield _augmented(self.load(chosen), generator), self.labels[chosen]

    def in_order(self, batch: int, most: int) -> Iterator[Tuple[torch.Tensor, torch.Tensor]]:
        """The first `most` images, for a test."""
        for start in range(0, min(len(self), most), batch):
            chosen = torch.arange(start, min(start + batch, len(self), most))
            yield self.load(chosen), self.labels[chosen]


def _augmented(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    size = images.shape[-1]
    border = size // 8
    padded = F.pad(images, (border,) * 4)
    result = torch.empty_like(images)
    for n in range(len(images)):
        top, left, mirrored = torch.randint(0, 2 * border + 1, (3,), generator=generator).tolist()
        image = padded[n, :, top : top + size, left : left + size]
        result[n] = image.flip(-1) if mirrored % 2 else image
    return result


def open_images(folder: str, size: int) -> Tuple[Images, Images, str]:
    """Training set, test set and the data set's name; `size` is that of folders of images, CIFAR-10 has its own."""
    need(folder, "the data set", f"{FOLDER_REMEDY}; or {CIFAR_REMEDY}")
    if any(os.path.exists(os.path.join(folder, name)) for name in ("data_batch_1.bin", "test_batch.bin")):
        train, test = open_cifar(folder)
        return train, test, f"CIFAR-10 ({len(train)} training images)"
    train = open_folder(os.path.join(folder, "train"), size)
    for name in ("val", "test"):
        if os.path.isdir(os.path.join(folder, name)):
            test = open_folder(os.path.join(folder, name), size)
            break
    else:
        raise ZooError(f"{folder}: there is neither val nor test in it; {FOLDER_REMEDY}")
    if test.classes != train.classes:
        sizes = f"{train.classes} classes to train on but {test.classes} to test"
        raise ZooError(f"{folder}: {sizes}; make their folders match")
    return train, test, f"{os.path.basename(os.path.normpath(folder))} ({len(train)} training images)"


def open_cifar(folder: str) -> Tuple[Images, Images]:
    """CIFAR-10: records of one label byte and 3 x 32 x 32 bytes."""
    parts = [os.path.join(folder, f"data_batch_{n}.bin") for n in range(1, 6)]
    parts = [part for part in parts if os.path.exists(part)]
    if not parts:
        raise ZooError(f"{folder}: no data_batch_1.bin in it; {CIFAR_REMEDY}")
    test = need(os.path.join(folder, "test_batch.bin"), "CIFAR-10's test set", CIFAR_REMEDY)
    return _read_cifar(parts), _read_cifar([test])


def _read_cifar(paths: List[str]) -> Images:
    records = []
    for path in paths:
        with open(path, "rb") as file:
            content = bytearray(file.read())
        if not content or len(content) % 3073:
            raise ZooError(f"{path}: {len(content)} bytes are not records of 3,073; download it again")
        records.append(torch.frombuffer(content, dtype=torch.uint8).reshape(-1, 3073))
    whole = torch.cat(records)
    labels = whole[:, 0].long()
    if labels.max() > 9:
        raise ZooError(f"{paths[0]}: a label of {labels.max()}, CIFAR-10 has 0 to 9; this may be CIFAR-100")
    return Images(labels, 10, 32, pixels=whole[:, 1:].reshape(-1, 3, 32, 32))


def open_folder(folder: str, size: int) -> Images:
    """Images in one folder per class."""
    need(folder, "a folder of classes", FOLDER_REMEDY)
    classes = sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))
    files, labels = [], []
    for label, name in enumerate(classes):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            if file.lower().endswith(_ENDINGS):
                files.append(os.path.join(folder, name, file))
                labels.append(label)
    if not files:
        raise ZooError(f"{folder}: no images ({', '.join(_ENDINGS)}) in folders of classes; {FOLDER_REMEDY}")
    return Images(torch.tensor(labels), len(classes), size, files=files)


def read_image(path: str, size: int) -> torch.Tensor:
    """The middle square of an image, scaled: [3, size, size] of 0 to 255."""
    image = _read_ppm(path) if path.lower().endswith(".ppm") else _decode(path)
    side = min(image.shape[1:])
    top, left = (image.shape[1] - side) // 2, (image.shape[2] - side) // 2
    square = image[None, :, top : top + side, left : left + side].float()
    if side == size:
        return square[0]
    return F.interpolate(square, size=(size, size), mode="bilinear", align_corners=False, antialias=side > size)[0]


def _decode(path: str) -> torch.Tensor:
    try:
        from PIL import Image
    except ImportError as error:
        raise ZooError(f"{path}: decoding it needs Pillow, which is not installed (Debian: python3-pil)") from error
    try:
        with Image.open(path) as image:
            image = image.convert("RGB")
            pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
            return pixels.reshape(image.height, image.width, 3).permute(2, 0, 1)
    except OSError as error:
        raise ZooError(f"{path}: not an image that can be decoded ({error}); remove it or download it again") from error


def _read_ppm(path: str) -> torch.Tensor:
    """A binary PPM of 8 bits per value, the one format that needs no library."""
    with open(path, "rb") as file:
        content = file.read()
    fields = content.split(None, 4)
    try:
        kind, width, height, largest = fields[0], int(fields[1]), int(fields[2]), int(fields[3])
        start = len(content) - width * height * 3
        if kind != b"P6" or largest != 255 or width < 1 or height < 1 or start < 11:
            raise ValueError
    except (IndexError, ValueError) as error:
        raise ZooError(f"{path}: not a binary PPM of 8 bits; remove it or download it again") from error
    pixels = torch.frombuffer(bytearray(content[start:]), dtype=torch.uint8)
    return pixels.reshape(height, width, 3).permute(2, 0, 1)
