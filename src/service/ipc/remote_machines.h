/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
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
	struct machine_clock client[MAX_SYNC_CLOCKS]; /* one of them is BOOTTIME */
	size_t n_client;
	struct clock_snapshot host;
	bool is_last; /* of its burst */
};

/*
 * A burst is a series of messages. The relay sends each one when the answer to the previous one has
 * arrived. Delays are never negative, so the delay of each direction is estimated by its fastest
 * message:
 *
 *	client  c1      c2      c3          there   minimum of h1 - c1, h2 - c2 ...
 *	          \   /   \   /   \          back    minimum of c2 - h1, c3 - h2 ...
 *	host       h1      h2      h3
 *
 * Both minimums include the offset of the clocks, with opposite signs. The offset cancels in their
 * sum, which is the time of the fastest round trip. The more messages a burst has, the less the
 * jitter of the network changes the result.
 */
struct clock_burst {
	struct clock_sync fastest; /* the message that took the least time */
	int64_t there_ns, back_ns;
	uint64_t begin_ns; /* BOOTTIME of the host */
	uint64_t last_host_ns; /* BOOTTIME of the host at the previous message */
	unsigned n; /* messages; 0: none yet */
};

/* Fewer messages give no offset. */
#define CLOCK_SYNC_MIN 2
/* A longer burst is cut, since the clocks drift. */
#define CLOCK_BURST_NS 10000000000ull

struct remote_machine {
	TAILQ_ENTRY(remote_machine) link;
	struct quota_account account; /* of the address that reports it */
	uint32_t id; /* machine_id of packets */
	char *name; /* owned; NULL: it has none */
	uint8_t *system_info; /* owned; a valid SystemInfo, unchanged. NULL: none */
	size_t system_info_len;
	struct clock_burst burst; /* the burst that is arriving */
	/* The result of the last complete burst: a pair of readings (the host's was made as soon as
	 * possible after the client's), and the time of the fastest round trip. */
	struct clock_sync sync;
	uint64_t round_trip_ns;
	/* The numbers (see remote_machines.last) of the last report, and of the first report after
	 * which the clock offset was known; 0: there is none yet. */
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
/* Adds readings of clocks; creates an entry for an unknown machine. Returns 0, -ENOMEM, or -EINVAL
 * if the machine's BOOTTIME is not among them. */
int remote_machines_add_sync(struct remote_machines *ms, const struct ipc_peer *relay,
			     const struct clock_sync *sync);
