/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/buffer/trace_packet.h"
#include "service/ipc/quota.h"

/*
 * The trusted_packet_sequence_id of each writer of a session: 2, 3, 4 ... in the order of the first
 * packets. 1 is the service itself.
 *
 * There are MAX_SEQUENCES (service/ipc/limits.h). A quarter is reserved for root, and another user
 * gets at most quota_share(). All writers of other machines count as one user, because their uids
 * are not trusted.
 */
struct sequence_ids {
	struct sequence_slot *slots; /* owned; n_slots is 0 or a power of two */
	size_t n_slots;
	uint32_t last; /* the last id allocated; 0: none yet */
	/* The users that are not root, and how many ids each has. */
	struct sequence_user *users; /* owned; n_user_slots is 0 or a power of two */
	size_t n_user_slots, n_users;
	uint32_t of_users; /* ids of all these users together */
};

#define SEQUENCE_ID_SERVICE 1

/* Copies the ids to `to`, which must be empty. Returns 0 or -ENOMEM. deinit may be called in both
 * cases. */
int sequence_ids_copy(const struct sequence_ids *from, struct sequence_ids *to);
void sequence_ids_deinit(struct sequence_ids *s);
/* Sets *ret to the id of a writer. Returns 0, -EDQUOT (the writer is a new one, and its user has no
 * share left) or -ENOMEM. */
int sequence_ids_get_or_add(struct sequence_ids *s, const struct quota *q,
			    const struct trace_buffer_writer *writer, uint32_t *ret);
