#pragma once

#include "base/text/csv.hpp"
