/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "client/producer/data_source.h"
#include "client/transport/writer.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * A producer for one data source: keeps the packets that it writes and counts what it answers.
 * Include it once in a test; fake_reset() before each one.
 */

#define FAKE_PACKETS 32768
#define FAKE_SESSION 7

struct fake_packet {
	uint8_t *data;
	size_t len;
	unsigned writer; /* number of its writer */
};

static struct {
	unsigned live; /* writers that exist */
	struct fake_packet packets[FAKE_PACKETS];
	size_t n;
	unsigned flushes; /* writer_flush */
	unsigned started;
	unsigned stopped;
	unsigned flushed; /* ds_flushed */
	unsigned triggers; /* activated */
	char trigger[64]; /* the last one */
	uint64_t last_flush_id;
	size_t packets_at_flush; /* written when ds_flushed came */
	uint64_t dropped; /* what writer_dropped gives; the test sets it */
	uint64_t packet_ns; /* what each packet takes at least; likewise */
} fake;

#define FAKE_WRITERS 3

static struct writer {
	struct pb_mem mem;
	bool live;
	bool open;
} fake_writers[FAKE_WRITERS];

/* Of those that were written so far, none is kept. */
static inline void fake_reset_packets(void)
{
	for (size_t i = 0; i < fake.n; i++)
		free(fake.packets[i].data);
	fake.n = 0;
}

static inline void fake_reset(void)
{
	fake_reset_packets();
	memset(&fake, 0, sizeof(fake));
}

struct writer *writer_new(struct arbiter *a, uint16_t target_buffer, enum writer_policy policy)
{
	for (struct writer *w = fake_writers; w < fake_writers + FAKE_WRITERS; w++) {
		if (w->live)
			continue;
		if (pb_mem_init(&w->mem) < 0)
			return NULL;
		w->live = true;
		fake.live++;
		return w;
	}
	assert(!"more writers than any source has");
	return NULL;
}

uint64_t writer_free(struct writer *w)
{
	if (!w)
		return 0;
	assert(w->live && !w->open);
	pb_mem_deinit(&w->mem);
	w->live = false;
	fake.live--;
	return 0;
}

struct pb_enc *writer_begin(struct writer *w)
{
	assert(w->live && !w->open);
	pb_mem_reset(&w->mem);
	w->open = true;
	return &w->mem.enc;
}

void writer_end(struct writer *w)
{
	struct fake_packet *p = &fake.packets[fake.n++];
	uint64_t until = fake.packet_ns ? clock_mono_ns() + fake.packet_ns : 0;

	while (until && clock_mono_ns() < until)
		;
	assert(w->open && fake.n <= FAKE_PACKETS);
	assert(w->mem.enc.depth == 0);
	p->len = pb_mem_len(&w->mem);
	p->writer = (unsigned)(w - fake_writers);
	p->data = malloc(p->len + 1);
	memcpy(p->data, w->mem.buf, p->len);
	w->open = false;
}

void writer_flush(struct writer *w)
{
	assert(w->live && !w->open);
	fake.flushes++;
}

uint64_t writer_dropped(const struct writer *w)
{
	return fake.dropped;
}

uint64_t writer_bytes(const struct writer *w)
{
	return 0;
}

void ds_activate_triggers(struct ds_handle *h, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++, fake.triggers++)
		snprintf(fake.trigger, sizeof(fake.trigger), "%s", names[i]);
}

void ds_started(struct ds_handle *h)
{
	fake.started++;
}

void ds_flushed(struct ds_handle *h, uint64_t flush_id)
{
	fake.flushed++;
	fake.last_flush_id = flush_id;
	fake.packets_at_flush = fake.n;
}

void ds_stopped(struct ds_handle *h)
{
	fake.stopped++;
}

uint32_t ds_consumer_uid(const struct ds_handle *h)
{
	return 0;
}

void ds_yield_to_root(const struct ds_handle *h, struct event *e)
{
}

uint64_t ds_session_id(const struct ds_handle *h)
{
	return FAKE_SESSION;
}

struct writer *ds_writer_new(struct ds_handle *h)
{
	return writer_new(NULL, 1, WRITER_STALL);
}

/* ---- reading back ---- */

/* The n-th (from 0) field of that number in a message; false: there are fewer, and it is empty. */
static inline bool fake_field(const uint8_t *data, size_t len, uint32_t id, unsigned nth,
			      struct pb_field *ret)
{
	struct pb_dec d;
	struct pb_field f;

	*ret = (struct pb_field){0};
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == id && nth-- == 0) {
			*ret = f;
			return true;
		}
	}
	assert(pb_dec_ok(&d));
	return false;
}

static inline unsigned fake_count(const uint8_t *data, size_t len, uint32_t id)
{
	struct pb_field f;
	unsigned n = 0;

	while (fake_field(data, len, id, n, &f))
		n++;
	return n;
}

/* The number in a field that must be there once. */
static inline uint64_t fake_u64(struct pb_field m, uint32_t id)
{
	struct pb_field f = {0};

	assert(fake_count(m.data, m.len, id) == 1);
	fake_field(m.data, m.len, id, 0, &f);
	return f.u64;
}

static inline bool fake_has(struct pb_field m, uint32_t id)
{
	return fake_count(m.data, m.len, id) > 0;
}

static inline bool fake_str_is(struct pb_field m, uint32_t id, unsigned nth, const char *s)
{
	struct pb_field f;

	return fake_field(m.data, m.len, id, nth, &f) && pb_field_is(&f, s);
}

static inline struct pb_field fake_packet_field(size_t i)
{
	assert(i < fake.n);
	return (struct pb_field){.data = fake.packets[i].data, .len = fake.packets[i].len};
}
