/* SPDX-License-Identifier: Apache-2.0 */
#include "service/producer/producers.h"

#include <unistd.h>

#include "config/trace_config.pb-c.h"
#include "service/ipc/ipc_peer.h"

void producers_init(struct producers *ps, struct quota *quota, const struct producer_events *events,
		    void *ctx)
{
	*ps = (struct producers){.quota = quota, .events = events, .ctx = ctx, .uid = geteuid()};
	TAILQ_INIT(&ps->list);
	registry_init(&ps->registry);
}

/* ---- ids ---- */

static bool is_used(const struct producers *ps, uint16_t id)
{
	return ps->ids[id / 64] >> id % 64 & 1;
}

static uint16_t next_free_id(struct producers *ps)
{
	for (unsigned tries = 0; tries <= UINT16_MAX; tries++) {
		ps->last_id++;
		if (ps->last_id != 0 && !is_used(ps, ps->last_id))
			return ps->last_id;
	}
	return 0;
}

uint16_t producers_new_id(struct producers *ps)
{
	uint16_t id = next_free_id(ps);

	ps->ids[id / 64] |= 1ull << id % 64; /* id 0 may be marked: it is never given out */
	return id;
}

void producers_free_id(struct producers *ps, uint16_t id)
{
	ps->ids[id / 64] &= ~(1ull << id % 64);
}

/* ---- rights of producers ---- */

void producers_set_lockdown(struct producers *ps, int operation)
{
	switch (operation) {
	case PB__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_SET:
		ps->lockdown = true;
		break;
	case PB__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_CLEAR:
		ps->lockdown = false;
		break;
	}
}

bool producers_is_admitted(const struct producers *ps, const struct ipc_peer *peer)
{
	return !ps->lockdown || (!peer->is_remote && (peer->uid == 0 || peer->uid == ps->uid));
}

bool producers_is_trusted(const struct producers *ps, const struct ipc_peer *peer)
{
	if (peer->is_remote)
		return true; /* its address was allowed; its data sources are that machine's */
	for (size_t i = 0; i < ps->n_system_users; i++)
		if (ps->system_users[i] == peer->uid)
			return true;
	return peer->uid == 0 || peer->uid == ps->uid;
}
