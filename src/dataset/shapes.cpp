#include "dataset/shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>

#include "base/error.hpp"
#include "dataset/streams.hpp"

namespace lacuna::dataset {
namespace {

constexpr int kClasses = 10;
constexpr int kDefaultSize = 32;
constexpr int kSmallest = 8;
constexpr int kLargest = 1024;
constexpr std::int64_t kDefaultTrain = 4000;
constexpr std::int64_t kDefaultTest = 1000;
constexpr std::int64_t kMostImages = std::int64_t{1} << 40;
// Parts up to this size are drawn once, when the set is opened; images of larger ones whenever they are read.
constexpr std::int64_t kKeptBytes = std::int64_t{64} << 20;

using Colour = std::array<float, 3>;

struct Point {
  float x;
  float y;
};

float length(Point p) { return std::sqrt(p.x * p.x + p.y * p.y); }

float between(Random& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random.uniform());
}

Colour random_colour(Random& random) {
  return {between(random, 0, 1), between(random, 0, 1), between(random, 0, 1)};
}

float brightness(const Colour& colour) { return (colour[0] + colour[1] + colour[2]) / 3; }

// A random direction without sine and cosine, whose last bit differs from one C library to the next.
Point random_direction(Random& random) {
  while (true) {
    const Point p{between(random, -1, 1), between(random, -1, 1)};
    const float r = length(p);
    if (r > 0.1F && r <= 1) return {p.x / r, p.y / r};
  }
}

// Distance from the nearest multiple of `period`.
float fold(float x, float period) { return std::abs(x - period * std::floor(x / period + 0.5F)); }

// Each figure as the signed distance (or a bound of it) of a point from its edge, negative inside; r is the
// radius of the circle around it.
float box(Point p) { return std::max(std::abs(p.x), std::abs(p.y)); }
float disc(Point p, float r) { return length(p) - 0.85F * r; }
float ring(Point p, float r) { return std::abs(length(p) - 0.75F * r) - 0.2F * r; }
float square(Point p, float r) { return box(p) - 0.7F * r; }
float frame(Point p, float r) { return std::abs(box(p) - 0.54F * r) - 0.16F * r; }
float triangle(Point p, float r) {
  constexpr float kHalfRoot3 = 0.8660254F;
  return std::max(p.y, kHalfRoot3 * std::abs(p.x) - 0.5F * p.y) - 0.5F * r;
}
float cross(Point p, float r) {
  return std::max(box(p) - 0.96F * r, std::min(std::abs(p.x), std::abs(p.y)) - 0.26F * r);
}
float stripes(Point p, float r) { return std::max(length(p) - r, fold(p.x, 0.62F * r) - 0.155F * r); }
float checker(Point p, float r) {
  // Four by four fields; in every other one both distances have the same sign.
  const float x = fold(p.x + 0.175F * r, 0.7F * r) - 0.175F * r;
  const float y = fold(p.y + 0.175F * r, 0.7F * r) - 0.175F * r;
  const float field = std::min(std::abs(x), std::abs(y));
  return std::max(square(p, r), (x < 0) == (y < 0) ? -field : field);
}
float crescent(Point p, float r) {
  return std::max(length(p) - 0.95F * r, 0.75F * r - length({p.x - 0.45F * r, p.y}));
}
float pair(Point p, float r) { return length({std::abs(p.x) - 0.58F * r, p.y}) - 0.38F * r; }

struct Figure {
  const char* name;
  float (*edge)(Point p, float r);
};
constexpr std::array<Figure, kClasses> kFigures = {{{"disc", disc},
                                                    {"ring", ring},
                                                    {"square", square},
                                                    {"frame", frame},
                                                    {"triangle", triangle},
                                                    {"cross", cross},
                                                    {"stripes", stripes},
                                                    {"checker", checker},
                                                    {"crescent", crescent},
                                                    {"pair", pair}}};

class Canvas {
 public:
  Canvas(int size, std::uint8_t* planes)
      : size_(size),
        planes_(planes),
        pixels_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}

