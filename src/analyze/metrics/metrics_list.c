/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics/metrics_list.h"

#include <stddef.h>

const struct metric_def metric_defs[METRICS] = {
#define X(id, name, kind, unit, first, second, help)                                               \
	[METRIC_##id] = {name, help, {first, second}, METRIC_##kind, METRIC_##unit},
	METRIC_LIST(X)
#undef X
};
