#!/usr/bin/env python3
"""Train an image classifier with a sparse training method and record it.

  sparse.py --method SM --model resnet50 --data ~/imagenette2-320               traces resnet50_SM90_pNNN
  sparse.py --method swat --model resnet18_cifar --data ~/cifar-10-batches-bin --batch 128 --lr 0.1 --samples 4

methods, each at --density of what is kept:
  SM        sparse momentum: weights are zero from the start, the momentum says where they live again
  DS        dynamic sparse reparameterization: the same with one threshold, at random
  swat      the largest weights (forward, input gradient) and activations (weight gradient); the first layer is dense
  resprop   SWAT, and of the gradients the largest differences to those of the step before
  topk      dense training; at the recorded step the largest activations, weights and gradients
"""

import sys

from zoolib.image_task import add_image_options, image_task
from zoolib.pruning import METHODS, PrunedTraining
from zoolib.topk import sparsified, sparsify
from zoolib.training import check_options, run_script, script_parser, train

_ENDINGS = {"SM": "SM", "DS": "DS", "swat": "swat", "resprop": "resprop_swat", "topk": "top"}


def main(arguments=None):
    parser = script_parser(__doc__, epochs=20, batch=64, lr=0.01, samples=2)
    add_image_options(parser, "resnet50")
    parser.add_argument("--method", required=True, choices=sorted(_ENDINGS))
    parser.add_argument("--density", type=float, default=0.1, help="share that is not zero (default: 0.1)")
    parser.add_argument("--every", type=int, default=100, help="SM, DS: steps between rearrangements (default: 100)")
    options = parser.parse_args(arguments)
    check_options(options)
    task = image_task(options)
    if options.method in METHODS:
        pruned: PrunedTraining = METHODS[options.method](task.model, task.optimizer, options.density, options.every)
        task.after_step = pruned.after_step
    elif options.method == "topk":
        task.while_recorded = lambda: sparsified(task.model, options.density)
    else:
        sparsify(task.model, options.method, options.density)
    task.name += f"_{_ENDINGS[options.method]}{round(100 * (1 - options.density))}"
    train(task, options)


if __name__ == "__main__":
    sys.exit(run_script(main))
