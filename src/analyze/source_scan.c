// SPDX-License-Identifier: Apache-2.0
#include "analyze/source_scan.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* Field numbers of the messages that report unreadable files. */
struct unread_fields {
	uint32_t list; /* the field of the payload */
	uint32_t name;
	uint32_t error;
	const char *folder;
	uint32_t count; /* how many reads failed (0: the kernel has no such file); 0: no field */
};

static const struct unread_fields of_processes = {
	.list = PB_PROCESS_STATS_UNREAD_FILES,
	.name = PB_PROCESS_STATS_UNREAD_FILE_NAME,
	.error = PB_PROCESS_STATS_UNREAD_FILE_ERROR,
	.folder = "/proc/PID/",
	.count = PB_PROCESS_STATS_UNREAD_FILE_COUNT,
};

static const struct unread_fields of_the_machine = {
	.list = PB_SYS_STATS_READ_FAILURES,
	.name = PB_SYS_STATS_READ_FAILURE_PATH,
	.error = PB_SYS_STATS_READ_FAILURE_ERROR,
	.folder = "",
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
	       packet_field == PB_TRACE_PACKET_SOURCE_REFUSAL;
}

static bool scan_unread(struct source_scan *s, const struct unread_fields *of, const uint8_t *data,
			size_t len)
{
	char line[NAME_LIST_MAX_LEN + 64];
	struct pb_field f, name = {0};
	bool of_some = false;
	struct pb_dec d;
	int error = 0, n;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == of->name && f.data)
			name = f;
		else if (f.id == of->error)
			error = (int)f.u64;
		else if (of->count && f.id == of->count)
			of_some = f.u64 != 0;
	}
	if (!name.data)
		return pb_dec_ok(&d);
	n = snprintf(line, sizeof(line), "%s%.*s%s: %s", of->folder,
		     (int)(name.len < NAME_LIST_MAX_LEN / 2 ? name.len : NAME_LIST_MAX_LEN / 2),
		     (const char *)name.data, of_some ? " of some processes" : "",
		     fs_reason(error));
	if (n > 0)
		name_list_add(&s->unread, (const uint8_t *)line, strnlen(line, sizeof(line)));
	return pb_dec_ok(&d);
}

static bool scan_list(struct source_scan *s, const struct unread_fields *of, const uint8_t *data,
		      size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	bool ok = true;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == of->list)
			ok = f.data && scan_unread(s, of, f.data, f.len) && ok;
	return ok && pb_dec_ok(&d);
}

/* Stores a counter that is reported repeatedly and only grows. */
static bool scan_count(uint64_t *count, uint32_t field, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == field && f.u64 > *count)
			*count = f.u64;
	return pb_dec_ok(&d);
}

static void take_text(char *to, size_t size, const struct pb_field *f)
{
	snprintf(to, size, "%.*s", (int)MIN(f->len, size - 1),
		 f->data ? (const char *)f->data : "");
	str_make_plain(to, strlen(to), "");
}

/* Stores a counter of a family that is reported repeatedly and only grows. */
static void keep_counted(struct source_scan *s, const struct pb_field *family,
			 const struct pb_field *what, uint64_t n)
{
	struct source_counted new = {.n = n};
	size_t i = 0;

	take_text(new.family, sizeof(new.family), family);
	take_text(new.what, sizeof(new.what), what);
	while (i < s->n_counted && (strcmp(s->counted[i].family, new.family) != 0 ||
				    strcmp(s->counted[i].what, new.what) != 0))
		i++;
	if (i == SOURCE_SCAN_COUNTED)
		return;
	if (i == s->n_counted)
		s->counted[s->n_counted++] = new;
	s->counted[i].n = MAX(s->counted[i].n, n);
}

static bool scan_failure(struct source_scan *s, const uint8_t *data, size_t len)
{
	char line[NAME_LIST_MAX_LEN + 64];
	struct pb_field f, what = {0}, reason = {0};
	uint64_t count = 0;
	struct pb_dec d;
	int n;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_EBPF_COUNTERS_STATS_FAILURE_WHAT && f.data)
			what = f;
		else if (f.id == PB_EBPF_COUNTERS_STATS_FAILURE_REASON && f.data)
			reason = f;
		else if (f.id == PB_EBPF_COUNTERS_STATS_FAILURE_COUNT)
			count = f.u64;
	}
	if (count) {
		keep_counted(s, &what, &reason, count);
		return pb_dec_ok(&d);
	}
	n = snprintf(line, sizeof(line), "%.*s: %.*s", (int)MIN(what.len, NAME_LIST_MAX_LEN / 4),
		     what.data ? (const char *)what.data : "",
		     (int)MIN(reason.len, NAME_LIST_MAX_LEN / 4 * 3),
		     reason.data ? (const char *)reason.data : "");
	if (n > 0)
		name_list_add(&s->uncounted, (const uint8_t *)line, strnlen(line, sizeof(line)));
	return pb_dec_ok(&d);
}

