// Layer shapes of the networks that ANT's talk reports, for images of any size.
#pragma once

#include <string>
#include <vector>

#include "tensor/layer_shape.hpp"

namespace lacuna::reproduce {

// "densenet121", "resnet18", "resnet34", "vgg16", "wrn16_8", "resnet50". One sample; convolutions only.
// Images above 64 pixels enter the ResNets of two convolutions and DenseNet-121 through the 7x7 convolution
// and the pooling of their ImageNet forms, smaller ones through the 3x3 convolution of their CIFAR forms.
// ResNet-50 always has the former.
std::vector<LayerShape> network_layers(const std::string& network, int image_size);

}  // namespace lacuna::reproduce
