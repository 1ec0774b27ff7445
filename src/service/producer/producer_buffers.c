/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers that a producer may write to, and its writers. A writer that is registered has one
 * buffer, to which all its chunks go, also those that are scraped.
 */
#include "service/producer/producer_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "service/buffer/trace_buffer.h"

/* ---- grants ---- */

int producer_buffers_grant(struct producer_port *p, uint16_t buffer_id, struct trace_buffer *buffer)
{
	if (producer_buffers_find(p, buffer_id))
		return 0;
	if (array_reserve(&p->grants, &p->grants_cap, p->n_grants + 1, sizeof(*p->grants)) < 0)
		return -ENOMEM;
	p->grants[p->n_grants++] = (struct buffer_grant){.buffer_id = buffer_id, .buffer = buffer};
	return 0;
}

void producer_buffers_regrant(struct producer_port *p, uint16_t buffer_id,
			      struct trace_buffer *buffer)
{
	for (size_t i = 0; i < p->n_grants; i++)
		if (p->grants[i].buffer_id == buffer_id)
			p->grants[i].buffer = buffer;
}

void producer_buffers_revoke(struct producer_port *p, uint16_t buffer_id)
{
	for (size_t i = 0; i < p->n_grants; i++)
		if (p->grants[i].buffer_id == buffer_id) {
			p->grants[i] = p->grants[--p->n_grants];
			return;
		}
}

struct trace_buffer *producer_buffers_find(const struct producer_port *p, uint32_t buffer_id)
{
	for (size_t i = 0; i < p->n_grants; i++)
		if (p->grants[i].buffer_id == buffer_id)
			return p->grants[i].buffer;
	return NULL;
}

/* ---- writers ---- */

int producer_buffers_add_writer(struct producer_port *p, uint16_t writer_id, uint16_t buffer_id)
{
	size_t n = p->n_writers ? p->n_writers : 16;

	if (writer_id >= p->n_writers) {
		uint16_t *grown;
		int r;

		while (n <= writer_id)
			n *= 2;
		r = quota_charge(&p->account, QUOTA_WRITERS, n - p->n_writers, NULL);
		if (r < 0)
			return r;
		grown = realloc(p->writer_buffers, n * sizeof(*grown));
		if (!grown) {
			quota_release(&p->account, QUOTA_WRITERS, n - p->n_writers);
			return -ENOMEM;
		}
		memset(grown + p->n_writers, 0, (n - p->n_writers) * sizeof(*grown));
		p->writer_buffers = grown;
		p->n_writers = n;
	}
	p->writer_buffers[writer_id] = buffer_id;
	return 0;
}

uint16_t producer_buffers_registered_id(const struct producer_port *p, uint16_t writer_id)
{
	return writer_id < p->n_writers ? p->writer_buffers[writer_id] : 0;
}

void producer_buffers_end_writer(struct producer_port *p, uint16_t writer_id)
{
	struct trace_buffer *b = producer_buffers_find(p, p->writer_buffers[writer_id]);

	if (b)
		trace_buffer_end_writer(b, p->id, writer_id);
	p->writer_buffers[writer_id] = 0;
}

struct trace_buffer_writer producer_buffers_identity(const struct producer_port *p,
						     uint16_t writer_id)
{
	return (struct trace_buffer_writer){.producer_id = p->id,
					    .writer_id = writer_id,
					    .uid = p->peer->uid,
					    .pid = p->peer->pid,
					    .machine_id = p->peer->machine_id};
}

void producer_buffers_deinit(struct producer_port *p)
{
	free(p->grants);
	free(p->writer_buffers);
}
