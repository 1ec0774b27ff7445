/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The library's writers for one thread and one instance: packets go to memory. And a process, a
 * thread and a clock with the numbers that the tests expect. One test program includes it once. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <sonda/track_event.h>

#include "gen/fields.h"
#include "lib/data_source/packet.h"
#include "lib/track_event/category.h"
#include "lib/track_event/event_sequence.h"
#include "lib/track_event/track_descriptor.h"
#include "lib/track_event/track_event.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

#define FAKE_PID 4321
#define FAKE_TID 4322
#define FAKE_PACKETS 4096
#define FAKE_SMALL (127 + PB_SIMPLE_FIELD) /* the encoder asks for more room than it uses */
#define FAKE_PACKET (128 * 1024)

struct fake_packet {
	uint8_t *data; /* owned */
	size_t len;
};

struct sonda_writer {
	struct sonda_packet packet;
	struct pb_enc enc;
	struct event_sequence sequence;
	struct event_config *config; /* owned; NULL: the instance does not run */
	bool cleared;
	bool small_refused;
	uint8_t *buf; /* owned */
	struct fake_packet packets[FAKE_PACKETS];
	size_t n;
};

static struct sonda_writer fake;
static uint64_t fake_now = 1000000000;

int clock_gettime(clockid_t id, struct timespec *t)
{
	t->tv_sec = (time_t)(fake_now / 1000000000);
	t->tv_nsec = (long)(fake_now % 1000000000);
	return 0;
}

pid_t gettid(void)
{
	return FAKE_TID;
}

struct sonda_writer *sonda_writer_enter(struct sonda_data_source *ds, unsigned instance)
{
	return fake.config && instance == 0 ? &fake : NULL;
}

void sonda_writer_leave(struct sonda_writer *w)
{
}

static void no_refill(struct pb_enc *e)
{
	abort();
}

struct sonda_packet *sonda_packet_begin(struct sonda_writer *w)
{
	pb_enc_init(&w->enc, w->buf, w->buf + FAKE_PACKET, no_refill);
	w->packet.enc = &w->enc;
	return &w->packet;
}

struct sonda_packet *packet_begin_small(struct sonda_writer *w)
{
	if (w->small_refused)
		return NULL;
	pb_enc_init(&w->enc, w->buf, w->buf + FAKE_SMALL, no_refill);
	w->packet.enc = &w->enc;
	return &w->packet;
}

void sonda_packet_end(struct sonda_writer *w)
{
	struct fake_packet *p = &w->packets[w->n++];

	assert_int_equal(w->enc.depth, 0);
	assert_true(w->enc.end - w->enc.begin > FAKE_SMALL || pb_enc_pos(&w->enc) <= 127);
	p->len = pb_enc_pos(&w->enc);
	p->data = malloc(p->len + 1);
	memcpy(p->data, w->buf, p->len);
}

bool sonda_writer_was_cleared(struct sonda_writer *w)
{
	bool cleared = w->cleared;

	w->cleared = false;
	return cleared;
}

void *sonda_writer_state(struct sonda_writer *w)
{
	return &w->sequence;
}

void *sonda_writer_instance(struct sonda_writer *w)
{
	return w->config;
}

int sonda_data_source_register(struct sonda_data_source *ds,
			       const struct sonda_data_source_options *options)
{
	return 0;
}

int sonda_data_source_update(struct sonda_data_source *ds, const void *descriptor, size_t len)
{
	return 0;
}

static __attribute__((unused)) void fake_forget(void)
{
	while (fake.n > 0)
		free(fake.packets[--fake.n].data);
}

static __attribute__((unused)) void fake_stop(void)
{
	fake_forget();
	categories_stop(0);
	event_config_free(fake.config);
	event_sequence_deinit(&fake.sequence);
	free(fake.buf);
	fake = (struct sonda_writer){0};
}

/* Starts the instance; config: fields of TrackEventConfig. */
static __attribute__((unused)) void fake_start(const void *config, size_t len)
{
	uint8_t whole[1024], *p = whole;

	fake_stop();
	fake_now = 1000000000;
	prctl(PR_SET_NAME, "io");
	process_identity.pid = FAKE_PID;
	process_identity.uuid = process_uuid_of(123456, FAKE_PID);
	process_identity.cmdline_len = sizeof("app");
	memcpy(process_identity.cmdline, "app", sizeof("app"));
	p = pb_put_varint(p, pb_tag(PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG, PB_WIRE_BYTES));
	p = pb_put_varint(p, len);
	if (len)
		memcpy(p, config, len);
	assert_int_equal(event_config_new(whole, (size_t)(p - whole) + len, &fake.config), 0);
	fake.buf = malloc(FAKE_PACKET);
	fake.cleared = true;
	categories_start(0, fake.config);
}

/* Asserts that packet i is the bytes of a text of hexadecimal numbers. */
static __attribute__((unused)) void expect_bytes(size_t i, const char *hex)
{
	uint8_t want[512];
	size_t n = 0;

	for (char *end; n < sizeof(want); hex = end) {
		want[n] = (uint8_t)strtoul(hex, &end, 16);
		if (end == hex)
			break;
		n++;
	}
	assert_true(i < fake.n);
	if (n != fake.packets[i].len || memcmp(want, fake.packets[i].data, n) != 0) {
		for (size_t k = 0; k < fake.packets[i].len; k++)
			print_error("%02X ", fake.packets[i].data[k]);
		print_error("\n");
		fail_msg("packet %zu has %zu bytes, not %zu", i, fake.packets[i].len, n);
	}
}

/* Returns the last field id in a message, with its value; a missing one is id 0. */
static __attribute__((unused)) struct pb_field field_of(const void *data, size_t len, uint32_t id)
{
	struct pb_field f, found = {0};
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == id)
			found = f;
	assert_true(pb_dec_ok(&d));
	return found;
}

static __attribute__((unused)) struct pb_field packet_field(size_t i, uint32_t id)
{
	assert_true(i < fake.n);
	return field_of(fake.packets[i].data, fake.packets[i].len, id);
}

/* A field of the track event in packet i. */
static __attribute__((unused)) struct pb_field event_field(size_t i, uint32_t id)
{
	struct pb_field ev = packet_field(i, PB_TRACE_PACKET_TRACK_EVENT);

	assert_int_equal(ev.id, PB_TRACE_PACKET_TRACK_EVENT);
	return field_of(ev.data, ev.len, id);
}
