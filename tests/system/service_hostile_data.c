/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer that breaks the rules of what it hands over, frame by frame against the service on the
 * sockets of the environment: packets, chunks, patches. Each breach ends as the protocol says:
 * it is counted, and only the producer itself loses data.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service_hostile_producer.h"

/* ---- packets ---- */

/* The service's own fields, each in every way that its number can be written. */
static bool fields_of_the_service_are_not_for_producers(void)
{
	static const uint32_t own[] = {3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133};
	static const uint64_t values[] = {0, 1, UINT64_MAX};
	struct smb_chunk_header h = {.writer_id = 1, .count = 1};
	uint64_t n = 0, before;

	CHECK(begin(ONE_BUFFER));
	before = STAT(INVALID_PACKETS);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		for (size_t k = 0; k < 4; k++, n++) {
			uint8_t packet[32] = {0}, *q = packet + 1;

			q = pb_put_varint(q, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
			q = mempcpy(q, "\x05spoof", 6);
			q = pb_put_varint(q,
					  pb_tag(own[i], k < 3 ? PB_WIRE_VARINT : PB_WIRE_BYTES));
			q = pb_put_varint(q, k < 3 ? values[k] : 0);
			packet[0] = (uint8_t)(q - packet - 1);
			h.chunk_id = (uint32_t)n;
			CHECK(commit_raw(&h, packet, sizeof(packet)));
		}
	CHECK(count_read("spoof") == 0);
	CHECK(STAT(INVALID_PACKETS) == before + n);
	CHECK(commit_text(1, (uint32_t)n, "mine") && count_read("mine") == 1);
	return end();
}

/* Each would be whole, and say something else, with what the service appends. */
static bool packets_without_an_end_are_dropped(void)
{
	static const char *const open[] = {
		"\xa2", /* a tag that goes on */
		"\xa2\x38\x14two", /* 20 bytes, of which 3 are there */
		"\xa2\x38", /* no length */
		"\xa2\x38\xff", /* a length that goes on */
		"\xa0\x38\xff\xff", /* a number that goes on */
		"\xa5\x38\x01\x02", /* 4 bytes, of which 2 */
		"\xa1\x38\x01\x02\x03", /* 8 bytes, of which 3 */
		"\xa3\x38", /* a group */
	};
	struct smb_chunk_header h = {.writer_id = 1, .count = 1};
	uint32_t n = sizeof(open) / sizeof(open[0]);
	struct peer_packets t;

	CHECK(begin(ONE_BUFFER));
	for (; h.chunk_id < n; h.chunk_id++) {
		uint8_t packet[16] = {(uint8_t)strlen(open[h.chunk_id])};

		memcpy(packet + 1, open[h.chunk_id], packet[0]);
		CHECK(commit_raw(&h, packet, sizeof(packet)));
	}
	CHECK(commit_text(1, n, "whole"));
	CHECK(peer_read(&c, &t) && peer_count_text(&t, "whole") == 1);
	for (size_t i = 0; i < t.n; i++) /* the sequence 1 is the service's own */
		CHECK(peer_packet_number(&t, i, PB_TRACE_PACKET_TRUSTED_UID) == getuid() ||
		      peer_packet_number(&t, i, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID) == 1);
	peer_packets_free(&t);
	CHECK(STAT(INVALID_PACKETS) == n);
	return end();
}

/* ---- buffers and chunks ---- */

static bool writer_keeps_to_the_buffer_it_registered(void)
{
	struct peer_session second = {0};
	struct pb_field f;
	uint64_t discarded;

	enable("buffers { size_kb: 64 } buffers { size_kb: 64 }"
	       "data_sources { config { name: 'hostile.src' } }"
	       "data_sources { config { name: 'hostile.src' target_buffer: 1 } }");
	CHECK(peer_await_session(&p, stream, false, &mine));
	second.smb.base = mine.smb.base; /* there is no other memory */
	CHECK(peer_await_session(&p, stream, false, &second) && second.buffer != mine.buffer);
	CHECK(peer_command(&p, stream, CMD(START_DATA_SOURCE), &f));
	CHECK(peer_command(&p, stream, CMD(START_DATA_SOURCE), &f));
	CHECK(peer_accepted(&p, peer_register_writer(&p, 1, second.buffer)));
	discarded = STAT(CHUNKS_DISCARDED);
	CHECK(commit_text(1, 0, "elsewhere"));
	CHECK(count_read("elsewhere") == 0 && STAT(CHUNKS_DISCARDED) == discarded + 1);
	return end();
}

static bool buffer_of_another_session_is_closed(void)
{
	static struct peer other_p, other_c;
	struct peer_session other = {0};
	uint64_t theirs, discarded;
	const char *text = "intruder";

	CHECK(begin(ONE_BUFFER));
	peer_connect(&other_p, sock_default_producer());
	peer_connect(&other_c, sock_default_consumer());
	theirs = peer_become_producer(&other_p, "other", "other.src", 0, false);
	peer_enable(&other_c,
		    "buffers { size_kb: 64 } data_sources { config { name: 'other.src' } }");
	CHECK(peer_await_session(&other_p, theirs, true, &other));
	discarded = STAT(CHUNKS_DISCARDED);
	peer_write_chunk(&mine.smb, 0, 1, 0, &text, 1, true);
	CHECK(commit_page(0, other.buffer));
	/* Numbers are 16 bits wide: a longer one is another, not the same again. */
	peer_write_chunk(&mine.smb, 0, 1, 1, &text, 1, true);
	CHECK(commit_page(0, mine.buffer | 1u << 16));
	CHECK(STAT(CHUNKS_DISCARDED) == discarded + 2);
	CHECK(count_read("intruder") == 0);
	CHECK(peer_buffer_stat(&other_c, PB_TRACE_STATS_BUFFER_STATS_CHUNKS_WRITTEN) == 0);
	peer_unmap(&other);
	peer_close(&other_p);
	peer_close(&other_c);
	return end();
}

static bool chunks_that_break_the_format(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		uint16_t count;
	} bad[] = {
		{"\xff\xff\x7f", 3, 1}, /* a fragment beyond the chunk */
		{"\xfe\xff\xff\x7f", 4, 1}, /* the largest but the mark of a dropped one */
		{"\xff\xff\xff\xff\x0f", 5, 1}, /* 2^32-1 */
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, 1}, /* 2^64-1 */
		{"\x84\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, 1}, /* 2^64+4 */
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 12, 1}, /* no end */
		{"\x82\xa2\x38", 3, 3}, /* 5 KiB, of which 4 are there; more behind */
	};
	struct smb_chunk_header h = {.writer_id = 1};
	uint32_t id = 0;

	CHECK(begin(ONE_BUFFER));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t before = BUFFER_STAT(ABI_VIOLATIONS);

		h.count = bad[i].count;
		h.chunk_id = id++;
		CHECK(commit_raw(&h, bad[i].bytes, bad[i].len));
		CHECK(BUFFER_STAT(ABI_VIOLATIONS) == before + 1);
		CHECK(commit_text(1, id++, "next") && count_read("next") == 1);
	}
	return end();
}

