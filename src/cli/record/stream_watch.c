// SPDX-License-Identifier: Apache-2.0
#include "cli/record/stream_watch.h"

#include <stdio.h>

#include "base/text/str.h"

#define STILL_TIMES 3 /* a write may take a second on a disk that others use, too */

struct sums {
	uint64_t waiting, read, lost;
};

static struct sums sum_up(const Pb__TraceStats *stats)
{
	struct sums sums = {0};

	for (size_t i = 0; i < stats->n_buffer_stats; i++) {
		const Pb__TraceStats__BufferStats *b = stats->buffer_stats[i];
		uint64_t gone = b->bytes_read + b->bytes_overwritten;

		sums.waiting += b->bytes_written > gone ? b->bytes_written - gone : 0;
		sums.read += b->bytes_read;
		sums.lost += b->chunks_overwritten + b->chunks_discarded;
	}
	return sums;
}

bool stream_watch_note(struct stream_watch *w, const Pb__TraceStats *stats, uint64_t buffer_bytes,
		       char ret[static STREAM_WATCH_TEXT])
{
	struct sums now = sum_up(stats);
	bool loses = now.lost > w->lost, moves = now.read > w->read, was_behind = w->is_behind;
	char bytes[32];

	w->still = now.waiting && !moves ? w->still + 1 : 0;
	w->read = now.read;
	w->lost = now.lost;
	if (loses || now.waiting > buffer_bytes / 2 || w->still >= STILL_TIMES)
		w->is_behind = true;
	else if (moves && now.waiting < buffer_bytes / 8)
		w->is_behind = false;
	str_bytes(now.waiting, bytes);
	if (loses)
		snprintf(ret, STREAM_WATCH_TEXT,
			 "the output takes data too slowly: %s wait in the service's buffer, which "
			 "is full, and data is lost",
			 bytes);
	else if (w->is_behind && !was_behind)
		snprintf(ret, STREAM_WATCH_TEXT,
			 "the output takes %s: %s wait in the service's buffer",
			 w->still ? "no data" : "data too slowly", bytes);
	else if (was_behind && !w->is_behind)
		snprintf(ret, STREAM_WATCH_TEXT, "the output takes data again");
	else
		return false;
	return true;
}

void stream_watch_say(struct stream_watch *w, const Pb__TraceStats *stats,
		      const Pb__TraceConfig *config, struct console *console)
{
	char text[STREAM_WATCH_TEXT];

	if (stream_watch_note(w, stats, (uint64_t)config->buffers[0]->size_kb << 10, text))
		console_error(console, "%s", text);
}

void stream_watch_stall(void *console, bool stalled)
{
	console_error(console, "%s",
		      stalled ? "the output takes no data; what comes meanwhile waits in the "
				"service's buffer"
			      : "the output takes data again");
}
