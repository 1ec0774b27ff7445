/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/counter.h"

#include "ebpf/engine/trouble.h"

uint32_t ebpf_add_group(const struct ebpf_run *r, uint32_t parent, const char *name)
{
	return tracks_add(r->tracks, &(struct track_spec){
					     .kind = TRACK_GROUP, .parent = parent, .name = name});
}

uint32_t ebpf_add_total(const struct ebpf_run *r, uint32_t parent, const char *name,
			const char *description, enum track_unit unit)
{
	return tracks_add(r->tracks, &(struct track_spec){.kind = TRACK_COUNTER,
							  .parent = parent,
							  .name = name,
							  .description = description,
							  .unit = unit,
							  .total = true});
}

struct ebpf_timed ebpf_add_timed(const struct ebpf_run *r, uint32_t parent, const char *time_name,
				 const char *count_name, const char *description)
{
	return (struct ebpf_timed){
		.time = ebpf_add_total(r, parent, time_name, description, TRACK_UNIT_NS),
		.count = ebpf_add_total(r, parent, count_name, description, TRACK_UNIT_COUNT),
	};
}

void ebpf_set_timed(const struct ebpf_run *r, const struct ebpf_timed *t, uint64_t ns,
		    uint64_t count)
{
	tracks_set(r->tracks, t->time, (int64_t)ns);
	tracks_set(r->tracks, t->count, (int64_t)count);
}

void ebpf_remove_timed(const struct ebpf_run *r, const struct ebpf_timed *t)
{
	tracks_remove(r->tracks, t->time);
	tracks_remove(r->tracks, t->count);
}

void ebpf_set_lost(const struct ebpf_run *r, uint32_t *track, const char *name,
		   const char *description, uint64_t lost)
{
	if (!lost)
		return;
	if (*track == TRACK_ROOT)
		*track = ebpf_add_total(r, r->group, name, description, TRACK_UNIT_COUNT);
	ebpf_trouble_count(r->trouble, r->family->name, description, lost);
	tracks_set(r->tracks, *track, (int64_t)lost);
}
