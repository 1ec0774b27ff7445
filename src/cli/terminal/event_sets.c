// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/event_sets.h"

#include <string.h>

#include "base/core/mem.h"

#define MAX_REQUESTS 10

static const struct event_set {
	const char *word;
	const char *requests[MAX_REQUESTS + 1];
} sets[] = {
	{"sched",
	 {"sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup_new",
	  "sched/sched_process_exec", "sched/sched_process_exit", "sched/sched_process_fork",
	  "sched/sched_process_free", /* the end of a process, to readers of traces */
	  "task/task_newtask", "task/task_rename"}},
	{"irq", {"irq/*"}},
	{"freq", {"power/cpu_frequency", "power/cpu_frequency_limits", "power/suspend_resume"}},
	{"idle", {"power/cpu_idle"}},
	{"disk",
	 {"block/block_rq_insert", "block/block_rq_issue", "block/block_rq_complete",
	  "block/block_rq_requeue", "block/block_bio_queue", "block/block_bio_complete"}},
	{"workq", {"workqueue/*"}},
	{"memreclaim",
	 {"vmscan/mm_vmscan_direct_reclaim_begin", "vmscan/mm_vmscan_direct_reclaim_end",
	  "vmscan/mm_vmscan_kswapd_wake", "vmscan/mm_vmscan_kswapd_sleep"}},
	{"pagecache", {"filemap/*"}},
};

const char *const *event_set_find(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (strlen(sets[i].word) == len && !memcmp(sets[i].word, word, len))
			return sets[i].requests;
	return NULL;
}
