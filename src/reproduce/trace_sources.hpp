// Where the traces of figures come from: data/, or made up by a name.
//   alexnet_p100                 a file of data/, with its checksum
//   random:0.3:7                 zeros at random in DenseNet-121's third convolution; share, seed [TensorDash
//   Fig. 20] uniform:resnet18:224         a network with 90 % zeros at random; size of its images
//   (networks.hpp) moved:resnet18_top90_p100    a file of data/, its non-zeros moved about inside each tensor
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
