/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/findings/finding.h"

/* The data that a config requests, and the data that the trace has. */
struct recorded {
	sqlite3 *db; /* borrowed */
	const uint8_t *config; /* a TraceConfig, unchecked; borrowed; NULL: none */
	size_t config_len;
};

/* Returns true if the trace recorded this: it has such rows, or its config requests the event and
 * the kernel did not refuse it, so that any events would have made rows. For a source only the
 * config matters; for a counter or a table, only the rows. */
bool recorded_has(const struct recorded *r, const struct finding_need *need);

/* Returns true if the config, of any bytes, requests the event or data source of a need. */
bool recorded_is_requested(const uint8_t *config, size_t len, const struct finding_need *need);

/* Returns the index of a need of f that is not met and has no alternative that is met; -1: there is
 * none. */
int recorded_find_missing(const struct recorded *r, const struct finding *f);
