/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * Cuts the bytes of a trace, which arrive in pieces of any size, into its packets. The bytes are
 * untrusted.
 */

/* Zero-initialise; packet_stream_deinit frees. */
struct packet_stream {
	struct strbuf rest; /* the bytes of an incomplete packet */
};

/* Calls on_packet with each packet that is complete now (borrowed). Returns 0; -EBADMSG if the
 * bytes are not those of a trace; -EFBIG for a packet above the limit of the protocol; -ENOMEM; or
 * what on_packet returned, which ends the call unless it is 0. */
int packet_stream_add(struct packet_stream *s, const uint8_t *data, size_t len,
		      int (*on_packet)(void *ctx, const uint8_t *packet, size_t len), void *ctx);
/* Returns true if the trace has ended inside a packet. */
static inline bool packet_stream_is_inside(const struct packet_stream *s)
{
	return s->rest.len > 0;
}
void packet_stream_deinit(struct packet_stream *s);
