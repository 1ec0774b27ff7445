/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ftrace_record OUT MS CONFIG [COMMAND...]
 *
 * Runs linux.ftrace alone, without a service: records the kernel for MS milliseconds, or as long as
 * COMMAND runs when it takes longer, with a FtraceConfig in text, and writes the packets to OUT as
 * a trace file. A flush comes every 50 ms (not with NO_FLUSH set) and at the end; SIGTERM or SIGINT
 * end it early. TRACEFS is where that is, STATE the directory for records of what has to be undone
 * (none), METADATA (set) subscribes to the session's metadata.
 *
 * Prints what the trace holds beside what the kernel says it handed out, one line a CPU:
 *
 *	cpu 0 events 5462 read 5462 left 0 overrun 0 lost 0 gaps 0 errors 0 bundles 3 counted 0
 *	ranged 0
 *
 * (counted: gaps with their number; ranged: events of lost ranges), "ranges N wrong N", "tids N
 * tasks N" of the feed, "pages N" of a ring, and the reports ("unknown ...", "failed ...", "problem
 * ..."). Exits with 1 when the source did not start, flush and stop as it should.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "client/producer/metadata_bus.h"
#include "config/text.h"
#include "ftrace/session/data_sources.h"
#include "gen/fields.h"
#include "lost_ranges.h"
#include "unit/../unit/ftrace/fake_producer.h"
#include "unit/message_fields.h"

#define MAX_CPUS 1024
#define FLUSH_MS 50

/* ---- what the trace holds ---- */

struct cpu_sum {
	bool seen;
	uint64_t events, lost, gaps, counted, errors, bundles;
	uint64_t read, left, overrun;
};

static struct cpu_sum cpus[MAX_CPUS];

static uint64_t count_packed(const struct pb_field *f)
{
	struct pb_packed p = pb_packed_of(f);
	uint64_t v, n = 0;

	while (pb_packed_next(&p, &v))
		n++;
	return n;
}

static uint64_t count_compact(const struct pb_field *bundle)
{
	uint64_t n = 0;

	for_each_valid_field (f, bundle)
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP ||
		    f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP)
			n += count_packed(&f);
	return n;
}

static void sum_bundle(const struct pb_field *bundle)
{
	struct cpu_sum s = {0}, *to = NULL;

	for_each_valid_field (f, bundle)
		switch (f.id) {
		case PB_FTRACE_EVENT_BUNDLE_CPU:
			assert(f.u64 < MAX_CPUS);
			to = &cpus[f.u64];
			break;
		case PB_FTRACE_EVENT_BUNDLE_EVENT:
			s.events++;
			break;
		case PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
			s.events += count_compact(&f);
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS:
			s.gaps++;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LOST_EVENT_COUNT:
			s.lost += f.u64;
			s.counted++;
			break;
		case PB_FTRACE_EVENT_BUNDLE_ERROR:
			s.errors++;
			break;
		}
	assert(to);
	to->seen = true;
	to->bundles++;
	to->events += s.events;
	to->lost += s.lost;
	to->gaps += s.gaps;
	to->counted += s.counted;
	to->errors += s.errors;
}

static void take_cpu_stats(const struct pb_field *stats)
{
	struct cpu_sum s = {0}, *to = NULL;

	for_each_valid_field (f, stats)
		switch (f.id) {
		case PB_FTRACE_CPU_STATS_CPU:
			assert(f.u64 < MAX_CPUS);
			to = &cpus[f.u64];
			break;
		case PB_FTRACE_CPU_STATS_READ_EVENTS:
			s.read = f.u64;
			break;
		case PB_FTRACE_CPU_STATS_ENTRIES:
			s.left = f.u64;
			break;
		case PB_FTRACE_CPU_STATS_OVERRUN:
			s.overrun = f.u64;
			break;
		}
	assert(to);
	to->seen = true;
	to->read = s.read;
	to->left = s.left;
	to->overrun = s.overrun;
}

