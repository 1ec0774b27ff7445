/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A test of a trace buffer as text, a step or a few a line:
 *
 *	SCRIPT(a_gap_between_passes, 64 << 10,
 *	       "put 1.1#0 'zero'\n"
 *	       "read 1.1 'zero' end\n"
 *	       "put 1.1#2> 'two' 'be' 1.1#3< 'gun'\n"
 *	       "read 1.1 'two' -gap 1.1 'begun' end\n"
 *	       "count chunks_read 3")
 *
 * put, scrape   commits chunks, complete or not. A chunk is PRODUCER.WRITER#ID; "<" and ">" if a packet continues from the
 *               chunk before or in the next one, "!" if it needs patching; then its fragments: TEXT, "drop" (the mark of
 *               a packet that its writer dropped), "raw TEXT" (bytes that are no fragment), "/N" (the header counts N
 *               fragments), "[N]" (the producer's chunk has N bytes). With "+" after ID a former chunk gets more
 *               fragments, and other flags if there are any ("-": none)
 * patch         PRODUCER.WRITER#ID, "@OFFSET TEXT" for each patch, "more" if others follow
 * read          begins a pass and reads packets: PRODUCER.WRITER TEXT, with exactly the losses "-NAME"; "end": there is
 *               no other one. "next" reads in the same pass
 * gone          the writers PRODUCER.WRITER end
 * count         counters of the buffer and their values
 *
 * TEXT is 'text', x*20 (20 times x) or %ff00 (bytes in hexadecimal).
 */
#include "unit/service/trace_buffer_helper.h"

#define SCRIPT_WITH(name, size, policy, text)                                                      \
	TEST(name)                                                                                 \
	{                                                                                          \
		script_run(size, policy, text);                                                    \
	}
#define SCRIPT(name, size, text) SCRIPT_WITH(name, size, TRACE_BUFFER_RING, text)
#define SCRIPT_DISCARD(name, size, text) SCRIPT_WITH(name, size, TRACE_BUFFER_DISCARD, text)

struct script {
	struct trace_buffer *b;
	char line[256];
	const char *at;
	struct chunk chunks[8]; /* the last ones */
	unsigned n_chunks;
};

static inline void script_fail(const struct script *s, const char *what)
{
	fail_msg("%s: \"%s\", at \"%s\"", what, s->line, s->at);
}

/* Reads the next word, if it is this one. */
static inline bool script_word(struct script *s, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(s->at, word, len) != 0 || (s->at[len] && s->at[len] != ' '))
		return false;
	s->at += len + strspn(s->at + len, " ");
	return true;
}

static inline bool script_char(struct script *s, char ch)
{
	bool is = *s->at == ch;

	s->at += is;
	return is;
}

/* Reads numbers by a format of sscanf() that ends with %n. */
#define script_scan(s, format, ...)                                                                \
	({                                                                                         \
		int scanned = 0;                                                                   \
                                                                                                   \
		if (sscanf((s)->at, format, __VA_ARGS__, &scanned) != EOF)                         \
			(s)->at += scanned;                                                        \
		scanned > 0;                                                                       \
	})

/* Reads TEXT into ret, which has room for 65536 bytes. */
static inline bool script_text(struct script *s, char *ret, size_t *ret_len)
{
	unsigned byte;
	char ch;

	if (script_char(s, '\'')) {
		*ret_len = strcspn(s->at, "'");
		memcpy(ret, s->at, *ret_len);
		s->at += *ret_len + 1;
	} else if (s->at[0] && s->at[1] == '*' && script_scan(s, "%c*%zu%n", &ch, ret_len)) {
		memset(ret, ch, *ret_len);
	} else if (script_char(s, '%')) {
		for (*ret_len = 0; *s->at != ' ' && script_scan(s, "%2x%n", &byte);)
			ret[(*ret_len)++] = (char)byte;
	} else {
		return false;
	}
	s->at += strspn(s->at, " ");
	return true;
}

