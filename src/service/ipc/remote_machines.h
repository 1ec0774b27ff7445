/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "service/ipc/clock_snapshots.h"
#include "service/ipc/limits.h"
#include "service/ipc/quota.h"

struct ipc_peer;

/*
 * The machines that relays have reported. Entries stay after a relay disconnects, for traces that
 * are read later.
 *
 * There are at most MAX_MACHINES, and MAX_MACHINES_PER_ADDRESS of one address
 * (service/ipc/limits.h). A further machine replaces the one that was reported longest ago: of the
 * same address if that is at its limit, else of the address with the most machines. So an address
 * cannot displace machines of an address that has reported fewer.
 */

struct machine_clock {
	uint32_t id; /* BuiltinClock */
	uint64_t value;
};

/* The clocks of the other machine, and of this one when they were received. */
struct clock_sync {
	struct machine_clock client[MAX_SYNC_CLOCKS];
	size_t n_client;
	struct clock_snapshot host;
};

/* Number of samples from which the offset of the clocks is computed. */
#define CLOCK_SYNC_MIN 2

struct remote_machine {
	TAILQ_ENTRY(remote_machine) link;
	struct quota_account account; /* of the address that reports it */
	uint32_t id; /* machine_id of packets */
	char *name; /* owned; NULL: it has none */
	uint8_t *system_info; /* owned; a valid SystemInfo, unchanged. NULL: none */
	size_t system_info_len;
	struct clock_sync syncs[MAX_CLOCK_SYNCS]; /* the oldest first */
	size_t n_syncs;
	/* Numbers, counted by remote_machines.last, of the last report and of the first one that
	 * gave the clock offset; 0: none yet. */
	uint64_t info_at, synced_at;
};

struct remote_machines {
	TAILQ_HEAD(, remote_machine) list; /* owned; the one reported last is last */
	size_t n;
	uint64_t last; /* number of reports */
	struct quota *quota; /* borrowed: it outlives us */
};

void remote_machines_init(struct remote_machines *ms, struct quota *quota);
void remote_machines_deinit(struct remote_machines *ms);

/* Call when a relay begins. Sets the name and the system info of its machine; `relay` has the
 * machine's id and name. Drops the clocks that the same address reported for it before. Returns 0
 * or -ENOMEM. */
int remote_machines_set_info(struct remote_machines *ms, const struct ipc_peer *relay,
			     const void *system_info, size_t len);
/* Adds readings of clocks; creates an entry for an unknown machine. Returns 0 or -ENOMEM. */
int remote_machines_add_sync(struct remote_machines *ms, const struct ipc_peer *relay,
			     const struct clock_sync *sync);
