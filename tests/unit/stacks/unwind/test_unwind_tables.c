/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the unwinder without a kernel and a file reader: the test has the maps, and answers
 * itself. A file "/N" has N rows, each with a rule of its own, and belongs to user N / 10000000.
 */
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "stacks/files/file_reader.h"
#include "stacks/unwind/row_pool.h"
#include "stacks/unwind/unwind_tables.h"
#include "unit/test.h"

#define OFFSET 0x2000u /* of the mapping in the file */
#define LOAD_BIAS 0x3000u /* address - offset of the segment */
#define BASE 0x5000u

/* ---- the maps ---- */

static struct unwind_row *rows;
static struct unwind_rule rules[UNWIND_RULES_MAX];
static struct {
	bool is_used;
	struct unwind_file_key key;
	struct unwind_file f;
} elements[64];
static bool are_maps_full;
static unsigned n_changes;

int unwind_maps_create(struct unwind_maps *ret)
{
	rows = calloc(UNWIND_ROWS_MAX, sizeof(*rows));
	memset(elements, 0, sizeof(elements));
	*ret = (struct unwind_maps){-1, -1, -1, -1, rows, 0};
	return 0;
}

void unwind_maps_destroy(struct unwind_maps *m)
{
	free(m->rows);
}

int unwind_maps_set_rule(const struct unwind_maps *m, uint16_t number,
			 const struct unwind_rule *rule)
{
	rules[number] = *rule;
	return 0;
}

static size_t element_index(const struct unwind_file_key *key)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(elements) &&
	       !(elements[i].is_used && memcmp(&elements[i].key, key, sizeof(*key)) == 0))
		i++;
	return i;
}

int unwind_maps_set_file(const struct unwind_maps *m, const struct unwind_file_key *key,
			 const struct unwind_file *f)
{
	size_t i = element_index(key);

	if (are_maps_full)
		return -E2BIG;
	for (i = i < ARRAY_SIZE(elements) ? i : 0;
	     elements[i].is_used && memcmp(&elements[i].key, key, sizeof(*key)) != 0;)
		assert_true(++i < ARRAY_SIZE(elements));
	elements[i].is_used = true;
	elements[i].key = *key;
	elements[i].f = *f;
	return 0;
}

void unwind_maps_remove_file(const struct unwind_maps *m, const struct unwind_file_key *key)
{
	size_t i = element_index(key);

	if (i < ARRAY_SIZE(elements))
		elements[i].is_used = false;
}

uint64_t unwind_maps_read_last_use(const struct unwind_maps *m, const struct unwind_file_key *key)
{
	size_t i = element_index(key);

	return i < ARRAY_SIZE(elements) ? elements[i].f.used_ns : 0;
}

void unwind_maps_increment_changes(struct unwind_maps *m)
{
	n_changes++;
}

/* ---- the file reader ---- */

static struct {
	struct file_reader_user *user;
	bool has_ended, is_busy;
	enum { NOTHING, AN_ELF, ROWS } asked;
	char path[64];
	uint32_t file;
	unsigned n_elf, n_rows;
	unsigned contents; /* added to the offsets of rules of the next files */
	uint32_t numbers; /* added to the numbers of files, and their time of change */
} reader;

bool file_reader_is_alive(void)
{
	return !reader.has_ended;
}

int file_reader_join(struct file_reader_user *u, struct event_base *loop)
{
	reader.user = u;
	return 0;
}

void file_reader_leave(struct file_reader_user *u)
{
	reader.user = NULL;
	reader.asked = NOTHING;
}

bool file_reader_request_elf(const struct file_reader_user *u, uint64_t id, int32_t pid,
			     const struct file_mapping *m, const char *path)
{
	assert_int_equal(reader.asked, NOTHING);
	if (reader.is_busy)
		return false;
	assert_true(m->inode != 0 && strlen(path) < sizeof(reader.path));
	strcpy(reader.path, path);
	reader.asked = AN_ELF;
	reader.n_elf++;
	return true;
}

bool file_reader_request_rows(const struct file_reader_user *u, uint64_t id, uint32_t file,
			      int32_t pid, const struct file_mapping *m, const char *path)
{
	assert_int_equal(reader.asked, NOTHING);
	if (reader.is_busy)
		return false;
	assert_true((file == FILE_VDSO) == (m == NULL));
	strcpy(reader.path, path ?: "/100");
	reader.file = file;
	reader.asked = ROWS;
	reader.n_rows++;
	return true;
}

