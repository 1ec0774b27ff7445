/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/source_scan.h"

#include <stdio.h>
#include <string.h>

#include "analyze/packets.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* Field numbers of the messages that report unreadable files. */
struct unread_fields {
	uint32_t list; /* the field of the payload */
	uint32_t name;
	uint32_t error;
	const char *dir;
	uint32_t count; /* how many reads failed (0: the kernel has no such file); 0: no field */
};

static const struct unread_fields of_processes = {
	.list = PB_PROCESS_STATS_UNREAD_FILES,
	.name = PB_PROCESS_STATS_UNREAD_FILE_NAME,
	.error = PB_PROCESS_STATS_UNREAD_FILE_ERROR,
	.dir = "/proc/PID/",
	.count = PB_PROCESS_STATS_UNREAD_FILE_COUNT,
};

static const struct unread_fields of_the_machine = {
	.list = PB_SYS_STATS_READ_FAILURES,
	.name = PB_SYS_STATS_READ_FAILURE_PATH,
	.error = PB_SYS_STATS_READ_FAILURE_ERROR,
	.dir = "",
};

static const struct unread_fields of_counters = {
	.list = PB_POLLED_COUNTERS_STATS_READ_FAILURES,
	.name = PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH,
	.error = PB_POLLED_COUNTERS_STATS_READ_FAILURE_ERROR,
};

void source_scan_deinit(struct source_scan *s)
{
	name_list_deinit(&s->unread);
	name_list_deinit(&s->refusals);
	name_list_deinit(&s->uncounted);
	name_list_deinit(&s->ebpf_costs);
}

bool source_scan_reads(uint32_t packet_field)
{
	return packet_field == PB_TRACE_PACKET_PROCESS_STATS ||
	       packet_field == PB_TRACE_PACKET_SYS_STATS ||
	       packet_field == PB_TRACE_PACKET_JOURNALD_EVENT ||
	       packet_field == PB_TRACE_PACKET_PERF_SAMPLE ||
	       packet_field == PB_TRACE_PACKET_EBPF_COUNTERS_STATS ||
	       packet_field == PB_TRACE_PACKET_POLLED_COUNTERS_STATS ||
	       packet_field == PB_TRACE_PACKET_WAITS_STATS ||
	       packet_field == PB_TRACE_PACKET_UNWIND_STATS ||
	       packet_field == PB_TRACE_PACKET_CGROUP_MEMBERS ||
	       packet_field == PB_TRACE_PACKET_CGROUP_WAITS ||
	       packet_field == PB_TRACE_PACKET_SYSCALLS_STATS ||
	       packet_field == PB_TRACE_PACKET_LATE_SUBJECT ||
	       packet_field == PB_TRACE_PACKET_SOURCE_REFUSAL;
}

static void add_unread_line(struct name_list *l, const char *line)
{
	name_list_add(l, (const uint8_t *)line, strlen(line));
}

static bool scan_unread(struct source_scan *s, const struct unread_fields *of,
			const struct pb_field *message)
{
	char line[NAME_LIST_MAX_LEN + 64];
	struct pb_field name = {0};
	bool of_some = false;
	int32_t error = 0;
	bool ok = pb_read(message, PB_TO(of->name, &name), PB_TO(of->error, &error),
			  PB_TO(of->count, &of_some));

	if (!name.data)
		return ok;
	snprintf(line, sizeof(line), "%s%.*s%s: %s", of->dir,
		 (int)MIN(name.len, (size_t)NAME_LIST_MAX_LEN / 2), (const char *)name.data,
		 of_some ? " of some processes" : "", fs_error_text(error));
	add_unread_line(&s->unread, line);
	return ok;
}

static bool scan_list(struct source_scan *s, const struct unread_fields *of,
		      const struct pb_field *message)
{
	bool ok = true;

	pb_for_each_checked (f, message, ok)
		if (f.id == of->list)
			ok &= scan_unread(s, of, &f);
	return ok;
}

/* Raises *count to the value of a field that is reported repeatedly and only grows. */
static bool scan_count(uint64_t *count, uint32_t field, const struct pb_field *message)
{
	uint64_t n = 0;
	bool ok = pb_read(message, PB_TO(field, &n));

	*count = MAX(*count, n);
	return ok;
}

/* Raises a counter of a family, which is reported repeatedly and only grows. Adds the counter if it
 * is new and there is room. */
static void store_counted_as(struct source_scan *s, const char *family, const char *what,
			     uint64_t n, bool is_limit)
{
	struct source_counted new = {.n = n, .is_limit = is_limit};
	size_t i = 0;

	snprintf(new.family, sizeof(new.family), "%s", family);
	snprintf(new.what, sizeof(new.what), "%s", what);
	while (i < s->n_counted && (strcmp(s->counted[i].family, new.family) != 0 ||
				    strcmp(s->counted[i].what, new.what) != 0))
		i++;
	if (i == SOURCE_SCAN_COUNTED)
		return;
	if (i == s->n_counted)
		s->counted[s->n_counted++] = new;
	s->counted[i].n = MAX(s->counted[i].n, n);
}

