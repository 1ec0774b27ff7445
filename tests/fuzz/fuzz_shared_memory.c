/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer does what the input says with the memory that it shares with a service in this
 * process: page words, chunk headers and contents of any kind, which the service is made to commit,
 * scrape and patch, also while another thread of the producer rewrites them. The bytes of the
 * input are a program: each operation takes its operands from the bytes that follow.
 *
 * An honest producer records at the same time. What must hold: every packet that comes out is whole
 * and signed by the service, those of the honest one are all there, in order, and nothing else is
 * on their sequence; and no request stays without its answer.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "fuzz_service.h"
#include "unit/../unit/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define CONFIG                                                                                     \
	"buffers { size_kb: 16 } buffers { size_kb: 64 } "                                         \
	"producers { producer_name: 'hostile' shm_size_kb: 32 page_size_kb: 4 } "                  \
	"data_sources { config { name: 'hostile.src' } } "                                         \
	"data_sources { config { name: 'honest.src' target_buffer: 1 } }"

enum { HONEST_SEQUENCE = 2, MAX_OPERATIONS = 200, MAX_HONEST_UNREAD = 100 };

static struct peer hostile, honest, consumer; /* large */
static struct peer_session mine, good; /* the hostile one's, the honest one's */
static uint32_t honest_written, honest_read;

struct input {
	const uint8_t *cur, *end;
};

static uint8_t take8(struct input *in)
{
	return in->cur < in->end ? *in->cur++ : 0;
}

static uint32_t take32(struct input *in)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++)
		v = v << 8 | take8(in);
	return v;
}

/* ---- what comes out ---- */

static uint64_t number(const struct peer_packets *t, size_t i, uint32_t field)
{
	struct pb_field f;

	return peer_packet_field(t, i, field, &f) ? f.u64 : 0;
}

static void check_honest(const struct peer_packets *t, size_t i)
{
	struct pb_field f;
	char text[32];

	snprintf(text, sizeof(text), "honest %u", honest_read++);
	MUST(peer_packet_field(t, i, PEER_FIELD, &f) && f.len == strlen(text));
	MUST(memcmp(f.data, text, f.len) == 0);
	MUST(number(t, i, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED) == 0);
}

/* peer_packet_field() dies of a packet that does not parse. */
static void read_and_check(void)
{
	struct peer_packets t;

	MUST(peer_read(&consumer, &t));
	for (size_t i = 0; i < t.n; i++) {
		uint64_t sequence = number(&t, i, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID);

		MUST(sequence > 0 && number(&t, i, PB_TRACE_PACKET_TRUSTED_UID) == getuid());
		if (sequence == HONEST_SEQUENCE)
			check_honest(&t, i);
	}
	MUST(honest_read == honest_written);
	peer_packets_free(&t);
}

/* ---- operations ---- */

static void do_bytes(struct input *in)
{
	size_t at = take32(in) % mine.smb_size, n = take8(in);

	for (size_t i = 0; i < n && at + i < mine.smb_size; i++)
		mine.smb.base[at + i] = take8(in);
}

static void do_word(struct input *in)
{
	uint32_t page = take8(in) % mine.smb.n_pages;

	atomic_store(&smb_page(&mine.smb, page)->word, take32(in));
}

/* A page of one layout with all chunks in one state, and the header of one of them. */
static void do_header(struct input *in)
{
	uint32_t page = take8(in) % mine.smb.n_pages, how = take8(in), packets = take32(in);
	uint32_t layout = 1 + how % 5, index = take8(in) % smb_layout_chunks(layout);
	uint32_t states = 0x05555555u * (how >> 6);
	struct smb_chunk c = smb_chunk_at(&mine.smb, page, layout, index);

	if (layout < SMB_DIV14)
		states &= (1u << 2 * smb_layout_chunks(layout)) - 1;
	smb_header_store_ids(c.header, how & 32 ? (uint16_t)(packets >> 16) : 1, take8(in));
	smb_header_store_packets(c.header, packets & SMB_MAX_PACKETS,
				 packets >> 10 & SMB_CHUNK_FLAGS);
	atomic_store(&smb_page(&mine.smb, page)->word, layout << 28 | states);
}

