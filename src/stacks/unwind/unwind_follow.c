/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_follow.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
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

/* Returns whether the mappings, which have changed, were given long enough ago. */
static bool may_be_given(struct address_space *a, uint64_t now)
{
	uint64_t wait = a->given_wait_ms * NS_PER_MS;

	if (a->given_ns && now < a->given_ns + wait)
		return false;
	if (!a->given_ns || now > a->given_ns + 4 * wait)
		a->given_wait_ms = UNWIND_FOLLOW_MIN_MS;
	else
		a->given_wait_ms = MIN(2 * a->given_wait_ms, (uint32_t)UNWIND_FOLLOW_MAX_MS);
	return true;
}

void unwind_follow_process(struct address_space *a, const struct mapped_files *files, uint64_t now)
{
	bool is_whole = unwind_tables_use_process(a->pid);

	if (!a->is_known || (is_whole && !a->has_changed))
		return;
	if (a->has_changed ? !may_be_given(a, now)
			   : now < a->given_ns + UNWIND_FOLLOW_AGAIN_MS * NS_PER_MS)
		return;
	unwind_tables_set_process(a, files);
	a->has_changed = false;
	a->given_ns = now;
}
