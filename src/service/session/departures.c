/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "service/producer/producer_port.h"
#include "service/session/session_internal.h"
#include "wire/pb_enc.h"

struct departure {
	uint32_t times; /* 0: no producer of this data source has disconnected */
	int32_t pid;
	char producer[128]; /* truncated */
	uint64_t gone_boot_ns;
	uint64_t back_boot_ns; /* 0: not replaced yet */
};

/* Returns NULL if there is no memory. */
static struct departure *departure_of(struct session *s, const struct source_instance *i)
{
	const Pb__TraceConfig *c = s->config;

	if (!s->departures.list) {
		s->departures.list = calloc(c->n_data_sources + 1, sizeof(struct departure));
		s->departures.n = s->departures.list ? c->n_data_sources : 0;
	}
	return s->departures.list ? &s->departures.list[i->config_index] : NULL;
}

void departures_note(struct session *s, const struct source_instance *i)
{
	struct departure *d;

	if (i->state == INSTANCE_CONFIGURED || i->state == INSTANCE_STOPPED)
		return;
	d = departure_of(s, i);
	if (!d)
		return;
	d->times++;
	d->pid = i->producer->peer->pid;
	snprintf(d->producer, sizeof(d->producer), "%s", i->producer->name);
	d->gone_boot_ns = clock_boot_ns();
	d->back_boot_ns = 0;
}

void departures_note_start(struct session *s, const struct source_instance *i)
{
	struct departure *d = s->departures.list ? departure_of(s, i) : NULL;

	if (d && d->times && !d->back_boot_ns)
		d->back_boot_ns = clock_boot_ns();
}

void departures_put(const struct session *s, uint32_t field, struct pb_enc *e)
{
	for (size_t i = 0; i < s->departures.n; i++) {
		const struct departure *d = &s->departures.list[i];

		if (!d->times)
			continue;
		pb_enc_open(e, field);
		pb_enc_str(e, PB_SOURCE_DEPARTURE_DATA_SOURCE_NAME,
			   s->config->data_sources[i]->config->name);
		pb_enc_str(e, PB_SOURCE_DEPARTURE_PRODUCER_NAME, d->producer);
		pb_enc_i64(e, PB_SOURCE_DEPARTURE_PRODUCER_PID, d->pid);
		pb_enc_u64(e, PB_SOURCE_DEPARTURE_GONE_BOOT_NS, d->gone_boot_ns);
		if (d->back_boot_ns)
			pb_enc_u64(e, PB_SOURCE_DEPARTURE_BACK_BOOT_NS, d->back_boot_ns);
		pb_enc_u64(e, PB_SOURCE_DEPARTURE_TIMES, d->times);
		pb_enc_close(e);
	}
}

int departures_copy(const struct departures *from, struct departures *to)
{
	if (!from->n)
		return 0;
	to->list = calloc(from->n, sizeof(struct departure));
	if (!to->list)
		return -ENOMEM;
	memcpy(to->list, from->list, from->n * sizeof(struct departure));
	to->n = from->n;
	return 0;
}

void departures_deinit(struct departures *d)
{
	free(d->list);
	*d = (struct departures){0};
}