static void store_counted(struct source_scan *s, const char *family, const char *what, uint64_t n)
{
	store_counted_as(s, family, what, n, false);
}

static bool scan_failure(struct source_scan *s, const struct pb_field *message)
{
	char line[NAME_LIST_MAX_LEN + 64], what_text[NAME_LIST_MAX_LEN / 4 + 1],
		reason_text[NAME_LIST_MAX_LEN / 4 * 3 + 1];
	struct pb_field what = {0}, reason = {0};
	uint64_t count = 0;
	bool is_limit = false;
	bool ok = pb_read(message, PB_TO(PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, &what),
			  PB_TO(PB_EBPF_COUNTERS_STATS_FAILURE_REASON, &reason),
			  PB_TO(PB_EBPF_COUNTERS_STATS_FAILURE_COUNT, &count),
			  PB_TO(PB_EBPF_COUNTERS_STATS_FAILURE_IS_LIMIT, &is_limit));

	packet_copy_text(&what, what_text, sizeof(what_text));
	packet_copy_text(&reason, reason_text, sizeof(reason_text));
	if (count) {
		store_counted_as(s, what_text, reason_text, count, is_limit);
		return ok;
	}
	snprintf(line, sizeof(line), "%s: %s", what_text, reason_text);
	add_unread_line(&s->uncounted, line);
	return ok;
}

static bool scan_refusal(struct source_scan *s, const struct pb_field *message)
{
	char line[NAME_LIST_MAX_LEN], name_text[64], reason_text[160];
	struct pb_field name = {0}, reason = {0};
	bool ok = pb_read(message, PB_TO(PB_SOURCE_REFUSAL_NAME, &name),
			  PB_TO(PB_SOURCE_REFUSAL_REASON, &reason));

	packet_copy_text(&name, name_text, sizeof(name_text));
	packet_copy_text(&reason, reason_text, sizeof(reason_text));
	snprintf(line, sizeof(line), "'%s' recorded nothing: %s", name_text, reason_text);
	add_unread_line(&s->refusals, line);
	return ok;
}

static void store_cost(struct source_scan *s, const char *family, uint32_t ppm)
{
	char line[NAME_LIST_MAX_LEN];

	s->ebpf_ppm += ppm;
	snprintf(line, sizeof(line), "%s %.3f %%", family, ppm / 1e4);
	add_unread_line(&s->ebpf_costs, line);
}

static bool scan_cost(struct source_scan *s, const struct pb_field *message)
{
	char family_text[NAME_LIST_MAX_LEN / 2];
	struct pb_field family = {0};
	uint32_t ppm = 0;
	bool ok = pb_read(message, PB_TO(PB_EBPF_COUNTERS_STATS_COST_FAMILY, &family),
			  PB_TO(PB_EBPF_COUNTERS_STATS_COST_MACHINE_PPM, &ppm));

	packet_copy_text(&family, family_text, sizeof(family_text));
	store_cost(s, family_text, ppm);
	return ok;
}

static bool scan_ebpf(struct source_scan *s, const struct pb_field *message)
{
	bool ok = true;

	pb_for_each_checked (f, message, ok)
		if (f.id == PB_EBPF_COUNTERS_STATS_FAILURES)
			ok &= f.data && scan_failure(s, &f);
		else if (f.id == PB_EBPF_COUNTERS_STATS_COSTS)
			ok &= f.data && scan_cost(s, &f);
	return ok;
}

/* Adds the text of an error of linux.waits: to the refusals if the source recorded nothing,
 * otherwise to the list of what was not counted. */
static void store_waits_error(struct source_scan *s, const struct pb_field *error)
{
	char line[NAME_LIST_MAX_LEN], text[160];

	if (!error->len)
		return;
	packet_copy_text(error, text, sizeof(text));
	snprintf(line, sizeof(line), s->waits ? "waits: %s" : "'linux.waits' recorded nothing: %s",
		 text);
	add_unread_line(s->waits ? &s->uncounted : &s->refusals, line);
}

