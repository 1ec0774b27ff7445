/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page walk: by hand, one test a kind of record and of damage; and on recorded pages against
 * libtraceevent's kbuffer.
 */

#include <event-parse.h>
#include <kbuffer.h>

#include "unit/ftrace/page_maker.h"
#include "unit/ftrace/page_set.h"
#include "unit/rng.h"
#include "unit/test.h"

static const uint16_t id7 = 7;

static enum ring_page_status open_made(struct ring_page *p, const struct page_maker *m)
{
	return ring_page_open(p, &page_maker_layout, m->bytes, sizeof(m->bytes));
}

/* How the walk over a page ends. */
static enum ring_page_status end_of(const struct page_maker *m)
{
	struct ring_record r;
	enum ring_page_status s;
	struct ring_page p;

	s = open_made(&p, m);
	while (s == RING_PAGE_OK)
		s = ring_page_next(&p, &r);
	return s;
}

/* ---- layout ---- */

static const char header_64[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

TEST(layout_of_32_bits_and_large_pages)
{
	struct ring_page_layout l;

	assert_int_equal(
		ring_page_layout_parse("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				       "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
				       "\tfield: char data;\toffset:12;\tsize:16372;\tsigned:1;\n",
				       &l),
		0);
	assert_int_equal(l.size, 16384);
	assert_int_equal(l.commit_size, 4);
	assert_int_equal(l.data_offset, 12);
}

TEST(layouts_that_make_no_sense)
{
	static const struct {
		const char *from, *to;
	} spoil[] = {
		{"timestamp", "timestomp"},
		{"offset:16", "offset:12"}, /* data inside commit */
		{"size:4080", "size:10"},
		{"size:4080", "size:999999999"},
		{"offset:8;\tsize:8", "offset:8;\tsize:2"},
		{"offset:16", "offset:70000"},
	};
	struct ring_page_layout l;

	for (unsigned i = 0; i < ARRAY_SIZE(spoil); i++) {
		const char *at = strstr(header_64, spoil[i].from);
		char text[512];

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - header_64), header_64,
			 spoil[i].to, at + strlen(spoil[i].from));
		assert_int_equal(ring_page_layout_parse(text, &l), -EINVAL);
	}
	assert_int_equal(ring_page_layout_parse("", &l), -EINVAL);
}

/* ---- records ---- */

TEST(time_stamps_keep_the_top_bits_of_the_page)
{
	struct page_maker m;
	struct ring_record r;
	struct ring_page p;

	page_begin(&m, 0xf000000000000100);
	page_time_stamp(&m, 0x0000000000000200);
	ring_record(&m, 0, &id7, 2);
	page_time_stamp(&m, 0x0000000000000050); /* 59 bits went round */
	ring_record(&m, 0, &id7, 2);
	page_end(&m, 0, 0);
	assert_int_equal(open_made(&p, &m), RING_PAGE_OK);
	assert_int_equal(ring_page_next(&p, &r), RING_PAGE_OK);
	assert_true(r.time == 0xf000000000000200);
	assert_int_equal(ring_page_next(&p, &r), RING_PAGE_OK);
	assert_true(r.time == 0xf800000000000050);
}

TEST(lost_records_and_their_number)
{
	struct page_maker m;
	struct ring_page p;

	page_begin(&m, 1);
	ring_record(&m, 0, &id7, 2);
	page_end(&m, PAGE_LOST | PAGE_LOST_STORED, 123456789012);
	assert_int_equal(open_made(&p, &m), RING_PAGE_OK);
	assert_true(p.lost);
	assert_true(p.lost_count == 123456789012);
	assert_int_equal(end_of(&m), RING_PAGE_END);

	page_end(&m, PAGE_LOST, 0);
	assert_int_equal(open_made(&p, &m), RING_PAGE_OK);
	assert_true(p.lost);
	assert_int_equal(p.lost_count, 0);

	/* Says that it stored a number where there is no room for one. */
	page_begin(&m, 1);
	while (m.at + 8 <= PAGE_MAKER_SIZE)
		ring_record(&m, 0, &id7, 2);
	page_end(&m, PAGE_LOST, 0);
	m.bytes[11] |= 0x40;
	assert_int_equal(open_made(&p, &m), RING_PAGE_OK);
	assert_true(p.lost);
	assert_int_equal(p.lost_count, 0);
}

/* ---- damage ---- */