static void answer_elf(void)
{
	static struct file_answer a;
	unsigned n = (unsigned)atoi(reader.path + 1);

	a = (struct file_answer){.kind = FILE_REQUEST_ELF, .file = reader.numbers + n};
	a.result = n ? 0 : -ENOENT;
	a.elf.size = n;
	a.elf.changed_s = 1000;
	a.elf.changed_ns = reader.numbers;
	a.elf.n_segments = 1;
	a.elf.segments[0] = (struct elf_segment){0x1000, 1 << 30, 0x1000 + LOAD_BIAS};
	reader.asked = NOTHING;
	reader.user->answered(reader.user->ctx, &a);
}

static void answer_rows(void)
{
	static struct file_answer a;
	unsigned n = (unsigned)atoi(reader.path + 1), owner = n / 10000000, n_rules, left;

	n %= 10000000;
	n_rules = MIN(n, 100u);
	a = (struct file_answer){.kind = FILE_REQUEST_ROWS, .n = n_rules, .has_more = 1};
	a.rules.head = (struct file_rows){
		.base = BASE, .owner = owner, .n_rows = n, .is_cut = n == EH_ROWS_MAX};
	for (unsigned i = 0; i < n_rules; i++)
		a.rules.rules[i] =
			(struct unwind_rule){.cfa_offset = (int)(8 * i + reader.contents)};
	reader.asked = NOTHING;
	reader.user->answered(reader.user->ctx, &a);
	for (left = n; left;) {
		a.n = (uint32_t)MIN(left, (unsigned)FILE_ROWS_MAX);
		for (uint32_t i = 0; i < a.n; i++)
			a.rows[i] = (struct unwind_row){
				.address = 16 * (n - left + i),
				.rule = (uint16_t)(UNWIND_RULES_FIRST + (n - left + i) % n_rules)};
		left -= a.n;
		a.has_more = left > 0;
		reader.user->answered(reader.user->ctx, &a);
	}
}

static void answer_all(void)
{
	while (reader.asked != NOTHING) {
		if (reader.asked == AN_ELF)
			answer_elf();
		else
			answer_rows();
	}
}

/* ---- mapped files ---- */

static struct unwind_tables_user user;
static struct event_base *loop;
static uint64_t inode;

static int setup(void **state)
{
	loop = event_base_new();
	memset(&reader, 0, sizeof(reader));
	are_maps_full = false;
	n_changes = 0;
	inode = 1;
	return unwind_tables_join(&user, loop) < 0 ? -1 : 0;
}

static void answer_vdso(void)
{
	assert_int_equal(reader.file, FILE_VDSO);
	answer_all();
}

static int teardown(void **state)
{
	unwind_tables_leave(&user);
	event_base_free(loop);
	return reader.user ? -1 : 0;
}

static void want_sized(const char *path, bool lacks, uint64_t size)
{
	const struct file_mapping m = {.start = 0x10000000,
				       .end = 0x10000000 + size,
				       .offset = OFFSET,
				       .inode = inode,
				       .major = 8,
				       .minor = 1,
				       .path_len = (uint32_t)strlen(path)};

	unwind_tables_request_file(7, &m, path, lacks);
}

static void want(const char *path)
{
	want_sized(path, false, 0x80000);
}

/* So much later a file that is missed is asked for again. */
static void wait_and_lack(const char *path)
{
	usleep(120 * 1000);
	want_sized(path, true, 0x80000);
}

static void add(const char *path)
{
	want(path);
	answer_all();
}

/* A program has missed it: it may push out others. */
static void add_missed(const char *path)
{
	want_sized(path, true, 0x80000);
	answer_all();
}

static struct unwind_file *element(const char *path)
{
	const struct unwind_file_key key = {.inode = inode,
					    .size = (uint64_t)atoi(path + 1),
					    .changed_s = 1000,
					    .changed_ns = reader.numbers,
					    .device = 8 << 20 | 1};
	size_t i = element_index(&key);

	return i < ARRAY_SIZE(elements) ? &elements[i].f : NULL;
}

/* A stack uses the file now, and did not before. */
static void use(const char *path)
{
	element(path)->used_ns = clock_mono_ns();
}