  // A ground that changes from one side of the image to the other.
  void shade(const Colour& colour, Point direction, const Colour& change) {
    const float scale = 2.0F / static_cast<float>(size_);
    each_pixel(0, size_, 0, size_, [&](Point p, Colour& pixel) {
      const float along = (p.x * direction.x + p.y * direction.y) * scale - (direction.x + direction.y);
      for (std::size_t c = 0; c < 3; ++c) pixel[c] = colour[c] + along * change[c];
    });
  }

  void draw(const Figure& figure, Point centre, float r, Point direction, const Colour& colour) {
    blend_near(centre, r + 1, colour, 1, [&](Point p) {
      const Point turned{p.x * direction.x + p.y * direction.y, p.y * direction.x - p.x * direction.y};
      return figure.edge(turned, r);
    });
  }

  // A segment from `centre` by `reach` both ways, `width` thick on each side.
  void draw_line(Point centre, Point direction, float reach, float width, const Colour& colour,
                 float opacity) {
    blend_near(centre, reach + width + 1, colour, opacity, [&](Point p) {
      const float along = std::clamp(p.x * direction.x + p.y * direction.y, -reach, reach);
      return length({p.x - along * direction.x, p.y - along * direction.y}) - width;
    });
  }

  // Adds noise with a triangular distribution from -amplitude to amplitude and writes the bytes.
  void finish(Random& random, float amplitude) {
    const std::size_t plane = pixels_.size();
    const float unit = amplitude / 1023.0F;
    for (std::size_t i = 0; i < plane; ++i) {
      std::uint64_t bits = random.bits();
      for (std::size_t c = 0; c < 3; ++c) {
        const auto two = static_cast<int>((bits & 1023U) + (bits >> 10U & 1023U)) - 1023;
        bits >>= 20U;
        const float value = pixels_[i][c] + unit * static_cast<float>(two);
        const float level = std::clamp(value, 0.0F, 1.0F) * 255 + 0.5F;
        planes_[c * plane + i] = static_cast<std::uint8_t>(level);
      }
    }
  }

 private:
  template <typename Action>
  void each_pixel(int top, int bottom, int left, int right, const Action& action) {
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) {
        action(Point{static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F},
               pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(size_) +
                       static_cast<std::size_t>(x)]);
      }
    }
  }

  // Blends the colour in where `edge` of the place relative to the centre is negative; half a pixel on each
  // side of the edge is smooth.
  template <typename Edge>
  void blend_near(Point centre, float reach, const Colour& colour, float opacity, const Edge& edge) {
    const auto low = [&](float at) { return std::clamp(static_cast<int>(at - reach), 0, size_); };
    const auto high = [&](float at) { return std::clamp(static_cast<int>(at + reach) + 1, 0, size_); };
    each_pixel(low(centre.y), high(centre.y), low(centre.x), high(centre.x), [&](Point at, Colour& pixel) {
      const float inside = 0.5F - edge(Point{at.x - centre.x, at.y - centre.y});
      if (inside <= 0) return;
      const float share = std::min(inside, 1.0F) * opacity;
      for (std::size_t c = 0; c < 3; ++c) pixel[c] += share * (colour[c] - pixel[c]);
    });
  }

  int size_;
  std::uint8_t* planes_;
  std::vector<Colour> pixels_;
};

std::vector<std::string> shape_classes() {
  std::vector<std::string> names;
  for (const Figure& figure : kFigures) names.emplace_back(figure.name);
  return names;
}

class Shapes final : public Dataset {
 public:
  Shapes(std::uint64_t seed, Part part, std::int64_t count, int side)
      : Dataset({"shapes", {3, side, side}, shape_classes(), count}), seed_(seed), part_(part) {
    if (count > kKeptBytes / shape().size()) return;
    kept_.resize(static_cast<std::size_t>(count * shape().size()));
    for (std::int64_t i = 0; i < count; ++i)
      draw_shape(seed, part, i, side, kept_.data() + i * shape().size());
  }