/* One good packet, and a count that no chunk of that length can hold. */
static bool count_that_is_too_large(void)
{
	uint8_t payload[4080];
	struct smb_chunk_header h = {.writer_id = 1, .count = SMB_MAX_PACKETS};

	CHECK(begin(ONE_BUFFER));
	memset(payload, 3, sizeof(payload));
	memcpy(payload, "\x08\xa2\x38\x05real!", 9);
	CHECK(commit_raw(&h, payload, sizeof(payload)));
	CHECK(BUFFER_STAT(ABI_VIOLATIONS) == 1);
	CHECK(count_read("real!") == 1);
	return end();
}

/* The same chunk again, with less in it than it had, or after what came behind it was read. */
static bool chunks_that_are_committed_again(void)
{
	static const char *const texts[] = {"one", "two"};
	struct smb_chunk_header h = {.writer_id = 1, .count = 1, .flags = 0};
	struct peer_packets t;

	CHECK(begin(ONE_BUFFER));
	peer_write_chunk(&mine.smb, 0, 1, 0, texts, 2, true);
	smb_header_store_packets(smb_chunk_at(&mine.smb, 0, SMB_DIV1, 0).header, 2,
				 SMB_CONTINUES_ON_NEXT);
	CHECK(commit_page(0, mine.buffer));
	CHECK(commit_raw(&h, "\x06\xa2\x38\x03old", 7)); /* fewer packets */
	CHECK(BUFFER_STAT(ABI_VIOLATIONS) == 1);
	h.count = 2;
	CHECK(commit_raw(&h, "\x06\xa2\x38\x03old\x06\xa2\x38\x03old", 14)); /* a flag less */
	CHECK(BUFFER_STAT(ABI_VIOLATIONS) == 2);
	h = (struct smb_chunk_header){
		.writer_id = 1, .chunk_id = 1, .count = 1, .flags = SMB_CONTINUES_FROM_PREV};
	CHECK(commit_raw(&h, "\x03\x98\x39\x01", 4)); /* the end of "two": a field 915 */
	CHECK(peer_read(&c, &t));
	CHECK(peer_count_text(&t, "one") == 1 && peer_count_text(&t, "two") == 1);
	peer_packets_free(&t);
	CHECK(commit_text(1, 0, "late") && count_read("late") == 0); /* chunk 1 was read */
	CHECK(commit_text(1, 2, "next") && count_read("next") == 1);
	return end();
}

