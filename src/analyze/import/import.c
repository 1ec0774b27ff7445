/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "analyze/import/cgroup_rows.h"
#include "analyze/import/cpus.h"
#include "analyze/import/event_rules.h"
#include "analyze/import/ftrace_rows.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/perf_counters.h"
#include "analyze/import/remembered.h"
#include "analyze/import/slices.h"
#include "analyze/import/states.h"
#include "analyze/import/track_event.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "gen/fields.h"

/* The importer releases the file's pages whenever it has read this many bytes in the file's order,
 * or this many events in the order of time, so that memory is left for rows. */
#define PAGES_KEPT_BYTES (16u << 20)
#define PAGES_KEPT_EVENTS (1u << 18)

/* Returns true for the payloads of packets that are read in the order of time. */
static bool is_payload_sorted_by_time(uint32_t field)
{
	return field == PB_TRACE_PACKET_PROCESS_TREE || field == PB_TRACE_PACKET_SYS_STATS ||
	       field == PB_TRACE_PACKET_PROCESS_STATS || field == PB_TRACE_PACKET_TRACK_EVENT ||
	       field == PB_TRACE_PACKET_TRACK_DESCRIPTOR ||
	       field == PB_TRACE_PACKET_THREAD_DESCRIPTOR ||
	       field == PB_TRACE_PACKET_PROCESS_DESCRIPTOR || field == PB_TRACE_PACKET_BATTERY ||
	       field == PB_TRACE_PACKET_TRIGGER || field == PB_TRACE_PACKET_PERF_SAMPLE ||
	       field == PB_TRACE_PACKET_STACK_SAMPLE || field == PB_TRACE_PACKET_SMAPS_PACKET ||
	       field == PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT ||
	       field == PB_TRACE_PACKET_SERVICE_EVENT || field == PB_TRACE_PACKET_CGROUP_TREE ||
	       field == PB_TRACE_PACKET_CGROUP_MEMBERS || field == PB_TRACE_PACKET_CGROUP_WAITS ||
	       field == PB_TRACE_PACKET_EVENT_HISTOGRAM ||
	       field == PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER;
}