static struct unwind_tables_stats stats(void)
{
	struct unwind_tables_stats s;

	unwind_tables_get_stats(&s);
	return s;
}

/* Each row has the rule that its file gave it. */
static void assert_rows(const char *path, unsigned contents)
{
	unsigned n = (unsigned)atoi(path + 1) % 10000000;
	const struct unwind_file *f = element(path);

	assert_non_null(f);
	assert_int_equal(f->n_rows, n);
	for (unsigned i = 0; i < n; i++) {
		const struct unwind_row *row = &rows[f->first_row + i];

		assert_int_equal(row->address, 16 * i);
		assert_int_equal(rules[row->rule].cfa_offset, 8 * (i % MIN(n, 100u)) + contents);
	}
}

/* ---- tests ---- */

TEST_WITH(a_file_gets_its_rows, setup, teardown)
{
	const struct unwind_file *f;

	answer_vdso();
	want("/1000");
	assert_null(element("/1000"));
	assert_true(unwind_tables_is_busy());
	answer_all();
	assert_false(unwind_tables_is_busy());
	assert_rows("/1000", 0);
	f = element("/1000");
	/* Of the first byte of the segment: its address in the file, from the base of the rows. */
	assert_int_equal(f->segments[0].offset, 0x1000);
	assert_int_equal(f->segments[0].end, 0x1000 + (1 << 30));
	assert_int_equal(f->segments[0].offset + f->segments[0].bias,
			 (uint64_t)0x1000 + LOAD_BIAS - BASE);
	assert_int_equal(f->segments[1].end, 0);
	add("/0"); /* it cannot be read */
	assert_null(element("/0"));
	assert_int_equal(stats().n_rows, 1100);
	assert_int_equal(stats().n_rules, 100);
	assert_int_equal(stats().n_unreadable, 1);
}

TEST_WITH(the_vdso_has_rows_from_the_start, setup, teardown)
{
	static const struct unwind_file_key key;
	const struct unwind_file *f;

	answer_vdso();
	assert_true(element_index(&key) < ARRAY_SIZE(elements));
	f = &elements[element_index(&key)].f;
	assert_int_equal(f->n_rows, 100);
	assert_int_equal(f->segments[0].offset, 0);
	assert_int_equal(f->segments[0].bias, (uint64_t)0 - BASE);
	assert_int_equal(reader.n_elf, 0);
}

TEST_WITH(a_known_file_is_not_asked_for_again_unless_it_is_missed, setup, teardown)
{
	answer_vdso();
	add("/100");
	wait_and_lack("/200");
	answer_all();
	assert_int_equal(reader.n_elf, 2);
	add("/100");
	want_sized("/200", true, 0x80000); /* it was asked just now */
	answer_all();
	assert_int_equal(reader.n_elf, 2);
	wait_and_lack("/100");
	answer_all();
	assert_int_equal(reader.n_elf, 3); /* it is the same file */
	assert_int_equal(reader.n_rows, 3);
}

/* By the same path and inode: it was changed in its place. */
TEST_WITH(a_file_that_has_changed_gets_its_new_rows, setup, teardown)
{
	answer_vdso();
	add("/100");
	assert_rows("/100", 0);
	reader.numbers = 1000000;
	reader.contents = 64;
	add("/100");
	assert_null(element("/100"));
	wait_and_lack("/100");
	answer_all();
	assert_rows("/100", 64);
	reader.numbers = 0; /* what is mapped of the old one has the old rows */
	assert_rows("/100", 0);
}

/* Two files with equal rows; and two with another rule, though all else is equal. */
TEST_WITH(equal_rows_are_kept_once_and_others_are_not_mixed_up, setup, teardown)
{
	answer_vdso();
	add("/500");
	inode = 2;
	reader.numbers = 20000000;
	add("/500");
	assert_int_equal(reader.n_rows, 3);
	assert_int_equal(stats().n_ranges, 2);
	assert_int_equal(stats().n_files, 3);
	assert_rows("/500", 0);
	inode = 3;
	reader.numbers = 30000000;
	reader.contents = 4;
	add("/500");
	assert_int_equal(stats().n_ranges, 3);
	assert_rows("/500", 4);
	inode = 2;
	reader.numbers = 20000000;
	assert_rows("/500", 0);
	assert_int_equal(stats().n_rules, 200);
}

