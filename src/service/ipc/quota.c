/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/quota.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/system/memory_limit.h"
#include "base/text/str.h"
#include "config/limits.h"
#include "service/ipc/limits.h"

struct quota_user {
	UT_hash_handle hh;
	uint64_t user;
	uint64_t held[N_QUOTAS];
};

static const struct {
	const char *name;
	const char *remedy;
} kinds[N_QUOTAS] = {
	[QUOTA_PRODUCERS] = {"producer connections", "stop some connected programs"},
	[QUOTA_CONSUMERS] = {"consumer connections", "stop some connected programs"},
	[QUOTA_SESSIONS] = {"tracing sessions", "stop one of them"},
	[QUOTA_CLONES] = {"cloned sessions", "wait until one of the copies is complete"},
	[QUOTA_BUFFERS] = {"buffers", "request fewer, or stop other sessions"},
	[QUOTA_BUFFER_BYTES] =
		{"bytes of buffers",
		 "request smaller ones (-b, or size_kb in the config), or stop other sessions"},
	[QUOTA_SMB_BYTES] = {"bytes of shared memory", "stop some connected programs"},
	[QUOTA_DESCRIPTOR_BYTES] = {"bytes of data source descriptors",
				    "register fewer data sources"},
	[QUOTA_WRITERS] = {"writers", "stop some connected programs"},
	[QUOTA_CONN_BYTES] = {"bytes queued in connections", "stop some connected programs"},
	[QUOTA_CONFIG_BYTES] = {"bytes of configs", "stop other sessions"},
	[QUOTA_MACHINES] = {"machines reported by relays", "stop some relays"},
};

/* Returns a limit in which one user may have a quarter of `all`, but at most per_user. */
static struct quota_limit make_quota_limit(uint64_t all, uint64_t per_user)
{
	per_user = MIN(per_user, MAX(all / 4, 1u));
	return (struct quota_limit){.all = all, .per_user = per_user, .of_root = per_user};
}

/* Sets the limits of memory. memory: bytes that this process may use. */
static void set_memory_limits(struct quota *q, uint64_t memory)
{
	struct quota_limit *l = q->limits;

	l[QUOTA_BUFFER_BYTES] = make_quota_limit(memory / 4 * 3, UINT64_MAX);
	l[QUOTA_BUFFER_BYTES].of_root = l[QUOTA_BUFFER_BYTES].all;
	l[QUOTA_SMB_BYTES] = make_quota_limit(MIN(MAX_SMB_BYTES, memory / 8), UINT64_MAX);
	l[QUOTA_CONN_BYTES] = make_quota_limit(MIN(MAX_CONN_BYTES, memory / 16), UINT64_MAX);
	l[QUOTA_CONFIG_BYTES] =
		make_quota_limit(MIN(MAX_CONFIG_BYTES_ALL, memory / 32), UINT64_MAX);
	l[QUOTA_DESCRIPTOR_BYTES] =
		make_quota_limit(MIN(MAX_DESCRIPTOR_BYTES_ALL, memory / 64), UINT64_MAX);
	l[QUOTA_WRITERS] = make_quota_limit(MIN(MAX_WRITERS, memory / 256), UINT64_MAX);
}

/* Each connection needs a descriptor. OTHER_DESCRIPTORS are for files and shared memory. */
static void set_connection_limits(struct quota *q, uint64_t descriptors)
{
	uint64_t usable = descriptors - MIN(OTHER_DESCRIPTORS, descriptors / 2);

	q->limits[QUOTA_PRODUCERS] =
		make_quota_limit(MIN(MAX_PRODUCER_CONNECTIONS, usable / 16 * 15), UINT64_MAX);
	q->limits[QUOTA_CONSUMERS] =
		make_quota_limit(MIN(MAX_CONSUMER_CONNECTIONS, usable / 16), UINT64_MAX);
}

static uint64_t max_descriptors(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_NOFILE, &l) == 0 ? l.rlim_cur : 1024;
}

