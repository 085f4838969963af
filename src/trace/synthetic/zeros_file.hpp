// Zeros by layer, as a table says, in the layers of a trace: `lacuna synth --zeros-file`.
//
//   layer,A,W,G
//   conv1,dense,dense,0.62
//   conv2,0.49,recorded,channel:0.7
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/synthetic/synthetic.hpp"

namespace lacuna {

// Clustering of the zeros of a table's plain shares: none, in channels (ZeroPattern::kByChannel), or each
// tensor's as those of the trace do.
enum class ZerosClustering { kUniform, kChannel, kMeasured };
inline const std::vector<std::string> kZerosClusterings{"uniform", "channel", "measured"};
// One of kZerosClusterings.
ZerosClustering parse_zeros_clustering(const std::string& word);

class ZerosTable {
 public:
  // Reads a line `layer,A,W,G`, then a line per layer. A cell is a share from 0 to 1, `channel:SHARE`,
  // `dense`, `zero`, or `recorded` for the mask that the trace has. Throws InputError with file and line.
  static ZerosTable open(const std::string& path);
  static ZerosTable parse(std::string_view text, const std::string& path);

  // Returns the layers of `trace` with masks drawn as the table says; it has a line for each of them. Values
  // are not kept. Throws InputError for a layer that one of them lacks.
  Trace draw(const Trace& trace, ZerosClustering clustering, std::uint64_t seed) const;
  // Gives `layers`, which nobody recorded, the zeros of the table. `name` stands for them in messages. Throws
  // InputError as draw() does, and for `recorded` or measured zeros.
  void apply(std::vector<SyntheticLayer>& layers, const std::string& name, ZerosClustering clustering) const;

 private:
  struct Line {
    int number = 0;
    std::string layer;
    PerOperand<std::optional<ZeroSpec>> zeros;  // nothing: as recorded
  };
  // Throws InputError if a line names none of `names`, the layers of `owner`.
  void check_names(const std::vector<std::string>& names, const std::string& owner) const;
  const Line& line_of(const std::string& layer) const;

  std::string path_;
  std::vector<Line> lines_;
};

}  // namespace lacuna