/* ---- patches ---- */

/* The length of a field of four bytes. */
static const struct peer_patch good_patch = {3, "\x83\x80\x80", 4};

/* A chunk that waits for a patch; its packet says "abc" with it, and is none without. */
static void write_to_be_patched(const struct smb *m, uint16_t writer, uint32_t chunk_id)
{
	struct smb_chunk_header h = {
		.writer_id = writer, .chunk_id = chunk_id, .count = 1, .flags = SMB_NEEDS_PATCHING};

	peer_write_raw(m, 0, &h, "\x09\xa2\x38\0\0\0\0abc", 10);
}

static bool patches_that_do_not_fit(void)
{
	static const struct peer_patch bad[] = {
		{7, "1234", 4}, {UINT32_MAX, "1234", 4}, {UINT32_MAX - 3, "1234", 4}};
	static const struct peer_patch sizes[] = {{0, "123", 3}, {0, "12345", 5}, {0, "", 0}};
	uint64_t before;

	CHECK(begin(ONE_BUFFER));
	write_to_be_patched(&mine.smb, 1, 0);
	CHECK(commit_page(0, mine.buffer));
	for (size_t i = 0; i < 3; i++) {
		before = BUFFER_STAT(PATCHES_FAILED);
		CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 1, 0, &bad[i], 1, true)));
		CHECK(BUFFER_STAT(PATCHES_FAILED) == before + 1);
		before = STAT(PATCHES_DISCARDED);
		CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 1, 0, &sizes[i], 1, true)));
		CHECK(STAT(PATCHES_DISCARDED) == before + 1);
	}
	before = STAT(PATCHES_DISCARDED);
	CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 1, 0, &good_patch, 1025, false)));
	CHECK(STAT(PATCHES_DISCARDED) == before + 1025);
	CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 0, 0, &good_patch, 1, false)));
	CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 32768, 0, &good_patch, 1, false)));
	CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 65537, 0, &good_patch, 1, false)));
	CHECK(STAT(PATCHES_DISCARDED) == before + 1028);
	before = BUFFER_STAT(PATCHES_FAILED);
	CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 1, 7, &good_patch, 1, false)));
	CHECK(BUFFER_STAT(PATCHES_FAILED) == before + 1);
	/* After all that the chunk waits as before, and is as it was. */
	CHECK(count_read("abc") == 0);
	CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 1, 0, &good_patch, 1, false)));
	CHECK(count_read("abc") == 1);
	return end();
}

