/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer and arbiter together against a strict service in this process: what was written is what is
 * read, or is accounted for as dropped.
 */

#include <pthread.h>

#include "base/core/clock.h"
#include "client/transport/arbiter.h"
#include "client/transport/writer.h"
#include "unit/client/fake_service.h"
#include "unit/client/packets.h"
#include "unit/test.h"

#define TARGET 7

/* In each shape of memory. The thread sanitizer is slow, and these have one thread only. */
#ifdef __SANITIZE_THREAD__
#define RANDOM_PACKETS 30
#else
#define RANDOM_PACKETS 40
#endif

/* What was written through one writer. */
struct written {
	uint64_t seed;
	size_t size;
};

struct log {
	struct writer *w;
	uint16_t id;
	struct written *packets; /* owned */
	size_t n, cap;
	uint64_t dropped; /* of the writer, when it was freed */
	uint64_t reported; /* of these, by packets */
	/* reading */
	size_t next; /* number of the packet that should come */
	size_t lost;
	size_t broken;
	bool first_seen;
	bool loss_told; /* by a packet since the last numbered one */
};

struct rig {
	struct fake_service s;
	struct arbiter *a;
};

static void rig_init(struct rig *r, uint32_t page_size, uint32_t n_pages, enum smb_layout layout,
		     bool in_place)
{
	struct arbiter_options o = {
		.ops = &fake_ops, .ctx = &r->s, .stall_ms = 50, .layout = layout};

	fake_init(&r->s, page_size, n_pages);
	assert_int_equal(arbiter_new(&o, &r->a), 0);
	r->s.a = r->a;
	assert_int_equal(arbiter_attach(r->a, r->s.fd, page_size), 0);
	arbiter_patch_in_place(r->a, in_place);
}

static void rig_turn(struct rig *r)
{
	fake_turn(&r->s);
}

static void rig_deinit(struct rig *r)
{
	if (r->s.violations)
		print_error("violation: %s\n", r->s.violation);
	assert_int_equal(r->s.violations, 0);
	arbiter_free(r->a);
	fake_deinit(&r->s);
}

static void log_open(struct log *l, struct rig *r, enum writer_policy policy)
{
	memset(l, 0, sizeof(*l));
	l->w = writer_new(r->a, TARGET, policy);
	assert_non_null(l->w);
	for (uint16_t id = 1; id <= SMB_MAX_WRITER_ID; id++)
		if (r->s.target_of[id])
			l->id = id; /* the newest: ids go up */
}

/* As small as writer_begin_small() wants it, with lengths of 4 bytes while messages are open. */
static bool is_small(uint64_t number, uint64_t seed, size_t size, unsigned depth)
{
	struct pb_mem m;
	bool small;

	assert_int_equal(pb_mem_init(&m), 0);
	put_packet(&m.enc, number, seed, size, depth);
	small = pb_mem_len(&m) + 4 * depth <= WRITER_SMALL_PACKET;
	pb_mem_deinit(&m);
	return small;
}

static void log_write(struct log *l, uint64_t seed, size_t size, unsigned depth)
{
	struct pb_enc *e = NULL;

	array_reserve(&l->packets, &l->cap, l->n + 1, sizeof(*l->packets));
	l->packets[l->n] = (struct written){.seed = seed, .size = size};
	if (seed & 1 && is_small(l->n, seed, size, depth))
		e = writer_begin_small(l->w);
	put_packet(e ? e : writer_begin(l->w), l->n, seed, size, depth);
	writer_end(l->w);
	l->n++;
}

static unsigned test_depth = 10;

/* The packet as it is when nothing is in its way. */
static void assert_packet(const struct log *l, size_t number, const uint8_t *data, size_t len)
{
	struct strbuf got = {0}, want = {0};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	put_packet(&m.enc, number, l->packets[number].seed, l->packets[number].size, test_depth);
	assert_true(normal_form(m.buf, pb_mem_len(&m), &want));
	assert_true(normal_form(data, len, &got));
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.s, want.s, want.len);
	pb_mem_deinit(&m);
	strbuf_deinit(&got);
	strbuf_deinit(&want);
}

