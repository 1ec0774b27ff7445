/* SPDX-License-Identifier: Apache-2.0 */
#include "service/remote_machines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void machine_free(struct remote_machine *m)
{
	free(m->name);
	free(m->system_info);
	free(m);
}

static void forget(struct remote_machines *ms, struct remote_machine *m)
{
	TAILQ_REMOVE(&ms->list, m, link);
	ms->n--;
	machine_free(m);
}

/* The machine of the number, a new one where there is none, as the one told of last. */
static struct remote_machine *touch(struct remote_machines *ms, uint32_t id)
{
	struct remote_machine *m;

	TAILQ_FOREACH (m, &ms->list, link)
		if (m->id == id)
			break;
	if (m) {
		TAILQ_REMOVE(&ms->list, m, link);
	} else {
		m = calloc(1, sizeof(*m));
		if (!m)
			return NULL;
		m->id = id;
		if (ms->n == MAX_MACHINES)
			forget(ms, TAILQ_FIRST(&ms->list));
		ms->n++;
	}
	TAILQ_INSERT_TAIL(&ms->list, m, link);
	return m;
}

int remote_machines_begin(struct remote_machines *ms, uint32_t id, const char *name,
			  const void *system_info, size_t len)
{
	_cleanup_(freep) uint8_t *info = malloc(len ? len : 1);
	_cleanup_(freep) char *own_name = name ? strdup(name) : NULL;
	struct remote_machine *m;

	if (!info || (name && !own_name))
		return -ENOMEM;
	m = touch(ms, id);
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

int remote_machines_add_sync(struct remote_machines *ms, uint32_t id, const struct clock_sync *sync)
{
	struct remote_machine *m = touch(ms, id);

	if (!m)
		return -ENOMEM;
	if (m->n_syncs == MAX_CLOCK_SYNCS)
		memmove(&m->syncs[0], &m->syncs[1], --m->n_syncs * sizeof(m->syncs[0]));
	m->syncs[m->n_syncs++] = *sync;
	if (m->n_syncs == CLOCK_SYNC_MIN && !m->synced_at)
		m->synced_at = ++ms->last;
	return 0;
}

void remote_machines_init(struct remote_machines *ms)
{
	TAILQ_INIT(&ms->list);
	ms->n = 0;
	ms->last = 0;
}

void remote_machines_deinit(struct remote_machines *ms)
{
	struct remote_machine *m;

	while ((m = TAILQ_FIRST(&ms->list)))
		forget(ms, m);
}
