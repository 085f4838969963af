#include "reproduce/networks.hpp"

#include <stdexcept>

namespace lacuna::reproduce {
namespace {

class Builder {
 public:
  Builder(std::int64_t channels, std::int64_t plane) : channels_(channels), plane_(plane) {}

  // A square convolution with "same" padding; the next layer sees its output.
  Builder& conv(std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
    side(out, kernel, stride);
    channels_ = out;
    plane_ = layers_.back().output.h;
    return *this;
  }
  // The same for layers next to the main path (shortcuts, dense blocks).
  Builder& side(std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
    layers_.push_back(LayerShape::conv2d(1, channels_, out, {plane_, plane_}, {kernel, kernel},
                                         {stride, stride}, {kernel / 2, kernel / 2}));
    return *this;
  }
  Builder& pool() {
    plane_ /= 2;
    return *this;
  }
  Builder& concatenate(std::int64_t more, std::int64_t channels_before) {
    channels_ = channels_before + more;
    return *this;
  }
  std::int64_t channels() const { return channels_; }
  std::vector<LayerShape> take() { return std::move(layers_); }

 private:
  std::int64_t channels_, plane_;
  std::vector<LayerShape> layers_;
};

void basic_block(Builder& net, std::int64_t out, std::int64_t stride) {
  if (stride != 1 || net.channels() != out) net.side(out, 1, stride);
  net.conv(out, 3, stride).conv(out, 3);
}

std::vector<LayerShape> basic_resnet(std::int64_t size, const std::vector<int>& blocks) {
  Builder net(3, size);
  if (size > 64) {
    net.conv(64, 7, 2).pool();
  } else {
    net.conv(64, 3);
  }
  std::int64_t width = 64;
  for (const int count : blocks) {
    for (int i = 0; i < count; ++i) basic_block(net, width, i == 0 && width != 64 ? 2 : 1);
    width *= 2;
  }
  return net.take();
}

std::vector<LayerShape> wide_resnet_16_8(std::int64_t size) {
  Builder net(3, size);
  net.conv(16, 3);
  for (const std::int64_t width : {128, 256, 512}) {
    basic_block(net, width, width == 128 ? 1 : 2);
    basic_block(net, width, 1);
  }
  return net.take();
}

std::vector<LayerShape> vgg16(std::int64_t size) {
  Builder net(3, size);
  const struct {
    std::int64_t width;
    int layers;
  } stages[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
  for (const auto& stage : stages) {
    for (int i = 0; i < stage.layers; ++i) net.conv(stage.width, 3);
    net.pool();
  }
  return net.take();
}

std::vector<LayerShape> densenet121(std::int64_t size) {
  constexpr std::int64_t kGrowth = 32;
  Builder net(3, size);
  if (size > 64) {
    net.conv(64, 7, 2).pool();
  } else {
    net.conv(64, 3);
  }
  const int blocks[] = {6, 12, 24, 16};
  for (int b = 0; b < 4; ++b) {
    for (int i = 0; i < blocks[b]; ++i) {
      const std::int64_t before = net.channels();
      net.conv(4 * kGrowth, 1).conv(kGrowth, 3).concatenate(kGrowth, before);
    }
    if (b < 3) net.conv(net.channels() / 2, 1).pool();
  }
  return net.take();
}

std::vector<LayerShape> resnet50(std::int64_t size) {
  Builder net(3, size);
  net.conv(64, 7, 2).pool();
  const struct {
    std::int64_t width;
    int blocks;
  } stages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& stage : stages) {
    for (int i = 0; i < stage.blocks; ++i) {
      const std::int64_t stride = i == 0 && stage.width != 64 ? 2 : 1;
      if (i == 0) net.side(4 * stage.width, 1, stride);
      net.conv(stage.width, 1).conv(stage.width, 3, stride).conv(4 * stage.width, 1);
    }
  }
  return net.take();
}

}  // namespace

std::vector<LayerShape> network_layers(const std::string& network, int image_size) {
  if (network == "densenet121") return densenet121(image_size);
  if (network == "resnet18") return basic_resnet(image_size, {2, 2, 2, 2});
  if (network == "resnet34") return basic_resnet(image_size, {3, 4, 6, 3});
  if (network == "vgg16") return vgg16(image_size);
  if (network == "wrn16_8") return wide_resnet_16_8(image_size);
  if (network == "resnet50") return resnet50(image_size);
  throw std::logic_error("no network " + network);
}

}  // namespace lacuna::reproduce
