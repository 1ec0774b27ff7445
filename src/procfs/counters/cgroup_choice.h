/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "config/data_source_config.pb-c.h"
#include "client/counters/counter_number.h"

/* What linux.cgroup_stats is asked to record: which groups, which files, which numbers. */

struct cgroup_choice {
	struct counter_patterns roots; /* without slashes at either end; "": the hierarchy's root */
	struct counter_patterns files;
	struct counter_patterns counters;
	unsigned levels; /* of the deepest root */
	uint32_t max_depth; /* below a root */
};

/* c may be NULL: the default. 0 or -ENOMEM; deinit in either case. */
int cgroup_choice_init(struct cgroup_choice *ch, const Pb__CgroupStatsConfig *c);
void cgroup_choice_deinit(struct cgroup_choice *ch);

/* Is it the root of a subtree that is recorded? path: "system.slice/x.service", "" for the root. */
bool cgroup_choice_is_root(const struct cgroup_choice *ch, const char *path);

/* Is a number wanted, and what is it? shown: "memory.stat anon", "memory.current". */
bool cgroup_choice_counter(const struct cgroup_choice *ch, const char *shown,
			   struct track_spec *ret_spec);
