/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The numbers of the rows of stats.def. */
enum stat_number {
#define STAT(identifier, severity, source, indexed, description) STAT_##identifier,
#include "analyze/store/stats.def"
#undef STAT
	STATS
};