static void on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct log *l = ctx;
	size_t number = SIZE_MAX;
	uint64_t n_dropped = 0;
	struct pb_field f;
	struct pb_dec d;
	bool gap = false;

	if (!data) {
		l->broken++;
		return;
	}
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PACKET_NUMBER) {
			number = (size_t)f.u64;
		} else if (f.id == PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED) {
			assert_int_equal(f.u64, 257);
			l->loss_told = gap = true;
		} else if (f.id == PB_TRACE_PACKET_PACKETS_DROPPED) {
			n_dropped = f.u64;
		} else if (f.id == PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE) {
			assert_false(l->first_seen);
			assert_int_equal(f.u64, 1);
			l->first_seen = true;
		}
	}
	assert_true(pb_dec_ok(&d));
	assert_true(l->first_seen);
	assert_int_equal(gap, n_dropped > 0);
	l->reported += n_dropped;
	if (number == SIZE_MAX)
		return; /* a report of a loss */
	assert_true(number >= l->next && number < l->n);
	assert_int_equal(l->loss_told, number > l->next);
	l->loss_told = false;
	l->lost += number - l->next;
	l->next = number + 1;
	assert_packet(l, number, data, len);
}

static void log_close(struct log *l, struct rig *r)
{
	uint64_t unreported;

	l->dropped = writer_dropped(l->w);
	r->s.hold = false;
	unreported = writer_free(l->w);
	fake_packets(&r->s, l->id, on_packet, l);
	assert_int_equal(l->reported + unreported, l->dropped);
	l->lost += l->n - l->next;
	assert_int_equal(l->lost, l->dropped);
	assert_true(l->broken <= l->dropped);
	free(l->packets);
}

/* ---- random packets of all sizes, nested 10 deep ---- */

struct shape {
	uint32_t page_size;
	uint32_t n_pages;
	enum smb_layout layout;
	enum writer_policy policy;
	bool in_place;
	unsigned
		lazy; /* the service works off its requests on one of so many occasions; 0: at once */
};

static size_t random_size(uint64_t *rng)
{
	switch (rng_below(rng, 12)) {
	case 0:
		return rng_below(rng, 300 << 10);
	case 1:
	case 2:
		return rng_below(rng, 40 << 10);
	case 3:
	case 4:
	case 5:
		return rng_below(rng, 1000);
	default:
		return rng_below(rng, 140);
	}
}

static void run_shape(const struct shape *s, uint64_t seed)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull | 1;
	struct log logs[3];
	struct rig r;

	rig_init(&r, s->page_size, s->n_pages, s->layout, s->in_place);
	r.s.hold = s->lazy > 0;
	r.s.work_on_drain = s->policy == WRITER_STALL;
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++)
		log_open(&logs[i], &r, s->policy);
	for (unsigned i = 0; i < RANDOM_PACKETS; i++) {
		struct log *l = &logs[rng_below(&rng, ARRAY_SIZE(logs))];

		log_write(l, rng_next(&rng), random_size(&rng), test_depth);
		if (rng_below(&rng, 8) == 0)
			writer_flush(l->w);
		if (rng_below(&rng, 3) == 0)
			rig_turn(&r);
		if (s->lazy && rng_below(&rng, s->lazy) == 0)
			fake_work(&r.s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++)
		if (s->policy == WRITER_STALL)
			assert_int_equal(writer_dropped(logs[i].w), 0);
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++)
		log_close(&logs[i], &r);
	rig_deinit(&r);
}

static void every_shape(enum writer_policy policy, unsigned lazy)
{
	/* With stalls each of the writers must be able to hold one chunk and take another. */
	for (uint32_t page = 4096; page <= 32768; page *= 2)
		for (int layout = SMB_DIV1; layout <= SMB_DIV14; layout++)
			for (int in_place = 0; in_place < 2; in_place++)
				for (uint32_t pages = 8; pages <= 64; pages *= 8) {
					struct shape s = {page,	  pages,    (enum smb_layout)layout,
							  policy, in_place, lazy};

					run_shape(&s, page + (uint32_t)layout * 7u + pages);
				}
}

