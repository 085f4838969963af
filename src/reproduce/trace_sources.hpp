// Traces of figures: files of data/, or synthetic ones by name.
//   alexnet_p100              a file of data/, with its checksum
//   half:1:alexnet_p100       the second half of the samples of what follows, which may be made up as well
//   moved:resnet18_top90_p100 the non-zeros of what follows, moved about inside each tensor
//   positions:resnet50_top90_p100  1x1 convolutions of stride 1 of what follows as linear layers, a row per
//                             position
//   drawn:own:7:vgg16_p100    its layers, with masks drawn to its shares of zeros and its clustering; seed.
//                             `level`: more zeros, in all networks alike, so that the mean potential is the
//                             3x of [TensorDash Fig. 1]; `paper`: the same share in each layer, for a
//                             potential of 3x; `least`: for the 1.5x that no model is below; `uniform`: as
//                             `paper`, without clustering
//   imagenet:vgg16:measured:7 a network with the zeros of a whole training (data/papers/imagenet_zeros);
//                             clustering, seed. ResNet-34 clusters as our ResNet-18
//   inference:vgg16:published:7  a pruned network (inference_networks.hpp); its densities (`clustered`: in
//                             activations as in our trace), or one share of non-zeros for all operands; seed
//   random:0.3:7              zeros at random in DenseNet-121's third convolution; share, seed
//                             [TensorDash Fig. 20]
//   uniform:resnet18:224:7    a network with 90 % zeros at random; size of its images (networks.hpp), seed
#pragma once

#include <string>

#include "reproduce/data_folder.hpp"

namespace lacuna::reproduce {

Trace open_source(const std::string& name, const DataFolder& data);

// About how long it takes to simulate, compared with others; for progress.
double trace_weight(const std::string& name, const DataFolder& data);

// The trace of data/ that it is made of; empty if it is made of nothing.
std::string recorded_part(const std::string& name);

// A trace with the same number of non-zeros in each tensor, anywhere in it.
Trace with_moved_nonzeros(const Trace& trace);

}  // namespace lacuna::reproduce