/* Same writer id, same chunk id, same buffer: but another producer. */
static bool patches_reach_no_other_producer(void)
{
	static const struct peer_patch evil = {3, "\x80\x80\x80", 4};
	static struct peer victim;
	struct peer_session theirs = {0};
	uint64_t to_victim;

	peer_connect(&victim, sock_default_producer());
	to_victim = peer_become_producer(&victim, "victim", "hostile.src", 0, false);
	CHECK(begin(ONE_BUFFER));
	CHECK(peer_await_session(&victim, to_victim, true, &theirs));
	CHECK(theirs.buffer == mine.buffer);
	write_to_be_patched(&theirs.smb, 1, 0);
	CHECK(peer_accepted(&victim, peer_commit(&victim, 0, 0, theirs.buffer, 0)));
	CHECK(peer_accepted(&p, peer_patch(&p, mine.buffer, 1, 0, &evil, 1, false)));
	CHECK(BUFFER_STAT(PATCHES_FAILED) == 1 && BUFFER_STAT(PATCHES_SUCCEEDED) == 0);
	CHECK(count_read("abc") == 0);
	CHECK(peer_accepted(&victim,
			    peer_patch(&victim, theirs.buffer, 1, 0, &good_patch, 1, false)));
	CHECK(count_read("abc") == 1);
	peer_unmap(&theirs);
	peer_close(&victim);
	return end();
}

static bool is_text(const struct peer_packets *t, size_t i, const char *text)
{
	struct pb_field f;

	return peer_packet_field(t, i, PEER_FIELD, &f) && f.len == strlen(text) &&
	       !memcmp(f.data, text, f.len);
}

/* A chunk that is never patched holds up its own sequence, and that until its space is needed. */
static bool writer_that_never_patches_harms_itself_only(void)
{
	struct peer_packets t;
	uint32_t id = 1;
	int i;

	CHECK(begin("buffers { size_kb: 4 } data_sources { config { name: 'hostile.src' } } "));
	write_to_be_patched(&mine.smb, 1, 0);
	CHECK(commit_page(0, mine.buffer));
	CHECK(commit_text(1, 1, "behind"));
	CHECK(commit_text(2, 0, "other") && count_read("other") == 1);
	CHECK(count_read("behind") == 0);
	while (BUFFER_STAT(CHUNKS_OVERWRITTEN) == 0 && id < 1000)
		CHECK(commit_text(2, id++, "other"));
	CHECK(id > 10 && id < 1000);
	/* Then it goes on, and says that something is missing. */
	CHECK(commit_text(1, 2, "later"));
	CHECK(peer_read(&c, &t));
	CHECK(peer_count_text(&t, "abc") == 0 && peer_count_text(&t, "later") == 1);
	for (i = 0; !is_text(&t, (size_t)i, "later") && !is_text(&t, (size_t)i, "behind"); i++)
		;
	CHECK(peer_packet_number(&t, (size_t)i, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED) != 0);
	peer_packets_free(&t);
	return end();
}

