/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/stream_watch.h"

#include "base/text/str.h"

#define STALLED_MS 3000 /* a write to a busy disk may take a second */

/* Bytes that wait in the buffer may be the beginning of a packet whose end its producer has not
 * committed yet: only the service knows whether the output stalls. */
void stream_watch_check(struct stream_watch *w, const Pb__TraceStats *stats,
			const Pb__TraceConfig *config, struct console *console)
{
	bool stalls = stats->has_file_stalled_ms && stats->file_stalled_ms >= STALLED_MS;
	uint64_t size = (uint64_t)config->buffers[0]->size_kb << 10, waiting = 0, lost = 0;
	bool loses, was_behind = w->is_behind;
	char bytes[32];

	for (size_t i = 0; i < stats->n_buffer_stats; i++) {
		const Pb__TraceStats__BufferStats *b = stats->buffer_stats[i];
		uint64_t gone = b->bytes_read + b->bytes_overwritten;

		waiting += b->bytes_written > gone ? b->bytes_written - gone : 0;
		lost += b->chunks_overwritten + b->chunks_discarded;
	}
	loses = lost > w->lost;
	w->lost = lost;
	if (loses || waiting > size / 2 || stalls)
		w->is_behind = true;
	else if (waiting < size / 8)
		w->is_behind = false;
	str_bytes(waiting, bytes);
	if (loses)
		console_error(
			console,
			"the output is too slow: the service's buffer is full (%s waiting), and "
			"data is lost",
			bytes);
	else if (w->is_behind && !was_behind)
		console_error(console, "the output is %s: %s waiting in the service's buffer",
			      stalls ? "not accepting data" : "too slow", bytes);
	else if (was_behind && !w->is_behind)
		console_error(console, "the output is accepting data again");
}

void stream_watch_report_stall(void *console, bool stalled)
{
	console_error(console, "%s",
		      stalled ? "the output is not accepting data; new data waits in the service's "
				"buffer"
			      : "the output is accepting data again");
}
