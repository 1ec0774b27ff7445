/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/trace_reader.h"

#include <errno.h>

#include "base/core/clock.h"
#include "service/buffer/trace_buffer.h"
#include "service/filter/packet_validate.h"
#include "service/filter/trace_filter.h"
#include "service/ipc/limits.h"
#include "service/trace/service_packets.h"
#include "service/trace/trace_internal.h"

void trace_read_begin(struct trace *t)
{
	for (size_t i = 0; i < t->n_buffers; i++) {
		struct session_buffer *b = &t->buffers[i];

		trace_buffer_begin_read(b->buffer);
		b->written_before = trace_buffer_stats(b->buffer)->bytes_written;
	}
	t->reading_buffer = 0;
}

static void pass_unfiltered(struct packet_sink *sink, const struct trace_packet *packet,
			    const uint8_t *trailer, size_t trailer_len)
{
	sink->begin(sink, packet->size + trailer_len);
	for (size_t i = 0; i < packet->n_slices; i++)
		sink->bytes(sink, packet->slices[i].iov_base, packet->slices[i].iov_len);
	sink->bytes(sink, trailer, trailer_len);
}

/* Filters a packet and its trailer. Returns true and the result, borrowed until the next call;
 * false if the packet must be dropped. */
static bool trace_reader_filter(struct trace *t, const struct trace_packet *packet,
				const uint8_t *trailer, size_t trailer_len, const uint8_t **ret,
				size_t *ret_len)
{
	const struct trace_filter_input in = {
		.slices = packet->slices,
		.n_slices = packet->n_slices,
		.size = packet->size,
		.trailer = trailer,
		.trailer_len = trailer_len,
		.buffer = t->reading_buffer,
	};

	return trace_filter_apply(t->filter, &in, ret, ret_len) == 0;
}

/* Passes one packet of a producer to the sink, or drops it. Returns the bytes of work that it took,
 * even for a dropped packet. */
static size_t pass_packet(struct trace *t, struct packet_sink *sink,
			  const struct trace_packet *packet)
{
	uint8_t trailer[PACKET_MAX_TRAILER];
	const uint8_t *filtered = NULL;
	size_t trailer_len, work, len = 0;
	struct quota *q = t->owner.account->quota;
	int r = -EBADMSG;
	uint32_t id;

	if (packet_is_valid(packet->slices, packet->n_slices))
		r = sequence_ids_get_or_add(&t->sequences, q, &packet->writer, &id);
	if (r < 0) {
		q->refused[REFUSED_SEQUENCES] += r == -EDQUOT;
		t->invalid_packets++;
		return packet->size;
	}
	trailer_len = packet_put_trailer(trailer, packet, id);
	work = packet->size + trailer_len;
	if (t->filter) {
		bool left = trace_reader_filter(t, packet, trailer, trailer_len, &filtered, &len);

		work += trace_filter_extra_work(t->filter);
		if (!left)
			return work;
	}
	if (sink->of_sequence)
		sink->of_sequence(sink, id, packet_state_flags(packet->slices, packet->n_slices));
	if (t->filter) {
		sink->begin(sink, len);
		sink->bytes(sink, filtered, len);
	} else {
		pass_unfiltered(sink, packet, trailer, trailer_len);
	}
	return work;
}

/* Bytes of work, and how many of them were for producers that are not root's. */
struct work {
	size_t all, ordinary;
};

/* Passes packets of producers to the sink, until the batch is full or the steps are used up.
 * Returns true if packets may remain. */
static bool read_packets(struct trace *t, struct packet_sink *sink, size_t batch, struct work *ret)
{
	size_t steps = READ_PASS_STEPS;
	const struct quota *q = t->owner.account->quota;
	struct trace_packet packet;

	for (; t->reading_buffer < t->n_buffers; t->reading_buffer++) {
		struct trace_buffer *b = t->buffers[t->reading_buffer].buffer;

		while (trace_buffer_next_packet(b, &steps, &packet)) {
			size_t work = pass_packet(t, sink, &packet);

			ret->all += work;
			ret->ordinary += quota_is_root(q, packet.writer.uid) ? 0 : work;
			if (ret->all >= batch)
				return true;
		}
		if (steps == 0)
			return true;
	}
	return false;
}

bool trace_read_batch(struct trace *t, struct packet_sink *sink, size_t batch)
{
	uint64_t begin = clock_mono_ns();
	struct work work = {0};
	bool more;

	service_packets_put_head(t, sink);
	more = read_packets(t, sink, batch, &work);
	if (work.ordinary > 0)
		t->owner.account->quota->producers_ns +=
			(clock_mono_ns() - begin) * work.ordinary / work.all;
	if (!more)
		service_packets_put_tail(t, sink);
	return more;
}