void quota_init(struct quota *q)
{
	*q = (struct quota){.own_user = geteuid()};
	set_connection_limits(q, max_descriptors());
	set_memory_limits(q, memory_limit());
	q->limits[QUOTA_SESSIONS] = make_quota_limit(MAX_SESSIONS, LIMIT_SESSIONS_PER_UID);
	q->limits[QUOTA_CLONES] = make_quota_limit(MAX_CLONES, UINT64_MAX);
	q->limits[QUOTA_BUFFERS] = make_quota_limit(MAX_BUFFERS, UINT64_MAX);
	q->limits[QUOTA_MACHINES] = make_quota_limit(MAX_MACHINES, UINT64_MAX);
}

void quota_deinit(struct quota *q)
{
	assert(!q->users);
}

/* ---- users ---- */

static struct quota_user *quota_find(const struct quota *q, uint64_t user)
{
	struct quota_user *u;

	HASH_FIND(hh, q->users, &user, sizeof(user), u);
	return u;
}

static struct quota_user *find_or_add(struct quota *q, uint64_t user)
{
	struct quota_user *u = quota_find(q, user);

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

static void free_quota_user_if_empty(struct quota *q, struct quota_user *u)
{
	for (size_t i = 0; i < N_QUOTAS; i++)
		if (u->held[i])
			return;
	HASH_DEL(q->users, u);
	free(u);
}

uint64_t quota_used_by_user(const struct quota *q, uint64_t user, enum quota_kind kind)
{
	const struct quota_user *u = quota_find(q, user);

	return u ? u->held[kind] : 0;
}

/* ---- accounts ---- */

void quota_open(struct quota_account *a, struct quota *q, uint64_t user)
{
	*a = (struct quota_account){.quota = q, .user = user};
}

bool quota_is_root(const struct quota *q, uint64_t user)
{
	return user == 0 || user == q->own_user;
}

uint64_t quota_max_of_user(const struct quota *q, uint64_t user, enum quota_kind kind)
{
	return quota_is_root(q, user) ? q->limits[kind].of_root : q->limits[kind].per_user;
}

/*
 *	|  for root  |  held by other users  |  for this user: half  |  for further users  |
 *	0           1/4 of all                                                            all
 *
 * As in dbus-broker, a user may hold only a part of what the others leave. So a user that takes all
 * it can get still leaves something for the next one.
 */
uint64_t quota_share(uint64_t all, uint64_t others)
{
	uint64_t left = all - all / 4;

	left -= MIN(left, others);
	return MIN(MAX(all / 4, 1u), (left + 1) / 2);
}

/* Returns how much a user may hold in total, given what others hold now. Root may hold of_root, or
 * all that the others leave if that is less: at least a quarter of all. */
static uint64_t quota_fair_share(const struct quota *q, uint64_t user, enum quota_kind kind)
{
	const struct quota_limit *limit = &q->limits[kind];
	uint64_t others = q->held[kind] - quota_used_by_user(q, user, kind);
	uint64_t share = limit->of_root;

	if (!quota_is_root(q, user))
		share = MIN(limit->per_user,
			    quota_share(limit->all, q->held_by_users[kind] -
							    quota_used_by_user(q, user, kind)));
	return MIN(share, limit->all - MIN(limit->all, others));
}

int quota_check(const struct quota_account *a, enum quota_kind kind, uint64_t n, struct err_text *e)
{
	struct quota *q = a->quota;
	const struct quota_limit *limit = &q->limits[kind];
	uint64_t of_user = quota_used_by_user(q, a->user, kind);
	uint64_t share = quota_fair_share(q, a->user, kind);
	uint64_t own = quota_max_of_user(q, a->user, kind);

	if (n <= share && of_user <= share - n)
		return 0;
	q->refused[kind]++;
	if (n > own || of_user > own - n)
		return err_set(e, -EDQUOT,
			       "the user already has %" PRIu64 " %s and requests %" PRIu64
			       " more; the limit per user is %" PRIu64 ": %s",
			       of_user, kinds[kind].name, n, own, kinds[kind].remedy);
	return err_set(e, -EDQUOT,
		       "not enough %s: this user has %" PRIu64 " and requests %" PRIu64
		       " more, but its share is now %" PRIu64 " (limit for all users: %" PRIu64
		       ", in use: %" PRIu64 "): %s",
		       kinds[kind].name, of_user, n, share, limit->all, q->held[kind],
		       kinds[kind].remedy);
}

static int quota_add(struct quota_account *a, enum quota_kind kind, uint64_t n)
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
	if (!quota_is_root(a->quota, a->user))
		a->quota->held_by_users[kind] += n;
	return 0;
}