/* Reads PRODUCER.WRITER#ID and flags. */
static inline struct chunk *script_chunk(struct script *s)
{
	uint16_t producer, writer;
	struct chunk *c = NULL;
	uint8_t flags = 0;
	uint32_t id;

	if (!script_scan(s, "%hu.%hu#%i%n", &producer, &writer, (int *)&id))
		script_fail(s, "no chunk");
	if (script_char(s, '+')) {
		for (size_t i = 0; i < ARRAY_SIZE(s->chunks); i++)
			if (s->chunks[i].producer_id == producer &&
			    s->chunks[i].h.writer_id == writer && s->chunks[i].h.chunk_id == id)
				c = &s->chunks[i];
		if (!c)
			script_fail(s, "a new chunk");
		flags = strchr("<>!-", *s->at) && *s->at ? 0 : c->h.flags;
		script_char(s, '-');
	} else {
		c = &s->chunks[s->n_chunks++ % ARRAY_SIZE(s->chunks)];
		chunk_start(c, producer, writer, id, 0);
	}
	flags |= script_char(s, '<') ? FROM_PREV : 0;
	flags |= script_char(s, '>') ? ON_NEXT : 0;
	flags |= script_char(s, '!') ? NEEDS_PATCHING : 0;
	c->h.flags = flags;
	s->at += strspn(s->at, " ");
	return c;
}

static inline void script_chunks(struct script *s, bool complete)
{
	static char text[65536];
	uint16_t count;
	size_t len;

	while (*s->at) {
		struct chunk *c = script_chunk(s);
		size_t room = 0;
		bool whole = true;

		for (;;) {
			if (script_text(s, text, &len)) {
				chunk_fragment(c, text, len);
			} else if (script_word(s, "raw") && script_text(s, text, &len)) {
				chunk_raw(c, text, len);
			} else if (script_word(s, "drop")) {
				chunk_raw(c, "\xff\xff\xff\x7f", 4);
				c->h.count++;
			} else if (script_scan(s, "/%hu %n", &count)) {
				c->h.count = count;
			} else if (script_scan(s, "[%zu] %n", &room)) {
				whole = false;
			} else {
				break;
			}
		}
		chunk_commit_in(s->b, c, whole ? c->len : room, complete);
	}
}

static inline void script_patches(struct script *s)
{
	struct trace_buffer_patch patches[8];
	uint16_t producer, writer;
	size_t n = 0, len;
	uint32_t id;
	char text[64];

	if (!script_scan(s, "%hu.%hu#%i %n", &producer, &writer, (int *)&id))
		script_fail(s, "no chunk");
	while (script_scan(s, "@%u %n", &patches[n].offset)) {
		assert_true(script_text(s, text, &len) && len == sizeof(patches[n].data));
		memcpy(patches[n++].data, text, len);
	}
	trace_buffer_apply_patches(s->b, producer, writer, id, patches, n, script_word(s, "more"));
}

static inline uint32_t script_losses(struct script *s)
{
	static const struct {
		const char *name;
		uint32_t loss;
	} losses[] = {{"-gap", DATA_LOSS_READ_GAP},
		      {"-corrupted", DATA_LOSS_CHUNK_CORRUPTED},
		      {"-orphan", DATA_LOSS_ORPHAN_CONTINUATION},
		      {"-reassembly_gap", DATA_LOSS_REASSEMBLY_GAP},
		      {"-broken_chain", DATA_LOSS_REASSEMBLY_BROKEN_CHAIN},
		      {"-overwrite", DATA_LOSS_OVERWRITE},
		      {"-abort", DATA_LOSS_WRITER_ABORT}};
	uint32_t got = 0;

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		if (script_word(s, losses[i].name)) {
			got |= losses[i].loss;
			i = (size_t)-1;
		}
	return got;
}