TEST_WITH(files_that_are_missed_with_little_code_or_that_many_want_are_read_first, setup, teardown)
{
	want_sized("/300", false, 0x30000000); /* while the vDSO is read */
	want_sized("/200", false, 0x2000);
	want_sized("/100", false, 0x400000);
	want_sized("/500", true, 0x40000000);
	for (unsigned i = 0; i < 100; i++)
		want_sized("/400", false, 0x30000);
	answer_rows();
	assert_string_equal(reader.path, "/500");
	answer_elf();
	answer_rows();
	assert_string_equal(reader.path, "/400");
	answer_elf();
	answer_rows();
	assert_string_equal(reader.path, "/200");
	answer_elf();
	answer_rows();
	assert_string_equal(reader.path, "/100");
	answer_elf();
	answer_rows();
	assert_string_equal(reader.path, "/300");
	answer_all();
	assert_rows("/300", 0);
}

/* As those that a recorded command will map: one page of each. */
TEST_WITH(the_smallest_mapping_of_a_file_counts, setup, teardown)
{
	want_sized("/300", false, 0x30000000);
	want_sized("/200", false, 0x2000);
	want_sized("/300", false, 0x1000);
	answer_rows();
	assert_string_equal(reader.path, "/300");
	answer_all();
}

TEST_WITH(a_file_that_is_only_mapped_pushes_out_no_other, setup, teardown)
{
	answer_vdso();
	add("/1000000");
	assert_false(unwind_tables_are_almost_full());
	add("/1000001");
	assert_true(unwind_tables_are_almost_full());
	add("/500000");
	assert_null(element("/500000"));
	assert_rows("/1000000", 0);
	assert_rows("/1000001", 0);
	assert_int_equal(stats().n_evicted + stats().n_refused, 0);
	wait_and_lack("/500000");
	answer_all();
	assert_rows("/500000", 0);
	assert_true(stats().n_evicted > 0);
}

TEST_WITH(a_file_that_was_forgotten_is_read_when_it_is_missed, setup, teardown)
{
	answer_vdso();
	want("/100");
	want("/200");
	unwind_tables_clear_queue();
	answer_all();
	assert_null(element("/200"));
	add_missed("/200");
	assert_rows("/200", 0);
}

TEST_WITH(the_least_recently_used_file_goes_when_the_pool_is_full, setup, teardown)
{
	answer_vdso();
	add_missed("/700000");
	add_missed("/700001");
	add_missed("/690000");
	element("/700000")->used_ns = 300; /* long ago */
	element("/700001")->used_ns = 100;
	element("/690000")->used_ns = 200;
	assert_int_equal(stats().n_evicted, 0);
	add_missed("/500000"); /* the vDSO was used by no stack */
	assert_int_equal(stats().n_evicted, 2);
	assert_int_equal(n_changes, 2);
	assert_rows("/700000", 0);
	assert_null(element("/700001"));
	assert_rows("/690000", 0);
	assert_rows("/500000", 0);
	/* Its rows are read again when it is missed again. */
	element("/500000")->used_ns = 400;
	wait_and_lack("/700001");
	answer_all();
	assert_rows("/700001", 0);
	assert_null(element("/690000"));
	assert_true(stats().n_rows <= UNWIND_ROWS_MAX);
}

TEST_WITH(a_file_with_code_beyond_its_rows_is_counted_once, setup, teardown)
{
	answer_vdso();
	add_missed("/1048576");
	assert_int_equal(stats().n_cut, 1);
	add_missed("/1000000");
	add_missed("/900000");
	assert_null(element("/1048576"));
	wait_and_lack("/1048576");
	answer_all();
	assert_int_equal(stats().n_cut, 1);
}

TEST_WITH(rows_that_stacks_use_make_no_room, setup, teardown)
{
	answer_vdso();
	add_missed("/700000");
	add_missed("/700001");
	add_missed("/690000");
	use("/700000");
	use("/700001");
	add_missed("/500000"); /* there is room if file 690000 goes */
	assert_null(element("/690000"));
	use("/500000");
	wait_and_lack("/690000");
	answer_all();
	assert_null(element("/690000"));
	assert_rows("/700000", 0);
	assert_rows("/700001", 0);
	assert_rows("/500000", 0);
	assert_int_equal(stats().n_evicted, 2);
	assert_int_equal(stats().n_refused, 1);
	/* It is not read again and again. */
	wait_and_lack("/690000");
	answer_all();
	assert_int_equal(stats().n_refused, 1);
	/* A file that is much smaller than another one takes its place. */
	add_missed("/80000");
	use("/80000");
	add_missed("/80001");
	use("/80001");
	add_missed("/80002");
	assert_null(element("/700001")); /* the largest one */
	assert_rows("/700000", 0);
	assert_int_equal(stats().n_evicted, 3);
}

