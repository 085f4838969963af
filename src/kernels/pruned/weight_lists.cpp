#include "kernels/pruned/weight_lists.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {
namespace {

std::int64_t count_nonzeros(const float* data, std::int64_t count, int threads) {
  std::int64_t nonzeros = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : nonzeros) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) nonzeros += data[i] != 0.0F ? 1 : 0;
  return nonzeros;
}

}  // namespace

WeightLists::WeightLists(const LayerShape& shape, Operation op, bool ohwi, const PrunedGeometry& geometry,
                         const PrunedKernels& kernels, std::int64_t l1_bytes, int threads)
    : shape_(shape),
      forward_(op != Operation::kInputGrad),
      ohwi_(ohwi),
      geometry_(&geometry),
      kernels_(&kernels),
      l1_bytes_(l1_bytes),
      threads_(threads),
      phases_(static_cast<std::int64_t>(geometry.phases().size())),
      scans_(static_cast<std::size_t>(threads)) {
  input_channels_ = forward_ ? shape.c_per_group() : shape.k_per_group();
  result_channels_ = round_up(forward_ ? shape.k_per_group() : shape.c_per_group(), kLanes);
  result_part_ = std::min<std::int64_t>(result_channels_, 64);
}

bool WeightLists::update(const float* plain) {
  if (nonzeros_ >= 0 && refresh(plain)) return true;
  rebuild(plain);
  return false;
}

// The pattern is the same if all the old places have a non-zero and there are no others. Where it changed, a
// few of the places tell.
bool WeightLists::refresh(const float* plain) {
  constexpr std::int64_t kAtOnce = 16384;
  for (WeightBlocks& list : lists_) {
    const auto count = static_cast<std::int64_t>(list.entries.size());
    WeightEntry* entries = list.entries.data();
    const std::uint32_t* from = list.from.data();
    for (std::int64_t first = 0; first < count; first += kAtOnce) {
      const std::int64_t end = std::min(count, first + kAtOnce);
      bool kept = true;
#pragma omp parallel for num_threads(threads_) reduction(&& : kept) schedule(static)
      for (std::int64_t i = first; i < end; ++i) {
        entries[i].value = plain[from[i]];
        kept = kept && entries[i].value != 0.0F;
      }
      if (!kept) return false;
    }
  }
  return count_nonzeros(plain, shape_.w_elements(), threads_) == nonzeros_;
}

void WeightLists::replace_values(const float* plain) {
  for (WeightBlocks& list : lists_) {
    const auto count = static_cast<std::int64_t>(list.entries.size());
    WeightEntry* entries = list.entries.data();
    const std::uint32_t* from = list.from.data();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) entries[i].value = plain[from[i]];
  }
}

// One pass over the weights finds the non-zeros, one over those counts them by row, and one puts each at its
// place. The lists of ResNet-18 at 90 % zeros take 32 ms; with a search per row of the lists they took 143.
void WeightLists::rebuild(const float* plain) {
  const auto scans = static_cast<std::int64_t>(scans_.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < scans; ++i) {
    Scan& scan = scans_[static_cast<std::size_t>(i)];
    scan.first_row = i * shape_.k / scans;
    scan.end_row = (i + 1) * shape_.k / scans;
    scan_rows(plain, scan);
  }
  nonzeros_ = 0;
  for (const Scan& scan : scans_) nonzeros_ += scan.found;
  choose_parts();
  find_targets();
  const std::int64_t lists = shape_.groups * phases_;
  lists_.resize(static_cast<std::size_t>(lists));
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < scans; ++i) {
    Scan& scan = scans_[static_cast<std::size_t>(i)];
    scan.counts.assign(static_cast<std::size_t>(lists * list_rows()), 0);
    each_nonzero(scan,
                 [&](std::size_t, std::int64_t, std::size_t row, std::uint32_t) { ++scan.counts[row]; });
  }
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (std::int64_t i = 0; i < lists; ++i) lay_out(i);
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < scans; ++i) {
    Scan& scan = scans_[static_cast<std::size_t>(i)];
    each_nonzero(scan, [&](std::size_t list, std::int64_t place, std::size_t row, std::uint32_t offset) {
      WeightBlocks& to = lists_[list];
      const std::uint32_t at = scan.counts[row]++;
      to.entries[at] = {offset, plain[place]};
      to.from[at] = static_cast<std::uint32_t>(place);
    });
  }
}

void WeightLists::choose_parts() {
  // Inputs of a part should stay in L1; but a row of fewer than ten non-zeros spends its time on its ends.
  const double share = static_cast<double>(nonzeros_) / static_cast<double>(shape_.w_elements());
  const auto taps = static_cast<double>(geometry_->flat() ? 1 : shape_.taps());
  const double in_l1 = static_cast<double>(l1_bytes_) * (geometry_->flat() ? 1.2 : 0.8) /
                       static_cast<double>(geometry_->used_slots() * kLanes) / sizeof(float);
  const double wanted = std::max(in_l1, 10.0 / std::max(share * taps, 1e-3));
  const std::int64_t blocks = (input_channels_ + kLanes - 1) / kLanes;
  const std::int64_t part = std::clamp<std::int64_t>(std::llround(wanted / kLanes), 1, blocks);
  const std::int64_t parts = (blocks + part - 1) / part;
  input_part_ = (blocks + parts - 1) / parts * kLanes;
}