/* A chunk that is never ended is scraped at each flush, and gives what is sure in it once. */
static bool chunk_that_is_never_ended_harms_itself_only(void)
{
	static const char *const open[] = {"sure", "begun"};
	struct peer_packets t;
	struct pb_field f;

	CHECK(begin(ONE_BUFFER));
	CHECK(peer_accepted(&p, peer_register_writer(&p, 1, mine.buffer)));
	peer_write_chunk(&mine.smb, 5, 1, 0, open, 2, false);
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t flush = peer_call(&c, C_FLUSH, NULL, 0);

		CHECK(peer_command(&p, stream, CMD(FLUSH), &f));
		CHECK(commit_text(2, i, "other"));
		CHECK(peer_accepted(&p, peer_ack_flush(&p, UINT64_MAX)));
		CHECK(peer_accepted(&c, flush));
		CHECK(peer_read(&c, &t));
		CHECK(peer_count_text(&t, "sure") == (i == 0));
		CHECK(peer_count_text(&t, "begun") == 0 && peer_count_text(&t, "other") == 1);
		peer_packets_free(&t);
	}
	CHECK(smb_word_state(smb_load_word(&mine.smb, 5), 0) == SMB_BEING_WRITTEN);
	return end();
}

/* ---- writers ---- */

/* Every id that there is, registered and used. */
static bool many_writers(void)
{
	enum { PER_ROUND = 64 * 14, ALL = 20 * PER_ROUND };
	static const uint32_t none[] = {0, 32768, 65535, 65536, UINT32_MAX};
	unsigned n;

	CHECK(begin(ONE_BUFFER));
	for (uint32_t w = 1; w <= SMB_MAX_WRITER_ID; w++)
		peer_call_as(&p, 1, P_REGISTER_WRITER, true,
			     (uint8_t[]){0x08, (uint8_t)(w | 0x80), (uint8_t)(w >> 7 | 0x80),
					 (uint8_t)(w >> 14), 0x10, (uint8_t)(mine.buffer | 0x80),
					 (uint8_t)(mine.buffer >> 7)},
			     7, -1);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(peer_rejected(&p, peer_register_writer(&p, none[i], mine.buffer)));
	for (uint32_t w = 0; w < ALL;) {
		struct pb_mem m;

		CHECK(pb_mem_init(&m) == 0);
		for (uint32_t page = 0; page < 64; page++) {
			CHECK(smb_partition(&mine.smb, page, SMB_DIV14));
			for (uint32_t i = 0; i < 14; i++) {
				struct smb_chunk_header h = {.writer_id = (uint16_t)++w,
							     .count = 1};
				struct smb_chunk chunk;

				CHECK(smb_acquire_free(&mine.smb, page, i, &h, &chunk));
				memcpy(chunk.payload, "\x06\xa2\x38\x03one", 7);
				smb_header_store_packets(chunk.header, 1, 0);
				CHECK(smb_release_complete(&mine.smb, page, i));
				peer_put_move(&m.enc, page, i, mine.buffer);
			}
		}
		CHECK(peer_accepted(&p, peer_call_mem(&p, P_COMMIT, &m)));
	}
	/* 64 KiB hold 2048 of their records. */
	/* 64 KiB hold 2048 of their records, less what the last one needed while it was copied. */
	n = count_read("one");
	CHECK(n > 2000 && n <= 2048);
	CHECK(BUFFER_STAT(CHUNKS_WRITTEN) == ALL);
	CHECK(BUFFER_STAT(CHUNKS_OVERWRITTEN) == ALL - n);
	return end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{"fields of the service are not for producers",
		 fields_of_the_service_are_not_for_producers},
		{"packets without an end are dropped", packets_without_an_end_are_dropped},
		{"a writer keeps to the buffer that it registered",
		 writer_keeps_to_the_buffer_it_registered},
		{"another session's buffer is closed", buffer_of_another_session_is_closed},
		{"chunks that break the format", chunks_that_break_the_format},
		{"a count that is too large", count_that_is_too_large},
		{"chunks that are committed again", chunks_that_are_committed_again},
		{"patches that do not fit", patches_that_do_not_fit},
		{"patches reach no other producer", patches_reach_no_other_producer},
		{"a writer that never patches harms itself only",
		 writer_that_never_patches_harms_itself_only},
		{"a chunk that is never ended harms itself only",
		 chunk_that_is_never_ended_harms_itself_only},
		{"many writers", many_writers},
	};

	p.fd = p.got_fd = c.fd = c.got_fd = -1;
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