/* Fragments that are as they should be, in the chunk that a layout puts there. */
static void do_fragments(struct input *in)
{
	uint32_t page = take8(in) % mine.smb.n_pages, layout = 1 + take8(in) % 5;
	uint32_t index = take8(in) % smb_layout_chunks(layout), n = take8(in) % 8;
	struct smb_chunk c = smb_chunk_at(&mine.smb, page, layout, index);
	uint8_t *p = c.payload, *end = p + c.payload_size;

	for (uint32_t i = 0; i < n && end - p > 40; i++) {
		uint8_t len = take8(in) % 16;

		*p++ = (uint8_t)(3 + len);
		p = pb_put_varint(p, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
		*p++ = len;
		for (uint8_t k = 0; k < len; k++)
			*p++ = take8(in);
	}
}

static void do_commit(struct input *in)
{
	uint32_t buffer = mine.buffer;
	unsigned how = take8(in);
	struct pb_mem m;

	MUST(pb_mem_init(&m) == 0);
	for (unsigned i = 0; i < (how & 15); i++) {
		uint8_t place = take8(in);

		peer_put_move(&m.enc, place >> 4, place & 15, how & 16 ? good.buffer : buffer);
	}
	MUST(peer_accepted(&hostile, peer_call_mem(&hostile, P_COMMIT, &m)));
}

/* All of its writers' chunks are scraped. */
static void do_flush(struct input *in)
{
	uint64_t flush = peer_call(&consumer, C_FLUSH, NULL, 0);

	(void)in;
	fuzz_pump(NULL);
	fuzz_drain(&hostile);
	fuzz_drain(&honest);
	MUST(peer_accepted(&hostile, peer_ack_flush(&hostile, UINT64_MAX)));
	MUST(peer_accepted(&honest, peer_ack_flush(&honest, UINT64_MAX)));
	MUST(peer_accepted(&consumer, flush));
}

static void do_writer(struct input *in)
{
	uint32_t writer = take8(in), buffer = take8(in) & 1 ? good.buffer : mine.buffer;

	MUST(peer_reply(&hostile, peer_register_writer(&hostile, writer, buffer)));
}

static void do_unregister(struct input *in)
{
	MUST(peer_reply(&hostile, peer_call_number(&hostile, P_UNREGISTER_WRITER, 1, take8(in))));
}

static void do_patch(struct input *in)
{
	uint8_t how = take8(in);
	struct pb_mem m;

	MUST(pb_mem_init(&m) == 0);
	pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER,
		   how & 1 ? good.buffer : mine.buffer);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID, 1);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID, take8(in));
	for (unsigned i = 0; i < (how >> 1 & 3); i++) {
		uint32_t offset = take32(in) % 4100, data = take32(in);

		pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES);
		pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET, offset);
		pb_enc_bytes(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA, &data, 4);
		pb_enc_close(&m.enc);
	}
	pb_enc_bool(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES, how & 8);
	pb_enc_close(&m.enc);
	MUST(peer_accepted(&hostile, peer_call_mem(&hostile, P_COMMIT, &m)));
}

static void do_honest(struct input *in)
{
	char text[32];
	const char *texts = text;

	(void)in;
	if (honest_written - honest_read >= MAX_HONEST_UNREAD)
		return;
	snprintf(text, sizeof(text), "honest %u", honest_written);
	peer_write_chunk(&good.smb, 0, 1, honest_written, &texts, 1, true);
	honest_written++;
	MUST(peer_accepted(&honest, peer_commit(&honest, 0, 0, good.buffer, 0)));
}

static void do_read(struct input *in)
{
	(void)in;
	read_and_check();
}

/* ---- a second thread of the hostile producer ---- */

struct scribbler {
	uint64_t seed;
	atomic_bool stop;
};

static void *scribble(void *ctx)
{
	struct scribbler *s = ctx;
	uint64_t r = s->seed;

	while (!atomic_load(&s->stop)) {
		struct smb_page_header *page = smb_page(&mine.smb, rng_below(&r, mine.smb.n_pages));
		uint8_t *bytes = (uint8_t *)page;

		bytes[rng_below(&r, 3) ? SMB_PAGE_HEADER + rng_below(&r, 24)
				       : rng_below(&r, mine.smb.page_size)] = (uint8_t)rng_next(&r);
		if (rng_below(&r, 4) == 0)
			atomic_store(&page->word, (rng_below(&r, 6) << 28) |
							  ((uint32_t)rng_next(&r) & 0x0fffffff));
	}
	return NULL;
}

static void do_race(struct input *in)
{
	struct scribbler s = {.seed = take32(in) + 1ull};
	unsigned turns = 1 + take8(in) % 8;
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, scribble, &s) == 0);
	for (unsigned i = 0; i < turns; i++) {
		do_commit(in);
		do_flush(in);
	}
	atomic_store(&s.stop, true);
	MUST(pthread_join(thread, NULL) == 0);
}

/* ---- the program ---- */

static void (*const operations[])(struct input *in) = {
	do_bytes,  do_word,	  do_header, do_fragments, do_commit, do_flush, do_writer,
	do_header, do_unregister, do_patch,  do_honest,	   do_read,   do_race,	do_commit,
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fuzz_service_begin();
	return 0;
}

static void begin(void)
{
	uint64_t to_hostile, to_honest;

	fuzz_plug_in_producer(&hostile);
	fuzz_plug_in_producer(&honest);
	fuzz_plug_in_consumer(&consumer);
	to_hostile = peer_become_producer(&hostile, "hostile", "hostile.src", 0, true);
	to_honest = peer_become_producer(&honest, "honest", "honest.src", 0, true);
	memset(&mine, 0, sizeof(mine));
	memset(&good, 0, sizeof(good));
	honest_written = honest_read = 0;
	peer_enable(&consumer, CONFIG);
	MUST(peer_await_session(&hostile, to_hostile, true, &mine));
	MUST(peer_await_session(&honest, to_honest, true, &good));
	MUST(peer_accepted(&hostile, peer_register_writer(&hostile, 1, mine.buffer)));
	MUST(peer_accepted(&honest, peer_register_writer(&honest, 1, good.buffer)));
	/* The first producer's sequence that is read is HONEST_SEQUENCE. */
	do_honest(NULL);
	read_and_check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};

	begin();
	for (int i = 0; i < MAX_OPERATIONS && in.cur < in.end; i++)
		operations[take8(&in) % (sizeof(operations) / sizeof(operations[0]))](&in);
	do_honest(NULL);
	do_flush(NULL);
	read_and_check();
	peer_unmap(&mine);
	peer_unmap(&good);
	peer_close(&hostile);
	peer_close(&honest);
	peer_close(&consumer);
	fuzz_service_must_be_empty();
	return 0;
}
