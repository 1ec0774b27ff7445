/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "bpf/waits.h"
#include "config/data_source_config.pb-c.h"
#include "subjects/subject.h"

/* The config of linux.waits, with the defaults that were used. Zero-initialise. */
#define WAITS_PIDS_MAX 4096
#define WAITS_CHILDREN_MAX 16384 /* children of these that run at the same time */

struct waits_config {
	struct waits_settings settings; /* without `own` */
	struct waits_budget budget; /* for each CPU and second */
	uint32_t *pids; /* owned */
	size_t n_pids;
	bool follows_children; /* processes that these create are recorded, too */
	struct subject_ids subject; /* in addition to the pids; owned */
	uint32_t totals_period_ms;
	double max_overhead_percent; /* 0: no limit */
	bool has_waits, has_totals, has_user_stacks, by_thread, kernel_threads;
};

/* Reads the config. m NULL: the defaults. Returns 0, -EINVAL and sets e, or -ENOMEM. */
int waits_config_read(const Pb__WaitsConfig *m, struct waits_config *c, struct err_text *e);
void waits_config_deinit(struct waits_config *c);