  int read(std::int64_t index, float* image) const override {
    const int count = shape().size();
    std::vector<std::uint8_t> drawn;
    const std::uint8_t* bytes = kept_.empty() ? nullptr : kept_.data() + index * count;
    if (kept_.empty()) {
      drawn.resize(static_cast<std::size_t>(count));
      draw_shape(seed_, part_, index, shape().height, drawn.data());
      bytes = drawn.data();
    }
    for (int i = 0; i < count; ++i)
      image[i] = (static_cast<float>(bytes[i]) / 255.0F - kShapesMean) / kShapesDeviation;
    return static_cast<int>(index % kClasses);
  }

 private:
  std::uint64_t seed_;
  Part part_;
  std::vector<std::uint8_t> kept_;
};

std::int64_t checked_count(std::int64_t asked, std::int64_t standard, const char* part) {
  if (asked == 0) return standard;
  if (asked < 1 || asked > kMostImages) {
    throw InputError("shapes", fmt::format("a {} part of {} images cannot be drawn", part, asked),
                     fmt::format("use 1 to {}, or 0 for {}", kMostImages, standard));
  }
  return asked;
}

}  // namespace

int draw_shape(std::uint64_t seed, Part part, std::int64_t index, int size, std::uint8_t* planes) {
  Random random(stream_seed(seed, static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(index)));
  const auto label = static_cast<int>(index % kClasses);
  const auto extent = static_cast<float>(size);

  // A light figure on a dark ground, in any two colours.
  const Colour ground{between(random, 0, 0.5F), between(random, 0, 0.5F), between(random, 0, 0.5F)};
  Colour ink = random_colour(random);
  while (brightness(ink) < brightness(ground) + 0.33F) ink = random_colour(random);

  Canvas canvas(size, planes);
  const Point shading = random_direction(random);
  canvas.shade(
      ground, shading,
      {between(random, -0.15F, 0.15F), between(random, -0.15F, 0.15F), between(random, -0.15F, 0.15F)});

  // Clutter behind the figure: spots and short lines of any colour.
  const auto pieces = static_cast<int>(random.integer(2, 5));
  for (int i = 0; i < pieces; ++i) {
    const Point centre{between(random, 0, extent), between(random, 0, extent)};
    const Point direction = random_direction(random);
    const float reach = random.chance(0.5) ? between(random, 0.1F, 0.3F) * extent : 0;
    const float width = (reach > 0 ? between(random, 0.01F, 0.03F) : between(random, 0.03F, 0.07F)) * extent;
    canvas.draw_line(centre, direction, reach, width, random_colour(random), 0.4F);
  }

  const float r = between(random, 0.26F, 0.38F) * extent;
  const Point centre{between(random, r, extent - r), between(random, r, extent - r)};
  // Rotated by up to 27 degrees either way.
  const float lean = between(random, -0.5F, 0.5F);
  const float unit = length({1, lean});
  canvas.draw(kFigures[static_cast<std::size_t>(label)], centre, r, {1 / unit, lean / unit}, ink);
  canvas.finish(random, 0.08F);
  return label;
}

DatasetPair open_shapes(const DatasetOptions& options) {
  const int size = options.image_size == 0 ? kDefaultSize : options.image_size;
  if (size < kSmallest || size > kLargest) {
    throw InputError("shapes", fmt::format("images of {}x{} cannot be drawn", size, size),
                     fmt::format("use an image size from {} to {}", kSmallest, kLargest));
  }
  const std::int64_t train = checked_count(options.train_size, kDefaultTrain, "training");
  const std::int64_t test = checked_count(options.test_size, kDefaultTest, "test");
  return {std::make_unique<Shapes>(options.seed, Part::kTrain, train, size),
          std::make_unique<Shapes>(options.seed, Part::kTest, test, size)};
}

}  // namespace lacuna::dataset
