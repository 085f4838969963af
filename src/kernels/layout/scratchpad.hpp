// Working memory of dense kernels.
#pragma once

#include <cstddef>

namespace lacuna::kernels {

// Returns working memory for a kernel: at least this many bytes, valid until the calling thread asks for
// more; one for all kernels that it runs, which run one after the other. On huge pages: Winograd keeps tens
// of MB there, and on the library's own pages of 4 KB two equal primitives of oneDNN differed by up to 13 %,
// by how those lay.
void* scratchpad(std::size_t bytes);
// Bytes that the calling thread has.
std::size_t scratchpad_held();

}  // namespace lacuna::kernels
