/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "client/producer/metadata_bus.h"
#include "client/producer/producer.h"
#include "soak_packet.h"

/*
 * A process that writes packets into every session that asks, until its fuel is used up: then it
 * ends, in one of the ways in which programs end, or are ended, in the middle of a packet too.
 */

#define SOAK_TICK_MS 20
#define SOAK_PACKETS 3 /* at most, in a tick of a session */

enum soak_end {
	END_KILLED_IN_PACKET,
	END_KILLED,
	END_EXIT, /* without a farewell */
	END_FAREWELL,
	N_ENDS,
};

struct soak_life {
	uint32_t id;
	uint64_t rng;
	uint32_t fuel; /* packets; 0: for ever */
	bool scraping;
	bool small_memory;
	int ready_fd; /* gets a byte when the data source is registered; -1: none */
};

struct soak_instance {
	struct soak_life *life; /* borrowed */
	struct ds_handle *h; /* borrowed */
	struct writer *w; /* owned */
	struct event *tick; /* owned */
	uint64_t next;
};

static struct soak_life *soak_life; /* of this process: a data source has no context */
static struct event_base *soak_loop;

static inline uint32_t soak_rng(uint64_t *rng, uint32_t below)
{
	*rng = *rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*rng >> 33) % below;
}

static inline void soak_write(struct soak_instance *i, bool last)
{
	struct soak_packet p = {.id = i->life->id, .number = i->next++, .last = last};

	struct pb_enc *e = writer_begin(i->w);

	soak_put(e, &p, soak_text_len(&p));
	pb_enc_close(e);
	writer_end(i->w);
}

static inline void soak_die(struct soak_instance *i)
{
	struct soak_packet p = {.id = i->life->id, .number = i->next};

	switch ((enum soak_end)soak_rng(&i->life->rng, N_ENDS)) {
	case END_KILLED_IN_PACKET:
		soak_put(writer_begin(i->w), &p, soak_rng(&i->life->rng, SOAK_MAX_TEXT));
		kill(getpid(), SIGKILL);
		break;
	case END_KILLED:
		kill(getpid(), SIGKILL);
		break;
	case END_EXIT:
		_exit(0);
	case END_FAREWELL:
	case N_ENDS:
		event_base_loopbreak(soak_loop);
	}
}

static inline void soak_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	static const struct timeval wait = {.tv_usec = SOAK_TICK_MS * 1000};
	struct soak_instance *i = ctx;
	struct soak_life *l = i->life;

	(void)fd, (void)what;
	for (uint32_t n = soak_rng(&l->rng, SOAK_PACKETS + 1); n > 0; n--) {
		if (l->fuel && --l->fuel == 0) {
			soak_die(i);
			return;
		}
		soak_write(i, false);
	}
	evtimer_add(i->tick, &wait);
}

static inline int soak_create(struct ds_handle *h, const struct ds_env *env,
			      const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct soak_instance *i = calloc(1, sizeof(*i));

	(void)config;
	if (!i)
		return -ENOMEM;
	i->life = soak_life;
	i->h = h;
	i->w = ds_writer_new(h);
	i->tick = evtimer_new(env->loop, soak_on_tick, i);
	*ret_instance = i;
	return i->w && i->tick ? 0 : -ENOMEM;
}

static inline void soak_start(void *instance)
{
	struct soak_instance *i = instance;

	ds_started(i->h);
	soak_on_tick(-1, 0, i);
}

static inline void soak_flush(void *instance, uint64_t flush_id)
{
	struct soak_instance *i = instance;

	writer_flush(i->w);
	ds_flushed(i->h, flush_id);
}

static inline void soak_stop(void *instance)
{
	struct soak_instance *i = instance;

	event_del(i->tick);
	soak_write(i, true);
	writer_flush(i->w);
	ds_stopped(i->h);
}

static inline void soak_destroy(void *instance)
{
	struct soak_instance *i = instance;

	writer_free(i->w);
	event_free(i->tick);
	free(i);
}

static inline void soak_registered(void *ctx)
{
	struct soak_life *l = ctx;

	if (l->ready_fd >= 0 && write(l->ready_fd, "1", 1) != 1)
		_exit(1);
	l->ready_fd = -1;
}

/* Does not return. */
static inline void soak_produce(struct soak_life *l)
{
	static const struct data_source source = {
		.name = SOAK_SOURCE,
		.create = soak_create,
		.start = soak_start,
		.flush = soak_flush,
		.stop = soak_stop,
		.destroy = soak_destroy,
	};
	static const struct data_source *const sources[] = {&source, NULL};
	struct producer_options o = {
		.name = "sonda.test.soak",
		.shm_size = l->small_memory ? 128 << 10 : 512 << 10,
		.page_size = l->small_memory ? 4096 : 16384,
		.scraping = l->scraping,
		.sources = sources,
		.on_connected = soak_registered,
		.ctx = l,
	};
	struct producer *p;

	soak_life = l;
	o.env.loop = soak_loop = event_base_new();
	o.env.bus = metadata_bus_new();
	if (!o.env.loop || !o.env.bus || producer_new(&o, &p) < 0)
		_exit(1);
	event_base_dispatch(soak_loop);
	producer_free(p);
	_exit(0);
}