void WeightLists::scan_rows(const float* plain, Scan& scan) const {
  const std::int64_t row_size = shape_.c_per_group() * shape_.taps();
  scan.found = 0;
  scan.ends.clear();
  for (std::int64_t row = scan.first_row; row < scan.end_row; ++row) {
    const auto room = static_cast<std::size_t>(scan.found + row_size + kLanes);
    if (scan.places.size() < room) scan.places.resize(std::max(room, scan.places.size() * 3 / 2));
    scan.found += kernels_->nonzeros(plain + row * row_size, row_size, scan.places.data() + scan.found);
    scan.ends.push_back(static_cast<std::uint32_t>(scan.found));
  }
}

// A tap belongs to one phase.
void WeightLists::find_targets() {
  const std::int64_t taps = shape_.taps();
  targets_.resize(static_cast<std::size_t>(shape_.c_per_group() * taps));
  for (std::int64_t p = 0; p < phases_; ++p)
    for (const PrunedTap& tap : geometry_->phases()[static_cast<std::size_t>(p)].taps)
      for (std::int64_t c = 0; c < shape_.c_per_group(); ++c) {
        const std::int64_t slot = (forward_ ? c % input_part_ * geometry_->slots() : 0) + tap.slot;
        const std::int64_t row = p * list_rows() + (forward_ ? c / input_part_ * result_channels_ : c);
        const std::int64_t place = ohwi_ ? tap.tap * shape_.c_per_group() + c : c * taps + tap.tap;
        targets_[static_cast<std::size_t>(place)] = {
            static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(row),
            static_cast<std::uint32_t>(slot * kLanes * std::int64_t{sizeof(float)})};
      }
}

template <class F>
void WeightLists::each_nonzero(const Scan& scan, const F& f) const {
  const std::int64_t row_size = shape_.c_per_group() * shape_.taps();
  const std::uint32_t* place = scan.places.data();
  for (std::int64_t k = scan.first_row; k < scan.end_row; ++k) {
    const std::int64_t group = k / shape_.k_per_group();
    const std::int64_t in_group = k % shape_.k_per_group();
    const auto list = static_cast<std::size_t>(group * phases_);
    const auto row = static_cast<std::size_t>(
        group * phases_ * list_rows() + (forward_ ? in_group : in_group / input_part_ * result_channels_));
    const auto offset = static_cast<std::uint32_t>(
        forward_ ? 0 : in_group % input_part_ * geometry_->slots() * kLanes * std::int64_t{sizeof(float)});
    const std::uint32_t* end = scan.places.data() + scan.ends[static_cast<std::size_t>(k - scan.first_row)];
    for (; place != end; ++place) {
      const Target& target = targets_[*place];
      f(list + target.list, k * row_size + *place, row + target.row, offset + target.offset);
    }
  }
}

// The rows and blocks of a list, from the counts of all scans; these become the places of their first
// entries.
void WeightLists::lay_out(std::int64_t list) {
  WeightBlocks& to = lists_[static_cast<std::size_t>(list)];
  to.rows.clear();
  to.blocks.clear();
  struct Found {
    std::int64_t channel;
    std::uint32_t count;
  };
  std::vector<Found> found;
  std::uint32_t next = 0;
  for (std::int64_t part = 0; part < input_parts(); ++part)
    for (std::int64_t k0 = 0; k0 < result_channels_; k0 += result_part_) {
      const std::int64_t first = list * list_rows() + part * result_channels_ + k0;
      found.clear();
      for (std::int64_t k = 0; k < std::min(result_part_, result_channels_ - k0); ++k) {
        std::uint32_t count = 0;
        for (const Scan& scan : scans_) count += scan.counts[static_cast<std::size_t>(first + k)];
        // The first part of the inputs starts the sums, even if it has no non-zeros.
        if (count > 0 || part == 0) found.push_back({k, count});
      }
      std::stable_sort(found.begin(), found.end(),
                       [](const Found& a, const Found& b) { return a.count < b.count; });
      to.blocks.push_back(
          {next, static_cast<std::uint32_t>(to.rows.size()), static_cast<std::uint32_t>(found.size())});
      for (const Found& row : found) {
        to.rows.push_back({static_cast<std::uint32_t>(row.channel), row.count});
        for (Scan& scan : scans_) {
          const std::uint32_t count = scan.counts[static_cast<std::size_t>(first + row.channel)];
          scan.counts[static_cast<std::size_t>(first + row.channel)] = next;
          next += count;
        }
      }
    }
  to.entries.resize(next);
  to.from.resize(next);
}

}  // namespace lacuna::kernels
