// Layer shapes of the networks that ANT's talk reports, for planes of CIFAR (32x32) and of ImageNet
// (224x224).
#pragma once

#include <string>
#include <vector>

#include "tensor/layer_shape.hpp"

namespace lacuna {

struct StudyNetwork {
  std::string name;
  std::vector<LayerShape> layers;  // one sample; convolutions only
  double paper_speedup = 0;        // over SCNN-like, ANT talk (FastPath 2022), read off a chart
  double derived_speedup = 0;  // what a second program gave for this model, fill 5 per pair on both machines
  double paper_energy = 0;     // of SCNN-like's, from the same chart
};

std::vector<StudyNetwork> study_networks();

}  // namespace lacuna
