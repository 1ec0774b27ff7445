/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/system/log.h"

/*
 * Limits of the resources that each user, and all users together, may use in the service. Each
 * object of a peer (a connection, a producer, a session) has an account of the peer's user. The
 * object charges the account before it allocates, and releases the charge afterwards; closing the
 * account releases the rest. TraceStats reports the number of refusals.
 *
 * A quarter of each resource is reserved for root. Another user gets at most per_user, and only a
 * half of what the others leave. So there is always something left for a further user.
 *
 * A user is a uid of this machine, or an address of another one (ipc_peer_user()).
 */

/* The numbers are those of TraceStats.Limit.Kind; the limits are in service/ipc/limits.h. */
enum quota_kind {
	QUOTA_PRODUCERS = 1, /* connections */
	QUOTA_CONSUMERS,
	QUOTA_SESSIONS, /* including clones */
	QUOTA_CLONES, /* including incomplete ones */
	QUOTA_BUFFERS,
	QUOTA_BUFFER_BYTES, /* their sizes, used or not */
	QUOTA_SMB_BYTES, /* memory shared with producers */
	QUOTA_DESCRIPTOR_BYTES, /* of registered data sources */
	QUOTA_WRITERS, /* entries of the producers' tables of registered writers */
	QUOTA_CONN_BYTES, /* incomplete frames and queued replies */
	QUOTA_CONFIG_BYTES, /* of sessions, decoded */
	QUOTA_MACHINES, /* reported by relays */
	N_QUOTAS,

	/* Limits of one peer, session or request, without an account: only refusals are counted. */
	REFUSED_REMOTE_PRODUCERS = N_QUOTAS,
	REFUSED_PRODUCERS_OF_ADDRESS,
	REFUSED_SOURCES_OF_PRODUCER,
	REFUSED_DESCRIPTORS_OF_PRODUCER,
	REFUSED_TRIGGER_NAMES,
	REFUSED_RELAY_REQUESTS,
	REFUSED_CONFIGS,
	REFUSED_INSTANCES,
	REFUSED_SEQUENCES,
	REFUSED_RECEIVED_TRIGGERS,
	REFUSED_DUE_TRIGGERS,
	REFUSED_TRIGGER_HITS,
	REFUSED_CONCURRENT_EVENTS,
	REFUSED_FLUSHES,
	REFUSED_FILE_PARTS,
	REFUSED_CONFIG_BUFFERS,
	REFUSED_CONFIG_SOURCES,
	REFUSED_SOURCE_BYTES,
	REFUSED_CONFIG_REGEXES,
	REFUSED_CONFIG_TRIGGERS,
	REFUSED_CONFIG_SEMAPHORES,
	REFUSED_FILTER_RULES,
	N_REFUSED
};

struct quota_limit {
	uint64_t all, per_user;
	uint64_t of_root; /* limit of root and of the service's own user */
};

struct quota_user; /* what one user holds */

#define QUOTA_LOG_USERS 32
#define QUOTA_NO_USER UINT64_MAX /* the user of messages that no single user causes */

struct quota_log_user {
	uint64_t user;
	struct log_limit limit;
};

/* Recent messages by the user that caused them. */
struct quota_log {
	struct quota_log_user users[QUOTA_LOG_USERS];
	struct quota_log_user others;
};

struct quota {
	struct quota_limit limits[N_QUOTAS];
	uint64_t own_user; /* counts as root */
	uint64_t held[N_QUOTAS];
	uint64_t held_by_users[N_QUOTAS]; /* the part that is not root's */
	uint64_t refused[N_REFUSED]; /* number of refusals */
	struct quota_user *users; /* owned: all users that hold something */
	struct quota_log log;
	uint64_t producers_ns; /* the service's time for producers that are not root's */
};

struct quota_account {
	struct quota *quota; /* borrowed: it outlives us */
	uint64_t user;
	uint64_t held[N_QUOTAS];
};

void quota_init(struct quota *q); /* sets the limits of this machine */
void quota_deinit(struct quota *q); /* all accounts must be closed */
/* Returns true for root and the service's own user, which may use the part that is reserved
 * for root. */
bool quota_is_root(const struct quota *q, uint64_t user);
/* Returns the limit of a user if others hold nothing. */
uint64_t quota_max_of_user(const struct quota *q, uint64_t user, enum quota_kind kind);
/* Returns how much of `all` a user that is not root may hold, given what the other users that are
 * not root hold. */
uint64_t quota_share(uint64_t all, uint64_t others);
/* Returns the amount that a user holds. */
uint64_t quota_used_by_user(const struct quota *q, uint64_t user, enum quota_kind kind);

/* Initialises the account of a user, without charges. q is borrowed. */
void quota_open(struct quota_account *a, struct quota *q, uint64_t user);
/* Releases everything. May be called on zeroed memory and twice. */
void quota_close(struct quota_account *a);
/* Moves all charges. to must be open, with the same quota; from is closed. */
void quota_move_charges(struct quota_account *from, struct quota_account *to);

/* Returns 0 if n more may be charged, else counts the refusal, sets e (may be NULL) and returns
 * -EDQUOT. */
int quota_check(const struct quota_account *a, enum quota_kind kind, uint64_t n,
		struct err_text *e);
/* Checks and charges n. Returns 0, -EDQUOT as quota_check(), or -ENOMEM. */
int quota_charge(struct quota_account *a, enum quota_kind kind, uint64_t n, struct err_text *e);
/* Charges n without a check: after quota_check(), or where refusal is impossible. Without memory
 * the charge is dropped. */
void quota_charge_unchecked(struct quota_account *a, enum quota_kind kind, uint64_t n);
/* Releases n, at most what the account holds. */
void quota_release(struct quota_account *a, enum quota_kind kind, uint64_t n);

/* Writes a message that a peer of this user caused, unless the user has caused too many lately
 * (struct log_limit). The number of suppressed messages is reported later. */
void quota_log(struct quota *q, uint64_t user, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
