/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "ftrace/events/ftrace_config.h"

/*
 * The kernel allocates rings down to the last page. Without a limit a config with a digit too many
 * would make all other processes wait for memory, or be killed, and one user could take the memory
 * for the rings of all users. So the rings of all sessions of this process together may take a
 * part of the machine's memory, and users other than root a part of that. In sixteenths of it:
 *
 *	all sessions					4
 *	all consumers other than root			3
 *	one of these users (or the unknown ones)	2
 *
 * Each session may have rings of RING_SHARE_LEAST_KB, even beyond the limits.
 */
#define RING_SHARE_LEAST_KB 2048u

struct ring_share {
	LIST_ENTRY(ring_share) link;
	uint32_t uid; /* see ds_consumer_uid */
	uint64_t bytes; /* of all rings of the session; 0: none is taken */
};

/*
 * Reserves memory for a session's rings, one for each CPU of the machine, until
 * ring_share_release(). Reduces *kb (of each ring) to what is left for the user, and reports that.
 */
void ring_share_reserve(struct ring_share *s, uint32_t uid, const struct ftrace_machine *machine,
			uint32_t *kb, struct setup_errors *errors);
/* Releases the reservation. No-op if there is none. */
void ring_share_release(struct ring_share *s);