/* The last END of the trace counts; reports stand in every START. */
static void take_stats(const struct pb_field *stats, bool print_reports)
{
	uint64_t phase = 0;

	for_each_valid_field (f, stats) {
		if (f.id == PB_FTRACE_STATS_PHASE)
			phase = f.u64;
		if (f.id == PB_FTRACE_STATS_CPU_STATS && phase == 2)
			take_cpu_stats(&f);
		if (f.id == PB_FTRACE_STATS_CPU_BUFFER_SIZE_PAGES && phase == 2)
			printf("pages %" PRIu64 "\n", f.u64);
		if (!print_reports)
			continue;
		if (f.id == PB_FTRACE_STATS_UNKNOWN_FTRACE_EVENTS)
			printf("unknown %.*s\n", (int)f.len, f.data);
		if (f.id == PB_FTRACE_STATS_FAILED_FTRACE_EVENTS)
			printf("failed %.*s\n", (int)f.len, f.data);
		if (f.id == PB_FTRACE_STATS_ATRACE_ERRORS)
			printf("problem %.*s\n", (int)f.len, f.data);
		if (f.id == PB_FTRACE_STATS_FTRACE_PARSE_ERRORS)
			printf("status %" PRIu64 "\n", f.u64);
	}
}

/* Both packets of the last pair. */
static void summarize(const uint8_t *trace, size_t len)
{
	struct pb_field last[2] = {0};

	for_each_valid_field (packet, PB_BYTES(trace, len))
		for_each_valid_field (f, &packet) {
			if (f.id == PB_TRACE_PACKET_FTRACE_EVENTS) {
				sum_bundle(&f);
				seen_bundle(&f);
			}
			if (f.id == PB_TRACE_PACKET_FTRACE_STATS) {
				last[0] = last[1];
				last[1] = f;
			}
		}
	for (unsigned i = 0; i < 2; i++)
		if (last[i].data)
			take_stats(&last[i], true);
	for (unsigned i = 0; i < MAX_CPUS; i++)
		if (cpus[i].seen)
			printf("cpu %u events %" PRIu64 " read %" PRIu64 " left %" PRIu64
			       " overrun %" PRIu64 " lost %" PRIu64 " gaps %" PRIu64
			       " errors %" PRIu64 " bundles %" PRIu64 " counted %" PRIu64
			       " ranged %" PRIu64 "\n",
			       i, cpus[i].events, cpus[i].read, cpus[i].left, cpus[i].overrun,
			       cpus[i].lost, cpus[i].gaps, cpus[i].errors, cpus[i].bundles,
			       cpus[i].counted, seen_lost(i));
	printf("ranges %zu wrong %" PRIu64 "\n", n_ranges_seen, seen_wrong());
}

/* ---- the recording ---- */

struct recording {
	struct event_base *loop;
	struct ds_handle handle;
	void *instance;
	struct event *tick;
	char **command;
	pid_t child; /* begins when the recording has */
	uint64_t end_ms;
	bool begun;
	uint64_t flush_id;
	size_t tids, tasks;
	bool ending;
};

static void on_metadata(void *ctx, const struct metadata_batch *batch)
{
	struct recording *r = ctx;

	r->tids += batch->n_tids;
	r->tasks += batch->n_tasks;
}

static void end(struct recording *r)
{
	if (r->ending)
		return;
	r->ending = true;
	event_del(r->tick);
	ftrace_data_source.flush(r->instance, ++r->flush_id);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct recording *r = arg;
	struct timespec now;

	(void)fd;
	(void)what;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (r->child > 0 && waitpid(r->child, NULL, WNOHANG) != 0)
		r->child = 0;
	if (!r->child && (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 >= r->end_ms)
		end(r);
	else if (!getenv("NO_FLUSH"))
		ftrace_data_source.flush(r->instance, ++r->flush_id);
}

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct recording *r = arg;

	(void)fd;
	(void)what;
	if (!r->ending) {
		r->ending = true;
		event_del(r->tick);
		ftrace_data_source.stop(r->instance);
	}
}

