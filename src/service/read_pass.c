/* SPDX-License-Identifier: Apache-2.0 */
#include "service/read_pass.h"

#include "service/packet_gate.h"
#include "service/service_packets.h"
#include "service/session.h"
#include "service/trace_buffer.h"

void read_begin(struct session *s)
{
	for (size_t i = 0; i < s->n_buffers; i++)
		trace_buffer_begin_read(s->buffers[i].buffer);
	s->reading_buffer = 0;
}

/* Hands on one packet of a producer, or drops it; gives its size in any case. */
static size_t pass_packet(struct session *s, struct packet_sink *sink,
			  const struct trace_packet *packet)
{
	uint8_t trailer[PACKET_GATE_MAX_TRAILER];
	size_t trailer_len, size;
	uint32_t id = 0;

	if (packet_gate_accepts(packet->slices, packet->n_slices))
		id = sequence_ids_get(&s->sequences, packet->writer.producer_id,
				      packet->writer.writer_id);
	if (!id) {
		s->invalid_packets++;
		return packet->size;
	}
	trailer_len = packet_gate_trailer(trailer, packet, id);
	size = packet->size + trailer_len;
	if (sink->of_sequence)
		sink->of_sequence(sink, id, packet_gate_state(packet->slices, packet->n_slices));
	sink->begin(sink, size);
	for (size_t i = 0; i < packet->n_slices; i++)
		sink->bytes(sink, packet->slices[i].iov_base, packet->slices[i].iov_len);
	sink->bytes(sink, trailer, trailer_len);
	return size;
}

bool read_pass(struct session *s, struct packet_sink *sink, size_t batch)
{
	struct trace_packet packet;
	size_t size = 0;

	service_packets_put_head(s, sink);
	while (s->reading_buffer < s->n_buffers) {
		struct trace_buffer *b = s->buffers[s->reading_buffer].buffer;

		while (trace_buffer_next_packet(b, &packet)) {
			size += pass_packet(s, sink, &packet);
			if (size >= batch)
				return true;
		}
		s->reading_buffer++;
	}
	service_packets_put_tail(s, sink);
	return false;
}
