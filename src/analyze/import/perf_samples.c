/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows of linux.perf's samples: a row of a sample, and values of counters
 * (perf_counters.h).
 */
#include "analyze/import/call_stacks.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/perf_counters.h"
#include "analyze/import/profiler_rows.h"
#include "gen/fields.h"

static void perf_samples_count_stat(struct import *im, enum stat_number stat)
{
	stats_add(im->store, stat, STAT_NO_INDEX, 1);
}

struct sample {
	uint32_t cpu, pid, tid;
	uint64_t lost, mode, skipped;
	struct pb_field callstack, error; /* an iid, a number; id 0: none */
	struct pb_field event; /* ProducerEvent */
};

static void read_sample(const struct pb_field *message, struct sample *s)
{
	pb_read(message, PB_TO(PB_PERF_SAMPLE_CPU, &s->cpu), PB_TO(PB_PERF_SAMPLE_PID, &s->pid),
		PB_TO(PB_PERF_SAMPLE_TID, &s->tid), PB_TO(PB_PERF_SAMPLE_CPU_MODE, &s->mode),
		PB_TO(PB_PERF_SAMPLE_KERNEL_RECORDS_LOST, &s->lost),
		PB_TO(PB_PERF_SAMPLE_SAMPLE_SKIPPED_REASON, &s->skipped),
		PB_TO(PB_PERF_SAMPLE_PRODUCER_EVENT, &s->event),
		PB_TO_ANY(PB_PERF_SAMPLE_CALLSTACK_IID, &s->callstack),
		PB_TO_ANY(PB_PERF_SAMPLE_UNWIND_ERROR, &s->error));
}

/* Returns the string of an enum's value, or NULL_U32 if names[v] is NULL. */
static uint32_t perf_samples_intern_name(struct import *im, const char *const *names, size_t n,
					 uint64_t v)
{
	const char *name = v < n ? names[v] : names[0];

	return name ? strings_intern_z(&im->store->strings, name) : NULL_U32;
}

static void add_sample(struct import *im, struct machine *m, int64_t ts, uint32_t session,
		       uint32_t state, uint32_t values, const struct sample *s)
{
	static const char *const modes[] = {NULL,	  "kernel",	  "user",
					    "hypervisor", "guest_kernel", "guest_user"};
	static const char *const errors[] = {
		"unknown",     NULL,	      "memory_invalid",	     "unwind_info",
		"unsupported", "invalid_map", "max_frames_exceeded", "repeated_frame",
		"invalid_elf", "system_call", "thread_timeout",	     "thread_does_not_exist",
		"bad_arch",    "maps_parse",  "invalid_parameter",   "ptrace_call"};
	uint32_t utid = tasks_get_thread_of_process(&m->tasks, s->tid, s->pid);
	const struct stack_owner owner = {m, state, tasks_upid(&m->tasks, utid)};

	profiler_add_sample(
		im,
		&(struct profiler_sample){
			.ts = ts,
			.source = strings_intern_z(&im->store->strings, PROFILER_LINUX_PERF),
			.task = profiler_get_task(im, owner.upid, utid, NULL_U32),
			.execution = profiler_get_execution(
				im, m, s->cpu,
				perf_samples_intern_name(im, modes, ARRAY_SIZE(modes), s->mode)),
			.callsite = s->callstack.id
					    ? call_stack_get_interned(im, &owner, s->callstack.u64)
					    : NULL_U32,
			.session = session,
			.values = values,
			.error = s->error.id ? perf_samples_intern_name(
						       im, errors, ARRAY_SIZE(errors), s->error.u64)
					     : NULL_U32,
		});
}

/* Values of PerfSample.SampleSkipReason and of ProducerEvent.DataSourceStopReason. */
enum { SKIP_READ = 1, SKIP_UNWIND = 2, SKIP_QUEUE_FULL = 3, STOP_GUARDRAIL = 1 };

/* Counts a sample without a call stack. Its counters and its thread are known. */
static void count_skipped(struct import *im, uint64_t reason)
{
	if (reason == SKIP_READ || reason == SKIP_UNWIND)
		perf_samples_count_stat(im, STAT_PERF_SAMPLES_SKIPPED);
	else if (reason == SKIP_QUEUE_FULL)
		perf_samples_count_stat(im, STAT_PERF_SAMPLES_SKIPPED_DATALOSS);
}

void import_perf_sample(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
			uint32_t state)
{
	const struct perf_stream *stream;
	struct sample s = {0};

	read_sample(&p->payload, &s);
	if (state == NULL_U32 || s.cpu >= MAX_CPUS)
		return;
	stream = perf_stream_get(im, m, state, p->sequence, s.cpu);
	if (!stream)
		return;
	if (s.lost) {
		stats_add(im->store, STAT_PERF_CPU_LOST_RECORDS, s.cpu, (int64_t)s.lost);
	} else if (s.event.id) {
		uint64_t reason = 0;

		pb_read(&s.event, PB_TO(PB_PERF_SAMPLE_PRODUCER_EVENT_SOURCE_STOP_REASON, &reason));
		if (reason == STOP_GUARDRAIL)
			stats_set(im->store, STAT_PERF_GUARDRAIL_STOP_TS, stream->session, ts);
	} else {
		count_skipped(im, s.skipped);
		add_sample(im, m, ts, stream->session, state,
			   perf_stream_add_values(im, stream, ts, &p->payload), &s);
	}
}