TEST(headers)
{
	struct page_maker m;
	struct ring_page p;
	uint64_t commit;

	page_begin(&m, 77);
	page_end(&m, 0, 0);
	assert_int_equal(open_made(&p, &m), RING_PAGE_BAD_HEADER); /* empty */
	assert_int_equal(p.time, 77);

	commit = PAGE_MAKER_SIZE - 16 + 1;
	memcpy(m.bytes + 8, &commit, sizeof(commit));
	assert_int_equal(open_made(&p, &m), RING_PAGE_BAD_HEADER);
	commit--;
	memcpy(m.bytes + 8, &commit, sizeof(commit));
	assert_int_equal(open_made(&p, &m), RING_PAGE_OK);
	commit = (1u << 27) - 1;
	memcpy(m.bytes + 8, &commit, sizeof(commit));
	assert_int_equal(open_made(&p, &m), RING_PAGE_BAD_HEADER);
	assert_int_equal(ring_page_open(&p, &page_maker_layout, m.bytes, 15), RING_PAGE_BAD_HEADER);
}

/* What was lost before a page is lost, whatever the page itself is. */
TEST(lost_records_before_a_broken_page)
{
	struct page_maker m;
	uint64_t commit;
	struct ring_page p;

	page_begin(&m, 77);
	page_end(&m, PAGE_LOST | PAGE_LOST_STORED, 5);
	assert_int_equal(open_made(&p, &m), RING_PAGE_BAD_HEADER); /* empty */
	assert_true(p.lost);
	assert_int_equal(p.lost_count, 5);
	assert_ptr_equal(p.cur, p.end);

	commit = (PAGE_MAKER_SIZE - 16 + 1) | PAGE_LOST | PAGE_LOST_STORED;
	memcpy(m.bytes + 8, &commit, sizeof(commit));
	assert_int_equal(open_made(&p, &m), RING_PAGE_BAD_HEADER);
	assert_true(p.lost);
	assert_int_equal(p.lost_count, 0);
	assert_ptr_equal(p.cur, p.end);
}

struct damage {
	enum ring_page_status status;
	uint32_t words[3];
	unsigned bytes; /* of the words that are there */
};

TEST(each_status)
{
	static const struct damage damages[] = {
		{RING_PAGE_SHORT_EVENT_HEADER, {1}, 3},
		{RING_PAGE_NULL_PADDING, {29, 4}, 8},
		{RING_PAGE_SHORT_PADDING_LENGTH, {1 << 5 | 29}, 4},
		{RING_PAGE_SHORT_PADDING_LENGTH, {1 << 5 | 29, 8}, 7},
		{RING_PAGE_BAD_PADDING_LENGTH, {1 << 5 | 29, 3}, 8},
		{RING_PAGE_BAD_PADDING_LENGTH, {1 << 5 | 29, 9}, 12},
		{RING_PAGE_BAD_PADDING_LENGTH, {1 << 5 | 29, 0xffffffff}, 12},
		{RING_PAGE_SHORT_TIME_EXTEND, {1 << 5 | 30, 0}, 6},
		{RING_PAGE_SHORT_TIME_STAMP, {1 << 5 | 31}, 4},
		{RING_PAGE_SHORT_DATA_LENGTH, {1 << 5}, 4},
		{RING_PAGE_ZERO_DATA_LENGTH, {0, 0}, 8},
		{RING_PAGE_BAD_DATA_LENGTH, {1 << 5, 3, 0}, 12},
		{RING_PAGE_SHORT_EVENT_ID, {1 << 5, 4, 0}, 12},
		{RING_PAGE_SHORT_EVENT_ID, {1 << 5, 5, 0}, 12},
		{RING_PAGE_END_OVERFLOW, {2, 7}, 8},
		{RING_PAGE_END_OVERFLOW, {28, 7}, 8},
		{RING_PAGE_END_OVERFLOW, {1 << 5, 9, 7}, 12},
		{RING_PAGE_END_OVERFLOW, {1 << 5, 0xfffffffc, 7}, 12},
		{RING_PAGE_END, {1 << 5, 8, 7}, 12},
		{RING_PAGE_END, {1, 7}, 8},
		{RING_PAGE_END, {1 << 5 | 29, 8, 0}, 12},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(damages); i++) {
		struct page_maker m;

		page_begin(&m, 1);
		ring_record(&m, 1, &id7, 2);
		page_put(&m, damages[i].words, damages[i].bytes);
		page_end(&m, 0, 0);
		assert_int_equal(end_of(&m), damages[i].status);
	}
}

