/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/counter.h"

#include <math.h>

#include "base/core/mem.h"
#include "ebpf/engine/errors.h"

#define SUB_BITS 5 /* 32 buckets for each power of two */

_Static_assert((SONDA_HIST_BITS - SUB_BITS) * (1u << SUB_BITS) + (1u << SUB_BITS) ==
		       SONDA_HIST_BUCKETS,
	       "the last octave ends with the last bucket");

/* Return the first value of a bucket, and that of the next bucket. bucket is below
 * SONDA_HIST_BUCKETS. */
static uint64_t histogram_bucket_begin(uint32_t bucket)
{
	uint32_t octave = bucket >> SUB_BITS;

	if (octave == 0)
		return bucket;
	return (uint64_t)((bucket & ((1u << SUB_BITS) - 1)) + (1u << SUB_BITS)) << (octave - 1);
}

static uint64_t histogram_bucket_end(uint32_t bucket)
{
	return histogram_bucket_begin(bucket + 1);
}

uint64_t histogram_compute_added(const struct sonda_hist *now, struct sonda_hist *last,
				 struct sonda_hist *ret_added)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SONDA_HIST_BUCKETS; i++) {
		/* Counters wrap. */
		ret_added->buckets[i] = now->buckets[i] - last->buckets[i];
		last->buckets[i] = now->buckets[i];
		n += ret_added->buckets[i];
	}
	return n;
}

uint64_t histogram_percentile(const struct sonda_hist *h, uint64_t n, double percent, uint64_t max)
{
	uint64_t rank = (uint64_t)ceil(percent / 100 * (double)n), seen = 0, v;
	uint32_t i;

	if (n == 0)
		return 0;
	rank = MIN(MAX(rank, 1), n);
	for (i = 0; i < SONDA_HIST_BUCKETS - 1; i++) {
		seen += h->buckets[i];
		if (seen >= rank)
			break;
	}
	v = (histogram_bucket_begin(i) + histogram_bucket_end(i) - 1) / 2;
	return max && max < v ? max : v;
}

uint64_t histogram_max(const struct sonda_max *m, uint64_t generation)
{
	unsigned slot = generation & 1;

	return m->generation[slot] == generation ? m->max[slot] : 0;
}

uint64_t histogram_max_floor(const struct sonda_hist *h)
{
	for (uint32_t i = SONDA_HIST_BUCKETS; i-- > 0;)
		if (h->buckets[i])
			return histogram_bucket_begin(i);
	return 0;
}

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

static void set_absent(const struct ebpf_run *r, uint32_t *track, const char *name,
		       const char *description, uint64_t n, bool is_limit)
{
	if (!n)
		return;
	if (*track == TRACK_ROOT)
		*track = ebpf_add_total(r, r->group, name, description, TRACK_UNIT_COUNT);
	ebpf_errors_set_count(r->errors, r->family->name, description, n, is_limit);
	tracks_set(r->tracks, *track, (int64_t)n);
}

void ebpf_set_lost(const struct ebpf_run *r, uint32_t *track, const char *name,
		   const char *description, uint64_t lost)
{
	set_absent(r, track, name, description, lost, false);
}

void ebpf_set_limited(const struct ebpf_run *r, uint32_t *track, const char *name,
		      const char *description, uint64_t left_out)
{
	set_absent(r, track, name, description, left_out, true);
}