TEST(random_packets_arrive_whole_when_the_service_works)
{
	every_shape(WRITER_STALL, 0);
}

TEST(random_packets_arrive_whole_when_writers_must_wait)
{
	every_shape(WRITER_STALL, 5);
}

TEST(random_packets_arrive_whole_or_are_counted)
{
	every_shape(WRITER_DROP, 5);
	every_shape(WRITER_DROP, 50);
}

/* ---- a service that works at the same time ---- */

struct worker {
	struct fake_service *s;
	pthread_mutex_t lock; /* of requests */
	bool end;
};

static int worker_commit(void *ctx, const void *request, size_t len)
{
	struct worker *k = ctx;

	pthread_mutex_lock(&k->lock);
	fake_on_commit(k->s, request, len); /* which holds it */
	pthread_mutex_unlock(&k->lock);
	return 0;
}

static void worker_schedule(void *ctx, bool urgent)
{
	if (urgent)
		arbiter_commit_due(((struct worker *)ctx)->s->a);
}

static int worker_drain(void *ctx, int timeout_ms)
{
	return 0;
}

static void worker_added(void *ctx, uint16_t id, uint16_t target)
{
	fake_on_added(((struct worker *)ctx)->s, id, target);
}

static void worker_removed(void *ctx, uint16_t id)
{
}

static void *work(void *arg)
{
	struct worker *k = arg;
	bool end = false;

	while (!end) {
		struct fake_request *r = NULL;
		size_t n;

		pthread_mutex_lock(&k->lock);
		end = k->end;
		n = k->s->n_requests;
		if (n > 0) {
			r = k->s->requests;
			k->s->requests = NULL;
			k->s->n_requests = k->s->cap_requests = 0;
		}
		pthread_mutex_unlock(&k->lock);
		for (size_t i = 0; i < n; i++) {
			fake_process(k->s, r[i].data, r[i].len);
			free(r[i].data);
		}
		free(r);
		if (n == 0)
			usleep(50);
	}
	return NULL;
}

static const struct arbiter_ops worker_ops = {
	.schedule = worker_schedule,
	.commit = worker_commit,
	.drain = worker_drain,
	.writer_added = worker_added,
	.writer_removed = worker_removed,
};

static void worker_start(struct worker *k, struct rig *r, uint32_t n_pages, pthread_t *ret_thread)
{
	struct arbiter_options o = {.ops = &worker_ops, .ctx = k, .layout = SMB_DIV4};

	*k = (struct worker){.lock = PTHREAD_MUTEX_INITIALIZER, .s = &r->s};
	fake_init(&r->s, 4096, n_pages);
	r->s.hold = true;
	assert_int_equal(arbiter_new(&o, &r->a), 0);
	r->s.a = r->a;
	assert_int_equal(arbiter_attach(r->a, r->s.fd, 4096), 0);
	arbiter_patch_in_place(r->a, true);
	assert_int_equal(pthread_create(ret_thread, NULL, work, k), 0);
}

static void worker_end(struct worker *k, struct rig *r, pthread_t thread)
{
	arbiter_commit(r->a);
	pthread_mutex_lock(&k->lock);
	k->end = true;
	pthread_mutex_unlock(&k->lock);
	pthread_join(thread, NULL);
}

TEST(random_packets_arrive_whole_at_a_service_that_works_meanwhile)
{
	uint64_t rng = 99;
	pthread_t thread;
	struct worker k;
	struct rig r;
	struct log l;

	worker_start(&k, &r, 4, &thread);
	log_open(&l, &r, WRITER_STALL);
	for (int i = 0; i < 300; i++) {
		log_write(&l, rng_next(&rng), random_size(&rng), test_depth);
		if (i % 7 == 0)
			arbiter_commit(r.a);
	}
	writer_flush(l.w);
	worker_end(&k, &r, thread);
	assert_int_equal(writer_dropped(l.w), 0);
	log_close(&l, &r);
	rig_deinit(&r);
}

