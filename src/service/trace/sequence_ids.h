/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The trusted_packet_sequence_id of each writer of a session: 2, 3, 4 ... in the order of the first
 * packets. 1 is the service itself.
 */
struct sequence_ids {
	struct sequence_slot *slots; /* owned; n_slots is 0 or a power of two */
	size_t n_slots;
	uint32_t last; /* the last id allocated; 0: none yet */
};

#define SEQUENCE_ID_SERVICE 1

/* `to` must be empty. Returns 0 or -ENOMEM. deinit may be called in both cases. */
int sequence_ids_copy(const struct sequence_ids *from, struct sequence_ids *to);
void sequence_ids_deinit(struct sequence_ids *s);
/* Returns true if there are MAX_SEQUENCES. */
bool sequence_ids_full(const struct sequence_ids *s);
/* Returns the id of a writer, or 0 if there are MAX_SEQUENCES (service/ipc/limits.h) or memory is
 * out. producer_id is not 0. */
uint32_t sequence_ids_get(struct sequence_ids *s, uint16_t producer_id, uint16_t writer_id);
