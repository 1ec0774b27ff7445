/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: filter_producer FILE
 *
 * Offers the data source "sonda.test.packets" on the producer socket: what a session of it gets is
 * the packets of FILE (a trace), which is read when the session starts, byte for byte. Ends with
 * SIGTERM. "1" on TRACED_PROBES_NOTIFY_FD when it is registered.
 */
#include <stdio.h>
#include <stdlib.h>

#include <event2/event.h>

#include "unit/../system/producer_run.h"
#include "wire/pb_dec.h"

static const char *file;

struct source {
	struct ds_handle *h;
	struct writer *w;
};

static int source_create(struct ds_handle *h, const struct ds_env *env,
			 const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct source *s = calloc(1, sizeof(*s));

	(void)env, (void)config;
	s->h = h;
	s->w = ds_writer_new(h);
	*ret_instance = s;
	return 0;
}

static void source_start(void *instance)
{
	static uint8_t trace[4 << 20];
	struct source *s = instance;
	FILE *f = fopen(file, "rb");
	size_t len = f ? fread(trace, 1, sizeof(trace), f) : 0;
	struct pb_field packet;
	struct pb_dec d;

	if (f)
		fclose(f);
	pb_dec_init(&d, trace, len);
	while (pb_dec_next(&d, &packet)) {
		pb_enc_raw(writer_begin(s->w), packet.data, packet.len);
		writer_end(s->w);
	}
	ds_started(s->h);
}

static void source_flush(void *instance, uint64_t flush_id)
{
	struct source *s = instance;

	writer_flush(s->w);
	ds_flushed(s->h, flush_id);
}

static void source_stop(void *instance)
{
	struct source *s = instance;

	ds_stopped(s->h);
}

static void source_destroy(void *instance)
{
	struct source *s = instance;

	writer_free(s->w);
	free(s);
}

static const struct data_source packets_source = {
	.name = "sonda.test.packets",
	.create = source_create,
	.start = source_start,
	.flush = source_flush,
	.stop = source_stop,
	.destroy = source_destroy,
};

int main(int argc, char **argv)
{
	static const struct data_source *const sources[] = {&packets_source, NULL};

	if (argc != 2)
		return 2;
	file = argv[1];
	return producer_run((struct producer_options){
		.name = "sonda.test.filter",
		.sources = sources,
		.on_connected = producer_notify,
	});
}
