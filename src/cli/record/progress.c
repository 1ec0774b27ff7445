/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/progress.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "cli/report/data_losses.h"
#include "cli/report/record_facts.h"

#define PROGRESS_MAX 240 /* bytes of the line */
#define MAX_STATS_BYTES 4096 /* of a file of the kernel's rings */
#define NEARLY_FULL 90 /* percent */

/* ---- the kernel's rings ---- */

/*
 * The kernel rings of a running recording, seen from outside. sonda-probes creates a tracefs
 * instance for each session, and its name contains the pid and the session. The kernel's counters
 * are in the instance.
 */

struct ring_totals {
	uint64_t events; /* written by the kernel, including lost ones */
	uint64_t lost; /* overwritten or dropped before they were read */
	uint64_t fullest; /* bytes in the fullest ring now */
};

/*
 * A stats file has lines "name: number":
 *
 *	entries: 129            in the ring now
 *	overrun: 0              overwritten before they were read
 *	commit overrun: 0       lost: a nested writer wrapped the whole ring
 *	dropped events: 0       rejected by a full ring that does not overwrite
 *	bytes: 5204             in the ring now
 *	read events: 13         consumed
 */

static uint64_t number_after_name(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ':')
			return str_leading_u64(line + len + 1, 10);
	}
	return 0;
}

struct rings_reading {
	const char *dir; /* per_cpu */
	struct ring_totals totals;
};

static int progress_read_cpu(void *ctx, const char *name, unsigned char d_type)
{
	struct rings_reading *reading = ctx;
	struct ring_totals *t = &reading->totals;
	struct strbuf path = {0}, text = {0};
	uint64_t lost;
	int r;

	strbuf_printf(&path, "%s/%s/stats", reading->dir, name);
	r = path.failed ? -ENOMEM : fs_read_file(path.s, MAX_STATS_BYTES, &text);
	if (!r && text.s) {
		lost = number_after_name(text.s, "overrun") +
		       number_after_name(text.s, "commit overrun") +
		       number_after_name(text.s, "dropped events");
		t->lost += lost;
		t->fullest = MAX(t->fullest, number_after_name(text.s, "bytes"));
		t->events += lost + number_after_name(text.s, "entries") +
			     number_after_name(text.s, "read events");
	}
	strbuf_deinit(&path);
	strbuf_deinit(&text);
	return r;
}

/* Sums per_cpu/cpu* /stats of an instance. Returns 0, or -errno if there is none or it cannot be
 * read. */
static int progress_read_rings(const char *instance, struct ring_totals *ret)
{
	struct rings_reading reading = {0};
	struct strbuf dir = {0};
	int r;

	strbuf_printf(&dir, "%s/per_cpu", instance);
	if (dir.failed) {
		strbuf_deinit(&dir);
		return -ENOMEM;
	}
	reading.dir = dir.s;
	r = fs_each(dir.s, progress_read_cpu, &reading);
	strbuf_deinit(&dir);
	if (!r)
		*ret = reading.totals;
	return r;
}

/* ---- the progress line ---- */

/* "  12 s of 60 s   1,204,331 events (98,112/s)   21.4 MiB   buffers 12%   0 lost". Returns buf. */
static char *progress_format(const struct recording_progress *p, char buf[static PROGRESS_MAX])
{
	char number[32], of[32] = "";
	size_t n;

	if (p->duration_ms)
		snprintf(of, sizeof(of), " of %.4g s", (double)p->duration_ms / 1000);
	n = (size_t)snprintf(
		buf, PROGRESS_MAX, "  %llu s%s",
		(unsigned long long)(p->elapsed_ms / 1000 + (p->elapsed_ms % 1000 >= 500)), of);
	if (p->has_events)
		n += (size_t)snprintf(buf + n, PROGRESS_MAX - n, "   %s events",
				      str_thousands(p->events, number));
	if (p->has_events && p->rate)
		n += (size_t)snprintf(buf + n, PROGRESS_MAX - n, " (%s/s)",
				      str_thousands(p->rate, number));
	if (p->has_bytes)
		n += (size_t)snprintf(buf + n, PROGRESS_MAX - n, "   %s",
				      str_bytes(p->bytes, number));
	if (p->has_fill)
		n += (size_t)snprintf(buf + n, PROGRESS_MAX - n, "   buffers %u%%", p->fill);
	if (p->has_events)
		snprintf(buf + n, PROGRESS_MAX - n, "   %s lost", str_thousands(p->lost, number));
	return buf;
}

void recording_progress_deinit(struct recording_progress *p)
{
	free(p->instance);
	p->instance = NULL;
}

void recording_progress_update_state(struct recording_progress *p,
				     const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_producers; i++) {
		const Pb__TracingServiceState__Producer *producer = state->producers[i];

		if (p->n_probes < RECORDING_PROGRESS_MAX_PROBES && producer->name &&
		    producer->pid > 0 && strstr(producer->name, "probes"))
			p->probes[p->n_probes++] = producer->pid;
	}
}

/* Searches for the instance until it exists: it appears some time after the session. */
static void find_instance(struct recording_progress *p, const char *tracefs_root, uint64_t session)
{
	struct strbuf path = {0};

	for (size_t i = 0; i < p->n_probes && !p->instance; i++) {
		strbuf_clear(&path);
		strbuf_printf(&path, "%s/instances/sonda-%d-%llu", tracefs_root, (int)p->probes[i],
			      (unsigned long long)session);
		if (path.s && fs_exists(path.s))
			p->instance = strbuf_take(&path);
	}
	strbuf_deinit(&path);
}

/* ---- the fill of the buffers ---- */

