/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "service/buffer/trace_buffer.h"
#include "service/filter/packet_validate.h"
#include "wire/pb_varint.h"

/*
 * What the central buffer costs beside the copy that it has to make.
 *
 * usage: trace_buffer_bench [MEGABYTES]      commits that much in each row (default 512)
 *
 * Each row commits chunks of packets of PACKET bytes, some of which go over two chunks, from
 * writers that take turns, into a ring of 64 MB; after each 8 MB all is read, as a session does
 * that writes into a file. The columns are nanoseconds for each megabyte of payload, of the best
 * of these rounds, so that a machine with other work to do says the same:
 *
 *   copy     memcpy alone, of the same chunks from a shared memory of 2 MB into 64 MB
 *   commit   trace_buffer_commit
 *   read     trace_buffer_next_packet
 *   gate     packet_is_valid on the packets that were read
 */

#define RING (64u << 20)
#define SHARED (2u << 20)
#define ROUND (8u << 20)
#define MAX_SLICES (1u << 18)
#define MAX_WRITERS 16u

struct row {
	uint32_t chunk; /* bytes, header included */
	uint32_t packet;
	uint32_t writers;
};

struct shared {
	uint8_t *memory; /* n_chunks times the same payload */
	size_t n_chunks, chunk, payload;
	struct smb_chunk_header header;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A field of `len` bytes in all, if that is possible. */
static void put_packet(uint8_t *p, size_t len)
{
	memset(p, 0, len);
	if (len < 5)
		return;
	*p++ = 1 << 3 | PB_WIRE_BYTES;
	pb_put_varint4(p, (uint32_t)(len - 5));
}

static size_t put_fragment(uint8_t *p, const uint8_t *data, size_t len)
{
	pb_put_varint4(p, (uint32_t)len);
	memcpy(p + 4, data, len);
	return 4 + len;
}

/* One chunk as a busy writer leaves it: the end of a packet, whole ones, the start of one. Chunk
 * after chunk of this kind make one stream of packets. */
static void fill_chunk(struct shared *s, uint8_t *payload, uint32_t packet)
{
	uint8_t *data = malloc(packet);
	size_t room = s->chunk - SMB_CHUNK_HEADER - 8, whole, rest, len = 0;

	if (!data)
		abort();
	put_packet(data, packet);
	whole = (room - 4) / (packet + 4) - 1;
	rest = MIN(room - 4 - whole * (packet + 4), packet) / 2 + 1;
	len += put_fragment(payload, data + (packet - rest), rest);
	for (size_t i = 0; i < whole; i++)
		len += put_fragment(payload + len, data, packet);
	len += put_fragment(payload + len, data, packet - rest);
	s->header.count = (uint16_t)(whole + 2);
	s->header.flags = SMB_CONTINUES_FROM_PREV | SMB_CONTINUES_ON_NEXT;
	s->payload = len;
	free(data);
}

static void make_shared(struct shared *s, const struct row *row)
{
	s->chunk = row->chunk;
	s->n_chunks = SHARED / row->chunk;
	s->memory = calloc(s->n_chunks, row->chunk);
	if (!s->memory)
		abort();
	for (size_t i = 0; i < s->n_chunks; i++)
		fill_chunk(s, s->memory + i * row->chunk, row->packet);
}

/* Nanoseconds of the best round. */
static void keep_best(uint64_t *best, uint64_t start)
{
	uint64_t ns = now_ns() - start;

	if (*best == 0 || ns < *best)
		*best = ns;
}

struct costs {
	uint64_t copy, commit, read, gate;
};

static void copy_alone(const struct shared *s, size_t total, struct costs *c)
{
	uint8_t *ring = malloc(RING);
	size_t at = 0;

	if (!ring)
		abort();
	memset(ring, 1, RING);
	for (size_t done = 0; done < total;) {
		uint64_t start = now_ns();
		size_t end = done + ROUND;

		for (size_t i = 0; done < end; i++) {
			if (at + s->payload > RING)
				at = 0;
			memcpy(ring + at, s->memory + i % s->n_chunks * s->chunk, s->payload);
			__asm__ volatile("" ::: "memory");
			at += s->payload;
			done += s->payload;
		}
		keep_best(&c->copy, start);
	}
	free(ring);
}

static void commit_round(struct trace_buffer *b, const struct shared *s, uint32_t writers,
			 uint32_t *ids, struct costs *c)
{
	struct smb_chunk_header h = s->header;
	struct trace_buffer_writer w = {.producer_id = 1};
	uint64_t start = now_ns();
	size_t done = 0;

	for (size_t i = 0; done < ROUND; i++) {
		h.writer_id = w.writer_id = (uint16_t)(1 + i % writers);
		h.chunk_id = ids[i % writers]++;
		trace_buffer_commit(b, &w, &h, s->memory + i % s->n_chunks * s->chunk,
				    s->chunk - SMB_CHUNK_HEADER, true);
		done += s->payload;
	}
	keep_best(&c->commit, start);
}

static void read_round(struct trace_buffer *b, struct costs *c)
{
	static struct iovec slices[MAX_SLICES];
	static size_t n_of[MAX_SLICES];
	size_t n = 0, n_slices = 0;
	uint64_t start = now_ns();
	struct trace_packet p;

	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p)) {
		memcpy(slices + n_slices, p.slices, p.n_slices * sizeof(slices[0]));
		n_slices += p.n_slices;
		n_of[n++] = p.n_slices;
	}
	keep_best(&c->read, start);
	start = now_ns();
	n_slices = 0;
	for (size_t i = 0; i < n; i++) {
		if (!packet_is_valid(slices + n_slices, n_of[i]))
			abort();
		n_slices += n_of[i];
	}
	keep_best(&c->gate, start);
}

static void run(const struct shared *s, uint32_t writers, size_t total, struct costs *c)
{
	uint32_t ids[MAX_WRITERS] = {0};
	struct trace_buffer *b;

	if (trace_buffer_new(RING, TRACE_BUFFER_RING, &b))
		abort();
	for (size_t done = 0; done < total; done += ROUND) {
		commit_round(b, s, writers, ids, c);
		read_round(b, c);
	}
	if (trace_buffer_stats(b)->chunks_overwritten || trace_buffer_stats(b)->abi_violations)
		abort();
	trace_buffer_free(b);
}

int main(int argc, char **argv)
{
	static const struct row rows[] = {
		{4088, 1024, 1},   {4088, 1024, 16},   {16376, 1024, 4}, {32760, 1024, 1},
		{32760, 1024, 16}, {32760, 16000, 16}, {4088, 64, 4},	 {32760, 64, 4},
	};
	size_t total = (argc > 1 ? strtoul(argv[1], NULL, 10) : 512) << 20;
	double mb = ROUND / 1e6;

	printf("%8s %8s %8s %10s %10s %10s %10s   ns per MB\n", "chunk", "packet", "writers",
	       "copy", "commit", "read", "gate");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct shared s = {0};
		struct costs c = {0};

		make_shared(&s, &rows[i]);
		copy_alone(&s, total, &c);
		run(&s, rows[i].writers, total, &c);
		printf("%8u %8u %8u %10.0f %10.0f %10.0f %10.0f\n", rows[i].chunk, rows[i].packet,
		       rows[i].writers, (double)c.copy / mb, (double)c.commit / mb,
		       (double)c.read / mb, (double)c.gate / mb);
		free(s.memory);
	}
	return 0;
}