/* ---- several threads, each with a writer ---- */

#define THREADS 4

struct writing {
	pthread_t thread;
	struct log log;
	uint64_t rng;
	unsigned packets;
};

static void *write_random(void *arg)
{
	struct writing *x = arg;

	for (unsigned i = 0; i < x->packets; i++) {
		bool small = i % 8;

		log_write(&x->log, rng_next(&x->rng), small ? 40 : random_size(&x->rng),
			  test_depth);
		if (i % 50 == 0)
			writer_flush(x->log.w);
	}
	writer_flush(x->log.w);
	return NULL;
}

static void write_in_threads(enum writer_policy policy, uint32_t n_pages)
{
	struct writing x[THREADS];
	pthread_t service;
	struct worker k;
	struct rig r;

	worker_start(&k, &r, n_pages, &service);
	for (unsigned i = 0; i < THREADS; i++) {
		log_open(&x[i].log, &r, policy);
		x[i].rng = i + 1;
		x[i].packets = 8 * RANDOM_PACKETS;
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&x[i].thread, NULL, write_random, &x[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(x[i].thread, NULL);
	worker_end(&k, &r, service);
	for (unsigned i = 0; i < THREADS; i++) {
		if (policy == WRITER_STALL)
			assert_int_equal(writer_dropped(x[i].log.w), 0);
		log_close(&x[i].log, &r);
	}
	rig_deinit(&r);
}

TEST(what_threads_write_at_once_arrives_whole)
{
	write_in_threads(WRITER_STALL, 16);
}

TEST(what_threads_write_at_once_arrives_whole_or_is_counted)
{
	write_in_threads(WRITER_DROP, 4);
}

/* ---- exhaustion at every point ---- */

static size_t free_chunks(struct rig *r, enum smb_layout layout)
{
	size_t n = 0;

	for (uint32_t p = 0; p < r->s.smb.n_pages; p++) {
		uint32_t word = smb_load_word(&r->s.smb, p);

		if (word == 0)
			n += smb_layout_chunks(layout);
		for (uint32_t i = 0; i < smb_layout_chunks(smb_word_layout(word)); i++)
			n += smb_word_state(word, i) == SMB_FREE;
	}
	return n;
}

/* All but `left` chunks are taken; a packet of `size` bytes is written, then, with the memory free
 * again, one more. The packet arrives whole or not at all, and the next one tells. */
static void exhaust(unsigned left, size_t size, bool in_place, bool prefix)
{
	struct rig r;
	struct log filler, l;

	rig_init(&r, 4096, 1, SMB_DIV14, in_place);
	r.s.hold = true;
	log_open(&filler, &r, WRITER_DROP);
	log_open(&l, &r, WRITER_DROP);
	if (prefix)
		log_write(&l, 3, 60, test_depth);
	while (free_chunks(&r, SMB_DIV14) > left) {
		log_write(&filler, 5, 20, test_depth);
		writer_flush(filler.w);
	}
	log_write(&l, size + left, size, test_depth);
	rig_turn(&r);
	fake_work(&r.s);
	log_write(&l, 11, 30, test_depth);
	rig_turn(&r);
	fake_work(&r.s);
	if (writer_dropped(l.w) == 0)
		assert_true(size <= (left + 1) * 284u);
	log_close(&l, &r);
	log_close(&filler, &r);
	rig_deinit(&r);
}

TEST(exhaustion_at_every_byte_loses_one_packet)
{
	for (unsigned left = 0; left < 5; left++)
		for (size_t size = 1; size < 1500; size += size < 700 ? 1 : 13) {
			exhaust(left, size, false, size & 1);
			exhaust(left, size, true, size & 1);
		}
}

TEST(every_nesting_depth_survives_exhaustion)
{
	for (test_depth = 0; test_depth <= PB_MAX_DEPTH; test_depth++)
		for (unsigned left = 0; left < 4; left++)
			for (size_t size = 1; size < 1500; size += 37)
				exhaust(left, size, size & 1, true);
	test_depth = 10;
}

/* A test with one writer, all of whose packets arrive or are counted as dropped. */
#define WRITER_TEST(name, page_size, n_pages, layout, in_place, policy)                            \
	static void name##_in_rig(struct rig *r, struct log *l);                                   \
	TEST(name)                                                                                 \
	{                                                                                          \
		struct rig r;                                                                      \
		struct log l;                                                                      \
                                                                                                   \
		rig_init(&r, page_size, n_pages, layout, in_place);                                \
		log_open(&l, &r, policy);                                                          \
		name##_in_rig(&r, &l);                                                             \
		log_close(&l, &r);                                                                 \
		rig_deinit(&r);                                                                    \
	}                                                                                          \
	static void name##_in_rig(struct rig *r, struct log *l)

/* ---- policies ---- */

WRITER_TEST(a_stall_is_bounded_and_then_everybody_drops_at_once, 4096, 2, SMB_DIV1, false,
	    WRITER_STALL)
{
	uint64_t start;
	struct log other;
	size_t drains;

	r->s.hold = true;
	log_open(&other, r, WRITER_STALL);
	start = clock_mono_ns();
	log_write(l, 1, 20000, test_depth);
	assert_true(clock_mono_ns() - start >= 50 * NS_PER_MS);
	assert_int_equal(writer_dropped(l->w), 1);
	drains = r->s.n_drains;
	assert_true(drains > 1);
	for (int i = 0; i < 100; i++) {
		log_write(l, 2, 100, test_depth);
		log_write(&other, 2, 100, test_depth);
	}
	assert_int_equal(r->s.n_drains, drains);
	assert_int_equal(writer_dropped(l->w), 101);
	assert_int_equal(writer_dropped(other.w), 100);

	fake_work(&r->s);
	log_write(&other, 3, 100, test_depth);
	assert_int_equal(writer_dropped(other.w), 100);
	/* patience is back, too */
	log_write(l, 3, 20000, test_depth);
	assert_true(r->s.n_drains > drains);
	fake_work(&r->s);
	log_close(&other, r);
}

TEST(the_end_of_a_writer_reports_its_last_losses)
{
	struct rig r;
	struct log l;

	rig_init(&r, 4096, 2, SMB_DIV1, false);
	r.s.hold = true;
	log_open(&l, &r, WRITER_DROP);
	for (int i = 0; i < 20; i++)
		log_write(&l, 1, 1000, test_depth);
	assert_true(writer_dropped(l.w) > 0);
	fake_work(&r.s);
	log_close(&l, &r);
	assert_int_equal(l.reported, l.dropped);
	rig_deinit(&r);
}

static void sum_reported(void *ctx, const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_PACKET_PACKETS_DROPPED)
			*(uint64_t *)ctx += f.u64;
}

TEST(a_writer_reports_what_another_one_could_not)
{
	struct log holders[2], l, other;
	uint64_t reported = 0;
	struct rig r;

	rig_init(&r, 4096, 2, SMB_DIV1, false);
	for (int i = 0; i < 2; i++) {
		log_open(&holders[i], &r, WRITER_DROP);
		log_write(&holders[i], 1, 10, test_depth);
	}
	log_open(&l, &r, WRITER_DROP);
	for (int i = 0; i < 20; i++)
		log_write(&l, 1, 1000, test_depth);
	assert_int_equal(writer_free(l.w), 20);
	free(l.packets);
	log_open(&other, &r, WRITER_DROP);
	writer_adopt_loss(other.w, 20);
	assert_false(writer_report_loss(other.w, 1));
	for (int i = 0; i < 2; i++)
		log_close(&holders[i], &r);
	assert_true(writer_report_loss(other.w, 1));
	assert_true(writer_report_loss(other.w, 1));
	assert_int_equal(writer_free(other.w), 0);
	fake_packets(&r.s, other.id, sum_reported, &reported);
	assert_int_equal(reported, 20);
	rig_deinit(&r);
}

TEST(a_stall_ends_when_the_service_is_lost)
{
	struct rig r;
	struct log l;

	rig_init(&r, 4096, 2, SMB_DIV1, false);
	r.s.gone = true;
	log_open(&l, &r, WRITER_STALL);
	log_write(&l, 1, 20000, test_depth);
	log_write(&l, 1, 20000, test_depth);
	assert_int_equal(writer_dropped(l.w), 2);
	writer_free(l.w);
	free(l.packets);
	rig_deinit(&r);
}

WRITER_TEST(packets_larger_than_the_memory_arrive, 4096, 2, SMB_DIV1, true, WRITER_STALL)
{
	log_write(l, 77, 3 << 20, test_depth);
	log_write(l, 78, 10, test_depth);
	assert_int_equal(writer_dropped(l->w), 0);
}

/* One chunk is the whole memory: what fits into the rest of it goes through, what does not is
 * dropped, without a wait for a service that has nothing to give. */
WRITER_TEST(a_memory_of_one_chunk_is_enough_for_small_packets, 4096, 1, SMB_DIV1, false,
	    WRITER_STALL)
{
	for (int i = 0; i < 1000; i++)
		log_write(l, (uint64_t)i, i % 100 ? 10 : 10000, test_depth);
	assert_in_range(writer_dropped(l->w), 10, 30);
	assert_in_range(r->s.n_drains, 10, 30); /* one look each */
}

/* ---- the chunk's bytes ---- */

TEST(small_packets_have_sizes_of_one_byte)
{
	static const size_t sizes[] = {1, 100, 127, 128, 129, 1000};
	uint8_t data[1000] = {0};
	const uint8_t *p;
	struct rig r;
	struct writer *w;

	rig_init(&r, 4096, 1, SMB_DIV1, false);
	w = writer_new(r.a, TARGET, WRITER_DROP);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		pb_enc_raw(writer_begin(w), data, sizes[i]);
		writer_end(w);
	}
	writer_flush(w);
	rig_turn(&r);
	assert_int_equal(r.s.n_chunks, 1);
	p = r.s.chunks[0].payload;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t size;
		const uint8_t *q = pb_get_varint(p, p + 10, &size);
		size_t first = i ? 0 : 3; /* first_packet_on_sequence: two bytes of tag, one */

		assert_int_equal(size, sizes[i] + first);
		assert_int_equal(q - p, size < 128 ? 1 : 4);
		p = q + size;
	}
	/* the stand-in for a packet that did not come */
	assert_int_equal(*p, 0);
	assert_int_equal(r.s.chunks[0].h.count, ARRAY_SIZE(sizes) + 1);
	assert_int_equal(r.s.chunks[0].h.flags, 0);
	assert_int_equal(r.s.chunks[0].h.chunk_id, 0);
	writer_free(w);
	rig_deinit(&r);
}

