/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "client/producer/metadata_bus.h"
#include "client/producer/producer.h"
#include "gen/fields.h"

/*
 * A process that writes as fast as a service takes it: a producer of ours with the data source
 * "sonda.bench.load", which writes `bytes` of packets when it is started, waits for free chunks
 * rather than drop, and tells on a pipe when all is written. Its data source "sonda.bench.rated"
 * then writes packets at a rate, as a kernel does: it drops those for which no chunk is free.
 */

#define LOAD_FIELD 900 /* TracePacket.for_testing, which no reader decodes */
#define LOAD_TURN (1u << 20) /* bytes in a turn of the loop */
#define RATED_CATCH_UP_MS 5 /* at most so much is written in one turn: the process was not run */

struct load {
	uint64_t bytes; /* to write */
	uint32_t packet; /* bytes of one */
	uint32_t pause_us; /* after each LOAD_TURN; 0: none */
	uint64_t rate, rated_s; /* packets a second, for so long, after that */
	uint32_t shm_size, page_size; /* 0: as sonda-probes */
	bool scraping;
	/* of the process that load_start made */
	pid_t pid;
	int fd; /* one byte: registered; another one: all is written */
};

/* ---- in the process ---- */

struct load_instance {
	struct load *load; /* borrowed */
	struct ds_handle *h; /* borrowed */
	struct writer *w; /* owned */
	struct event *turn; /* owned */
	uint64_t done;
	uint64_t begin_ns, last_ns; /* of "sonda.bench.rated" */
};

static struct load *load_of_process; /* borrowed from main; data sources have no context */

static inline void load_tell(const struct load *l)
{
	if (fs_write_all(l->fd, "1", 1) < 0)
		_exit(1);
}

static inline void load_turn(evutil_socket_t fd, short what, void *ctx)
{
	static uint8_t text[128 << 10];
	struct load_instance *i = ctx;
	uint64_t end = i->done + LOAD_TURN;

	(void)fd, (void)what;
	while (i->done < end && i->done < i->load->bytes) {
		struct pb_enc *e = writer_begin(i->w);

		pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
		pb_enc_bytes(e, LOAD_FIELD, text, i->load->packet);
		writer_end(i->w);
		i->done += i->load->packet;
	}
	if (i->done < i->load->bytes) {
		evtimer_add(i->turn, &(struct timeval){.tv_usec = i->load->pause_us});
		return;
	}
	writer_flush(i->w);
	load_tell(i->load);
	i->load->bytes = 0;
	if (writer_dropped(i->w))
		fprintf(stderr, "the load dropped %llu packets\n",
			(unsigned long long)writer_dropped(i->w));
}

/* What the owner gets in the end. */
struct rated_result {
	uint64_t written, dropped;
};

static inline void rated_turn(evutil_socket_t fd, short what, void *ctx)
{
	struct load_instance *i = ctx;
	uint64_t now = clock_mono_ns(), due;
	struct rated_result r;

	(void)fd, (void)what;
	if (load_of_process->bytes > 0) { /* not all of the other load is written */
		evtimer_add(i->turn, &(struct timeval){.tv_usec = 1000});
		return;
	}
	if (!i->begin_ns)
		i->begin_ns = i->last_ns = now;
	due = MIN(now - i->last_ns, RATED_CATCH_UP_MS * NS_PER_MS) * i->load->rate / NS_PER_S;
	i->last_ns = now;
	for (i->done += due; due > 0; due--) {
		struct pb_enc *e = writer_begin(i->w);

		pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, now);
		pb_enc_bytes(e, LOAD_FIELD, "12345678", 8);
		writer_end(i->w);
	}
	if (now - i->begin_ns < i->load->rated_s * NS_PER_S) {
		evtimer_add(i->turn, &(struct timeval){.tv_usec = 500});
		return;
	}
	r = (struct rated_result){i->done, writer_dropped(i->w)};
	if (fs_write_all(i->load->fd, &r, sizeof(r)) < 0)
		_exit(1);
}

static inline int load_create(struct ds_handle *h, const struct ds_env *env,
			      const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct load_instance *i = calloc(1, sizeof(*i));

	if (!i)
		return -ENOMEM;
	i->load = load_of_process;
	i->h = h;
	i->w = ds_writer_new(h);
	i->turn = evtimer_new(
		env->loop, strcmp(config->name, "sonda.bench.rated") ? load_turn : rated_turn, i);
	*ret_instance = i;
	return i->w && i->turn ? 0 : -ENOMEM;
}

static inline void load_start_source(void *instance)
{
	struct load_instance *i = instance;

	ds_started(i->h);
	event_active(i->turn, EV_TIMEOUT, 0);
}

static inline void load_flush(void *instance, uint64_t flush_id)
{
	struct load_instance *i = instance;

	writer_flush(i->w);
	ds_flushed(i->h, flush_id);
}

static inline void load_stop_source(void *instance)
{
	struct load_instance *i = instance;

	event_del(i->turn);
	ds_stopped(i->h);
}

static inline void load_destroy(void *instance)
{
	struct load_instance *i = instance;

	writer_free(i->w);
	event_free(i->turn);
	free(i);
}

static inline void load_registered(void *ctx)
{
	load_tell(ctx);
}

static inline int load_run(struct load *l)
{
	static const struct data_source source = {
		.name = "sonda.bench.load",
		.create = load_create,
		.start = load_start_source,
		.flush = load_flush,
		.stop = load_stop_source,
		.destroy = load_destroy,
	};
	static const struct data_source rated = {
		.name = "sonda.bench.rated",
		.create = load_create,
		.start = load_start_source,
		.flush = load_flush,
		.stop = load_stop_source,
		.destroy = load_destroy,
	};
	static const struct data_source *const sources[] = {&source, &rated, NULL};
	struct event_base *loop = event_base_new();
	struct producer_options o = {
		.name = "sonda.bench.producer",
		.shm_size = l->shm_size,
		.page_size = l->page_size,
		.scraping = l->scraping,
		.sources = sources,
		.on_connected = load_registered,
		.ctx = l,
		.env = {.loop = loop, .bus = metadata_bus_new()},
	};
	struct producer *p;

	load_of_process = l;
	if (!loop || !o.env.bus || producer_new(&o, &p) < 0)
		return 1;
	event_base_dispatch(loop);
	return 0;
}

/* ---- its owner ---- */

/* Waits for the next byte. */
static inline void load_await(const struct load *l)
{
	char c;

	if (read(l->fd, &c, 1) != 1) {
		fprintf(stderr, "the producer has ended\n");
		exit(1);
	}
}

/* Returns when its data source is registered. It ends with load_end, or with us. */
static inline void load_start(struct load *l)
{
	int ends[2];

	if (pipe(ends) < 0)
		abort();
	l->pid = fork();
	if (l->pid < 0)
		abort();
	if (l->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		close(ends[0]);
		l->fd = ends[1];
		_exit(load_run(l));
	}
	close(ends[1]);
	l->fd = ends[0];
	load_await(l);
}

static inline void load_end(struct load *l)
{
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
	close(l->fd);
}
