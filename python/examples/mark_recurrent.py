#!/usr/bin/env python3
"""Say of linear layers in an old trace that their time steps follow one another (format version 2).

  mark_recurrent.py snli_p100.safetensors.zst encoder.hh -o snli_recurrent.safetensors.zst

Traces of version 1 hold recurrent layers as linear layers with time steps, which machines run side by side. The rows
are put into the order of steps. `lacuna.capture` records recurrent layers so by itself.
"""

import argparse
import json
import sys

from lacuna._trace.container import read_container, write_container
from lacuna.errors import TraceError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("layers", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    try:
        tensors, metadata = read_container(options.trace)
    except (TraceError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    layers = {layer["name"]: layer for layer in json.loads(metadata["layers"])}
    for name in options.layers:
        layer = layers.get(name)
        if layer is None or layer["type"] != "linear" or layer.get("recurrent"):
            print(f"{options.trace}: '{name}' is not a linear layer, so it cannot be marked", file=sys.stderr)
            return 2
        layer["recurrent"] = True
        for role in ("A", "A.mask", "G", "G.mask"):
            tensor = tensors.get(f"{name}/{role}")
            if tensor is not None:
                by_sample = tensor.reshape(-1, layer["steps"], tensor.shape[-1])
                tensors[f"{name}/{role}"] = by_sample.transpose(0, 1).reshape(tensor.shape).contiguous()
    metadata["version"], metadata["layers"] = "2", json.dumps(list(layers.values()))
    write_container(options.output, tensors, metadata)
    return 0


if __name__ == "__main__":
    sys.exit(main())
