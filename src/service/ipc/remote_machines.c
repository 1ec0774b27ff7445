/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/remote_machines.h"

#include <string.h>
#include <errno.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "common/builtin_clock.pb-c.h"
#include "service/ipc/ipc_peer.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* The clocks in the order of reading: the reference first, then those that take the least time. */
static const struct {
	uint32_t id; /* BuiltinClock */
	clockid_t clock;
} clocks[] = {
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME, CLOCK_BOOTTIME},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME_COARSE, CLOCK_REALTIME_COARSE},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_COARSE},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME, CLOCK_REALTIME},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW},
};
#define TSC ARRAY_SIZE(clocks) /* index of value */
_Static_assert(TSC + 1 == CLOCK_SNAPSHOT_MAX_CLOCKS, "room for all");

#if defined(__x86_64__)
#define HAS_TSC 1
static uint64_t read_tsc(void)
{
	return __rdtsc();
}
#else
#define HAS_TSC 0
static uint64_t read_tsc(void)
{
	return 0;
}
#endif

size_t clock_snapshot_clocks(void)
{
	return TSC + HAS_TSC;
}

uint32_t clock_snapshot_id(size_t i)
{
	return i < TSC ? clocks[i].id : PB__BUILTIN_CLOCK__BUILTIN_CLOCK_TSC;
}

void clock_snapshot_take(struct clock_snapshot *ret)
{
	for (size_t i = 0; i < TSC; i++)
		ret->value[i] = clock_ns(clocks[i].clock);
	ret->value[TSC] = read_tsc();
}

/* Ignores the TSC, which does not count nanoseconds. */
static bool has_drifted(const struct clock_snapshot *old, const struct clock_snapshot *now)
{
	uint64_t boot = now->value[CLOCK_SNAPSHOT_BOOTTIME] - old->value[CLOCK_SNAPSHOT_BOOTTIME];

	for (size_t i = 0; i < TSC; i++) {
		int64_t drift = (int64_t)(now->value[i] - old->value[i] - boot);

		if (drift >= (int64_t)CLOCK_SNAPSHOT_MIN_DRIFT_NS ||
		    drift <= -(int64_t)CLOCK_SNAPSHOT_MIN_DRIFT_NS)
			return true;
	}
	return false;
}

void clock_snapshots_add(struct clock_snapshots *c, const struct clock_snapshot *now)
{
	const struct clock_snapshot *newest = c->n > 0	       ? &c->ring[c->n - 1]
					      : c->has_initial ? &c->initial
							       : NULL;

	if (newest && !has_drifted(newest, now))
		return;
	if (c->n == CLOCK_SNAPSHOT_RING)
		memmove(&c->ring[0], &c->ring[1], --c->n * sizeof(c->ring[0]));
	c->ring[c->n++] = *now;
}

void clock_snapshots_clear(struct clock_snapshots *c)
{
	c->has_initial = false;
	c->n = 0;
}

static void machine_free(struct remote_machine *m)
{
	quota_close(&m->account);
	free(m->name);
	free(m->system_info);
	free(m);
}

static void remote_machines_forget(struct remote_machines *ms, struct remote_machine *m)
{
	TAILQ_REMOVE(&ms->list, m, link);
	ms->n--;
	machine_free(m);
}

/* ---- room for one more ---- */

/* Returns the user's machine with the oldest report. The user must have a machine. */
static struct remote_machine *oldest_of(const struct remote_machines *ms, uint64_t user)
{
	struct remote_machine *m;

	TAILQ_FOREACH (m, &ms->list, link)
		if (m->account.user == user)
			break;
	return m;
}

static uint64_t count_of(const struct remote_machines *ms, uint64_t user)
{
	return quota_of_user(ms->quota, user, QUOTA_MACHINES);
}

/* Returns the user with the most machines; of several, the one whose machine was reported longest
 * ago. */
static uint64_t user_with_most(const struct remote_machines *ms)
{
	const struct remote_machine *m, *most = TAILQ_FIRST(&ms->list);

	TAILQ_FOREACH (m, &ms->list, link)
		if (count_of(ms, m->account.user) > count_of(ms, most->account.user))
			most = m;
	return most->account.user;
}

/* Charges the account for a machine, and forgets older machines until the quota allows that.
 * Returns 0 or -ENOMEM. */
static int remote_machines_make_room(struct remote_machines *ms, struct quota_account *account)
{
	int r;

	while ((r = quota_charge(account, QUOTA_MACHINES, 1, NULL)) == -EDQUOT) {
		bool has_its_share = count_of(ms, account->user) >= MAX_MACHINES_PER_ADDRESS;

		remote_machines_forget(
			ms, oldest_of(ms, has_its_share ? account->user : user_with_most(ms)));
	}
	return r;
}

/* ---- reports of relays ---- */

/* Returns the relay's machine, which is created if it is new, and moves it to the end of the list.
 * Returns NULL if memory is out. */
static struct remote_machine *find_or_add(struct remote_machines *ms, const struct ipc_peer *relay)
{
	uint64_t user = ipc_peer_user(relay);
	struct remote_machine *m;

	TAILQ_FOREACH (m, &ms->list, link)
		if (m->id == relay->machine_id && m->account.user == user)
			break;
	if (m) {
		TAILQ_REMOVE(&ms->list, m, link);
	} else {
		m = calloc(1, sizeof(*m));
		if (!m)
			return NULL;
		m->id = relay->machine_id;
		quota_open(&m->account, ms->quota, user);
		if (remote_machines_make_room(ms, &m->account) < 0) {
			free(m);
			return NULL;
		}
		ms->n++;
	}
	TAILQ_INSERT_TAIL(&ms->list, m, link);
	return m;
}

int remote_machines_begin(struct remote_machines *ms, const struct ipc_peer *relay,
			  const void *system_info, size_t len)
{
	const char *name = relay->machine_name;
	_cleanup_(freep) uint8_t *info = malloc(len ? len : 1);
	_cleanup_(freep) char *own_name = name ? strdup(name) : NULL;
	struct remote_machine *m;

	if (!info || (name && !own_name))
		return -ENOMEM;
	m = find_or_add(ms, relay);
	if (!m)
		return -ENOMEM;
	if (len)
		memcpy(info, system_info, len);
	free(m->name);
	free(m->system_info);
	m->name = TAKE_PTR(own_name);
	m->system_info = TAKE_PTR(info);
	m->system_info_len = len;
	m->info_at = ++ms->last;
	m->n_syncs = 0;
	m->synced_at = 0;
	return 0;
}

int remote_machines_add_sync(struct remote_machines *ms, const struct ipc_peer *relay,
			     const struct clock_sync *sync)
{
	struct remote_machine *m = find_or_add(ms, relay);

	if (!m)
		return -ENOMEM;
	if (m->n_syncs == MAX_CLOCK_SYNCS)
		memmove(&m->syncs[0], &m->syncs[1], --m->n_syncs * sizeof(m->syncs[0]));
	m->syncs[m->n_syncs++] = *sync;
	if (m->n_syncs == CLOCK_SYNC_MIN && !m->synced_at)
		m->synced_at = ++ms->last;
	return 0;
}

void remote_machines_init(struct remote_machines *ms, struct quota *quota)
{
	TAILQ_INIT(&ms->list);
	ms->quota = quota;
	ms->n = 0;
	ms->last = 0;
}

void remote_machines_deinit(struct remote_machines *ms)
{
	struct remote_machine *m;

	while ((m = TAILQ_FIRST(&ms->list)))
		remote_machines_forget(ms, m);
}
