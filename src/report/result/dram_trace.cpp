#include "report/result/dram_trace.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "base/error.hpp"
#include "base/text/csv.hpp"
#include "sim/memory/dram.hpp"

namespace lacuna {
namespace {

// A layer's name as part of a file's.
std::string safe_name(const std::string& layer) {
  std::string name = layer.substr(0, 80);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
  return name;
}

// Requests come at the rate of the bus, and no faster.
std::string trace_text(DramRequests requests, DramTraceFormat format, std::int64_t most,
                       double requests_per_clock) {
  std::string text;
  DramRequest request;
  for (std::int64_t i = 0; i < most && requests.next(request); ++i) {
    if (format == DramTraceFormat::kRamulator2) {
      fmt::format_to(std::back_inserter(text), "{} {:#x}\n", request.write ? "ST" : "LD", request.address);
    } else {
      fmt::format_to(std::back_inserter(text), "{:#x} {} {}\n", request.address,
                     request.write ? "WRITE" : "READ",
                     static_cast<std::int64_t>(static_cast<double>(i) / requests_per_clock));
    }
  }
  return text;
}

}  // namespace

void write_dram_traces(const RunResult& run, const Params& machine, DramTraceFormat format, std::int64_t most,
                       const std::function<void(const DramTraceFile&)>& write) {
  if (!machine.has("dram_channels"))
    throw InputError(run.arch, "this machine has no DRAM", "choose one that has 'dram_channels'");
  const Dram dram(machine);
  const DramRequests::Layout layout = dram.layout();
  const double per_clock = dram.bytes_per_cycle() * dram.frequency_mhz() / dram.clock_mhz() /
                           static_cast<double>(layout.request_bytes);
  std::string list = "file,layer,operation,requests,requests_written,bytes,cycles,nanoseconds\n";
  int number = 0;
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& op : layer.ops) {
      const DramRequests requests(op.dram_tensors, layout);
      DramTraceFile file{
          fmt::format("{:03}-{}.{}.trace", ++number, safe_name(layer.name), operation_name(op.op)), {}};
      file.text = trace_text(requests, format, most, per_clock);
      const double cycles = dram.cycles(op.dram_tensors);
      CsvRow row;
      row.text(file.name);
      row.text(layer.name);
      row.text(std::string(operation_name(op.op)));
      row.number(static_cast<double>(requests.count()));
      row.number(static_cast<double>(std::min(most, requests.count())));
      row.number(static_cast<double>(requests.count() * layout.request_bytes));
      row.number(std::ceil(cycles - 1e-9));
      row.number(std::round(cycles / dram.frequency_mhz() * 1e3));
      list += row.line();
      write(file);
    }
  }
  write({"operations.csv", std::move(list)});
}

}  // namespace lacuna