/* User 1 has a file of N rows: "/1000000N". */
TEST_WITH(files_of_a_user_push_out_no_files_of_others, setup, teardown)
{
	char path[32];

	answer_vdso();
	add_missed("/1000000"); /* of root: nearly half of the pool */
	add_missed("/20000100"); /* of user 2 */
	for (unsigned i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/%u", 10000000 + 200000 + i);
		add_missed(path);
	}
	assert_rows("/1000000", 0);
	assert_rows("/20000100", 0);
	assert_rows("/10200007", 0);
	assert_rows("/10200006", 0);
	assert_null(element("/10200005"));
	assert_int_equal(stats().n_evicted, 6);
	/* A file above the share of a user has no rows, and pushes out nothing. */
	add_missed("/10600000");
	assert_null(element("/10600000"));
	assert_int_equal(stats().n_refused, 1);
	assert_int_equal(stats().n_evicted, 6);
}

/* The user's rows equal those of a library of root: they are root's from then on. */
TEST_WITH(rows_that_root_has_too_are_not_the_users, setup, teardown)
{
	char path[32];

	answer_vdso();
	add_missed("/10000500");
	add_missed("/500");
	assert_int_equal(stats().n_ranges, 2);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "/%u", 10000000 + 300000 + i);
		add_missed(path);
	}
	assert_int_equal(stats().n_evicted, 3);
	assert_rows("/500", 0);
}

TEST_WITH(a_busy_reader_is_asked_again, setup, teardown)
{
	answer_vdso();
	reader.is_busy = true;
	want("/1000");
	event_base_loop(loop, EVLOOP_ONCE);
	assert_int_equal(reader.n_elf, 0);
	reader.is_busy = false;
	event_base_loop(loop, EVLOOP_ONCE);
	assert_int_equal(reader.n_elf, 1);
	reader.is_busy = true;
	answer_elf();
	event_base_loop(loop, EVLOOP_ONCE);
	reader.is_busy = false;
	event_base_loop(loop, EVLOOP_ONCE);
	answer_all();
	assert_rows("/1000", 0);
}

TEST_WITH(a_reader_that_has_ended_leaves_the_elements_in_place, setup, teardown)
{
	static struct file_answer end = {.kind = FILE_REQUEST_CLOSE_ALL};

	answer_vdso();
	add("/1000");
	want("/2000");
	want("/3000");
	reader.has_ended = true;
	reader.asked = NOTHING;
	reader.user->answered(reader.user->ctx, &end);
	assert_false(unwind_tables_is_busy());
	want("/4000");
	assert_false(unwind_tables_is_busy());
	assert_rows("/1000", 0);
	assert_int_equal(stats().n_files, 2);
}

TEST_WITH(files_without_room_in_the_map_and_too_many_at_once_are_counted, setup, teardown)
{
	answer_vdso();
	are_maps_full = true;
	add("/1000");
	assert_int_equal(stats().n_files_left_out, 1);
	are_maps_full = false;
	for (inode = 10; inode < 10 + UNWIND_QUEUE_MAX + 11; inode++)
		want("/20");
	assert_int_equal(stats().n_files_left_out, 1 + 10);
	reader.has_ended = true;
}

/* One process after the other maps a new file. */
TEST_WITH(files_that_were_seen_long_ago_are_forgotten, setup, teardown)
{
	answer_vdso();
	for (inode = 1; inode < 5000; inode++)
		add("/0");
	assert_int_equal(reader.n_elf, 4999);
	assert_int_equal(stats().n_files_left_out, 0);
}

TEST(without_users_nothing_is_kept)
{
	struct unwind_tables_stats s;

	want("/100");
	unwind_tables_get_stats(&s);
	assert_int_equal(s.n_files, 0);
	assert_false(unwind_tables_is_busy());
}
