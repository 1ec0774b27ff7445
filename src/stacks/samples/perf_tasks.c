/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishes threads and their new names, which are in perf records, on the metadata bus, for
 * linux.process_stats. New names are not kept if linux.ftrace reports all tasks: they would be
 * redundant, and late.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "stacks/samples/perf_session.h"

void perf_tasks_add_renamed(struct perf_session *s, uint64_t time, int32_t tid, const char *name,
			    size_t len, bool is_exec)
{
	struct perf_renamed *t;

	if (s->n_renamed >= PERF_RENAMED_MAX || !stack_session_has_subscriber(&s->base) ||
	    metadata_bus_is_complete(s->base.bus, ds_session_id(s->base.h)) ||
	    array_reserve(&s->renamed, &s->cap_renamed, s->n_renamed + 1, sizeof(*t)) < 0)
		return;
	t = &s->renamed[s->n_renamed++];
	*t = (struct perf_renamed){
		.time = s->perf.clock == CLOCK_BOOTTIME ? time : 0, .tid = tid, .is_exec = is_exec};
	memcpy(t->name, name, strnlen(name, MIN(len, sizeof(t->name) - 1)));
}

/* Publishes the execs and new names of the round. Records do not have the path of a program. If the
 * task has ended, subscribers use its name instead. */
static void publish_renamed(struct perf_session *s)
{
	_cleanup_(freep) struct metadata_task *tasks =
		malloc(2 * s->n_renamed * sizeof(*tasks) + 1);
	struct metadata_batch batch = {.tasks = tasks};
	/* If linux.ftrace publishes too, it may report the start of a task later than this batch,
	 * for the tasks that it is limited to. */
	bool awaits_start =
		metadata_bus_published_until(s->base.bus, ds_session_id(s->base.h), false);

	for (size_t i = 0; tasks && i < s->n_renamed; i++) {
		const struct perf_renamed *from = &s->renamed[i];
		struct metadata_task t = {
			.time_ns = from->time, .tid = from->tid, .awaits_start = awaits_start};

		if (from->is_exec) {
			t.kind = METADATA_TASK_EXEC;
			t.file = from->name;
			t.file_len = (uint32_t)strlen(from->name);
			tasks[batch.n_tasks++] = t;
			t.file_len = 0;
		}
		t.kind = METADATA_TASK_RENAMED;
		memcpy(t.name, from->name, sizeof(t.name));
		tasks[batch.n_tasks++] = t;
	}
	if (batch.n_tasks)
		metadata_bus_publish(s->base.bus, ds_session_id(s->base.h), &batch);
	s->n_renamed = 0;
}

static void publish_threads(struct perf_session *s)
{
	if (!s->n_samples || stack_session_reserve_tids(&s->base, s->n_samples) < 0)
		return;
	for (size_t i = 0; i < s->n_samples; i++)
		s->base.tids[i] = (int32_t)s->samples[i].tid;
	stack_session_publish_tids(&s->base, s->n_samples);
}

void perf_tasks_publish(struct perf_session *s)
{
	if (!stack_session_has_subscriber(&s->base))
		return;
	publish_renamed(s);
	publish_threads(s);
}
