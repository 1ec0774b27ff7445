/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "client/counters/tracks.h"
#include "ebpf/engine/family.h"

/*
 * Counters that most families have. Names and descriptions are literals: borrowed for as long as the
 * track is there.
 */

uint32_t ebpf_add_group(const struct ebpf_run *r, uint32_t parent, const char *name);
/* What it counted since the recording began. */
uint32_t ebpf_add_total(const struct ebpf_run *r, uint32_t parent, const char *name,
			const char *description, enum track_unit unit);
/* How long something took in all, in ns, and how often it was. */
struct ebpf_timed {
	uint32_t time, count;
};
struct ebpf_timed ebpf_add_timed(const struct ebpf_run *r, uint32_t parent, const char *time_name,
				 const char *count_name, const char *description);
void ebpf_set_timed(const struct ebpf_run *r, const struct ebpf_timed *t, uint64_t ns,
		    uint64_t count);
void ebpf_remove_timed(const struct ebpf_run *r, const struct ebpf_timed *t);

/* What could not be counted, since the recording began: *track is TRACK_ROOT until there is any, which
 * is told then. The description says what. */
void ebpf_set_lost(const struct ebpf_run *r, uint32_t *track, const char *name,
		   const char *description, uint64_t lost);