/* Any bytes at all: the walk ends, and stays inside (the sanitizers see to that). */
TEST(noise)
{
	uint64_t seed = 1, records = 0, sum = 0;

	for (unsigned i = 0; i < 20000; i++) {
		uint8_t *bytes = malloc(PAGE_MAKER_SIZE);
		struct ring_record r;
		struct ring_page p;
		uint64_t commit = rng_below(&seed, 4090);

		rng_bytes(&seed, bytes, PAGE_MAKER_SIZE);
		memcpy(bytes + 8, &commit, sizeof(commit));
		if (ring_page_open(&p, &page_maker_layout, bytes, PAGE_MAKER_SIZE) == RING_PAGE_OK)
			while (ring_page_next(&p, &r) == RING_PAGE_OK) {
				sum += r.payload[0] + r.payload[r.len - 1];
				records++;
			}
		assert_true(p.cur <= p.end);
		free(bytes);
	}
	assert_true(records > 1000);
	assert_true(sum > records);
}

/* ---- against kbuffer ---- */

static void compare_page(struct kbuffer *k, const struct ring_page_layout *layout, uint8_t *bytes,
			 uint64_t *records)
{
	unsigned long long ts;
	struct ring_record r;
	struct ring_page p;
	void *data;
	int missed;

	assert_int_equal(kbuffer_load_subbuffer(k, bytes), 0);
	assert_int_equal(ring_page_open(&p, layout, bytes, layout->size), RING_PAGE_OK);
	missed = kbuffer_missed_events(k);
	assert_int_equal(p.lost, missed != 0);
	if (missed > 0)
		assert_int_equal(p.lost_count, missed);
	for (data = kbuffer_read_event(k, &ts); data; data = kbuffer_next_event(k, &ts)) {
		assert_int_equal(ring_page_next(&p, &r), RING_PAGE_OK);
		assert_true(r.time == ts);
		assert_ptr_equal(r.payload, data);
		assert_int_equal(r.len, kbuffer_event_size(k));
		++*records;
	}
	assert_int_equal(ring_page_next(&p, &r), RING_PAGE_END);
}

TEST(recorded_pages_against_kbuffer)
{
	static const char *const sets[] = {"sched", "mix", "syscalls", "lossy"};
	struct kbuffer *k = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	const struct event_table_options options = {0};
	uint64_t records = 0;
	struct page_set set;

	for (unsigned i = 0; i < ARRAY_SIZE(sets); i++) {
		char dir[64];

		snprintf(dir, sizeof(dir), "tests/data/ftrace/%s", sets[i]);
		page_set_load(&set, dir, &options);
		assert_int_equal(set.n_cpus, 2);
		for (unsigned c = 0; c < set.n_cpus; c++)
			for (size_t at = 0; at < set.cpus[c].len; at += set.layout.size)
				compare_page(k, &set.layout, set.cpus[c].pages + at, &records);
		page_set_free(&set);
	}
	assert_true(records > 4000);
	kbuffer_free(k);
}

/* The same for pages with every kind of record, made at random. Times stay below 59 bits: what a
 * stamp lacks beyond them the kernel mends as we do, and kbuffer does not. */
TEST(made_pages_against_kbuffer)
{
	struct kbuffer *k = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
	uint64_t seed = 2, records = 0, lost;
	uint8_t payload[600] = {1};
	struct page_maker m;

	for (unsigned i = 0; i < 2000; i++) {
		page_begin(&m, rng_next(&seed) >> 6 & ~(1ull << 57));
		ring_record(&m, 1, payload, 4); /* kbuffer reports losses before a record only */
		while (m.at < PAGE_MAKER_SIZE - 640) {
			uint32_t len = 4 + 4 * rng_below(&seed, rng_below(&seed, 140) + 1);
			uint32_t delta = 1 + rng_below(&seed, (1 << 27) - 1);

			rng_bytes(&seed, payload, len);
			switch (rng_below(&seed, 8)) {
			case 0:
				page_time_extend(&m, rng_next(&seed) >> 20);
				break;
			case 1:
				page_time_stamp(&m, rng_next(&seed) >> 6 & ~(1ull << 57));
				break;
			case 2:
				page_padding(&m, delta, len + 4);
				break;
			default:
				ring_record(&m, delta, payload, len);
			}
		}
		ring_record(&m, 1, payload, 4);
		lost = rng_below(&seed, 1000) + 1;
		page_end(&m,
			 i % 3 == 0   ? 0
			 : i % 3 == 1 ? PAGE_LOST
				      : PAGE_LOST | PAGE_LOST_STORED,
			 lost);
		compare_page(k, &page_maker_layout, m.bytes, &records);
	}
	assert_true(records > 10000);
	kbuffer_free(k);
}