WRITER_TEST(a_chunk_takes_1022_packets, 32768, 4, SMB_DIV1, false, WRITER_DROP)
{
	for (int i = 0; i < 3000; i++)
		log_write(l, 1, 1, test_depth);
	writer_flush(l->w);
	rig_turn(r);
	assert_int_equal(r->s.n_chunks, 3);
	assert_int_equal(r->s.chunks[0].h.count, 1023); /* with the empty one */
	assert_int_equal(r->s.chunks[1].h.count, 1023);
	assert_int_equal(writer_dropped(l->w), 0);
}

WRITER_TEST(empty_packets_are_legal, 4096, 4, SMB_DIV1, false, WRITER_DROP)
{
	for (int i = 0; i < 5000; i++) {
		writer_begin(l->w);
		writer_end(l->w);
		if (i % 100 == 0)
			log_write(l, 1, 40, test_depth);
	}
	assert_int_equal(writer_dropped(l->w), 0);
}

/* A packet that ends with the last byte of a chunk leaves no room for the empty one. */
TEST(chunks_can_be_filled_to_the_last_byte)
{
	uint8_t data[4096] = {0};
	struct rig r;
	struct writer *w;

	rig_init(&r, 4096, 8, SMB_DIV1, false);
	w = writer_new(r.a, TARGET, WRITER_DROP);
	for (size_t size = 4060; size <= 4080; size++) {
		pb_enc_raw(writer_begin(w), data, size);
		writer_end(w);
		writer_flush(w);
		rig_turn(&r);
	}
	/* 4080 payload bytes: 4 of size, 3 of the first packet of a sequence */
	assert_int_equal(r.s.chunks[4076 - 4060].h.count, 1);
	assert_int_equal(r.s.chunks[4076 - 4060].h.flags, 0);
	assert_int_equal(r.s.chunks[4075 - 4060].h.count, 2);
	assert_int_equal(r.s.chunks[4077 - 4060].h.flags, SMB_CONTINUES_ON_NEXT);
	assert_int_equal(writer_dropped(w), 0);
	writer_free(w);
	rig_deinit(&r);
}

