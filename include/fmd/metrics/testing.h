#pragma once

// Intervals and tests for figures without a closed form, and for many comparisons at once.
#include "fmd/metrics/bca.h"
#include "fmd/metrics/multiplicity.h"
#include "fmd/metrics/permutation.h"
