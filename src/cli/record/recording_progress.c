// SPDX-License-Identifier: Apache-2.0
#include "cli/record/recording_progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/record/ring_watch.h"

void recording_progress_deinit(struct recording_progress *p)
{
	free(p->instance);
	p->instance = NULL;
}

void recording_progress_note_state(struct recording_progress *p,
				   const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_producers; i++) {
		const Pb__TracingServiceState__Producer *producer = state->producers[i];

		if (p->n_probes < RECORDING_PROGRESS_MAX_PROBES && producer->name &&
		    producer->pid > 0 && strstr(producer->name, "probes"))
			p->probes[p->n_probes++] = producer->pid;
	}
}

/* Until one is found: it appears some time after the session. */
static void find_instance(struct recording_progress *p, const char *tracefs_root, uint64_t session)
{
	struct strbuf path = {0};

	for (size_t i = 0; i < p->n_probes && !p->instance; i++) {
		strbuf_clear(&path);
		ring_watch_path(&path, tracefs_root, p->probes[i], session);
		if (path.s && fs_exists(path.s))
			p->instance = strbuf_take(&path);
	}
	strbuf_deinit(&path);
}

void recording_progress_note_stats(struct recording_progress *p, const char *tracefs_root,
				   const Pb__TraceStats *stats)
{
	p->shown.has_bytes = true;
	p->shown.bytes = 0;
	for (size_t i = 0; i < stats->n_buffer_stats; i++)
		p->shown.bytes += stats->buffer_stats[i]->bytes_written;
	if (tracefs_root && stats->has_tracing_session_id)
		find_instance(p, tracefs_root, stats->tracing_session_id);
}

void recording_progress_show(struct recording_progress *p, uint64_t elapsed_ms,
			     struct console *console)
{
	struct ring_totals rings;
	char line[PROGRESS_MAX];

	p->shown.elapsed_ms = elapsed_ms;
	if (p->instance && !ring_watch_read(p->instance, &rings)) {
		p->shown.has_events = true;
		p->shown.events = rings.events;
		p->shown.lost = rings.lost;
	}
	console_progress(console, progress_format(&p->shown, line));
}
