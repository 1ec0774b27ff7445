/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations on a buffer, compared with a model: for each sequence a list of chunks, without
 * a ring. Nothing is overwritten. A full pass must return the packets of each sequence that the
 * model returns, with the same losses; the order between sequences is not compared.
 */
#include "unit/rng.h"
#include "unit/service/trace_buffer_helper.h"
#include "unit/test.h"

enum { WRITERS = 4, IDS = 400, MAX_FRAGS = 5, MAX_BYTES = 24, SEQS = 64, ROUNDS = 150, OPS = 300 };

enum end { END_NORMAL, END_ABORTED, END_CORRUPTED };

/* A chunk as its writer has written it, with the state of the model. */
struct model_chunk {
	uint32_t id;
	uint8_t flags;
	enum end end; /* what is behind the fragments */
	uint16_t n;
	struct {
		uint8_t len, bytes[MAX_BYTES];
	} frags[MAX_FRAGS];
	uint16_t stored, read; /* fragments in the buffer, and those of them that were read */
	uint16_t counted; /* fragments by the headers of the commits */
	bool complete; /* no more can come */
};

struct model_seq {
	uint16_t writer;
	bool ended, has_last, last_complete;
	uint32_t last_id, last_counted, run_start, loss;
	struct model_chunk *chunks[IDS]; /* unread, by id; borrowed from the writer */
	uint32_t n;
};

struct model_writer {
	struct model_chunk chunks[IDS]; /* in the order of their ids */
	uint32_t n, first_id;
	uint32_t begin; /* first chunk of the sequence */
	struct model_seq *seq; /* NULL: the next commit begins one */
};

struct model {
	struct trace_buffer *b;
	uint64_t rng;
	struct model_writer writers[WRITERS];
	struct model_seq seqs[SEQS];
	uint32_t n_seqs;
	uint64_t written, discarded, violations, aborted, patched, n_packets, n_losses;
};

/* ---- the model of a commit ---- */

static struct model_seq *model_seq_of(struct model *m, struct model_writer *w)
{
	if (!w->seq || w->seq->ended) {
		w->seq = &m->seqs[m->n_seqs++];
		*w->seq = (struct model_seq){.writer = (uint16_t)(w - m->writers + 1)};
	}
	return w->seq;
}

static void model_commit(struct model *m, struct model_seq *s, struct model_chunk *c,
			 uint16_t count, bool complete)
{
	uint16_t whole = complete || count == 0 ? count : count - 1;
	uint32_t i = s->n, counted = c->counted;
	bool was_complete = c->complete, in_list = false;

	if (!complete && count < 2)
		return;
	while (i > 0 && (int32_t)(s->chunks[i - 1]->id - c->id) >= 0)
		in_list |= s->chunks[--i] == c;
	if (!in_list && s->has_last && (int32_t)(c->id - s->last_id) < 0) {
		m->discarded += s->last_id - c->id > s->last_id - s->run_start;
		return;
	}
	if (in_list || (s->has_last && s->last_id == c->id)) {
		if (whole < counted || (was_complete && whole > counted)) {
			m->violations++;
			return;
		}
		if (whole == counted) {
			c->complete |= complete;
			s->last_complete |= !in_list && complete;
			return;
		}
	} else {
		m->written++;
	}
	c->counted = whole;
	c->stored = MIN(whole, c->n);
	c->complete = complete;
	m->violations += complete && c->end == END_CORRUPTED;
	m->aborted += complete && c->end == END_ABORTED;
	if (in_list)
		return;
	memmove(&s->chunks[i + 1], &s->chunks[i], (s->n++ - i) * sizeof(s->chunks[0]));
	s->chunks[i] = c;
}

/* ---- the model of a pass ---- */

static void model_enter(struct model_seq *s, const struct model_chunk *c)
{
	if (!s->has_last ||
	    !(c->id == s->last_id || (c->id == s->last_id + 1 && s->last_complete))) {
		s->loss |= s->has_last ? DATA_LOSS_READ_GAP : 0;
		s->run_start = c->id;
	}
	s->has_last = true;
	s->last_id = c->id;
	s->last_complete = false;
}

/* Removes the first n chunks, and drops what is unread of them. */
static void model_drop(struct model_seq *s, uint32_t n, uint32_t loss)
{
	s->loss |= loss;
	for (uint32_t i = 0; i < n; i++) {
		struct model_chunk *c = s->chunks[i];

		model_enter(s, c);
		c->read = c->stored;
		s->last_complete = c->complete;
		if (c->complete && c->end != END_NORMAL)
			s->loss |= c->end == END_ABORTED ? DATA_LOSS_WRITER_ABORT
							 : DATA_LOSS_CHUNK_CORRUPTED;
	}
	s->n -= n;
	memmove(&s->chunks[0], &s->chunks[n], s->n * sizeof(s->chunks[0]));
}

