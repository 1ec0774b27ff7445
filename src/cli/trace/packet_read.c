// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/packet_read.h"

#include <errno.h>

#include "client/transport/consumer.h"

static void end(struct packet_read *r, int error)
{
	r->over = true;
	r->ops->on_end(r->ctx, error); /* which may free it */
}

static void on_slice(void *ctx, int error, const uint8_t *data, size_t len, bool ends, bool last)
{
	struct packet_read *r = ctx;
	const uint8_t *packet;
	size_t packet_len;
	int n;

	if (r->over)
		return;
	if (error || last) {
		end(r, !error && packet_join_is_inside(&r->join) ? -EPROTO : error);
		return;
	}
	r->ops->on_sign(r->ctx);
	n = packet_join_slice(&r->join, data, len, ends, &packet, &packet_len);
	if (n > 0)
		n = r->ops->on_packet(r->ctx, packet, packet_len);
	if (n < 0)
		end(r, n);
}

int packet_read_start(struct packet_read *r, struct consumer *consumer,
		      const struct packet_read_ops *ops, void *ctx)
{
	r->ops = ops;
	r->ctx = ctx;
	r->over = false;
	return consumer_read(consumer, on_slice, r);
}

void packet_read_deinit(struct packet_read *r)
{
	packet_join_deinit(&r->join);
}
