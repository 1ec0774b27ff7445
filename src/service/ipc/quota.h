/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/system/log.h"

/*
 * How much each user, and all together, may make the service hold. Whoever holds something for a
 * peer (a connection, a producer, a session) has an account of that peer's user, takes from it what
 * it is about to hold and gives it back; closing the account gives back the rest. What a limit has
 * refused is counted, and told in TraceStats.
 *
 * A quarter of everything is kept for root. Of the rest a user may have a part of what the others
 * leave, and never more than per_user: whatever one user takes, each other user and root can have a
 * quarter.
 *
 * A user is a uid of this machine, or an address of another one (ipc_peer_user()).
 */

/* The numbers are those of TraceStats.Limit.Kind; the limits stand in service/ipc/limits.h. */
enum quota_kind {
	QUOTA_PRODUCERS = 1, /* connections */
	QUOTA_CONSUMERS,
	QUOTA_SESSIONS, /* clones too */
	QUOTA_CLONES, /* and those that are being made */
	QUOTA_BUFFERS,
	QUOTA_BUFFER_BYTES, /* their sizes, used or not */
	QUOTA_SMB_BYTES, /* memory shared with producers */
	QUOTA_DESCRIPTOR_BYTES, /* of registered data sources */
	QUOTA_WRITERS, /* registered: entries of tables by writer id, up to the highest */
	QUOTA_CONN_BYTES, /* begun frames, and replies that wait for their readers */
	QUOTA_CONFIG_BYTES, /* of sessions, decoded */
	QUOTA_MACHINES, /* that relays told of */
	N_QUOTAS,

	/* Limits of one peer, session or request, which has no account: what they refused is counted
	 * here all the same. */
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
	uint64_t of_root; /* of root, and of the service's own user */
};

struct quota_user; /* what one user holds */

#define QUOTA_LOG_USERS 32
#define QUOTA_NO_USER UINT64_MAX /* for messages that no single user causes */

struct quota_log_user {
	uint64_t user;
	struct log_limit limit;
};

/* Messages that users caused lately. */
struct quota_log {
	struct quota_log_user users[QUOTA_LOG_USERS];
	struct quota_log_user others;
};

#define QUOTA_TIME_USERS 32

/* How long the service has worked for requests of consumers lately. */
struct quota_time {
	struct {
		uint64_t user;
		uint64_t ns, at_ns; /* so much, as of then */
	} users[QUOTA_TIME_USERS];
};

struct quota {
	struct quota_limit limits[N_QUOTAS];
	uint64_t own_user; /* counts as root */
	uint64_t held[N_QUOTAS];
	uint64_t held_by_users[N_QUOTAS]; /* of it, not by root */
	uint64_t refused[N_REFUSED]; /* times */
	struct quota_user *users; /* owned: those that hold something */
	struct quota_log log;
	struct quota_time time;
};

struct quota_account {
	struct quota *quota; /* borrowed: it outlives us */
	uint64_t user;
	uint64_t held[N_QUOTAS];
};

/* With the limits of this machine. */
void quota_init(struct quota *q);
/* All accounts are closed. */
void quota_deinit(struct quota *q);
/* The limit of this user, whatever others hold. */
uint64_t quota_max_of_user(const struct quota *q, uint64_t user, enum quota_kind kind);
/* What a user holds now. */
uint64_t quota_of_user(const struct quota *q, uint64_t user, enum quota_kind kind);

void quota_open(struct quota_account *a, struct quota *q, uint64_t user);
/* Gives everything back. Fine on a zeroed one, and twice. */
void quota_close(struct quota_account *a);
/* to is opened, of the same quota; from is closed. */
void quota_move(struct quota_account *from, struct quota_account *to);

/* Is there room for n more? 0; -EDQUOT, counted as refused, with the sentence in e (may be NULL). */
int quota_check(const struct quota_account *a, enum quota_kind kind, uint64_t n,
		struct err_text *e);
/* The same, and takes them; -ENOMEM. */
int quota_charge(struct quota_account *a, enum quota_kind kind, uint64_t n, struct err_text *e);
/* Takes them even past the limit: for what was checked before, or must be. Where there is no memory
 * they do not count. */
void quota_charge_unchecked(struct quota_account *a, enum quota_kind kind, uint64_t n);
/* At most what is held. */
void quota_release(struct quota_account *a, enum quota_kind kind, uint64_t n);

/*
 * Writes a message that a peer of this user caused, unless the user has caused too many lately
 * (struct log_limit). The number of those that were left out is reported later.
 */
void quota_log(struct quota *q, uint64_t user, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * A user whose requests take long is served after those of other users (msgsock_set_time_slice): here it is
 * noted what a request has taken, and asked whether the user has had its share of the first turns. The
 * share is QUOTA_TIME_SHARE of all time; what was taken at once is paid back at this rate.
 */
#define QUOTA_TIME_SHARE 8 /* 1 of so many ns */
void quota_time_spend(struct quota *q, uint64_t user, uint64_t ns, uint64_t now_ns);
bool quota_time_is_left(struct quota *q, uint64_t user, uint64_t now_ns);