static void model_advance(struct model_seq *s, struct model_chunk *c)
{
	model_enter(s, c);
	if (++c->read == c->stored)
		model_drop(s, 1, 0);
}

struct model_packet {
	size_t len;
	uint8_t bytes[IDS * MAX_BYTES];
	uint32_t loss;
};

static void model_append(struct model_packet *p, const struct model_chunk *c, uint16_t frag)
{
	if (c->stored == 0)
		return;
	memcpy(p->bytes + p->len, c->frags[frag].bytes, c->frags[frag].len);
	p->len += c->frags[frag].len;
}

/* Flags of the end of a chunk, once it has come. */
static bool model_has(const struct model_chunk *c, uint8_t flag)
{
	return c->complete && c->end == END_NORMAL && c->flags & flag;
}

/* Returns true and the next packet of the sequence, or false if it stalls. */
static bool model_next(struct model_seq *s, struct model_packet *p)
{
	while (s->n > 0) {
		struct model_chunk *head = s->chunks[0];
		bool is_last = head->read + 1 == head->stored;
		uint32_t i = 0;

		p->len = 0;
		if (s->has_last && !s->last_complete && head->id == s->last_id + 1 && !s->ended)
			return false;
		if (head->stored == 0) {
			model_drop(s, 1, 0);
			continue;
		}
		if (head->read == 0 && head->flags & FROM_PREV) {
			s->loss |= DATA_LOSS_ORPHAN_CONTINUATION;
			model_advance(s, head);
			continue;
		}
		if (is_last && model_has(head, NEEDS_PATCHING)) {
			if (!s->ended)
				return false;
			model_drop(s, 1, DATA_LOSS_WRITER_ABORT);
			continue;
		}
		model_append(p, head, head->read);
		if (is_last && model_has(head, ON_NEXT)) {
			uint32_t loss = 0, drop = 0;

			for (i = 1; i < s->n && !loss; i++) {
				const struct model_chunk *c = s->chunks[i];

				if (c->id != s->chunks[i - 1]->id + 1) {
					loss = DATA_LOSS_REASSEMBLY_GAP;
					drop = i;
				} else if (c->stored == 0 && c->complete && c->end == END_NORMAL) {
					continue;
				} else if (c->stored == 0 || !(c->flags & FROM_PREV)) {
					loss = DATA_LOSS_REASSEMBLY_BROKEN_CHAIN;
					drop = i;
				} else if (c->stored > 1 ||
					   !model_has(c, NEEDS_PATCHING | ON_NEXT)) {
					break;
				} else if (model_has(c, NEEDS_PATCHING)) {
					loss = DATA_LOSS_WRITER_ABORT;
					drop = i + 1;
				} else {
					model_append(p, c, 0);
				}
			}
			if (!loss && i == s->n) { /* its end is missing */
				loss = DATA_LOSS_WRITER_ABORT;
				drop = s->n;
			}
			if (loss == DATA_LOSS_WRITER_ABORT && !s->ended)
				return false;
			if (loss) {
				model_drop(s, drop, loss);
				continue;
			}
			model_append(p, s->chunks[i], 0);
		}
		if (p->len > 0) {
			model_enter(s, head);
			p->loss = s->loss ? s->loss | DATA_LOSS_PRESENT : 0;
			s->loss = 0;
		}
		model_drop(s, i, 0);
		model_advance(s, s->chunks[0]);
		if (p->len > 0)
			return true;
	}
	return false;
}

/* ---- a full pass of both ---- */

static void check_counters(const struct model *m)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(m->b);

	assert_int_equal(st->chunks_written, m->written);
	assert_int_equal(st->chunks_discarded, m->discarded);
	assert_int_equal(st->abi_violations, m->violations);
	assert_int_equal(st->trace_writer_packet_loss, m->aborted);
	assert_int_equal(st->patches_succeeded, m->patched);
	assert_int_equal(st->chunks_overwritten + st->patches_failed, 0);
}

