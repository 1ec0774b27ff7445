/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/counter_number.h"
#include "client/counters/tracks.h"
#include "config/data_source_config.pb-c.h"

/* The selection of linux.cgroup_stats: which control groups, files and counters it records. */

struct cgroup_choice {
	struct counter_patterns
		roots; /* without slashes at either end; "": the root of the hierarchy */
	struct counter_patterns files;
	struct counter_patterns counters;
	unsigned levels; /* depth of the deepest root */
	uint32_t max_depth; /* limit of levels below a root */
};

/* Copies the selection of the config. c may be NULL: the default. Returns 0 or -ENOMEM. Call deinit
 * in either case. */
int cgroup_choice_init(struct cgroup_choice *ch, const Pb__CgroupStatsConfig *c);
void cgroup_choice_deinit(struct cgroup_choice *ch);

/* Returns true if path is the root of a recorded subtree. path: "system.slice/x.service", "" for
 * the root. */
bool cgroup_choice_is_root(const struct cgroup_choice *ch, const char *path);

/* Returns true if a counter is selected, and sets its unit and whether it is monotonic. shown:
 * "memory.stat anon", "memory.current". */
bool cgroup_choice_select_counter(const struct cgroup_choice *ch, const char *shown,
				  struct track_spec *ret_spec);
