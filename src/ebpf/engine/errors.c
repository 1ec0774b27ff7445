/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "gen/fields.h"

void ebpf_errors_deinit(struct ebpf_errors *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->all[i].what);
		free(t->all[i].reason);
	}
	t->n = t->written = 0;
}

void ebpf_errors_add(struct ebpf_errors *t, const char *what, const char *fmt, ...)
{
	_cleanup_(freep) char *reason = NULL, *copy = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&reason, fmt, args);
	va_end(args);
	if (n < 0) {
		reason = NULL;
		return;
	}
	log_warn("linux.ebpf_counters: %s: %s", what, reason);
	copy = strdup(what);
	if (!copy || t->n == EBPF_ERRORS_MAX)
		return;
	t->all[t->n].what = TAKE_PTR(copy);
	t->all[t->n].reason = TAKE_PTR(reason);
	t->n++;
}

void ebpf_errors_set_count(struct ebpf_errors *t, const char *what, const char *reason,
			   uint64_t count, bool is_limit)
{
	_cleanup_(freep) char *w = NULL, *r = NULL;

	for (size_t i = 0; i < t->n; i++)
		if (t->all[i].count && !strcmp(t->all[i].what, what) &&
		    !strcmp(t->all[i].reason, reason)) {
			t->all[i].count = count;
			return;
		}
	w = strdup(what);
	r = strdup(reason);
	if (!w || !r || t->n == EBPF_ERRORS_MAX)
		return;
	t->all[t->n].what = TAKE_PTR(w);
	t->all[t->n].reason = TAKE_PTR(r);
	t->all[t->n].count = count;
	t->all[t->n].is_limit = is_limit;
	t->all[t->n++].written_count = 0;
}

static bool is_error_due(const struct ebpf_errors *t, size_t i, bool at_end)
{
	uint64_t count = t->all[i].count, written = t->all[i].written_count;

	return i >= t->written || (at_end ? count > written : count / 2 >= written && count);
}

static void write_error(struct ebpf_errors *t, size_t i, struct pb_enc *e)
{
	pb_enc_open(e, PB_EBPF_COUNTERS_STATS_FAILURES);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, t->all[i].what);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, t->all[i].reason);
	if (t->all[i].count)
		pb_enc_u64(e, PB_EBPF_COUNTERS_STATS_FAILURE_COUNT, t->all[i].count);
	if (t->all[i].is_limit)
		pb_enc_bool(e, PB_EBPF_COUNTERS_STATS_FAILURE_IS_LIMIT, true);
	pb_enc_close(e);
	t->all[i].written_count = t->all[i].count;
}

void ebpf_errors_write(struct ebpf_errors *t, bool at_end, struct writer *w)
{
	struct pb_enc *e = NULL;

	for (size_t i = 0; i < t->n; i++) {
		if (!is_error_due(t, i, at_end))
			continue;
		if (!e) {
			e = writer_begin(w);
			pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
			pb_enc_open(e, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
		}
		write_error(t, i, e);
	}
	t->written = t->n;
	if (!e)
		return;
	pb_enc_close(e);
	writer_end(w);
}

void ebpf_errors_mark_unwritten(struct ebpf_errors *t)
{
	t->written = 0;
}

void ebpf_errors_write_missed(const char *source, uint64_t missed, struct writer *w)
{
	struct pb_enc *e;

	if (!missed)
		return;
	e = writer_begin(w);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_LATE_SUBJECT);
	pb_enc_str(e, PB_LATE_SUBJECT_SOURCE, source);
	pb_enc_u64(e, PB_LATE_SUBJECT_MISSED_PROGRAMS, missed);
	pb_enc_close(e);
	writer_end(w);
}
