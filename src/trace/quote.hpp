// The old place of base/quote.hpp.
#pragma once

#include "base/quote.hpp"
