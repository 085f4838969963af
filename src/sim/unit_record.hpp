// Busy time of a machine's parallel units (tiles, clusters, PEs) in an operation:
// what a timeline draws. Recorded on request (SimOptions::units), by the clocks that engines count cycles
// with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lacuna {

// Some products (or phases) one after another.
struct UnitSpan {
  std::int64_t products = 0;
  std::int64_t cycles = 0;         // until the slowest unit is done with each
  std::vector<std::int64_t> busy;  // cycles of each unit
  bool operator==(const UnitSpan&) const = default;

  void add(const UnitSpan& other) {
    products += other.products;
    cycles += other.cycles;
    for (std::size_t i = 0; i < busy.size(); ++i) busy[i] += other.busy[i];
  }
};

// The spans of an operation: a product each, or as many as keep their number below kMost. Sums stay exact.
class UnitRecord {
 public:
  static constexpr std::size_t kMost = 64;

  void add(UnitSpan span) {
    pending_products_ += span.products;
    if (spans_.empty() || open_ == 0 || spans_.back().busy.size() != span.busy.size()) {
      spans_.push_back(std::move(span));
    } else {
      spans_.back().add(span);
    }
    open_ = pending_products_ >= products_per_span_ ? 0 : 1;
    if (open_ == 0) pending_products_ = 0;
    if (spans_.size() > kMost) halve();
  }
  void add(std::int64_t cycles, std::span<const std::int64_t> busy) {
    add({1, cycles, {busy.begin(), busy.end()}});
  }
  void append(const UnitRecord& other) {
    for (const UnitSpan& span : other.spans_) add(span);
  }

  const std::vector<UnitSpan>& spans() const { return spans_; }
  // "tile", "PE": of each unit.
  std::string unit = {};
  bool operator==(const UnitRecord& other) const { return spans_ == other.spans_ && unit == other.unit; }

 private:
  void halve() {
    std::vector<UnitSpan> merged;
    for (UnitSpan& span : spans_) {
      if (merged.empty() || merged.back().products >= 2 * products_per_span_ ||
          merged.back().busy.size() != span.busy.size()) {
        merged.push_back(std::move(span));
      } else {
        merged.back().add(span);
      }
    }
    spans_ = std::move(merged);
    products_per_span_ *= 2;
    open_ = 0;
    pending_products_ = 0;
  }

  std::vector<UnitSpan> spans_;
  std::int64_t products_per_span_ = 1;
  std::int64_t pending_products_ = 0;  // in the last span, if it is open
  int open_ = 0;
};

// The record that the clocks of this thread add to, until it is destroyed; null: none. They nest.
class UnitRecording {
 public:
  explicit UnitRecording(UnitRecord* record) : outer_(current()) { current() = record; }
  ~UnitRecording() { current() = outer_; }
  UnitRecording(const UnitRecording&) = delete;
  UnitRecording& operator=(const UnitRecording&) = delete;

  static bool on() { return current() != nullptr; }
  static void add(std::int64_t cycles, std::span<const std::int64_t> busy) {
    if (UnitRecord* record = current()) record->add(cycles, busy);
  }

 private:
  static UnitRecord*& current() {
    thread_local UnitRecord* record = nullptr;
    return record;
  }
  UnitRecord* outer_;
};

}  // namespace lacuna