static bool scan_waits(struct source_scan *s, const struct pb_field *message)
{
	uint64_t left_out = 0, ring_full = 0, no_begin = 0, no_end = 0, no_total = 0, lost = 0;
	uint64_t stackless = 0;
	struct pb_field error = {0};
	uint32_t ppm = 0;
	bool ok = pb_read(
		message, PB_TO(PB_WAITS_STATS_ERROR, &error),
		PB_TO(PB_WAITS_STATS_WAITS, &s->waits), PB_TO(PB_WAITS_STATS_LEFT_OUT, &left_out),
		PB_TO(PB_WAITS_STATS_RING_FULL, &ring_full),
		PB_TO(PB_WAITS_STATS_NO_BEGIN, &no_begin), PB_TO(PB_WAITS_STATS_NO_END, &no_end),
		PB_TO(PB_WAITS_STATS_NO_TOTAL, &no_total), PB_TO(PB_WAITS_STATS_STACKS_LOST, &lost),
		PB_TO(PB_WAITS_STATS_USER_STACKS_REFUSED, &stackless),
		PB_TO(PB_WAITS_STATS_MACHINE_PPM, &ppm));
	const struct {
		uint64_t n;
		const char *what;
		bool is_limit;
	} numbers[] = {
		{left_out,
		 "long waits without a slice: limit max_per_second exceeded (raise with --waits "
		 "rate=N, or record fewer processes with -p)",
		 true},
		{stackless,
		 "waits without a user stack: limit user_stacks_per_second exceeded (raise with "
		 "--waits stacks=N)",
		 true},
		{ring_full, "long waits without a slice: the ring was full", false},
		{no_begin, "missing waits: no memory to record their start", false},
		{no_end, "missing waits: their end was not seen", false},
		{no_total, "waits missing from the totals: the table was full", false},
		{lost, "missing stacks: no room", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].n)
			store_counted_as(s, "waits", numbers[i].what, numbers[i].n,
					 numbers[i].is_limit);
	if (ppm)
		store_cost(s, "waits", ppm);
	store_waits_error(s, &error);
	return ok;
}

/* Reads what the unwind tables left out. Two data sources use the same tables, so the counts of the
 * last one cover both. */
static bool scan_unwind(struct source_scan *s, const struct pb_field *message)
{
	return pb_read(message, PB_TO(PB_UNWIND_STATS_EVICTED, &s->unwind.evicted),
		       PB_TO(PB_UNWIND_STATS_REFUSED, &s->unwind.refused),
		       PB_TO(PB_UNWIND_STATS_FILES_LEFT_OUT, &s->unwind.left_out),
		       PB_TO(PB_UNWIND_STATS_FILES_CUT, &s->unwind.cut));
}

/* Reads what linux.cgroup_members lost, and why it polled control groups: polling misses
 * processes. */
static bool scan_members(struct source_scan *s, const struct pb_field *message)
{
	struct pb_field because = {0};
	char line[NAME_LIST_MAX_LEN], text[160];
	uint64_t lost = 0;
	bool ok = pb_read(message, PB_TO(PB_CGROUP_MEMBERS_LOST, &lost),
			  PB_TO(PB_CGROUP_MEMBERS_POLLED_BECAUSE, &because));

	if (lost)
		store_counted(s, "control groups", "missing thread rows: no room", lost);
	if (!because.len)
		return ok;
	packet_copy_text(&because, text, sizeof(text));
	snprintf(line, sizeof(line), "linux.cgroup_members: %s", text);
	add_unread_line(&s->unread, line);
	return ok;
}

static bool scan_late_subject(struct source_scan *s, const struct pb_field *message)
{
	struct pb_field source = {0};
	uint64_t missed = 0;
	char name[64];
	bool ok = pb_read(message, PB_TO(PB_LATE_SUBJECT_SOURCE, &source),
			  PB_TO(PB_LATE_SUBJECT_MISSED_PROGRAMS, &missed));

	if (!missed)
		return ok;
	packet_copy_text(&source, name, sizeof(name));
	store_counted(s, name,
		      "programs were executed before the name of their container or pod was known",
		      missed);
	return ok;
}

static bool scan_cgroup_waits(struct source_scan *s, const struct pb_field *message)
{
	uint64_t lost = 0;
	bool ok = pb_read(message, PB_TO(PB_CGROUP_WAITS_LOST, &lost));

	if (lost)
		store_counted(s, "control groups",
			      "waits not counted: the table of control groups was full", lost);
	return ok;
}