/* What a service may read of a chunk that was not committed: all packets but the last counted. */
WRITER_TEST(ended_packets_can_be_scraped, 4096, 2, SMB_DIV1, false, WRITER_DROP)
{
	struct smb_chunk_header h;
	struct smb_chunk c;
	const uint8_t *p;

	for (unsigned i = 0; i < 5; i++) {
		log_write(l, i, 90, test_depth);
		c = smb_chunk_at(&r->s.smb, 0, SMB_DIV1, 0);
		h = smb_header_load(c.header);
		assert_int_equal(h.count, i + 2);
		assert_int_equal(h.writer_id, l->id);
		p = c.payload;
		for (unsigned k = 0; k <= i; k++) {
			uint64_t size;

			p = pb_get_varint(p, p + 10, &size);
			assert_packet(l, k, p, (size_t)size);
			p += size;
		}
	}
	/* an open packet is the last one counted */
	writer_begin(l->w);
	assert_int_equal(smb_header_load(c.header).count, 6);
	writer_end(l->w);
	assert_int_equal(smb_header_load(c.header).count, 7);
}

/* ---- patches ---- */

TEST(patches_in_place_need_no_request)
{
	for (int in_place = 0; in_place < 2; in_place++) {
		struct rig r;
		struct log l;

		rig_init(&r, 4096, 64, SMB_DIV1, in_place);
		log_open(&l, &r, WRITER_DROP);
		log_write(&l, 12345, 30000, test_depth);
		writer_flush(l.w);
		rig_turn(&r);
		if (in_place)
			assert_int_equal(r.s.n_patches, 0);
		else
			assert_int_not_equal(r.s.n_patches, 0);
		assert_int_equal(r.s.n_commits, 1);
		log_close(&l, &r);
		rig_deinit(&r);
	}
}