/* Returns how full a buffer of the service is, in percent. */
static unsigned buffer_fill_percent(const Pb__TraceStats__BufferStats *b)
{
	uint64_t in = b->bytes_written + b->padding_bytes_written;
	uint64_t out = b->bytes_read + b->bytes_overwritten + b->padding_bytes_cleared;

	if (!b->buffer_size || in <= out)
		return 0;
	return (unsigned)MIN((in - out) * 100 / b->buffer_size, 100);
}

static bool is_ring_buffer(const Pb__TraceConfig *config, size_t i)
{
	return i >= config->n_buffers ||
	       config->buffers[i]->fill_policy !=
		       PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD;
}

/* Returns the size in MiB, a power of two, that holds what is recorded until the end at this
 * rate. */
static unsigned choose_sufficient_size_mb(uint64_t bytes, uint64_t elapsed_ms, uint64_t duration_ms)
{
	uint64_t need = bytes * 2;
	unsigned mb = 1;

	if (duration_ms > elapsed_ms && elapsed_ms)
		need = MAX(need, bytes / elapsed_ms * duration_ms / 4 * 5);
	while (mb < 4096 && ((uint64_t)mb << 20) < need)
		mb *= 2;
	return mb;
}

static bool warn_of_full_buffer(struct recording_progress *p, const Pb__TraceConfig *config,
				const Pb__TraceStats *stats, uint64_t elapsed_ms,
				struct strbuf *note)
{
	for (size_t i = 0; i < stats->n_buffer_stats && !p->reported_buffer; i++) {
		const Pb__TraceStats__BufferStats *b = stats->buffer_stats[i];
		char size[32];
		unsigned mb;

		if (is_ring_buffer(config, i) || buffer_fill_percent(b) < NEARLY_FULL)
			continue;
		p->reported_buffer = true;
		mb = choose_sufficient_size_mb(b->bytes_written, elapsed_ms, config->duration_ms);
		strbuf_printf(note,
			      "buffer %zu (%s) is %u%% full, and data that does not fit is "
			      "discarded; size_kb: %u would be enough",
			      i, str_bytes(b->buffer_size, size), buffer_fill_percent(b),
			      mb * 1024);
		return true;
	}
	return false;
}

/* Reads the size of a ring, until it is known. The file has "1408", or "7 (expanded: 1408)", or
 * "X". */
static void read_ring_size(struct recording_progress *p)
{
	struct strbuf path = {0}, text = {0};

	if (p->ring_kb)
		return;
	strbuf_printf(&path, "%s/per_cpu/cpu0/buffer_size_kb", p->instance);
	if (!path.failed && !fs_read_file(path.s, MAX_STATS_BYTES, &text) && text.s)
		p->ring_kb = str_leading_u64(text.s, 10);
	strbuf_deinit(&path);
	strbuf_deinit(&text);
}

/* Appends, once, a message that the rings lose events. Returns false if there is no message. */
static bool warn_of_ring_losses(struct recording_progress *p, const struct recording_setup *setup,
				struct strbuf *note)
{
	const struct record_facts facts = {.from_words = setup->from_words};
	struct ring_totals rings;
	char lost[32];

	if (p->reported_rings || !p->instance || progress_read_rings(p->instance, &rings) ||
	    !rings.lost)
		return false;
	p->reported_rings = true;
	read_ring_size(p);
	strbuf_printf(note, "the kernel's rings have lost %s events so far; ",
		      str_thousands(rings.lost, lost));
	ring_losses_advise(&facts, p->ring_kb << 10, note);
	return true;
}

bool recording_progress_put_warning(struct recording_progress *p,
				    const struct recording_setup *setup,
				    const Pb__TraceStats *stats, uint64_t elapsed_ms,
				    struct strbuf *note)
{
	return warn_of_ring_losses(p, setup, note) ||
	       warn_of_full_buffer(p, setup->config, stats, elapsed_ms, note);
}

void recording_progress_update_stats(struct recording_progress *p, const char *tracefs_root,
				     const Pb__TraceStats *stats)
{
	p->has_bytes = true;
	p->has_fill = stats->n_buffer_stats > 0;
	p->bytes = p->chunks_lost = 0;
	p->buffer_fill = 0;
	for (size_t i = 0; i < stats->n_buffer_stats; i++) {
		const Pb__TraceStats__BufferStats *b = stats->buffer_stats[i];

		p->bytes += b->bytes_written;
		p->buffer_fill = MAX(p->buffer_fill, buffer_fill_percent(b));
		p->chunks_lost += b->chunks_discarded;
	}
	if (tracefs_root && stats->has_tracing_session_id)
		find_instance(p, tracefs_root, stats->tracing_session_id);
}

void recording_progress_show(struct recording_progress *p, uint64_t elapsed_ms,
			     struct console *console)
{
	struct ring_totals rings;
	char line[PROGRESS_MAX];

	p->elapsed_ms = elapsed_ms;
	p->fill = p->buffer_fill;
	if (p->instance && !progress_read_rings(p->instance, &rings)) {
		uint64_t before = p->has_events ? p->events : 0;

		p->has_events = true;
		p->rate = rings.events > before && elapsed_ms > p->last_ms
				  ? (rings.events - before) * 1000 / (elapsed_ms - p->last_ms)
				  : 0;
		p->events = rings.events;
		p->lost = rings.lost + p->chunks_lost;
		read_ring_size(p);
		if (p->ring_kb)
			p->fill = MAX(p->fill,
				      (unsigned)MIN(rings.fullest * 100 / (p->ring_kb << 10), 100));
		p->last_ms = elapsed_ms;
	}
	console_progress(console, progress_format(p, line));
}

void recording_progress_print_triggers(const Pb__TraceConfig *config, struct console *console)
{
	struct strbuf b = {0};

	config_triggers_put_text(config, &b);
	if (b.s)
		console_print(console, "%s", b.s);
	strbuf_deinit(&b);
}
