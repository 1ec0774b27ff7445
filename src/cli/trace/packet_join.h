/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Puts the slices of a packet together. A packet that came in one slice is not copied. */

#define PACKET_JOIN_MAX (1u << 28) /* bytes of a packet: what the protocol can carry */

/* Zero-initialise; packet_join_deinit frees. */
struct packet_join {
	uint8_t *buf; /* owned: the slices so far */
	size_t len;
	size_t cap;
};

void packet_join_deinit(struct packet_join *j);

/*
 * Takes the next slice; ends: it is the packet's last. 1 with the whole packet (borrowed until the
 * next call), 0 when more is to come, -EFBIG or -ENOMEM.
 */
int packet_join_slice(struct packet_join *j, const uint8_t *data, size_t len, bool ends,
		      const uint8_t **ret_packet, size_t *ret_len);

/* Is a packet begun and not ended? */
static inline bool packet_join_is_inside(const struct packet_join *j)
{
	return j->len != 0;
}