TEST(a_chunk_held_for_patches_goes_out_with_its_batch)
{
	struct pb_enc *e;
	uint8_t data[5000] = {0};
	struct rig r;
	struct writer *w;

	rig_init(&r, 4096, 64, SMB_DIV1, true);
	w = writer_new(r.a, TARGET, WRITER_DROP);
	e = writer_begin(w);
	pb_enc_open(e, NESTED);
	pb_enc_open(e, NESTED);
	pb_enc_bytes(e, 6, data, sizeof(data));
	pb_enc_close(e);
	arbiter_commit(r.a); /* between the two patches of chunk 0 */
	assert_int_equal(r.s.n_chunks, 1);
	assert_true(r.s.chunks[0].h.flags & SMB_NEEDS_PATCHING);
	pb_enc_close(e);
	writer_end(w);
	rig_turn(&r);
	assert_int_equal(r.s.n_patches, 2);
	assert_false(r.s.chunks[0].h.flags & SMB_NEEDS_PATCHING);
	writer_free(w);
	rig_deinit(&r);
}

/* ---- the rest of the contract ---- */

TEST(without_memory_packets_are_counted_and_told)
{
	struct fake_service s;
	struct arbiter_options o = {.ops = &fake_ops, .ctx = &s};
	struct rig r = {0};
	struct log l;

	fake_init(&s, 4096, 4);
	assert_int_equal(arbiter_new(&o, &r.a), 0);
	s.a = r.a;
	r.s = s;
	memset(&l, 0, sizeof(l));
	l.w = writer_new(r.a, TARGET, WRITER_STALL);
	l.id = 1;
	for (int i = 0; i < 10; i++)
		log_write(&l, 1, 100000, test_depth);
	writer_flush(l.w);
	assert_int_equal(writer_dropped(l.w), 10);
	assert_int_equal(writer_bytes(l.w), 0);
	assert_int_equal(arbiter_attach(r.a, s.fd, 4096), 0);
	log_write(&l, 1, 100, test_depth);
	assert_int_equal(writer_dropped(l.w), 10);
	assert_true(writer_bytes(l.w) >= 100);
	/* the chunk of a lost service can still be written into, and goes nowhere */
	arbiter_detach(r.a);
	log_write(&l, 1, 100, test_depth);
	writer_flush(l.w);
	log_write(&l, 1, 100, test_depth);
	assert_int_equal(writer_dropped(l.w), 11);
	writer_free(l.w);
	assert_int_equal(s.n_commits, 0);
	assert_int_equal(s.violations, 0);
	free(l.packets);
	arbiter_free(r.a);
	fake_deinit(&s);
}