static bool scan_refusal(struct source_scan *s, const uint8_t *data, size_t len)
{
	char line[NAME_LIST_MAX_LEN], name[64] = "", reason[160] = "";
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_SOURCE_REFUSAL_NAME)
			take_text(name, sizeof(name), &f);
		else if (f.id == PB_SOURCE_REFUSAL_REASON)
			take_text(reason, sizeof(reason), &f);
	}
	snprintf(line, sizeof(line), "'%s' recorded nothing: %s", name, reason);
	name_list_add(&s->refusals, (const uint8_t *)line, strlen(line));
	return pb_dec_ok(&d);
}

static bool scan_cost(struct source_scan *s, const uint8_t *data, size_t len)
{
	char line[NAME_LIST_MAX_LEN];
	struct pb_field f, family = {0};
	struct pb_dec d;
	uint32_t ppm = 0;
	int n;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_EBPF_COUNTERS_STATS_COST_FAMILY && f.data)
			family = f;
		else if (f.id == PB_EBPF_COUNTERS_STATS_COST_MACHINE_PPM)
			ppm = (uint32_t)f.u64;
	}
	s->ebpf_ppm += ppm;
	n = snprintf(line, sizeof(line), "%.*s %.3f %%", (int)MIN(family.len, sizeof(line) / 2),
		     family.data ? (const char *)family.data : "", ppm / 1e4);
	if (n > 0)
		name_list_add(&s->ebpf_costs, (const uint8_t *)line, strnlen(line, sizeof(line)));
	return pb_dec_ok(&d);
}

static bool scan_ebpf(struct source_scan *s, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	bool ok = true;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_EBPF_COUNTERS_STATS_FAILURES)
			ok = f.data && scan_failure(s, f.data, f.len) && ok;
		else if (f.id == PB_EBPF_COUNTERS_STATS_COSTS)
			ok = f.data && scan_cost(s, f.data, f.len) && ok;
	return ok && pb_dec_ok(&d);
}

static void keep_refused(struct source_scan *s, const char *source, uint64_t tracks)
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

static bool scan_polled(struct source_scan *s, const uint8_t *data, size_t len)
{
	char source[sizeof(s->refused[0].source)] = "", folder[sizeof(source) + 2];
	struct unread_fields of = of_counters;
	uint64_t refused = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_POLLED_COUNTERS_STATS_SOURCE && f.data)
			snprintf(source, sizeof(source), "%.*s",
				 (int)MIN(f.len, sizeof(source) - 1), (const char *)f.data);
		else if (f.id == PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS)
			refused = f.u64;
	}
	str_make_plain(source, strlen(source), "");
	if (refused)
		keep_refused(s, source, refused);
	snprintf(folder, sizeof(folder), "%s: ", source);
	of.folder = folder;
	return scan_list(s, &of, data, len) && pb_dec_ok(&d);
}

/* Each packet has the number of records that were lost since the packet before. */
static bool scan_perf(struct source_scan *s, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_PERF_SAMPLE_KERNEL_RECORDS_LOST)
			s->perf_dropped += MIN(f.u64, INT64_MAX - s->perf_dropped);
	return pb_dec_ok(&d);
}

bool source_scan_payload(struct source_scan *s, uint32_t packet_field, const uint8_t *data,
			 size_t len)
{
	switch (packet_field) {
	case PB_TRACE_PACKET_PROCESS_STATS:
		return scan_list(s, &of_processes, data, len) &&
		       scan_count(&s->refused_tracks, PB_PROCESS_STATS_REFUSED_TRACKS, data, len);
	case PB_TRACE_PACKET_SYS_STATS:
		return scan_list(s, &of_the_machine, data, len);
	case PB_TRACE_PACKET_JOURNALD_EVENT:
		return scan_count(&s->journal_dropped, PB_SYSTEMD_JOURNALD_EVENT_NUM_DROPPED, data,
				  len) &&
		       scan_count(&s->journal_failed, PB_SYSTEMD_JOURNALD_EVENT_NUM_FAILED, data,
				  len);
	case PB_TRACE_PACKET_PERF_SAMPLE:
		return scan_perf(s, data, len);
	case PB_TRACE_PACKET_EBPF_COUNTERS_STATS:
		return scan_ebpf(s, data, len);
	case PB_TRACE_PACKET_POLLED_COUNTERS_STATS:
		return scan_polled(s, data, len);
	case PB_TRACE_PACKET_SOURCE_REFUSAL:
		return scan_refusal(s, data, len);
	}
	return true;
}
