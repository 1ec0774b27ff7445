/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "stacks/samples/perf_session.h"

#define CLOCK_BOOTTIME_ID 6

/* Returns the number of the clock in BuiltinClock. */
static uint32_t builtin_clock_number(clockid_t clock)
{
	return clock == CLOCK_REALTIME	      ? 1
	       : clock == CLOCK_MONOTONIC     ? 3
	       : clock == CLOCK_MONOTONIC_RAW ? 5
					      : CLOCK_BOOTTIME_ID;
}

/* Returns the clock as PerfEvents.PerfClock. */
static Pb__PerfEvents__PerfClock perf_clock_enum(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
		return PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_REALTIME;
	case CLOCK_MONOTONIC:
		return PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_MONOTONIC;
	case CLOCK_MONOTONIC_RAW:
		return PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_MONOTONIC_RAW;
	default:
		return PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_BOOTTIME;
	}
}

/* Writes the timebase of the config, with the defaults that were used. */
static void write_timebase(const struct perf_session *s, struct pb_enc *e)
{
	static const Pb__PerfEvents__Timebase none = PB__PERF_EVENTS__TIMEBASE__INIT;
	const Pb__PerfEvents__Timebase *wanted = s->perf.message->timebase;
	Pb__PerfEvents__Timebase t = wanted ? *wanted : none;
	_cleanup_(freep) uint8_t *bytes = NULL;

	t.interval_case = s->perf.attr.freq ? PB__PERF_EVENTS__TIMEBASE__INTERVAL_FREQUENCY
					    : PB__PERF_EVENTS__TIMEBASE__INTERVAL_PERIOD;
	if (s->perf.attr.freq)
		t.frequency = s->perf.attr.sample_freq;
	if (t.event_case == PB__PERF_EVENTS__TIMEBASE__EVENT__NOT_SET) {
		t.event_case = PB__PERF_EVENTS__TIMEBASE__EVENT_COUNTER;
		t.counter = PB__PERF_EVENTS__COUNTER__SW_CPU_CLOCK;
	}
	t.has_timestamp_clock = true;
	t.timestamp_clock = perf_clock_enum(s->perf.clock);
	bytes = malloc(protobuf_c_message_get_packed_size(&t.base));
	if (bytes)
		pb_enc_bytes(e, PB_PERF_SAMPLE_DEFAULTS_TIMEBASE, bytes,
			     protobuf_c_message_pack(&t.base, bytes));
}

/* Writes the followers of the config. */
static void write_followers(const struct perf_session *s, struct pb_enc *e)
{
	for (uint32_t i = 0; i < s->perf.n_followers; i++) {
		const ProtobufCMessage *follower = &s->perf.message->followers[i]->base;
		_cleanup_(freep) uint8_t *bytes =
			malloc(protobuf_c_message_get_packed_size(follower) + 1);

		if (bytes)
			pb_enc_bytes(e, PB_PERF_SAMPLE_DEFAULTS_FOLLOWERS, bytes,
				     protobuf_c_message_pack(follower, bytes));
	}
}

/* Begins a new incremental state if there is none, or if packets of it were dropped. */
static void ensure_state(struct perf_session *s)
{
	struct pb_enc *e = stack_session_begin_state(&s->base);

	if (!e)
		return;
	pb_enc_open(e, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	pb_enc_u64(e, PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
		   builtin_clock_number(s->perf.clock));
	pb_enc_open(e, PB_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS);
	write_timebase(s, e);
	write_followers(s, e);
	pb_enc_close(e);
	pb_enc_close(e);
	writer_end(s->base.writer);
}

static void write_sample(struct perf_session *s, size_t number)
{
	const struct perf_sample *p = &s->samples[number];
	const uint64_t *counts = s->follower_counts + number * s->perf.n_followers;
	struct pb_enc *e;

	ensure_state(s);
	e = stack_session_begin_packet(&s->base, p->time, p->stack);
	pb_enc_open(e, PB_TRACE_PACKET_PERF_SAMPLE);
	pb_enc_u64(e, PB_PERF_SAMPLE_CPU, p->cpu);
	pb_enc_u64(e, PB_PERF_SAMPLE_PID, p->pid);
	pb_enc_u64(e, PB_PERF_SAMPLE_TID, p->tid);
	pb_enc_u64(e, PB_PERF_SAMPLE_CPU_MODE, p->mode);
	pb_enc_u64(e, PB_PERF_SAMPLE_TIMEBASE_COUNT, p->count);
	for (uint32_t i = 0; i < s->perf.n_followers; i++)
		pb_enc_u64(e, PB_PERF_SAMPLE_FOLLOWER_COUNTS, counts[i]);
	if (p->stack)
		pb_enc_u64(e, PB_PERF_SAMPLE_CALLSTACK_IID, p->stack);
	if (p->unwind_error)
		pb_enc_u64(e, PB_PERF_SAMPLE_UNWIND_ERROR, p->unwind_error);
	pb_enc_close(e);
	writer_end(s->base.writer);
}

void perf_packets_write_samples(struct stack_session *base, bool is_last)
{
	struct perf_session *s = (struct perf_session *)base;

	perf_tasks_publish(s);
	for (size_t i = 0; i < s->n_samples; i++)
		write_sample(s, i);
	s->n_written += s->n_samples;
	s->n_samples = 0;
}

/* Writes why there are no samples, or only no callers. The summary of a recording recognises both
 * (cli/report/summary.c). */
void perf_packets_write_refusal(struct perf_session *s)
{
	struct pb_enc *e = writer_begin(s->base.writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_POLLED_COUNTERS_STATS);
	pb_enc_str(e, PB_POLLED_COUNTERS_STATS_SOURCE,
		   s->base.refusal ? "linux.perf" : "linux.perf callers");
	pb_enc_open(e, PB_POLLED_COUNTERS_STATS_READ_FAILURES);
	pb_enc_str(e, PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH,
		   s->base.refusal ? s->base.refused.text : s->by_frame_pointers.text);
	pb_enc_u64(e, PB_POLLED_COUNTERS_STATS_READ_FAILURE_ERROR,
		   (uint64_t) - (s->base.refusal ? s->base.refusal : s->no_program));
	pb_enc_close(e);
	pb_enc_close(e);
	writer_end(s->base.writer);
}

/* Writes that a CPU lost records. The packet has the current time: the kernel does not record the
 * time of a loss. */
void perf_packets_write_lost(struct perf_session *s, unsigned cpu, uint64_t n)
{
	struct pb_enc *e;

	s->n_lost += n;
	ensure_state(s);
	e = stack_session_begin_packet_now(&s->base);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STACK_STATE_NEEDED);
	pb_enc_open(e, PB_TRACE_PACKET_PERF_SAMPLE);
	pb_enc_u64(e, PB_PERF_SAMPLE_CPU, cpu);
	pb_enc_u64(e, PB_PERF_SAMPLE_KERNEL_RECORDS_LOST, n);
	pb_enc_close(e);
	writer_end(s->base.writer);
}
