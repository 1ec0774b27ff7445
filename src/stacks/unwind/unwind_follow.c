/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_follow.h"

#include "base/core/clock.h"
#include "stacks/frames/mapping_records.h"
#include "stacks/unwind/unwind_tables.h"

void unwind_follow_record(const struct perf_event_header *h)
{
	const struct task_record *task = (const struct task_record *)h;

	if (h->type == PERF_RECORD_EXIT && h->size >= sizeof(*task) && task->pid == task->tid)
		unwind_tables_remove_process((int32_t)task->pid);
	if (h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC &&
	    h->size >= sizeof(struct comm_record) + MAPPING_RECORD_END)
		unwind_tables_remove_process((int32_t)((const struct comm_record *)h)->pid);
}

void unwind_follow_process(struct address_space *a, const struct mapped_files *files, uint64_t now)
{
	uint64_t wait = a->has_changed ? UNWIND_FOLLOW_MS : UNWIND_FOLLOW_AGAIN_MS;
	bool is_whole = unwind_tables_use_process(a->pid);

	if (!a->is_known || (is_whole && !a->has_changed) ||
	    (a->given_ns && now < a->given_ns + wait * NS_PER_MS))
		return;
	unwind_tables_set_process(a, files);
	a->has_changed = false;
	a->given_ns = now;
}
