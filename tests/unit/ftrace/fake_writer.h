/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/core/mem.h"
#include "client/transport/writer.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

/* client/transport/writer.h without a service: packets land one after another in one stretch of
 * memory, as the records of a trace file. The encoder sees it in ranges of the size that the test
 * wants, so that messages are cut anywhere. */
#define FAKE_WRITER_ROOM (1ull << 30) /* address space; touched as it fills */

struct writer {
	uint8_t *begin;
	uint8_t *end; /* of the last whole packet */
	size_t range; /* bytes of a range */
	unsigned packets;
	unsigned flushes;
	bool open;
	struct pb_enc enc;
};

static inline struct writer *fake_writer_new(size_t range)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->begin = mmap(NULL, FAKE_WRITER_ROOM, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert(w->begin != MAP_FAILED);
	w->end = w->begin;
	w->range = range;
	return w;
}

/* Forgets the trace so far. */
static inline void fake_writer_clear(struct writer *w)
{
	assert(!w->open);
	w->end = w->begin;
	w->packets = 0;
}

static inline size_t fake_writer_len(const struct writer *w)
{
	return (size_t)(w->end - w->begin);
}

/* Appends the trace to a file, its packets as a service would write them: with their sequence. */
static inline void fake_writer_save(const struct writer *w, FILE *out)
{
	static const uint8_t sequence[] = {PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID << 3, 1};
	uint8_t head[11] = {1 << 3 | PB_WIRE_BYTES}, *end;
	struct pb_field packet;
	struct pb_dec d;

	pb_dec_init(&d, w->begin, fake_writer_len(w));
	while (pb_dec_next(&d, &packet)) {
		end = pb_put_varint(head + 1, packet.len + sizeof(sequence));
		fwrite(head, 1, (size_t)(end - head), out);
		fwrite(packet.data, 1, packet.len, out);
		fwrite(sequence, 1, sizeof(sequence), out);
	}
}

/* The next range begins where the last ended, so open lengths stay where they are. */
static inline void fake_writer_refill(struct pb_enc *e)
{
	pb_enc_set_range(e, e->cur, e->cur + container_of(e, struct writer, enc)->range);
}

struct pb_enc *writer_begin(struct writer *w)
{
	assert(!w->open);
	w->open = true;
	pb_enc_init(&w->enc, w->end, w->end + w->range, fake_writer_refill);
	pb_enc_open(&w->enc, 1); /* Trace.packet */
	return &w->enc;
}

void writer_end(struct writer *w)
{
	assert(w->open);
	pb_enc_close(&w->enc);
	assert(w->enc.depth == 0);
	w->end = w->enc.cur;
	w->packets++;
	w->open = false;
}

void writer_flush(struct writer *w)
{
	w->flushes++;
}

uint64_t writer_free(struct writer *w)
{
	if (!w)
		return 0;
	assert(!w->open);
	munmap(w->begin, FAKE_WRITER_ROOM);
	free(w);
	return 0;
}
