/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer whose packets can be checked: each has a number, and content that follows from it.
 *
 *	producer_counter run N      offers the data source "sonda.test.counter" on the producer
 *	                            socket: N packets from the start of a session on, of all sizes,
 *	                            and "sonda.test.tracks" (tracks_source.h); ends with SIGTERM.
 *	                            "1" on TRACED_PROBES_NOTIFY_FD when it is registered.
 *	                            When all are written it activates the trigger
 *	                            "sonda.test.counter.written"
 *	producer_counter check N    reads a trace on stdin: all N packets are there once, in order,
 *	                            whole. 0, or 1 with what is missing on stdout
 *	producer_counter begin N    the same of a trace that ends early: at least the first N
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "analyze/packets.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "producer_run.h"
#include "tracks_source.h"
#include "unit/../unit/client/packets.h"

/* TracePacket.for_testing and below, messages that the project does not have in protos/. */
#define FOR_TESTING 900
#define EVENT_COUNTER 3
#define EVENT_PAYLOAD 5
#define PAYLOAD_STR 1
#define PAYLOAD_NESTED 2
#define PAYLOAD_INT 5
#define DEEPEST 9

#define BATCH 50
#define BATCH_MS 2

/* ---- the packets ---- */

static size_t size_of(uint64_t number)
{
	uint64_t rng = number * 0x9e3779b97f4a7c15ull | 1;

	switch (rng_below(&rng, 400)) {
	case 0:
		return rng_below(&rng, 300 << 10);
	case 1:
	case 2:
	case 3:
		return rng_below(&rng, 40 << 10);
	default:
		return rng_below(&rng, 200);
	}
}

static void put_payload(struct pb_enc *e, uint64_t number)
{
	uint64_t rng = number * 0x2545f4914f6cdd1dull | 1;
	size_t done = 0, size = size_of(number);
	char text[1200];

	while (done < size) {
		size_t len = rng_below(&rng, 8) ? rng_below(&rng, 30) : rng_below(&rng, 1200);

		switch (rng_below(&rng, 4)) {
		case 0:
			if (e->depth < DEEPEST)
				pb_enc_open(e, PAYLOAD_NESTED);
			done += 4;
			break;
		case 1:
			if (e->depth > 2)
				pb_enc_close(e);
			break;
		case 2:
			pb_enc_u64(e, PAYLOAD_INT, rng_below(&rng, 1 << 30));
			done += 5;
			break;
		default:
			memset(text, 'a' + (int)rng_below(&rng, 26), len);
			pb_enc_bytes(e, PAYLOAD_STR, text, len);
			done += len + 2;
			break;
		}
	}
}

static void put_numbered(struct pb_enc *e, uint64_t number)
{
	pb_enc_open(e, FOR_TESTING);
	pb_enc_u64(e, EVENT_COUNTER, number);
	pb_enc_open(e, EVENT_PAYLOAD);
	put_payload(e, number);
	while (e->depth > 0)
		pb_enc_close(e);
}

static bool nests(unsigned level, uint32_t id)
{
	return level == 0 ? id == FOR_TESTING : id == (level == 1 ? EVENT_PAYLOAD : PAYLOAD_NESTED);
}

/* ---- run ---- */

static uint64_t packets;

struct counter {
	struct ds_handle *h;
	struct writer *w;
	struct event *tick;
	uint64_t next;
};

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	static const struct timeval wait = {.tv_usec = BATCH_MS * 1000};
	struct counter *c = ctx;

	(void)fd, (void)what;
	for (int i = 0; i < BATCH && c->next < packets; i++) {
		put_numbered(writer_begin(c->w), c->next++);
		writer_end(c->w);
	}
	if (c->next < packets) {
		evtimer_add(c->tick, &wait);
		return;
	}
	fprintf(stderr, "all are written\n");
	ds_activate_triggers(c->h, (const char *const[]){"sonda.test.counter.written"}, 1);
}

static int counter_create(struct ds_handle *h, const struct ds_env *env,
			  const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct counter *c = calloc(1, sizeof(*c));

	(void)config;
	c->h = h;
	c->w = ds_writer_new(h);
	c->tick = evtimer_new(env->loop, on_tick, c);
	*ret_instance = c;
	return 0;
}

static void counter_start(void *instance)
{
	struct counter *c = instance;

	fprintf(stderr, "begins\n");
	ds_started(c->h);
	on_tick(-1, 0, c);
}

static void counter_flush(void *instance, uint64_t flush_id)
{
	struct counter *c = instance;

	writer_flush(c->w);
	ds_flushed(c->h, flush_id);
}

static void counter_stop(void *instance)
{
	struct counter *c = instance;

	evtimer_del(c->tick);
	ds_stopped(c->h);
}

static void counter_destroy(void *instance)
{
	struct counter *c = instance;

	fprintf(stderr, "wrote %llu packets, %llu bytes, dropped %llu\n",
		(unsigned long long)c->next, (unsigned long long)writer_bytes(c->w),
		(unsigned long long)writer_dropped(c->w));
	writer_free(c->w);
	event_free(c->tick);
	free(c);
}

