/* SPDX-License-Identifier: Apache-2.0 */
#include "service/quota.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/mem.h"
#include "config/limits.h"
#include "service/limits.h"

struct quota_user {
	UT_hash_handle hh;
	uint64_t user;
	uint64_t held[N_QUOTAS];
};

static const char *const names[N_QUOTAS] = {
	[QUOTA_PRODUCERS] = "connections of producers",
	[QUOTA_CONSUMERS] = "connections of consumers",
	[QUOTA_SESSIONS] = "tracing sessions",
	[QUOTA_CLONES] = "cloned sessions",
	[QUOTA_BUFFERS] = "buffers",
	[QUOTA_BUFFER_BYTES] = "bytes of buffers",
	[QUOTA_SMB_BYTES] = "bytes of shared memory",
	[QUOTA_DESCRIPTOR_BYTES] = "bytes of descriptors",
	[QUOTA_WRITERS] = "writers",
	[QUOTA_CONN_BYTES] = "bytes that wait in connections",
	[QUOTA_CONFIG_BYTES] = "bytes of configs",
	[QUOTA_MACHINES] = "machines that relays told of",
};

static uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

void quota_init(struct quota *q)
{
	uint64_t memory = machine_memory();

	*q = (struct quota){
		.limits = {
			[QUOTA_PRODUCERS] = {MAX_PRODUCER_CONNECTIONS,
					     MAX_PRODUCER_CONNECTIONS_PER_USER},
			[QUOTA_CONSUMERS] = {MAX_CONSUMER_CONNECTIONS,
					     MAX_CONSUMER_CONNECTIONS_PER_USER},
			[QUOTA_SESSIONS] = {LIMIT_SESSIONS, LIMIT_SESSIONS_PER_UID},
			[QUOTA_CLONES] = {MAX_CLONES, MAX_CLONES_PER_USER},
			[QUOTA_BUFFERS] = {MAX_BUFFERS, MAX_BUFFERS_PER_USER},
			[QUOTA_BUFFER_BYTES] = {MAX(memory, MAX_BUFFER_BYTES_LEAST),
						MAX(memory / 4 * 3,
						    MAX_BUFFER_BYTES_PER_USER_LEAST)},
			[QUOTA_SMB_BYTES] = {MAX_SMB_BYTES, MAX_SMB_BYTES_PER_USER},
			[QUOTA_DESCRIPTOR_BYTES] = {MAX_DESCRIPTOR_BYTES_ALL,
						    MAX_DESCRIPTOR_BYTES_PER_USER},
			[QUOTA_WRITERS] = {MAX_WRITERS, MAX_WRITERS_PER_USER},
			[QUOTA_CONN_BYTES] = {MAX_CONN_BYTES, MAX_CONN_BYTES_PER_USER},
			[QUOTA_CONFIG_BYTES] = {MAX_CONFIG_BYTES_ALL, MAX_CONFIG_BYTES_PER_USER},
			[QUOTA_MACHINES] = {MAX_MACHINES, MAX_MACHINES_PER_ADDRESS},
		}};
}

void quota_deinit(struct quota *q)
{
	assert(!q->users);
}

/* ---- users ---- */

static struct quota_user *find(const struct quota *q, uint64_t user)
{
	struct quota_user *u;

	HASH_FIND(hh, q->users, &user, sizeof(user), u);
	return u;
}

static struct quota_user *find_or_add(struct quota *q, uint64_t user)
{
	struct quota_user *u = find(q, user);

	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->user = user;
	HASH_ADD(hh, q->users, user, sizeof(u->user), u);
	if (!u->hh.tbl)
		free(TAKE_PTR(u));
	return u;
}

static void forget_if_empty(struct quota *q, struct quota_user *u)
{
	for (size_t i = 0; i < N_QUOTAS; i++)
		if (u->held[i])
			return;
	HASH_DEL(q->users, u);
	free(u);
}

uint64_t quota_of_user(const struct quota *q, uint64_t user, enum quota_kind kind)
{
	const struct quota_user *u = find(q, user);

	return u ? u->held[kind] : 0;
}

/* ---- accounts ---- */

void quota_open(struct quota_account *a, struct quota *q, uint64_t user)
{
	*a = (struct quota_account){.quota = q, .user = user};
}

int quota_check(const struct quota_account *a, enum quota_kind kind, uint64_t n, struct err_text *e)
{
	struct quota *q = a->quota;
	const struct quota_limit *limit = &q->limits[kind];
	uint64_t of_user = quota_of_user(q, a->user, kind);

	if (n > limit->per_user || of_user > limit->per_user - n) {
		q->refused[kind]++;
		return err_set(e, -EDQUOT,
			       "the user has %" PRIu64 " %s already; %" PRIu64
			       " is the limit of a user",
			       of_user, names[kind], limit->per_user);
	}
	if (n > limit->all || q->held[kind] > limit->all - n) {
		q->refused[kind]++;
		return err_set(e, -EDQUOT,
			       "there are %" PRIu64 " %s already; %" PRIu64
			       " is the limit of all users",
			       q->held[kind], names[kind], limit->all);
	}
	return 0;
}

static int add(struct quota_account *a, enum quota_kind kind, uint64_t n)
{
	struct quota_user *u;

	if (n == 0)
		return 0;
	u = find_or_add(a->quota, a->user);
	if (!u)
		return -ENOMEM;
	u->held[kind] += n;
	a->held[kind] += n;
	a->quota->held[kind] += n;
	return 0;
}

int quota_take(struct quota_account *a, enum quota_kind kind, uint64_t n, struct err_text *e)
{
	int r = quota_check(a, kind, n, e);

	if (r == 0 && add(a, kind, n) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

void quota_hold(struct quota_account *a, enum quota_kind kind, uint64_t n)
{
	(void)add(a, kind, n);
}

void quota_give(struct quota_account *a, enum quota_kind kind, uint64_t n)
{
	struct quota_user *u = a->quota ? find(a->quota, a->user) : NULL;

	n = MIN(n, a->held[kind]);
	if (!u || n == 0)
		return;
	u->held[kind] -= n;
	a->held[kind] -= n;
	a->quota->held[kind] -= n;
	forget_if_empty(a->quota, u);
}

void quota_close(struct quota_account *a)
{
	for (size_t i = 0; i < N_QUOTAS; i++)
		quota_give(a, (enum quota_kind)i, a->held[i]);
}

void quota_move(struct quota_account *from, struct quota_account *to)
{
	for (size_t i = 0; i < N_QUOTAS; i++) {
		uint64_t n = from->held[i];

		quota_give(from, (enum quota_kind)i, n);
		quota_hold(to, (enum quota_kind)i, n);
	}
}
