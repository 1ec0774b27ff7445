/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/packet_join.h"

struct consumer;

/* Reads the session of a consumer, packet by packet. */

struct packet_read_ops {
	/* Something came, maybe a part of a packet. */
	void (*on_sign)(void *ctx);
	/* A whole packet, borrowed during the call. Anything but 0 ends the reading with it. */
	int (*on_packet)(void *ctx, const uint8_t *data, size_t len);
	/* The last call. 0: all of it was read; else -errno, -EPROTO where a packet has no end. */
	void (*on_end)(void *ctx, int error);
};

/* Embedded by its owner; zero-initialise, packet_read_deinit frees. */
struct packet_read {
	const struct packet_read_ops *ops; /* borrowed from the owner */
	void *ctx;
	struct packet_join join;
	bool over;
};

/* One after the other. 0, or as consumer_read has it, when nothing is called. */
int packet_read_start(struct packet_read *r, struct consumer *consumer,
		      const struct packet_read_ops *ops, void *ctx);
/* The consumer is gone before. */
void packet_read_deinit(struct packet_read *r);
