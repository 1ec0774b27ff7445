/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "service/ipc/limits.h"
#include "service/ipc/quota.h"

/*
 * Readings of all clocks at one moment, kept until they are written into the trace. Readers of the
 * trace convert between clocks with them.
 */

/* BOOTTIME, REALTIME_COARSE, MONOTONIC_COARSE, REALTIME, MONOTONIC, MONOTONIC_RAW, and the TSC
 * where there is one. */
#define CLOCK_SNAPSHOT_MAX_CLOCKS 7
#define CLOCK_SNAPSHOT_RING 16
#define CLOCK_SNAPSHOT_MIN_DRIFT_NS 10000000u

struct clock_snapshot {
	uint64_t value[CLOCK_SNAPSHOT_MAX_CLOCKS]; /* in the order above; ns, the TSC in ticks */
};

struct clock_snapshots {
	bool has_initial;
	struct clock_snapshot initial; /* of the session's start */
	struct clock_snapshot ring[CLOCK_SNAPSHOT_RING]; /* the oldest first */
	size_t n;
};

/* Returns the number of clocks of this machine, and the BuiltinClock id of clock i. */
size_t clock_snapshot_clocks(void);
uint32_t clock_snapshot_id(size_t i);

void clock_snapshot_take(struct clock_snapshot *ret);
#define CLOCK_SNAPSHOT_BOOTTIME 0 /* index of value */
#define CLOCK_SNAPSHOT_REALTIME 3

/* Adds a snapshot to the ring if a clock has drifted against CLOCK_BOOTTIME by
 * CLOCK_SNAPSHOT_MIN_DRIFT_NS since the newest one (of the ring, else the initial one), or if there
 * is none. A full ring drops its oldest one. */
void clock_snapshots_add(struct clock_snapshots *c, const struct clock_snapshot *now);
void clock_snapshots_clear(struct clock_snapshots *c);

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
	/* Times of the last report, and of the first one that gave the clock offset, in the
	 * count of remote_machines.last; 0: not yet. */
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

/* A relay begins: replaces earlier reports of the machine from the same address. relay has the machine's id and name.
 * Returns 0 or -ENOMEM. */
int remote_machines_begin(struct remote_machines *ms, const struct ipc_peer *relay,
			  const void *system_info, size_t len);
/* Adds readings of clocks; creates an entry for an unknown machine. Returns 0 or -ENOMEM. */
int remote_machines_add_sync(struct remote_machines *ms, const struct ipc_peer *relay,
			     const struct clock_sync *sync);
