/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "service/ipc/limits.h"
#include "service/ipc/quota.h"

/*
 * Readings of all clocks at one moment, kept until a reading pass writes them: they let whoever
 * reads the trace convert between clocks.
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

/* How many clocks this machine has, and the BuiltinClock number of each. */
size_t clock_snapshot_clocks(void);
uint32_t clock_snapshot_id(size_t i);

void clock_snapshot_take(struct clock_snapshot *ret);
#define CLOCK_SNAPSHOT_BOOTTIME 0 /* index of value */
#define CLOCK_SNAPSHOT_REALTIME 3

/* Keeps now in the ring, if it says anything new: a clock has drifted against CLOCK_BOOTTIME by
 * CLOCK_SNAPSHOT_MIN_DRIFT_NS since the newest one that is kept, or none is. When the ring is full
 * the oldest one goes. */
void clock_snapshots_add(struct clock_snapshots *c, const struct clock_snapshot *now);
void clock_snapshots_clear(struct clock_snapshots *c);

struct ipc_peer;

/*
 * What relays have told of their machines: kept when they leave, for traces that are read later.
 *
 * At most MAX_MACHINES, and MAX_MACHINES_PER_ADDRESS of those that one address has told of
 * (service/ipc/limits.h). For a further one the one told of longest ago goes: of the same address if
 * that has its share, else of the address that has the most. So nobody makes the machines of others
 * forgotten who tells of less than they.
 */

struct machine_clock {
	uint32_t id; /* BuiltinClock */
	uint64_t value;
};

/* The clocks of the other machine, and ours when we heard of them. */
struct clock_sync {
	struct machine_clock client[MAX_SYNC_CLOCKS];
	size_t n_client;
	struct clock_snapshot host;
};

/* From so many on the distance of the clocks can be told. */
#define CLOCK_SYNC_MIN 2

struct remote_machine {
	TAILQ_ENTRY(remote_machine) link;
	struct quota_account account; /* of the address that told of it first */
	uint32_t id; /* machine_id of packets */
	char *name; /* owned; NULL: it has none */
	uint8_t *system_info; /* owned; a sound SystemInfo, as it came. NULL: none */
	size_t system_info_len;
	struct clock_sync syncs[MAX_CLOCK_SYNCS]; /* the oldest first */
	size_t n_syncs;
	/* When it was told, and when the clocks could be told first, in the count of
	 * remote_machines.last; 0: not yet. */
	uint64_t info_at, synced_at;
};

struct remote_machines {
	TAILQ_HEAD(, remote_machine) list; /* owned; the one told of last is last */
	size_t n;
	uint64_t last; /* things told */
	struct quota *quota; /* borrowed: it outlives us */
};

void remote_machines_init(struct remote_machines *ms, struct quota *quota);
void remote_machines_deinit(struct remote_machines *ms);

/* A relay begins: what earlier ones said of the machine does not count any more. Which machine, and
 * its name, is in relay. 0 or -ENOMEM. */
int remote_machines_begin(struct remote_machines *ms, const struct ipc_peer *relay,
			  const void *system_info, size_t len);
/* Of a machine that has not begun, or was forgotten, too. 0 or -ENOMEM. */
int remote_machines_add_sync(struct remote_machines *ms, const struct ipc_peer *relay,
			     const struct clock_sync *sync);
