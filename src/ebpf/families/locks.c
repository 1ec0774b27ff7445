/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include "base/core/mem.h"
#include "bpf/locks.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/per_process.h"

EBPF_DECLARE(locks);
EBPF_DECLARE(locks_raw);
EBPF_DECLARE(locks_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	NEED_TP_BTF("contention_begin", 2, 2), /* 5.19 */
	NEED_TP_BTF("contention_end", 2, 2),
	NEED_END,
};

static const struct ebpf_need needs_of_raw_tp[] = {
	NEED_RAW_TP("lock/contention_begin", "flags", 2, 2),
	NEED_RAW_TP("lock/contention_end", "lock_addr", 2, 2),
	NEED_END,
};

static const struct ebpf_need needs_of_tp[] = {
	NEED_FIELD("lock/contention_begin", "lock_addr", LOCKS_BEGUN),
	NEED_FIELD("lock/contention_begin", "flags", LOCKS_FLAGS),
	NEED_FIELD("lock/contention_end", "lock_addr", LOCKS_ENDED),
	NEED_END,
};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(locks), needs_of_tp_btf},
	{"raw_tp", EBPF_IMAGE(locks_raw), needs_of_raw_tp},
	{"tp", EBPF_IMAGE(locks_tp), needs_of_tp},
};

static const struct {
	const char *time, *count;
} kinds[LOCK_KINDS] = {
	{"spinlock wait time", "spinlock waits"},
	{"rwlock wait time", "rwlock waits"},
	{"mutex wait time", "mutex waits"},
	{"rwsem read wait time", "rwsem read waits"},
	{"rwsem write wait time", "rwsem write waits"},
	{"rt mutex wait time", "rt mutex waits"},
	{"percpu rwsem wait time", "percpu rwsem waits"},
	{"other lock wait time", "other lock waits"},
};

static const struct track_spec columns[] = {
	TRACK_TOTAL(
		"kernel lock wait time",
		"time its threads slept waiting for kernel locks, in ns, since the recording began",
		NS),
	TRACK_TOTAL("kernel lock waits",
		    "sleeping waits for kernel locks, since the recording began", COUNT),
};

static const struct per_process_spec spec = {
	.columns = columns,
	.n_values = sizeof(struct locks_process) / sizeof(uint64_t),
	.n_columns = ARRAY_SIZE(columns),
	.weights = 1u,
	.lost_name = "kernel lock waits lost",
	.lost_description = "waits not counted: no room for their thread or process",
};

struct locks {
	uint32_t group; /* TRACK_ROOT: no track yet; likewise for each kind */
	struct ebpf_timed kinds[LOCK_KINDS];
	uint32_t lost;
};

static void set_lock_tracks(const struct ebpf_run *r, struct locks *s, size_t kind,
			    const struct lock_sum *sum)
{
	if (!sum->count)
		return;
	if (s->group == TRACK_ROOT)
		s->group = ebpf_add_group(r, r->group, "Locks");
	if (s->kinds[kind].time == TRACK_ROOT)
		s->kinds[kind] = ebpf_add_timed(
			r, s->group, kinds[kind].time, kinds[kind].count,
			"waits of all threads for locks of this kind, since the recording began");
	ebpf_set_timed(r, &s->kinds[kind], sum->ns, sum->count);
}

static int locks_read_cpus(struct ebpf_run *r, struct locks *s)
{
	struct locks_cpu sum;
	int e = map_cpus_sum(&r->cpus, &sum);

	if (e < 0)
		return e;
	for (size_t k = 0; k < LOCK_KINDS; k++)
		set_lock_tracks(r, s, k, &sum.kinds[k]);
	ebpf_set_lost(r, &s->lost, "spinlock waits lost", "waits whose end was not seen", sum.lost);
	return 0;
}

static int locks_read_all(struct ebpf_run *r)
{
	int e = locks_read_cpus(r, r->state), f = per_process_read(r->processes, r);

	return e < 0 ? e : f;
}

static void locks_remove_tracks(struct ebpf_run *r)
{
	const struct locks *s = r->state;

	for (size_t k = 0; k < LOCK_KINDS; k++)
		ebpf_remove_timed(r, &s->kinds[k]);
	tracks_remove(r->tracks, s->lost);
	tracks_remove(r->tracks, s->group);
}

const struct ebpf_family locks_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS,
	.name = "locks",
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.processes = &spec,
	.cpu_size = sizeof(struct locks_cpu),
	.state_size = sizeof(struct locks),
	.read = locks_read_all,
	.remove_tracks = locks_remove_tracks,
};