static struct recording recording;

static pid_t run(char **command)
{
	pid_t pid = *command ? fork() : 0;

	if (pid || !*command)
		return pid;
	execvp(*command, command);
	_exit(127);
}

static void begin(struct recording *r)
{
	static const struct timeval period = {.tv_usec = FLUSH_MS * 1000};
	struct timespec now;

	r->begun = true;
	if (r->ending)
		return;
	r->child = run(r->command);
	clock_gettime(CLOCK_MONOTONIC, &now);
	r->end_ms += (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	event_add(r->tick, &period);
}

static void on_answer(struct ds_handle *h)
{
	struct recording *r = &recording;

	if (h->started && !r->begun)
		begin(r);
	if (h->stopped)
		event_base_loopbreak(r->loop);
	else if (r->ending && h->last_flush == r->flush_id && h->flushed)
		ftrace_data_source.stop(r->instance);
}

int main(int argc, char **argv)
{
	struct recording *r = &recording;
	struct ds_env env = {
		.bus = metadata_bus_new(),
		.proc_root = "/proc",
		.sys_root = "/sys",
		.tracefs_root = getenv("TRACEFS") ? getenv("TRACEFS") : "/sys/kernel/tracing",
		.state_root = getenv("STATE"),
	};
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	struct event *term, *intr;
	struct strbuf errors = {0};
	bool good;
	FILE *out;

	if (argc < 4) {
		fprintf(stderr, "usage: %s OUT MS CONFIG [COMMAND...]\n", argv[0]);
		return 2;
	}
	if (text_parse(&pb__ftrace_config__descriptor, "CONFIG", argv[3], strlen(argv[3]), &errors,
		       (ProtobufCMessage **)&config.ftrace_config)) {
		fprintf(stderr, "%s", errors.s);
		return 2;
	}
	if (!*env.tracefs_root)
		env.tracefs_root = NULL;
	env.loop = r->loop = event_base_new();
	r->tick = event_new(r->loop, -1, EV_PERSIST, on_tick, r);
	term = evsignal_new(r->loop, SIGTERM, on_signal, r);
	intr = evsignal_new(r->loop, SIGINT, on_signal, r);
	event_add(term, NULL);
	event_add(intr, NULL);
	r->handle.session_id = 1;
	r->handle.on_answer = on_answer;
	if (getenv("METADATA"))
		assert(metadata_bus_subscribe(env.bus, 1, on_metadata, r) == 0);
	ftrace_remove_stale_instances(env.tracefs_root ? env.tracefs_root : "/nowhere");
	if (env.state_root && env.tracefs_root)
		ftrace_undo_stale_overrides(env.tracefs_root, env.state_root);

	r->command = argv + 4;
	r->end_ms = strtoul(argv[2], NULL, 10);
	assert(ftrace_data_source.create(&r->handle, &env, &config, &r->instance) == 0);
	ftrace_data_source.start(r->instance);
	event_base_dispatch(r->loop);

	good = r->handle.started == 1 && r->handle.stopped == 1 && r->handle.flushed == r->flush_id;
	out = fopen(argv[1], "w");
	good = out &&
	       fwrite(r->handle.writer->begin, 1, fake_writer_len(r->handle.writer), out) ==
		       fake_writer_len(r->handle.writer) &&
	       good;
	good = out && fclose(out) == 0 && good;
	summarize(r->handle.writer->begin, fake_writer_len(r->handle.writer));
	printf("tids %zu tasks %zu\n", r->tids, r->tasks);

	ftrace_data_source.destroy(r->instance);
	if (getenv("METADATA"))
		metadata_bus_unsubscribe(env.bus, 1, r);
	metadata_bus_free(env.bus);
	event_free(r->tick);
	event_free(term);
	event_free(intr);
	event_base_free(r->loop);
	protobuf_c_message_free_unpacked((ProtobufCMessage *)config.ftrace_config, NULL);
	return !good;
}
