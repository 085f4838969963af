#!/usr/bin/env python3
"""Train an image classifier and record it at several points of its training.

  cnns.py --model vgg16 --data ~/imagenette2-320                     batch 64, 224x224, six points
  cnns.py --model resnet18_cifar --data ~/cifar-10-batches-bin --batch 128 --lr 0.1
  cnns.py --model alexnet --data ~/imagenette2-320 --epochs 80 --points 2,50,100 --out traces

The data set is a folder of images (train/CLASS/*.jpg and val/CLASS/*.jpg: Imagenette, ImageNet) or CIFAR-10's binary
files.
"""

import sys

from zoolib.image_task import add_image_options, image_task
from zoolib.training import check_options, run_script, script_parser, train


def main(arguments=None):
    parser = script_parser(__doc__, epochs=20, batch=64, lr=0.01, samples=2)
    add_image_options(parser, "resnet18")
    options = parser.parse_args(arguments)
    check_options(options)
    train(image_task(options), options)


if __name__ == "__main__":
    sys.exit(run_script(main))