TEST(nothing_written_is_nothing_sent)
{
	struct rig r;
	struct writer *w;

	rig_init(&r, 4096, 2, SMB_DIV1, false);
	w = writer_new(r.a, TARGET, WRITER_DROP);
	writer_flush(w);
	writer_flush(w);
	rig_turn(&r);
	writer_free(w);
	writer_free(NULL);
	assert_int_equal(r.s.n_commits, 0);
	rig_deinit(&r);
}

/* ---- writers that yield ---- */

static struct writer *yielding_writer(struct rig *r)
{
	struct writer *w = writer_new(r->a, TARGET, WRITER_DROP);

	assert_non_null(w);
	writer_yield(w);
	return w;
}

static void write_one(struct writer *w)
{
	pb_enc_u64(writer_begin(w), 1, 5);
	writer_end(w);
}

TEST(chunks_that_yielding_writers_hold_open_are_completed)
{
	struct writer *idle[8], *w;
	struct rig r;

	rig_init(&r, 4096, ARRAY_SIZE(idle), SMB_DIV1, true);
	r.s.hold = r.s.work_on_drain = true;
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
		idle[i] = yielding_writer(&r);
		write_one(idle[i]);
		assert_int_equal(writer_dropped(idle[i]), 0);
	}
	w = writer_new(r.a, TARGET, WRITER_STALL);
	write_one(w);
	assert_int_equal(writer_dropped(w), 0);
	/* They go on. */
	for (size_t i = 0; i < ARRAY_SIZE(idle) - 1; i++) {
		fake_work(&r.s);
		write_one(idle[i]);
		assert_int_equal(writer_dropped(idle[i]), 0);
	}
	writer_free(w);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		writer_free(idle[i]);
	fake_work(&r.s);
	rig_turn(&r);
	rig_deinit(&r);
}

TEST(writers_that_yield_leave_a_quarter_of_the_memory)
{
	struct writer *others[16], *mine[4];
	unsigned dropped = 0;
	struct rig r;

	rig_init(&r, 4096, ARRAY_SIZE(others), SMB_DIV1, true);
	arbiter_get_yielding(r.a)->reserves = true;
	r.s.hold = true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = yielding_writer(&r);
		write_one(others[i]);
		dropped += writer_dropped(others[i]) > 0;
	}
	assert_int_equal(dropped, 4);
	/* The service, which does nothing yet, has what they wrote. */
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++) {
		mine[i] = writer_new(r.a, TARGET, WRITER_DROP);
		write_one(mine[i]);
		assert_int_equal(writer_dropped(mine[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++)
		writer_free(mine[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		writer_free(others[i]);
	fake_work(&r.s);
	rig_turn(&r);
	rig_deinit(&r);
}