static bool scan_syscalls(struct source_scan *s, const struct pb_field *message)
{
	uint64_t ring_full = 0, no_begin = 0, texts_lost = 0, children_lost = 0;
	struct pb_field error = {0};
	char line[NAME_LIST_MAX_LEN], text[160];
	uint32_t ppm = 0;
	bool ok = pb_read(message, PB_TO(PB_SYSCALLS_STATS_ERROR, &error),
			  PB_TO(PB_SYSCALLS_STATS_RING_FULL, &ring_full),
			  PB_TO(PB_SYSCALLS_STATS_NO_BEGIN, &no_begin),
			  PB_TO(PB_SYSCALLS_STATS_TEXTS_LOST, &texts_lost),
			  PB_TO(PB_SYSCALLS_STATS_CHILDREN_LOST, &children_lost),
			  PB_TO(PB_SYSCALLS_STATS_TEXTS_ABSENT, &s->absent_texts),
			  PB_TO(PB_SYSCALLS_STATS_MACHINE_PPM, &ppm));

	if (ring_full)
		store_counted(s, "syscalls", "missing calls: the ring was full", ring_full);
	if (no_begin)
		store_counted(s, "syscalls", "missing calls: no memory to record their start",
			      no_begin);
	if (texts_lost)
		store_counted(s, "syscalls", "missing strings: no room", texts_lost);
	if (children_lost)
		store_counted(s, "syscalls", "processes that were not followed: too many",
			      children_lost);
	if (ppm)
		store_cost(s, "syscalls", ppm);
	if (error.len) {
		packet_copy_text(&error, text, sizeof(text));
		snprintf(line, sizeof(line), "'linux.syscalls' recorded nothing: %s", text);
		add_unread_line(&s->refusals, line);
	}
	return ok;
}

static void add_refused_tracks(struct source_scan *s, const char *source, uint64_t tracks)
{
	size_t i = 0;

	while (i < s->n_refused && strcmp(s->refused[i].source, source) != 0)
		i++;
	if (i == SOURCE_SCAN_SOURCES)
		return;
	if (i == s->n_refused)
		snprintf(s->refused[s->n_refused++].source, sizeof(s->refused[i].source), "%s",
			 source);
	s->refused[i].tracks = MAX(s->refused[i].tracks, tracks);
}

static bool scan_polled(struct source_scan *s, const struct pb_field *message)
{
	char source_text[sizeof(s->refused[0].source)], dir[sizeof(source_text) + 2];
	struct unread_fields of = of_counters;
	struct pb_field source = {0};
	uint64_t refused = 0;
	bool ok = pb_read(message, PB_TO(PB_POLLED_COUNTERS_STATS_SOURCE, &source),
			  PB_TO(PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS, &refused));

	packet_copy_text(&source, source_text, sizeof(source_text));
	if (refused)
		add_refused_tracks(s, source_text, refused);
	snprintf(dir, sizeof(dir), "%s: ", source_text);
	of.dir = dir;
	return scan_list(s, &of, message) && ok;
}

/* Each packet has the number of records that were lost since the packet before. */
static bool scan_perf(struct source_scan *s, const struct pb_field *message)
{
	uint64_t lost = 0;
	bool ok = pb_read(message, PB_TO(PB_PERF_SAMPLE_KERNEL_RECORDS_LOST, &lost));

	s->perf_dropped += MIN(lost, INT64_MAX - s->perf_dropped);
	return ok;
}

bool source_scan_payload(struct source_scan *s, const struct pb_field *payload)
{
	switch (payload->id) {
	case PB_TRACE_PACKET_PROCESS_STATS:
		return scan_list(s, &of_processes, payload) &&
		       scan_count(&s->refused_tracks, PB_PROCESS_STATS_REFUSED_TRACKS, payload);
	case PB_TRACE_PACKET_SYS_STATS:
		return scan_list(s, &of_the_machine, payload);
	case PB_TRACE_PACKET_JOURNALD_EVENT:
		return scan_count(&s->journal_dropped, PB_SYSTEMD_JOURNALD_EVENT_NUM_DROPPED,
				  payload) &&
		       scan_count(&s->journal_failed, PB_SYSTEMD_JOURNALD_EVENT_NUM_FAILED,
				  payload);
	case PB_TRACE_PACKET_PERF_SAMPLE:
		return scan_perf(s, payload);
	case PB_TRACE_PACKET_EBPF_COUNTERS_STATS:
		return scan_ebpf(s, payload);
	case PB_TRACE_PACKET_POLLED_COUNTERS_STATS:
		return scan_polled(s, payload);
	case PB_TRACE_PACKET_WAITS_STATS:
		return scan_waits(s, payload);
	case PB_TRACE_PACKET_UNWIND_STATS:
		return scan_unwind(s, payload);
	case PB_TRACE_PACKET_CGROUP_MEMBERS:
		return scan_members(s, payload);
	case PB_TRACE_PACKET_CGROUP_WAITS:
		return scan_cgroup_waits(s, payload);
	case PB_TRACE_PACKET_SYSCALLS_STATS:
		return scan_syscalls(s, payload);
	case PB_TRACE_PACKET_LATE_SUBJECT:
		return scan_late_subject(s, payload);
	case PB_TRACE_PACKET_SOURCE_REFUSAL:
		return scan_refusal(s, payload);
	}
	return true;
}