static const struct data_source counter_source = {
	.name = "sonda.test.counter",
	.create = counter_create,
	.start = counter_start,
	.flush = counter_flush,
	.stop = counter_stop,
	.destroy = counter_destroy,
};

static void on_connected(void *ctx)
{
	fprintf(stderr, "connected\n");
	producer_notify(ctx);
}

static void on_disconnected(void *ctx)
{
	(void)ctx;
	fprintf(stderr, "disconnected\n");
}

static void on_error(void *ctx, const char *sentence)
{
	(void)ctx;
	fprintf(stderr, "%s\n", sentence);
}

static int run(void)
{
	static const struct data_source *const sources[] = {&counter_source, &tracks_source, NULL};

	return producer_run((struct producer_options){
		.name = "sonda.test.producer",
		.sources = sources,
		.on_connected = on_connected,
		.on_disconnected = on_disconnected,
		.on_error = on_error,
	});
}

/* ---- check ---- */

struct check {
	uint64_t next;
	uint64_t bad;
	uint64_t compressed;
};

static void expect(struct check *c, bool good, const char *what, uint64_t number)
{
	if (good)
		return;
	if (c->bad++ < 10)
		printf("packet %llu: %s\n", (unsigned long long)number, what);
}

/* The numbered part of a packet against one made anew. */
static void check_event(struct check *c, const uint8_t *data, size_t len)
{
	struct strbuf got = {0}, want = {0};
	struct pb_field f;
	struct pb_mem m;
	struct pb_dec d;
	uint64_t number = UINT64_MAX;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == EVENT_COUNTER)
			number = f.u64;
	expect(c, number == c->next, "is not the one that should come", number);
	c->next = number + 1;
	if (pb_mem_init(&m) < 0)
		abort();
	put_numbered(&m.enc, number);
	expect(c, normal_form_of(m.buf, pb_mem_len(&m), 0, nests, &want), "our own is broken",
	       number);
	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	strbuf_clear(&want);
	if (pb_dec_next(&d, &f))
		normal_form_of(f.data, f.len, 1, nests, &want);
	expect(c, normal_form_of(data, len, 1, nests, &got), "does not parse", number);
	expect(c, got.len == want.len && memcmp(got.s, want.s, got.len) == 0,
	       "is not what was written", number);
	pb_mem_deinit(&m);
	strbuf_deinit(&got);
	strbuf_deinit(&want);
}

static void check_packet(struct check *c, const uint8_t *data, size_t len)
{
	const uint8_t *event = NULL;
	size_t event_len = 0;
	bool loss = false, first = false;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == FOR_TESTING) {
			event = f.data;
			event_len = f.len;
		}
		loss |= f.id == PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED && f.u64 & 256;
		first |= f.id == PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE;
	}
	expect(c, pb_dec_ok(&d), "does not parse", c->next);
	if (!event)
		return;
	expect(c, first == (c->next == 0), "first_packet_on_sequence is wrong", c->next);
	expect(c, !loss, "says that shared memory was full", c->next);
	check_event(c, event, event_len);
}

/* A packet, or one that holds others. */
static void check_record(struct check *c, const uint8_t *data, size_t len)
{
	struct strbuf unpacked = {0};
	struct pb_field f = {0};
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	if (!pb_dec_next(&d, &f) || (f.id != PB_TRACE_PACKET_COMPRESSED_PACKETS &&
				     f.id != PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS)) {
		check_packet(c, data, len);
		return;
	}
	c->compressed++;
	expect(c, packets_unpack(f.id, f.data, f.len, &unpacked) == 0, "cannot be unpacked",
	       c->next);
	pb_dec_init(&d, unpacked.s, unpacked.len);
	while (pb_dec_next(&d, &f))
		check_packet(c, f.data, f.len);
	strbuf_deinit(&unpacked);
}

static int check(bool may_end_early)
{
	struct strbuf b = {0};
	struct check c = {0};
	struct pb_field f;
	struct pb_dec d;

	if (fs_read_fd(STDIN_FILENO, 1 << 30, &b) < 0)
		return 1;
	pb_dec_init(&d, b.s, b.len);
	while (pb_dec_next(&d, &f))
		check_record(&c, f.data, f.len);
	expect(&c, pb_dec_ok(&d), "the trace does not parse", 0);
	expect(&c, may_end_early ? c.next >= packets : c.next == packets,
	       "is the first that is missing", c.next);
	strbuf_deinit(&b);
	if (c.compressed)
		printf("%llu compressed packets\n", (unsigned long long)c.compressed);
	return c.bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc != 3 || str_to_u64(argv[2], &packets) < 0)
		return 2;
	return strcmp(argv[1], "run") == 0 ? run() : check(strcmp(argv[1], "begin") == 0);
}
