/* SPDX-License-Identifier: Apache-2.0 */
/* Makes counters of processes from ProcessStats. A row of `fields` says which field is which. */
#include "analyze/import/import_steps.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "gen/fields.h"

static const struct track_type smaps = {
	"smaps", NULL, true, {{"upid", false}, {"smaps_key", true}}};
static const struct track_type runtime = {
	"proc_stat_runtime", NULL, true, {{"upid", false}, {"proc_stat_runtime_key", true}}};

static const struct process_field {
	uint32_t field;
	const struct track_type *type;
	const char *name, *key;
	int64_t scale; /* the counter's value is the field times this */
} fields[] = {
	{PB_PROCESS_STATS_PROCESS_VM_SIZE_KB, &track_process_memory, "mem.virt", "virt", 1024},
	{PB_PROCESS_STATS_PROCESS_VM_RSS_KB, &track_process_memory, "mem.rss", "rss", 1024},
	{PB_PROCESS_STATS_PROCESS_RSS_ANON_KB, &track_process_memory, "mem.rss.anon", "rss.anon",
	 1024},
	{PB_PROCESS_STATS_PROCESS_RSS_FILE_KB, &track_process_memory, "mem.rss.file", "rss.file",
	 1024},
	{PB_PROCESS_STATS_PROCESS_RSS_SHMEM_KB, &track_process_memory, "mem.rss.shmem", "rss.shmem",
	 1024},
	{PB_PROCESS_STATS_PROCESS_VM_SWAP_KB, &track_process_memory, "mem.swap", "swap", 1024},
	{PB_PROCESS_STATS_PROCESS_VM_LOCKED_KB, &track_process_memory, "mem.locked", "locked",
	 1024},
	{PB_PROCESS_STATS_PROCESS_VM_HWM_KB, &track_process_memory, "mem.rss.watermark",
	 "rss.watermark", 1024},
	{PB_PROCESS_STATS_PROCESS_DMABUF_RSS_KB, &track_process_memory, "mem.dmabuf_rss",
	 "dmabuf_rss", 1024},
	{PB_PROCESS_STATS_PROCESS_OOM_SCORE_ADJ, &track_oom_score_adj, "oom_score_adj", NULL, 1},
	{PB_PROCESS_STATS_PROCESS_SMR_RSS_KB, &smaps, "mem.smaps.rss", "rss", 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_KB, &smaps, "mem.smaps.pss", "pss", 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_ANON_KB, &smaps, "mem.smaps.pss.anon", "pss.anon", 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_FILE_KB, &smaps, "mem.smaps.pss.file", "pss.file", 1024},
	/* trace_processor's own spelling */
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_SHMEM_KB, &smaps, "mem.smaps.pss.smem", "pss.smem", 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_SWAP_PSS_KB, &smaps, "mem.smaps.swap.pss", "swap.pss", 1024},
	{PB_PROCESS_STATS_PROCESS_RUNTIME_USER_MODE, &runtime, "runtime.user_ns", "user_ns", 1},
	{PB_PROCESS_STATS_PROCESS_RUNTIME_KERNEL_MODE, &runtime, "runtime.kernel_ns", "kernel_ns",
	 1},
};

static const struct process_field *process_stats_rows_find_field(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].field == number)
			return &fields[i];
	return NULL;
}

static void process_stats_rows_add_counter(struct import *im, struct machine *m, int64_t ts,
					   uint32_t upid, const struct process_field *p, uint64_t v)
{
	struct strings *s = &im->store->strings;
	int64_t values[] = {upid, p->key ? strings_intern_z(s, p->key) : 0};
	uint32_t track = tracks_get(im, m, p->type, strings_intern_z(s, p->name), values);

	rows_add_counter(im, ts, track, (double)(int64_t)(v * (uint64_t)p->scale), NULL_U32);
}

static void process_stats_rows_add_thread(struct import *im, struct machine *m, int64_t pid,
					  const struct pb_field *thread)
{
	(void)im;
	pb_for_each (f, thread)
		if (f.id == PB_PROCESS_STATS_THREAD_TID)
			tasks_get_thread_of_process(&m->tasks, (int32_t)f.u64, pid);
}

static void process_stats_rows_add_process(struct import *im, struct machine *m, int64_t ts,
					   const struct pb_field *process)
{
	int32_t pid = 0;

	pb_read(process, PB_TO(PB_PROCESS_STATS_PROCESS_PID, &pid));
	pb_for_each (f, process) {
		const struct process_field *p = process_stats_rows_find_field(f.id);

		if (p && !f.data)
			process_stats_rows_add_counter(im, m, ts, tasks_get_process(&m->tasks, pid),
						       p, f.u64);
		else if (f.id == PB_PROCESS_STATS_PROCESS_THREADS && f.data)
			process_stats_rows_add_thread(im, m, pid, &f);
	}
}

void rows_process_stats(struct import *im, struct machine *m, int64_t ts,
			const struct pb_field *stats)
{
	pb_for_each (f, stats)
		if (f.id == PB_PROCESS_STATS_PROCESSES && f.data)
			process_stats_rows_add_process(im, m, ts, &f);
}
