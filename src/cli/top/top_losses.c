// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_losses.h"

#include <stdlib.h>

#include "analyze/buffer_stats.h"
#include "base/core/mem.h"

static void top_losses_put(uint64_t n, const char *what, struct strbuf *out)
{
	char number[32];

	if (n)
		strbuf_printf(out, "%s%s %s", out->len ? ", " : "", str_thousands(n, number), what);
}

void top_losses(const Pb__TraceStats *message, struct strbuf *out)
{
	_cleanup_(freep) struct service_stats *s = calloc(1, sizeof(*s));
	struct buffer_stats sum = {0};

	if (!s)
		return;
	stats_message_decode(message, s);
	for (size_t i = 0; i < s->n_buffers; i++) {
		sum.chunks_overwritten += s->buffers[i].chunks_overwritten;
		sum.chunks_discarded += s->buffers[i].chunks_discarded;
		sum.writer_packet_loss += s->buffers[i].writer_packet_loss;
		sum.patches_failed += s->buffers[i].patches_failed;
		sum.abi_violations += s->buffers[i].abi_violations;
	}
	top_losses_put(sum.chunks_overwritten, "chunks overwritten before they were read", out);
	top_losses_put(sum.chunks_discarded, "chunks discarded", out);
	top_losses_put(sum.writer_packet_loss, "packets dropped: shared memory full", out);
	top_losses_put(sum.patches_failed, "patches failed", out);
	top_losses_put(sum.abi_violations, "violations of the protocol", out);
	top_losses_put(s->invalid_packets, "invalid packets", out);
	top_losses_put(s->flushes_failed, "flushes failed", out);
	for (size_t i = 0; i < s->n_departures; i++)
		strbuf_printf(out, "%s%s: its producer %s ended%s", out->len ? ", " : "",
			      s->departures[i].source, s->departures[i].producer,
			      s->departures[i].back_ns ? ", and came back" : "");
}
