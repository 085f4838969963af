#include "sim/memory/dram_requests.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"

namespace lacuna {

DramRequests::DramRequests(std::vector<DramTensor> tensors, const Layout& layout) : layout_(layout) {
  std::int64_t base = 0;
  for (DramTensor& tensor : tensors) {
    const std::int64_t at = base;
    base += ceil_div(tensor.bytes, layout_.align) * layout_.align;
    Stream stream(std::move(tensor), at, layout_);
    count_ += stream.total;
    if (stream.total > 0) streams_.push_back(std::move(stream));
  }
}

DramRequests::Stream::Stream(DramTensor of, std::int64_t from, const Layout& layout)
    : tensor(std::move(of)), base(from), requests(ceil_div(tensor.bytes, layout.request_bytes)) {
  total = requests * (tensor.reads + tensor.writes);
  const bool in_groups =
      layout.as_needed && tensor.channel_groups > 1 && tensor.groups > tensor.channel_groups;
  if (!in_groups || requests == 0) {
    group_requests = std::max<std::int64_t>(requests, 1);
    return;
  }
  // Groups of equal size, whatever their zeros, each of whole requests; with fewer bytes than that, several
  // neighbours are one.
  group_requests = std::max<std::int64_t>(1, requests / tensor.groups);
  const std::int64_t groups = ceil_div(requests, group_requests);
  across = std::clamp<std::int64_t>(tensor.channel_groups * groups / tensor.groups, 1, groups);
}

// Request within its pass, of `requests`.
std::int64_t DramRequests::Stream::step() {
  const std::int64_t request = group * group_requests + in_group;
  ++in_group;
  if (in_group < group_requests && request + 1 < requests) return request;
  in_group = 0;
  group += across;  // the next one in the same channels
  if (group * group_requests >= requests) group = group % across + 1 < across ? group % across + 1 : 0;
  return request;
}

bool DramRequests::choose() {
  const auto least = std::ranges::min_element(
      streams_, {}, [](const Stream& s) { return s.done < s.total ? s.progress() : 2.0; });
  if (least == streams_.end() || least->done == least->total) return false;
  current_ = static_cast<std::size_t>(least - streams_.begin());
  left_in_turn_ = std::min(ceil_div(layout_.turn_bytes, layout_.request_bytes), least->total - least->done);
  return true;
}

bool DramRequests::next(DramRequest& request) {
  if (left_in_turn_ == 0 && !choose()) return false;
  Stream& stream = streams_[current_];
  const std::int64_t pass = stream.done / stream.requests;
  // Sums that are put aside are written before they are read again.
  request.write = stream.tensor.writes > 0 && (pass % 2 == 0 || pass >= 2 * stream.tensor.reads);
  request.address = stream.base + stream.step() * layout_.request_bytes;
  ++stream.done;
  --left_in_turn_;
  return true;
}

}  // namespace lacuna