static inline void script_packets(struct script *s)
{
	static char text[65536 + 1];
	uint16_t producer, writer;
	struct trace_packet p;
	uint32_t loss;
	size_t len;
	char *got;

	while (script_scan(s, "%hu.%hu %n", &producer, &writer)) {
		if (!script_text(s, text, &len))
			script_fail(s, "no text");
		loss = script_losses(s);
		if (!trace_buffer_next_packet(s->b, NULL, &p))
			script_fail(s, "no packet before");
		got = packet_text(&p);
		if (p.size != len || memcmp(got, text, len) != 0 ||
		    p.writer.producer_id != producer || p.writer.writer_id != writer ||
		    p.writer.uid != (uid_t)UID + producer || p.writer.pid != PID + producer ||
		    p.loss != (loss ? loss | DATA_LOSS_PRESENT : 0)) {
			print_error("got %u.%u '%.100s', losses %#x\n", p.writer.producer_id,
				    p.writer.writer_id, got, p.loss);
			script_fail(s, "another packet before");
		}
		test_free(got);
	}
	if (script_word(s, "end") && trace_buffer_next_packet(s->b, NULL, &p))
		script_fail(s, "a packet at the end");
}

static inline void script_counts(struct script *s)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(s->b);
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
#define COUNT(name) {#name, st->name}
		COUNT(abi_violations),
		COUNT(bytes_overwritten),
		COUNT(bytes_read),
		COUNT(bytes_written),
		COUNT(chunks_committed_out_of_order),
		COUNT(chunks_discarded),
		COUNT(chunks_overwritten),
		COUNT(chunks_read),
		COUNT(chunks_relocated),
		COUNT(chunks_rewritten),
		COUNT(chunks_written),
		COUNT(padding_bytes_cleared),
		COUNT(padding_bytes_written),
		COUNT(patches_failed),
		COUNT(patches_succeeded),
		COUNT(readaheads_failed),
		COUNT(readaheads_succeeded),
		COUNT(trace_writer_packet_loss),
		COUNT(write_wrap_count),
#undef COUNT
		{"bytes_in_use", bytes_in_use(s->b)},
	};
	unsigned long value;

	while (*s->at) {
		size_t i = 0;

		while (i < ARRAY_SIZE(counts) && !script_word(s, counts[i].name))
			i++;
		if (i == ARRAY_SIZE(counts) || !script_scan(s, "%lu %n", &value))
			script_fail(s, "no counter");
		if (counts[i].value != value) {
			print_error("%s is %lu\n", counts[i].name, (unsigned long)counts[i].value);
			script_fail(s, "another value before");
		}
	}
}

static inline void script_step(struct script *s)
{
	uint16_t producer, writer;

	if (script_word(s, "put")) {
		script_chunks(s, true);
	} else if (script_word(s, "scrape")) {
		script_chunks(s, false);
	} else if (script_word(s, "patch")) {
		script_patches(s);
	} else if (script_word(s, "read")) {
		trace_buffer_begin_read(s->b);
		script_packets(s);
	} else if (script_word(s, "next")) {
		script_packets(s);
	} else if (script_word(s, "gone")) {
		while (script_scan(s, "%hu.%hu %n", &producer, &writer))
			trace_buffer_end_writer(s->b, producer, writer);
	} else if (script_word(s, "count")) {
		script_counts(s);
	}
	if (*s->at)
		script_fail(s, "not understood");
}

static inline void script_run(size_t size, enum trace_buffer_policy policy, const char *text)
{
	static struct script s;
	size_t len;

	s.n_chunks = 0;
	for (size_t i = 0; i < ARRAY_SIZE(s.chunks); i++)
		s.chunks[i].producer_id = 0;
	s.b = buffer_of(size, policy);
	for (; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		assert_true(len < sizeof(s.line));
		memcpy(s.line, text, len);
		s.line[len] = '\0';
		s.at = s.line;
		script_step(&s);
	}
	trace_buffer_free(s.b);
}
