// Synthetic layers as a person writes them: 'conv2d in=64 out=128 kernel=3 input=56 A=0.6 G=channel:0.8'.
#pragma once

#include <map>
#include <string>

#include "trace/synthetic/synthetic.hpp"

namespace lacuna {

// "dense", "zero", "0.6" (uniform) or "channel:0.6". Throws InputError; `where` starts the message.
ZeroSpec parse_zeros(const std::string& text, const std::string& where);

// The zeros of tensors that a layer says nothing about.
struct ZeroTexts {
  std::string a = "0.5", w = "dense", g = "0.5";
};

// A layer by keys: `type` (conv2d without it), `in`, `out`, `kernel`, ... and what they are set to. Layer
// `index` of a network is called "layerN" if it has no name. Throws InputError.
using LayerSettings = std::map<std::string, std::string>;
SyntheticLayer make_synthetic_layer(const LayerSettings& settings, std::size_t index, const ZeroTexts& zeros,
                                    const std::string& where);
// The same from one line of words.
SyntheticLayer parse_synthetic_layer(const std::string& text, std::size_t index, const ZeroTexts& zeros,
                                     const std::string& where);

}  // namespace lacuna
