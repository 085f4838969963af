// libfmt of our own: Debian has no archive of it, and its shared library needs the C++ runtime of
// its own release.
#include <fmt/format-inl.h>

namespace fmt::detail {
template char decimal_point_impl(locale_ref);
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
namespace dragonbox {
template decimal_fp<float> to_decimal(float);
template decimal_fp<double> to_decimal(double);
}  // namespace dragonbox
}  // namespace fmt::detail
