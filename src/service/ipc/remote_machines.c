/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/remote_machines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "common/builtin_clock.pb-c.h"
#include "service/ipc/ipc_peer.h"

static void machine_free(struct remote_machine *m)
{
	quota_close(&m->account);
	free(m->name);
	free(m->system_info);
	free(m);
}

static void remote_machines_remove(struct remote_machines *ms, struct remote_machine *m)
{
	TAILQ_REMOVE(&ms->list, m, link);
	ms->n--;
	machine_free(m);
}

/* ---- room for one more ---- */

/* Returns the user's machine with the oldest report. The user must have a machine. */
static struct remote_machine *find_oldest_machine(const struct remote_machines *ms, uint64_t user)
{
	struct remote_machine *m;

	TAILQ_FOREACH (m, &ms->list, link)
		if (m->account.user == user)
			break;
	return m;
}

static uint64_t count_machines_of_user(const struct remote_machines *ms, uint64_t user)
{
	return quota_used_by_user(ms->quota, user, QUOTA_MACHINES);
}

/* Returns the user with the most machines; of several, the one whose machine was reported longest
 * ago. */
static uint64_t find_user_with_most_machines(const struct remote_machines *ms)
{
	const struct remote_machine *m, *most = TAILQ_FIRST(&ms->list);

	TAILQ_FOREACH (m, &ms->list, link)
		if (count_machines_of_user(ms, m->account.user) >
		    count_machines_of_user(ms, most->account.user))
			most = m;
	return most->account.user;
}

/* Charges the account for a machine, and forgets older machines until the quota allows that.
 * Returns 0 or -ENOMEM. */
static int remote_machines_make_room(struct remote_machines *ms, struct quota_account *account)
{
	int r;

	while ((r = quota_charge(account, QUOTA_MACHINES, 1, NULL)) == -EDQUOT) {
		bool has_its_share =
			count_machines_of_user(ms, account->user) >= MAX_MACHINES_PER_ADDRESS;

		remote_machines_remove(
			ms,
			find_oldest_machine(ms, has_its_share ? account->user
							      : find_user_with_most_machines(ms)));
	}
	return r;
}

/* ---- reports of relays ---- */

/* Returns the machine of the relay, created if needed, and moves the machine to the end of the
 * list. Returns NULL if out of memory. */
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

int remote_machines_set_info(struct remote_machines *ms, const struct ipc_peer *relay,
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
	m->burst.n = 0;
	m->synced_at = 0;
	return 0;
}

static bool find_boottime(const struct clock_sync *s, uint64_t *ret)
{
	for (size_t i = 0; i < s->n_client; i++) {
		if (s->client[i].id != PB__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME)
			continue;
		*ret = s->client[i].value;
		return true;
	}
	return false;
}

static void burst_add(struct clock_burst *b, const struct clock_sync *sync, uint64_t client_ns)
{
	uint64_t host_ns = sync->host.value[CLOCK_SNAPSHOT_BOOTTIME];
	int64_t there = (int64_t)(host_ns - client_ns);
	int64_t back = (int64_t)(client_ns - b->last_host_ns);

	if (b->n > 0 && host_ns - b->begin_ns > CLOCK_BURST_NS)
		b->n = 0;
	if (b->n == 0)
		b->begin_ns = host_ns;
	if (b->n == 0 || there < b->there_ns) {
		b->there_ns = there;
		b->fastest = *sync;
	}
	if (b->n == 1 || (b->n > 1 && back < b->back_ns))
		b->back_ns = back;
	b->last_host_ns = host_ns;
	b->n++;
}

int remote_machines_add_sync(struct remote_machines *ms, const struct ipc_peer *relay,
			     const struct clock_sync *sync)
{
	struct remote_machine *m;
	struct clock_burst *b;
	uint64_t client_ns, sum;

	if (!find_boottime(sync, &client_ns))
		return -EINVAL;
	m = find_or_add(ms, relay);
	if (!m)
		return -ENOMEM;
	b = &m->burst;
	burst_add(b, sync, client_ns);
	if (!sync->is_last)
		return 0;
	if (b->n >= CLOCK_SYNC_MIN) {
		sum = (uint64_t)b->there_ns + (uint64_t)b->back_ns;
		m->sync = b->fastest;
		m->round_trip_ns = (int64_t)sum > 0 ? sum : 0; /* below 0: a clock was set */
		if (!m->synced_at)
			m->synced_at = ++ms->last;
	}
	b->n = 0;
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
		remote_machines_remove(ms, m);
}
