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

#define START 0x10000000ull
#define LOAD_BIAS 0x3000u /* address - offset of the segment */
#define BASE 0x5000u

/* ---- the maps ---- */

static struct unwind_row *rows;
static struct unwind_rule rules[UNWIND_RULES_MAX];
static struct {
	int32_t pid; /* 0: free */
	struct unwind_process p;
} elements[64];
static bool are_maps_full;

int unwind_maps_create(struct unwind_maps *ret)
{
	rows = calloc(UNWIND_ROWS_MAX, sizeof(*rows));
	memset(elements, 0, sizeof(elements));
	*ret = (struct unwind_maps){-1, -1, -1, rows};
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

static size_t element_index(int32_t pid)
{
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++)
		if (elements[i].pid == pid)
			return i;
	return ARRAY_SIZE(elements);
}

int unwind_maps_set_process(const struct unwind_maps *m, int32_t pid,
			    const struct unwind_process *p)
{
	size_t i = element_index(pid);

	if (are_maps_full)
		return -ENOMEM;
	if (i == ARRAY_SIZE(elements))
		i = element_index(0);
	assert_true(i < ARRAY_SIZE(elements));
	elements[i].pid = pid;
	elements[i].p = *p;
	return 0;
}

void unwind_maps_remove_process(const struct unwind_maps *m, int32_t pid)
{
	size_t i = element_index(pid);

	if (i < ARRAY_SIZE(elements))
		elements[i].pid = 0;
}