static void make_packet_rows(struct import *im, struct machine *m, const struct queued_event *e)
{
	struct packet p;

	packet_read(&p, e->data, e->a, is_payload_sorted_by_time);
	switch (p.payload.id) {
	case PB_TRACE_PACKET_PROCESS_TREE:
		import_process_tree(im, m, &p.payload);
		break;
	case PB_TRACE_PACKET_SYS_STATS:
		import_sys_stats(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_PROCESS_STATS:
		import_process_stats(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_TRACK_EVENT:
		import_track_event(im, m, e->ts, &p, e->data, e->b);
		break;
	case PB_TRACE_PACKET_TRACK_DESCRIPTOR:
		import_track_descriptor(im, m, &p);
		break;
	case PB_TRACE_PACKET_THREAD_DESCRIPTOR:
		import_thread_descriptor(im, m, p.pid, &p.payload);
		break;
	case PB_TRACE_PACKET_PROCESS_DESCRIPTOR:
		import_process_descriptor(im, m, p.pid, &p.payload);
		break;
	case PB_TRACE_PACKET_BATTERY:
		import_battery(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_SMAPS_PACKET:
		import_smaps(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_PERF_SAMPLE:
		import_perf_sample(im, m, e->ts, &p, e->b);
		break;
	case PB_TRACE_PACKET_STACK_SAMPLE:
		import_stack_sample(im, m, e->ts, &p, e->b);
		break;
	case PB_TRACE_PACKET_CGROUP_TREE:
		import_cgroup_tree(im, m, &p.payload);
		break;
	case PB_TRACE_PACKET_CGROUP_MEMBERS:
		import_cgroup_members(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_CGROUP_WAITS:
		import_cgroup_waits(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_EVENT_HISTOGRAM:
		import_event_histogram(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_TRIGGER:
	case PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER:
		import_trigger(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT:
		import_session_change(im, m, e->ts, &p.payload);
		break;
	case PB_TRACE_PACKET_SERVICE_EVENT: /* next_session_started */
		sched_rows_end_session(im, m);
		break;
	}
}

/* Runs before the machine's first kernel event in the order of time. All bundles were read by then,
 * so first_data is known: the time from which all CPUs have data. */
static void begin_ftrace(struct import *im, struct machine *m)
{
	m->ftrace_begun = true;
	if (m->first_data != INT64_MIN)
		metadata_set_int(im, SCOPE_BOTH, m, "ftrace_latest_data_start_ns", false,
				 m->first_data);
	if (!m->preserve_ring)
		m->first_data = MAX(m->first_data, m->tracing_started);
	else
		m->tracing_started = INT64_MIN;
}

/* Calls begin_ftrace() for machines whose kernel events were all dropped, as their times were
 * negative. */
static void begin_dropped_ftrace(struct import *im)
{
	for (size_t i = 0; i < im->n_machines; i++)
		if (im->machines[i]->negative_ftrace && !im->machines[i]->ftrace_begun)
			begin_ftrace(im, im->machines[i]);
}

static void import_queued_event(void *ctx, const struct event_queue *q,
				const struct queued_event *e)
{
	struct import *im = ctx;
	struct machine *m = im->machines[q->machine];

	if (im->queues.n_released % PAGES_KEPT_EVENTS == 0)
		trace_bytes_release_pages(&im->store->bytes[0]);
	if (q->kind == QUEUE_PACKETS || q->kind == QUEUE_TRACK_EVENTS) {
		make_packet_rows(im, m, e);
		return;
	}
	if (!m->ftrace_begun)
		begin_ftrace(im, m);
	if (e->ts < m->tracing_started) {
		stats_add(im->store, STAT_FTRACE_PACKET_BEFORE_TRACING_START, STAT_NO_INDEX, 1);
		return;
	}
	m->last_event = e->ts;
	if (q->kind == QUEUE_FTRACE)
		import_ftrace_event(im, m, q->cpu, e);
	else if (q->kind == QUEUE_SWITCH)
		import_compact_switch(im, m, q->cpu, e);
	else
		import_compact_waking(im, m, q->cpu, e);
}

/* ---- the end ---- */

static void add_trace_bounds(struct store *s)
{
	struct table *t = &s->tables[TABLE_TRACE_BOUNDS];
	uint32_t row = table_append(t);

	if (s->start_ts > s->end_ts)
		s->start_ts = s->end_ts = 0;
	else if (s->start_ts == s->end_ts && s->end_ts == INT64_MAX)
		s->start_ts--;
	else if (s->start_ts == s->end_ts)
		s->end_ts++;
	table_set_i64(t, BOUNDS_START, row, s->start_ts);
	table_set_i64(t, BOUNDS_END, row, s->end_ts);
}

static void import_deinit(struct import *im)
{
	for (size_t i = 0; i < im->n_machines; i++) {
		struct machine *m = im->machines[i];

		clocks_deinit(&m->clocks);
		sequences_deinit(&m->sequences);
		tasks_deinit(&m->tasks);
		free(m->cpus);
		free(m);
	}
	event_queues_deinit(&im->queues);
	task_infos_deinit(&im->infos);
	generic_deinit(im);
	tracks_deinit(im);
	slices_deinit(im);
	states_deinit(im);
	track_groups_deinit(im);
	flows_deinit(im);
	described_deinit(im);
	event_values_deinit(im);
	proto_fields_deinit(im);
	remembered_deinit(im);
	deferred_tracks_deinit(im);
	row_keys_deinit(im);
	perf_streams_deinit(im);
	module_symbols_deinit(im);
	gpu_work_deinit(im);
	cgroup_rows_deinit(im);
	free(im->labels);
	free(im->args.args);
	free(im->list.args);
	free(im->deferred);
	free(im);
}

/* Returns NULL if out of memory. The service's machine is the first machine of each trace, even if
 * the trace has no packet of it. */
static struct import *import_new(struct store *s)
{
	struct import *im = calloc(1, sizeof(*im));

	if (!im)
		return NULL;
	im->store = s;
	s->start_ts = INT64_MAX;
	s->end_ts = INT64_MIN;
	event_queues_init(&im->queues, &s->budget);
	if (array_reserve(&im->infos.threads, &im->infos.cap_threads, 64,
			  sizeof(*im->infos.threads)) ||
	    array_reserve(&im->infos.processes, &im->infos.cap_processes, 64,
			  sizeof(*im->infos.processes)) ||
	    !import_get_machine(im, 0) || s->budget.error) {
		import_deinit(im);
		return NULL;
	}
	return im;
}

/* Reads all packets, or those up to an error of the budget. *ret_cut_off: the file ends inside a
 * packet. Returns 0, or -EBADMSG if the bytes are text, or if there are bytes but no packet in
 * them. */
static int read_packets(struct import *im, const struct trace_bytes *bytes, bool *ret_cut_off)
{
	size_t released = 0;
	struct pb_field f;
	bool found = false;
	struct pb_dec d;

	if (packets_are_text(bytes->data, bytes->len, bytes->len))
		return -EBADMSG;
	pb_dec_init(&d, bytes->data, bytes->len);
	while (!im->store->budget.error && pb_dec_next(&d, &f)) {
		if (f.id != PB_TRACE_PACKET || !f.data)
			continue;
		found = true;
		tokenize_packet(im, f.data, f.len);
		if ((size_t)(f.data - bytes->data) - released > PAGES_KEPT_BYTES) {
			trace_bytes_release_pages(bytes);
			released = (size_t)(f.data - bytes->data);
		}
	}
	*ret_cut_off = found && !pb_dec_ok(&d);
	return found || !bytes->len ? 0 : -EBADMSG;
}

int trace_import(struct store *s, struct trace_bytes bytes, struct import_result *ret)
{
	struct import *im;
	int r = store_keep_bytes(s, bytes);

	*ret = (struct import_result){.cut_off = false};
	if (r < 0)
		return r;
	im = import_new(s);
	if (!im)
		return s->budget.error ? s->budget.error : -ENOMEM;
	r = read_packets(im, &bytes, &ret->cut_off);
	if (r == 0) {
		tokenize_deferred(im);
		event_queues_drain(&im->queues, import_queued_event, im);
		trace_info_finish(im);
		begin_dropped_ftrace(im);
		slices_finish(im);
		states_finish(im);
		deferred_tracks_finish(im);
		import_process_args(im);
		module_symbols_finish(im);
		import_cgroup_members_finish(im);
		recorded_threads_finish(im);
		metadata_set_string(im, SCOPE_TRACE, NULL, "trace_type", false, "proto", 5);
		metadata_set_int(im, SCOPE_TRACE, NULL, "trace_size_bytes", false,
				 (int64_t)bytes.len);
		import_cpus(im);
	}
	add_trace_bounds(s);
	stats_fill_table(s);
	ret->undecodable = im->undecodable;
	ret->not_unpacked = im->not_unpacked;
	ret->config = im->config.data;
	ret->config_len = im->config.len;
	import_deinit(im);
	trace_bytes_release_pages(&bytes);
	return r < 0 ? r : s->budget.error;
}

/* ---- files ---- */

static int read_trace_from_stream(int fd, uint64_t limit, struct trace_bytes *ret)
{
	struct strbuf b = {0};
	int r = fs_read_fd(fd, (size_t)MIN(limit, (uint64_t)SIZE_MAX / 2), &b);

	if (r < 0) {
		strbuf_deinit(&b);
		return r;
	}
	*ret = (struct trace_bytes){.len = b.len};
	ret->data = (uint8_t *)strbuf_take(&b);
	return ret->data || !ret->len ? 0 : -ENOMEM;
}

int trace_import_file(struct store *s, int fd, struct import_result *ret)
{
	struct trace_bytes bytes = {.mapped = true};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		bytes.len = (size_t)st.st_size;
		bytes.data = mmap(NULL, bytes.len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes.data == MAP_FAILED)
			return -errno;
	} else {
		r = read_trace_from_stream(fd, s->budget.limit, &bytes);
		if (r < 0)
			return r;
	}
	return trace_import(s, bytes, ret);
}
