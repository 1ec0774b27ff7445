/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include "base/core/mem.h"
#include "bpf/memory.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/object.h"
#include "ebpf/tracks/counter.h"

EBPF_DECLARE(memory);
EBPF_DECLARE(memory_raw);
EBPF_DECLARE(memory_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	/* The order and flags; in 7.2 flags, the order, a control group. */
	NEED_TP_BTF("mm_vmscan_direct_reclaim_begin", 2, 3),
	NEED_TP_BTF("mm_vmscan_direct_reclaim_end", 1, 2),
	NEED_TP_BTF("mark_victim", 1, 2), /* a pid; since 6.9 a task */
	NEED_END,
};

static const struct ebpf_need needs_of_raw_tp[] = {
	NEED_RAW_TP("vmscan/mm_vmscan_direct_reclaim_begin", "order", 2, 3),
	NEED_RAW_TP("vmscan/mm_vmscan_direct_reclaim_end", "nr_reclaimed", 1, 2),
	NEED_RAW_TP("oom/mark_victim", "pid", 1, 2),
	NEED_END,
};

static const struct ebpf_need needs_of_tp[] = {
	NEED_FIELD("vmscan/mm_vmscan_direct_reclaim_begin", "order", MEMORY_ORDER),
	NEED_FIELD("vmscan/mm_vmscan_direct_reclaim_end", "nr_reclaimed", MEMORY_PAGES),
	NEED_EVENT("oom/mark_victim", "pid"),
	NEED_END,
};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(memory), needs_of_tp_btf},
	{"raw_tp", EBPF_IMAGE(memory_raw), needs_of_raw_tp},
	{"tp", EBPF_IMAGE(memory_tp), needs_of_tp},
};

static const struct {
	const char *time, *count, *description;
} stalls[MEMORY_STALLS] = {
	{"direct reclaim time", "direct reclaims",
	 "reclaim by allocating threads, since the recording began"},
	{"control group reclaim time", "control group reclaims",
	 "reclaim in control groups at their memory limit, since the recording began"},
	{"compaction time", "compactions",
	 "compaction by allocating threads, since the recording began"},
	{"background compaction time", "background compactions",
	 "compaction by kernel threads, since the recording began"},
};

struct memory {
	uint32_t group; /* TRACK_ROOT: no track yet */
	struct ebpf_timed stalls[MEMORY_STALLS];
	uint32_t oom_kills, lost;
};

/* Parts that the kernel lacks (CONFIG_MEMCG, CONFIG_COMPACTION) have no tracepoints. */
static uint32_t memory_prepare(struct ebpf_object *o, const struct ebpf_features *f,
			       uint32_t n_cpus)
{
	static const struct {
		const char *hook, *event, *field;
	} optional[] = {
		{"mm_vmscan_memcg_reclaim_begin", "vmscan/mm_vmscan_memcg_reclaim_begin", "order"},
		{"mm_vmscan_memcg_reclaim_end", "vmscan/mm_vmscan_memcg_reclaim_end",
		 "nr_reclaimed"},
		{"mm_compaction_begin", "compaction/mm_compaction_begin", "sync"},
		{"mm_compaction_end", "compaction/mm_compaction_end", "sync"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (f->count_args(f->ctx, optional[i].hook) < 0 &&
		    !ebpf_has_field(f, optional[i].event, optional[i].field))
			ebpf_object_leave_out_program(o, optional[i].hook);
	return f->count_args(f->ctx, optional[0].hook) == 3 ||
			       ebpf_has_field(f, optional[0].event, "memcg_id")
		       ? MEMORY_ORDER_IS_SECOND
		       : 0;
}

static void memory_add_tracks(const struct ebpf_run *r, struct memory *s)
{
	s->group = ebpf_add_group(r, r->group, "Memory");
	for (size_t i = 0; i < MEMORY_STALLS; i++)
		s->stalls[i] = ebpf_add_timed(r, s->group, stalls[i].time, stalls[i].count,
					      stalls[i].description);
	s->oom_kills = ebpf_add_total(
		r, s->group, "OOM kills",
		"processes killed by the OOM killer, since the recording began", TRACK_UNIT_COUNT);
}

static int memory_read_cpus(struct ebpf_run *r)
{
	struct memory *s = r->state;
	struct memory_cpu sum;
	int e = map_cpus_sum(&r->cpus, &sum);

	if (e < 0)
		return e;
	if (s->group == TRACK_ROOT)
		memory_add_tracks(r, s);
	for (size_t k = 0; k < MEMORY_STALLS; k++)
		ebpf_set_timed(r, &s->stalls[k], sum.stalls[k].ns, sum.stalls[k].count);
	tracks_set(r->tracks, s->oom_kills, (int64_t)sum.oom_kills);
	ebpf_set_lost(r, &s->lost, "memory stalls lost", "stalls not counted: no room", sum.lost);
	return 0;
}

static void memory_remove_tracks(struct ebpf_run *r)
{
	const struct memory *s = r->state;

	for (size_t k = 0; k < MEMORY_STALLS; k++)
		ebpf_remove_timed(r, &s->stalls[k]);
	tracks_remove(r->tracks, s->oom_kills);
	tracks_remove(r->tracks, s->lost);
	tracks_remove(r->tracks, s->group);
}

const struct ebpf_family memory_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__MEMORY,
	.name = "memory",
	.by_default = true,
	.outliers = EBPF_OUTLIERS_RECLAIM,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.cpu_size = sizeof(struct memory_cpu),
	.state_size = sizeof(struct memory),
	.prepare = memory_prepare,
	.read = memory_read_cpus,
	.remove_tracks = memory_remove_tracks,
};