static const struct unwind_process *element(int32_t pid)
{
	size_t i = element_index(pid);

	return i < ARRAY_SIZE(elements) ? &elements[i].p : NULL;
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
	uint32_t numbers; /* added to the numbers of files */
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

bool file_reader_ask_elf(const struct file_reader_user *u, uint64_t id, int32_t pid,
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

bool file_reader_ask_rows(const struct file_reader_user *u, uint64_t id, uint32_t file, int32_t pid,
			  const struct file_mapping *m, const char *path)
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
	a.rules.head = (struct file_rows){.base = BASE, .owner = owner, .n_rows = n};
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

/* ---- processes ---- */

static struct unwind_tables_user user;
static struct event_base *loop;
static struct mapped_files files;
static struct address_spaces spaces;
static uint32_t inode_generation; /* of mapped files */

static int setup(void **state)
{
	loop = event_base_new();
	memset(&reader, 0, sizeof(reader));
	are_maps_full = false;
	inode_generation = 0;
	spaces.files = &files;
	return mapped_files_init(&files) < 0 || unwind_tables_join(&user, loop) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	unwind_tables_leave(&user);
	address_spaces_deinit(&spaces);
	mapped_files_deinit(&files);
	event_base_free(loop);
	return reader.user ? -1 : 0;
}

/* Maps the files one behind the other. The names end with NULL. */
static void set_process(int32_t pid, const char *const *paths)
{
	struct address_space *a = address_spaces_get(&spaces, pid);
	uint64_t at = START;

	address_space_clear(&spaces, a);
	for (; *paths; paths++, at += 0x100000) {
		bool has_file = (*paths)[0] == '/' && (*paths)[1] != '/';
		/* Another file of that name has another inode. */
		struct file_mapping m = {.start = at,
					 .end = at + 0x80000,
					 .offset = 0x2000,
					 .inode = has_file ? 1 + reader.numbers : 0,
					 .path_len = (uint32_t)strlen(*paths),
					 .generation = inode_generation};

		if (strcmp(*paths, "[vdso]") == 0)
			m.offset = 0;
		address_space_map(&spaces, a, &m, *paths);
	}
	unwind_tables_set_process(a, &files);
}

#define SET_PROCESS(pid, ...) set_process(pid, (const char *const[]){__VA_ARGS__, NULL})

static struct unwind_tables_stats stats(void)
{
	struct unwind_tables_stats s;

	unwind_tables_get_stats(&s);
	return s;
}

/* Each row of the mapping has the rule that its file gave it. */
static void assert_rows(int32_t pid, unsigned mapping, unsigned n, unsigned contents)
{
	const struct unwind_process *p = element(pid);

	assert_non_null(p);
	assert_true(mapping < p->n);
	assert_int_equal(p->mappings[mapping].n_rows, n);
	for (unsigned i = 0; i < n; i++) {
		const struct unwind_row *row = &rows[p->mappings[mapping].first_row + i];

		assert_int_equal(row->address, 16 * i);
		assert_int_equal(rules[row->rule].cfa_offset, 8 * (i % MIN(n, 100u)) + contents);
	}
}

/* ---- tests ---- */

TEST_WITH(a_process_gets_the_rows_of_its_files, setup, teardown)
{
	const struct unwind_process *p;

	SET_PROCESS(7, "/1000", "//anon", "/200", "[vdso]", "/0");
	assert_null(element(7));
	assert_true(unwind_tables_have_process(7));
	answer_all();
	p = element(7);
	assert_int_equal(p->n, 5);
	assert_int_equal(p->generation % 2, 0);
	assert_rows(7, 0, 1000, 0);
	assert_rows(7, 1, 0, 0);
	assert_rows(7, 2, 200, 0);
	assert_rows(7, 3, 100, 0);
	assert_rows(7, 4, 0, 0);
	assert_int_equal(p->mappings[0].start, START);
	assert_int_equal(p->mappings[0].end, START + 0x80000);
	/* The address of the first byte, in the file's address space, is 0x2000 + LOAD_BIAS. */
	assert_int_equal(START - p->mappings[0].bias, 0x2000 + LOAD_BIAS - BASE);
	assert_int_equal(p->mappings[3].start - p->mappings[3].bias, (uint64_t)0 - BASE);
	assert_int_equal(stats().n_rows, 1300);
	assert_int_equal(stats().n_rules, 100);
	assert_int_equal(stats().n_unreadable, 1);
}

TEST_WITH(processes_share_the_rows_of_a_file_and_each_element_has_another_generation, setup,
	  teardown)
{
	uint32_t generation;

	SET_PROCESS(7, "/1000");
	SET_PROCESS(8, "/1000", "/30");
	answer_all();
	assert_int_equal(reader.n_rows, 2);
	assert_int_equal(element(7)->mappings[0].first_row, element(8)->mappings[0].first_row);
	assert_int_not_equal(element(7)->generation, element(8)->generation);
	generation = element(7)->generation;
	SET_PROCESS(7, "/30");
	answer_all();
	assert_true(element(7)->generation > generation);
	assert_int_equal(reader.n_rows, 2);
	assert_rows(7, 0, 30, 0);
	unwind_tables_remove_process(7);
	assert_null(element(7));
	assert_false(unwind_tables_have_process(7));
	generation = element(8)->generation;
	SET_PROCESS(7, "/30");
	answer_all();
	assert_true(element(7)->generation > generation);
}

/* So much later a file is identified anew. */
static void wait_for_new_identity(void)
{
	usleep(120 * 1000);
}

TEST_WITH(a_program_has_the_rows_of_known_files_before_the_reader_answers, setup, teardown)
{
	inode_generation = 5;
	SET_PROCESS(7, "/100", "/200", "[vdso]");
	answer_all();
	wait_for_new_identity();
	SET_PROCESS(8, "//anon", "/200", "/300", "[vdso]");
	assert_int_equal(reader.asked, AN_ELF);
	assert_int_equal(element(8)->n, 4);
	assert_rows(8, 1, 200, 0);
	assert_rows(8, 2, 0, 0); /* it has not been read */
	assert_rows(8, 3, 100, 0);
	assert_int_equal(START + 0x100000 - element(8)->mappings[1].bias,
			 0x2000 + LOAD_BIAS - BASE);
	/* Another file has taken its place: its own rows follow. */
	reader.numbers = 1000000;
	reader.contents = 64;
	answer_all();
	assert_rows(8, 1, 200, 64);
	assert_rows(8, 2, 300, 64);
}

TEST_WITH(rows_wait_for_the_identity_of_a_file_that_may_be_another_one, setup, teardown)
{
	SET_PROCESS(7, "/100");
	answer_all();
	wait_for_new_identity();
	SET_PROCESS(8, "/100"); /* from /proc/PID/maps: the generation is not known */
	assert_null(element(8));
	answer_all();
	assert_rows(8, 0, 100, 0);
	inode_generation = 5;
	SET_PROCESS(9, "/100");
	answer_all();
	wait_for_new_identity();
	inode_generation = 6;
	SET_PROCESS(10, "/100");
	assert_null(element(10));
	answer_all();
	assert_rows(10, 0, 100, 0);
}

TEST_WITH(what_a_process_has_stays_until_all_of_its_new_mappings_are_known, setup, teardown)
{
	inode_generation = 5;
	SET_PROCESS(7, "/100");
	answer_all();
	SET_PROCESS(7, "/200", "/100");
	assert_rows(7, 0, 100, 0);
	answer_all();
	assert_rows(7, 0, 200, 0);
	wait_for_new_identity();
	SET_PROCESS(7, "/200"); /* in the queue */
	SET_PROCESS(7, "/100", "/200");
	assert_rows(7, 0, 100, 0);
	answer_all();
	assert_rows(7, 0, 100, 0);
	assert_rows(7, 1, 200, 0);
}

/* Programs that start at a high rate map the same files. */
TEST_WITH(a_file_is_identified_once_for_programs_that_start_together, setup, teardown)
{
	uint64_t begin = clock_mono_ns();

	SET_PROCESS(7, "/100", "/200");
	answer_all();
	assert_int_equal(reader.n_elf, 2);
	SET_PROCESS(8, "/200", "/100");
	if (clock_mono_ns() - begin > 90 * NS_PER_MS)
		skip(); /* a slow machine: they do not start together */
	assert_int_equal(reader.n_elf, 2);
	assert_rows(8, 0, 200, 0);
	assert_rows(8, 1, 100, 0);
	inode_generation = 1; /* another file with the inode of the first one */
	SET_PROCESS(9, "/100");
	answer_all();
	assert_int_equal(reader.n_elf, 3);
	reader.numbers = 1; /* "/100" is another file now */
	SET_PROCESS(9, "/100");
	answer_all();
	assert_int_equal(reader.n_elf, 4);
}

/* Two files with equal rows; and two with another rule, though all else is equal. */
TEST_WITH(equal_rows_are_kept_once_and_others_are_not_mixed_up, setup, teardown)
{
	SET_PROCESS(7, "/500");
	answer_all();
	reader.numbers = 20000000;
	SET_PROCESS(8, "/500");
	answer_all();
	assert_int_equal(reader.n_rows, 2);
	assert_int_equal(stats().n_ranges, 1);
	assert_int_equal(stats().n_files, 2);
	reader.numbers = 30000000;
	reader.contents = 4;
	SET_PROCESS(9, "/500");
	answer_all();
	assert_int_equal(stats().n_ranges, 2);
	assert_rows(7, 0, 500, 0);
	assert_rows(8, 0, 500, 0);
	assert_rows(9, 0, 500, 4);
	assert_int_equal(stats().n_rules, 200);
}

TEST_WITH(a_process_that_ends_while_its_files_are_read_is_not_added, setup, teardown)
{
	SET_PROCESS(7, "/1000");
	answer_elf();
	unwind_tables_remove_process(7);
	assert_false(unwind_tables_have_process(7));
	answer_all();
	assert_null(element(7));
	SET_PROCESS(7, "/1000"); /* as after exec */
	SET_PROCESS(8, "/30");
	SET_PROCESS(8, "/40");
	answer_all();
	assert_rows(7, 0, 1000, 0);
	assert_rows(8, 0, 40, 0);
	assert_int_equal(stats().n_processes, 2);
}

TEST_WITH(the_least_recently_used_file_goes_when_the_pool_is_full, setup, teardown)
{
	uint32_t generation;

	SET_PROCESS(1, "/700000");
	SET_PROCESS(2, "/700001");
	SET_PROCESS(3, "/690000");
	answer_all();
	SET_PROCESS(1, "/700000"); /* used again */
	answer_all();
	assert_int_equal(stats().n_evicted, 0);
	generation = element(2)->generation;
	SET_PROCESS(4, "/500000");
	answer_all();
	assert_int_equal(stats().n_evicted, 1);
	assert_rows(1, 0, 700000, 0);
	assert_rows(2, 0, 0, 0); /* file 700001 */
	assert_rows(4, 0, 500000, 0);
	assert_true(element(2)->generation > generation);
	/* A file that no process maps goes first, though it was used last. */
	unwind_tables_remove_process(4);
	SET_PROCESS(5, "/600000");
	answer_all();
	assert_int_equal(stats().n_evicted, 2);
	assert_rows(1, 0, 700000, 0);
	assert_rows(3, 0, 690000, 0);
	assert_rows(5, 0, 600000, 0);
	/* Its rows are read again when they are wanted again. */
	unwind_tables_remove_process(5);
	SET_PROCESS(2, "/700001");
	answer_all();
	assert_rows(2, 0, 700001, 0);
	assert_true(stats().n_rows <= UNWIND_ROWS_MAX);
}

TEST_WITH(rows_that_stacks_use_make_no_room, setup, teardown)
{
	SET_PROCESS(1, "/700000");
	SET_PROCESS(2, "/700001");
	SET_PROCESS(3, "/690000");
	answer_all();
	assert_true(unwind_tables_use_process(1));
	assert_true(unwind_tables_use_process(2));
	assert_false(unwind_tables_use_process(9));
	SET_PROCESS(4, "/500000"); /* there is room if the file of process 3 goes */
	answer_all();
	assert_rows(3, 0, 0, 0);
	assert_false(unwind_tables_use_process(3));
	assert_true(unwind_tables_use_process(4));
	SET_PROCESS(5, "/690000");
	answer_all();
	assert_rows(5, 0, 0, 0);
	assert_rows(1, 0, 700000, 0);
	assert_rows(2, 0, 700001, 0);
	assert_rows(4, 0, 500000, 0);
	assert_int_equal(stats().n_evicted, 1);
	assert_int_equal(stats().n_refused, 1);
	/* It is not read again and again. */
	SET_PROCESS(6, "/690000");
	answer_all();
	assert_int_equal(stats().n_refused, 1);
	/* A file that is much smaller than another one takes its place. */
	for (int32_t pid = 7; pid < 10; pid++) {
		SET_PROCESS(pid, pid == 7 ? "/80000" : pid == 8 ? "/80001" : "/80002");
		answer_all();
		assert_true(unwind_tables_use_process(pid));
	}
	assert_rows(2, 0, 0, 0); /* the largest one */
	assert_rows(1, 0, 700000, 0);
	assert_int_equal(stats().n_evicted, 2);
}

/* User 1 has a file of N rows: "/1000000N". */
TEST_WITH(files_of_a_user_push_out_no_files_of_others, setup, teardown)
{
	char paths[8][32];

	SET_PROCESS(1, "/1000000"); /* of root: nearly half of the pool */
	answer_all();
	SET_PROCESS(2, "/20000100"); /* of user 2 */
	answer_all();
	for (unsigned i = 0; i < 8; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/%u", 10000000 + 200000 + i);
		SET_PROCESS((int32_t)(10 + i), paths[i]);
		answer_all();
	}
	assert_rows(1, 0, 1000000, 0);
	assert_rows(2, 0, 100, 0);
	assert_rows(17, 0, 200007, 0);
	assert_rows(16, 0, 200006, 0);
	assert_rows(15, 0, 0, 0);
	assert_int_equal(stats().n_evicted, 6);
	/* A file above the share of a user has no rows, and pushes out nothing. */
	SET_PROCESS(3, "/10600000");
	answer_all();
	assert_rows(3, 0, 0, 0);
	assert_int_equal(stats().n_refused, 1);
	assert_int_equal(stats().n_evicted, 6);
}

/* The user's rows equal those of a library of root: they are root's from then on. */
TEST_WITH(rows_that_root_has_too_are_not_the_users, setup, teardown)
{
	SET_PROCESS(1, "/10000500");
	answer_all();
	SET_PROCESS(2, "/500");
	answer_all();
	assert_int_equal(stats().n_ranges, 1);
	for (unsigned i = 0; i < 4; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/%u", 10000000 + 300000 + i);
		SET_PROCESS((int32_t)(10 + i), path);
		answer_all();
	}
	assert_int_equal(stats().n_evicted, 3);
	assert_rows(2, 0, 500, 0);
}

TEST_WITH(a_busy_reader_is_asked_again, setup, teardown)
{
	reader.is_busy = true;
	SET_PROCESS(7, "/1000");
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
	assert_rows(7, 0, 1000, 0);
}

TEST_WITH(a_reader_that_has_ended_leaves_the_elements_in_place, setup, teardown)
{
	static struct file_answer end = {.kind = FILE_REQUEST_FORGET};

	SET_PROCESS(7, "/1000");
	answer_all();
	SET_PROCESS(8, "/2000");
	SET_PROCESS(9, "/2000");
	reader.has_ended = true;
	reader.asked = NOTHING;
	reader.user->answered(reader.user->ctx, &end);
	SET_PROCESS(10, "/1000");
	assert_rows(7, 0, 1000, 0);
	assert_int_equal(stats().n_processes, 1);
	assert_false(unwind_tables_have_process(8) || unwind_tables_have_process(9) ||
		     unwind_tables_have_process(10));
}

/* Else the program would use rows of another file. */
TEST_WITH(an_element_that_cannot_be_replaced_is_removed, setup, teardown)
{
	SET_PROCESS(7, "/1000");
	answer_all();
	are_maps_full = true;
	SET_PROCESS(7, "/2000");
	answer_all();
	assert_null(element(7));
}

TEST_WITH(of_many_mappings_those_of_files_come_first, setup, teardown)
{
	const char *paths[301];

	for (unsigned i = 0; i < 300; i++)
		paths[i] = i % 3 == 0 ? "/50" : "//anon";
	paths[300] = NULL;
	set_process(7, paths);
	answer_all();
	assert_int_equal(element(7)->n, UNWIND_MAPPINGS_MAX);
	assert_int_equal(stats().n_mappings_left_out, 300 - UNWIND_MAPPINGS_MAX);
	for (unsigned i = 0, n = 0; i < UNWIND_MAPPINGS_MAX; i++) {
		n += element(7)->mappings[i].n_rows > 0;
		assert_true(i < UNWIND_MAPPINGS_MAX - 1 || n == 100);
		assert_true(i == 0 ||
			    element(7)->mappings[i - 1].start < element(7)->mappings[i].start);
	}
}

TEST_WITH(too_many_wanted_processes_are_refused, setup, teardown)
{
	for (int32_t pid = 1; pid <= UNWIND_WANTED_MAX + 10; pid++)
		SET_PROCESS(pid, "/20");
	assert_true(stats().n_processes_refused > 0);
	reader.has_ended = true;
}

TEST(without_users_nothing_is_kept)
{
	struct unwind_tables_stats s;

	unwind_tables_remove_process(7);
	assert_false(unwind_tables_have_process(7));
	unwind_tables_get_stats(&s);
	assert_int_equal(s.n_processes, 0);
}