/* The sequences of one writer are distinguished by their order: an earlier one is read first. */
static void read_pass(struct model *m)
{
	static struct model_packet want;
	uint32_t first[WRITERS] = {0};
	struct trace_packet p;

	trace_buffer_begin_read(m->b);
	while (trace_buffer_next_packet(m->b, NULL, &p)) {
		uint32_t w = p.writer.writer_id - 1u, i = first[w];
		char *got = packet_text(&p);

		for (; i < m->n_seqs; i++)
			if (m->seqs[i].writer == w + 1 && model_next(&m->seqs[i], &want))
				break;
		assert_true(i < m->n_seqs);
		first[w] = i;
		assert_int_equal(p.size, want.len);
		assert_memory_equal(got, want.bytes, want.len);
		assert_int_equal(p.loss, want.loss);
		m->n_packets++;
		m->n_losses += p.loss != 0;
		test_free(got);
	}
	for (uint32_t i = 0; i < m->n_seqs; i++)
		assert_false(model_next(&m->seqs[i], &want));
	check_counters(m);
}

/* ---- operations ---- */

static uint32_t below(struct model *m, uint32_t n)
{
	return rng_below(&m->rng, n);
}

/* A chunk that its writer has written, but not committed yet. */
static void write_chunk(struct model *m, struct model_writer *w)
{
	struct model_chunk *c = &w->chunks[w->n];
	bool goes_on = w->n > w->begin && w->chunks[w->n - 1].flags & ON_NEXT;

	if (w->n == IDS)
		return;
	*c = (struct model_chunk){.id = w->first_id + w->n++};
	if (below(m, 12) == 0)
		return; /* no fragments */
	c->flags = (goes_on != (below(m, 12) == 0) ? FROM_PREV : 0) |
		   (below(m, 3) == 0 ? ON_NEXT : 0) | (below(m, 6) == 0 ? NEEDS_PATCHING : 0);
	c->end = below(m, 12) == 0 ? 1 + below(m, 2) : END_NORMAL;
	c->n = (uint16_t)(1 + below(m, MAX_FRAGS));
	for (uint16_t i = 0; i < c->n; i++) {
		c->frags[i].len = below(m, 8) ? (uint8_t)(4 + below(m, MAX_BYTES - 3)) : 0;
		for (unsigned k = 0; k < c->frags[i].len; k++)
			c->frags[i].bytes[k] = (uint8_t)below(m, 256);
	}
}

/* Commits the chunk as it is in the shared memory: all of it, or while its writer writes fragment
 * number `count`. */
static void commit_chunk(struct model *m, struct trace_buffer *to, struct model_writer *w,
			 struct model_chunk *c, uint16_t count, bool complete)
{
	static struct chunk out;
	uint16_t all = c->n + (c->end != END_NORMAL);

	chunk_start(&out, 1, (uint16_t)(w - m->writers + 1), c->id,
		    complete ? c->flags : c->flags & FROM_PREV);
	for (uint16_t i = 0; i < MIN(count, c->n); i++)
		chunk_fragment(&out, c->frags[i].bytes, c->frags[i].len);
	if (count > c->n)
		chunk_raw(&out, c->end == END_ABORTED ? "\xff\xff\xff\x7f" : "\xff\x80\x80\x01", 4);
	out.h.count = complete ? all : count;
	chunk_commit_in(to, &out, out.len, complete);
	model_commit(m, model_seq_of(m, w), c, out.h.count, complete);
}

static struct model_chunk *any_chunk(struct model *m, struct model_writer *w)
{
	uint32_t n = w->n - w->begin, back = below(m, 4) ? below(m, 3) : below(m, 12);

	return n > 0 ? &w->chunks[w->n - 1 - MIN(back, n - 1)] : NULL;
}

static void commit_any(struct model *m, struct trace_buffer *to, struct model_writer *w)
{
	struct model_chunk *c = any_chunk(m, w);
	bool complete = below(m, 3) > 0;

	if (c && (complete || c->n > 0))
		commit_chunk(m, to, w, c,
			     complete ? (uint16_t)(c->n + (c->end != END_NORMAL))
				      : (uint16_t)(1 + below(m, c->n)),
			     complete);
}

/* Patches the last bytes of a chunk that waits for it. */
static void patch_any(struct model *m, struct model_writer *w)
{
	struct trace_buffer_patch patch = {0};
	struct model_seq *s = w->seq;

	for (uint32_t i = 0; s && !s->ended && i < s->n; i++) {
		struct model_chunk *c = s->chunks[i];
		uint8_t len = c->n ? c->frags[c->n - 1].len : 0;

		if (!model_has(c, NEEDS_PATCHING) || c->read == c->stored)
			continue;
		for (uint16_t k = 0; k < c->n; k++)
			patch.offset += 4u + c->frags[k].len;
		patch.offset -= 4;
		memcpy(patch.data, "done", 4);
		trace_buffer_apply_patches(m->b, 1, s->writer, c->id, &patch, len > 0, false);
		m->patched += len > 0;
		if (len > 0)
			memcpy(c->frags[c->n - 1].bytes + len - 4, "done", 4);
		c->flags &= (uint8_t)~NEEDS_PATCHING;
		return;
	}
}