int quota_charge(struct quota_account *a, enum quota_kind kind, uint64_t n, struct err_text *e)
{
	int r = quota_check(a, kind, n, e);

	if (r == 0 && quota_add(a, kind, n) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

void quota_charge_unchecked(struct quota_account *a, enum quota_kind kind, uint64_t n)
{
	(void)quota_add(a, kind, n);
}

void quota_release(struct quota_account *a, enum quota_kind kind, uint64_t n)
{
	struct quota_user *u = a->quota ? quota_find(a->quota, a->user) : NULL;

	n = MIN(n, a->held[kind]);
	if (!u || n == 0)
		return;
	u->held[kind] -= n;
	a->held[kind] -= n;
	a->quota->held[kind] -= n;
	if (!quota_is_root(a->quota, a->user))
		a->quota->held_by_users[kind] -= n;
	free_quota_user_if_empty(a->quota, u);
}

void quota_close(struct quota_account *a)
{
	for (size_t i = 0; i < N_QUOTAS; i++)
		quota_release(a, (enum quota_kind)i, a->held[i]);
}

void quota_move_charges(struct quota_account *from, struct quota_account *to)
{
	for (size_t i = 0; i < N_QUOTAS; i++) {
		uint64_t n = from->held[i];

		quota_release(from, (enum quota_kind)i, n);
		quota_charge_unchecked(to, (enum quota_kind)i, n);
	}
}

/*
 * A table of the users that caused messages lately. Users without an entry in the table share one
 * limit, so the number of lines per period is bounded. The number of suppressed messages of a user
 * is logged before the next message after the period, which any user may cause.
 */

static void report_suppressed_messages(struct quota_log_user *u)
{
	char count[STR_COUNT_SIZE];
	uint32_t n = u->limit.dropped;

	if (n == 0 || !log_limit_is_over(&u->limit))
		return;
	u->limit = (struct log_limit){0};
	if (u->user <= UINT32_MAX)
		log_warn("suppressed %s about peers of uid %" PRIu64,
			 str_count(n, "message", count), u->user);
	else
		log_warn("suppressed %s about other peers", str_count(n, "message", count));
}

/* Returns the entry of the user. If there is none, assigns a free one to the user, or returns the
 * one that all further users share. */
static struct quota_log_user *find_or_assign_log_entry(struct quota_log *l, uint64_t user)
{
	struct quota_log_user *unused = NULL;

	for (size_t i = 0; i < QUOTA_LOG_USERS; i++) {
		struct quota_log_user *u = &l->users[i];

		if (log_limit_is_over(&u->limit))
			unused = u;
		else if (u->user == user)
			return u;
	}
	if (!unused)
		return &l->others;
	*unused = (struct quota_log_user){.user = user};
	return unused;
}

void quota_log(struct quota *q, uint64_t user, enum log_level level, const char *fmt, ...)
{
	struct quota_log *l = &q->log;
	va_list ap;

	for (size_t i = 0; i < QUOTA_LOG_USERS; i++)
		report_suppressed_messages(&l->users[i]);
	l->others.user = QUOTA_NO_USER;
	report_suppressed_messages(&l->others);
	va_start(ap, fmt);
	log_write_limited_va(&find_or_assign_log_entry(l, user)->limit, level, fmt, ap);
	va_end(ap);
}
