/* SPDX-License-Identifier: Apache-2.0 */
#include "import/file/trace_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/fields.h"
#include "wire/pb_varint.h"

#define PENDING_SIZE (1u << 20)
#define HEAD_SIZE 11 /* a tag of one byte and a varint */

int trace_output_init(struct trace_output *o, int fd)
{
	*o = (struct trace_output){.fd = fd};
	o->pending = malloc(PENDING_SIZE);
	if (!o->pending || pb_mem_init(&o->packet)) {
		free(o->pending);
		o->pending = NULL;
		return -ENOMEM;
	}
	return 0;
}

void trace_output_deinit(struct trace_output *o)
{
	if (!o->pending)
		return;
	pb_mem_deinit(&o->packet);
	free(o->pending);
	o->pending = NULL;
}

static void write_all(struct trace_output *o, const uint8_t *data, size_t len)
{
	ssize_t n;

	while (len && !o->error) {
		n = write(o->fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			o->error = n < 0 ? -errno : -EIO;
			return;
		}
		data += n;
		len -= (size_t)n;
	}
}

int trace_output_flush(struct trace_output *o)
{
	write_all(o, o->pending, o->n_pending);
	o->n_pending = 0;
	return o->error;
}

struct pb_enc *trace_sequence_begin(struct trace_sequence *s)
{
	pb_mem_reset(&s->out->packet);
	return &s->out->packet.enc;
}

void trace_sequence_end(struct trace_sequence *s)
{
	struct trace_output *o = s->out;
	uint8_t head[HEAD_SIZE], *end;
	size_t len;

	pb_enc_u64(&o->packet.enc, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, s->id);
	if (o->packet.failed && !o->error)
		o->error = -ENOMEM;
	if (o->error)
		return;
	len = pb_mem_len(&o->packet);
	head[0] = (uint8_t)pb_tag(PB_TRACE_PACKET, PB_WIRE_BYTES);
	end = pb_put_varint(head + 1, len);
	if (o->n_pending + HEAD_SIZE + len > PENDING_SIZE)
		trace_output_flush(o);
	memcpy(o->pending + o->n_pending, head, (size_t)(end - head));
	o->n_pending += (size_t)(end - head);
	if (len > PENDING_SIZE - o->n_pending) {
		trace_output_flush(o);
		write_all(o, o->packet.buf, len);
	} else {
		memcpy(o->pending + o->n_pending, o->packet.buf, len);
		o->n_pending += len;
	}
	o->packets++;
}