static void end_writer(struct model *m, struct model_writer *w)
{
	trace_buffer_end_writer(m->b, 1, (uint16_t)(w - m->writers + 1));
	if (w->seq)
		w->seq->ended = true;
	w->begin = w->n;
}

static void model_begin(struct model *m, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	m->rng = seed;
	m->b = buffer_of(4 << 20, TRACE_BUFFER_RING);
	for (uint32_t i = 0; i < WRITERS; i++)
		m->writers[i].first_id = below(m, 2) ? 0 : (uint32_t)-5;
}

static void operate(struct model *m)
{
	struct model_writer *w = &m->writers[below(m, WRITERS)];
	uint32_t what = below(m, 100);

	if (what < 40)
		write_chunk(m, w);
	else if (what < 85)
		commit_any(m, m->b, w);
	else if (what < 92)
		patch_any(m, w);
	else if (what < 93 && m->n_seqs < SEQS - WRITERS)
		end_writer(m, w);
	else if (what >= 97)
		read_pass(m);
}

/* After the end of all writers everything can be read. */
static void model_finish(struct model *m)
{
	for (uint32_t i = 0; i < WRITERS; i++)
		end_writer(m, &m->writers[i]);
	read_pass(m);
	assert_int_equal(trace_buffer_stats(m->b)->chunks_read,
			 trace_buffer_stats(m->b)->chunks_written);
	assert_int_equal(bytes_in_use(m->b), 0);
	trace_buffer_free(m->b);
}

static struct model model, copy;

TEST(buffer_returns_what_the_model_returns)
{
	uint64_t packets = 0, losses = 0, violations = 0, discarded = 0;

	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		model_begin(&model, seed);
		for (unsigned i = 0; i < OPS; i++)
			operate(&model);
		packets += model.n_packets;
		losses += model.n_losses;
		violations += model.violations;
		discarded += model.discarded;
		model_finish(&model);
	}
	assert_true(packets > 20 * ROUNDS && losses > 5 * ROUNDS);
	assert_true(violations > ROUNDS && discarded > ROUNDS / 10);
}

/* Pointers of a model into itself, in its copy. */
static void model_copy(const struct model *m, struct model *to)
{
	ptrdiff_t shift = (const char *)to - (const char *)m;

#define MOVED(p) ((p) = (void *)((char *)(p) + shift))
	*to = *m;
	for (uint32_t i = 0; i < WRITERS; i++)
		if (to->writers[i].seq)
			MOVED(to->writers[i].seq);
	for (uint32_t i = 0; i < to->n_seqs; i++)
		for (uint32_t k = 0; k < to->seqs[i].n; k++)
			MOVED(to->seqs[i].chunks[k]);
}

TEST(clone_and_its_source_continue_alike)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		size_t offset = 0;

		model_begin(&model, seed);
		for (unsigned i = 0; i < OPS / 2; i++)
			operate(&model);
		model_copy(&model, &copy);
		assert_int_equal(trace_buffer_new_like(model.b, &copy.b), 0);
		while (seed % 2 && !trace_buffer_clone_prepare(model.b, copy.b, &offset, 64 << 10))
			;
		assert_int_equal(trace_buffer_clone(model.b, copy.b), 0);
		for (unsigned i = 0; i < OPS / 2; i++)
			operate(&model);
		model_finish(&model);
		copy.rng += seed % 3; /* in two of three rounds other operations follow */
		for (unsigned i = 0; i < OPS / 2; i++)
			operate(&copy);
		model_finish(&copy);
	}
}

/* What a stand-in received, and then gives to the buffer, is as if the buffer had received it. */
TEST(appended_data_is_as_if_committed)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct trace_buffer *stand_in;

		model_begin(&model, seed);
		for (unsigned i = 0; i < OPS / 2; i++)
			operate(&model);
		assert_int_equal(trace_buffer_new_like(model.b, &stand_in), 0);
		for (unsigned i = 0; i < OPS / 4; i++) {
			struct model_writer *w = &model.writers[below(&model, WRITERS)];

			write_chunk(&model, w);
			if (w->n > w->begin)
				commit_chunk(&model, stand_in, w, &w->chunks[w->n - 1],
					     w->chunks[w->n - 1].n +
						     (w->chunks[w->n - 1].end != END_NORMAL),
					     true);
		}
		trace_buffer_append(model.b, stand_in);
		for (unsigned i = 0; i < OPS / 4; i++)
			operate(&model);
		model_finish(&model);
	}
}
