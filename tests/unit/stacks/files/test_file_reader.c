/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the process that opens files; answers of the one that parses them, which may have been
 * taken over.
 */
#include <event2/event.h>
#include <sys/socket.h>

#include "base/system/helper_process.h"
#include "stacks/files/file_reader.h"
#include "unit/test.h"

static int parser = -1, opener = -1; /* the other ends of their sockets */

int helper_process_start(const char *name, void (*run)(int fd, void *ctx), void *ctx, int keep_fd,
			 struct helper_process *ret)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		return -errno;
	*ret = (struct helper_process){.fd = pair[0]};
	*(strcmp(name, "sonda-elf") == 0 ? &parser : &opener) = pair[1];
	return 0;
}

static struct event_base *loop;
static struct file_reader_user user;
static unsigned n_answers;
static bool has_given_up;

static void on_answer(void *ctx, const struct file_answer *a)
{
	has_given_up |= a->kind == FILE_REQUEST_CLOSE_ALL;
	n_answers += a->kind != FILE_REQUEST_CLOSE_ALL;
}

static int setup(void **state)
{
	loop = event_base_new();
	n_answers = 0;
	has_given_up = false;
	user = (struct file_reader_user){.answered = on_answer};
	return file_reader_start() < 0 || file_reader_join(&user, loop) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	file_reader_leave(&user);
	event_base_free(loop);
	closep(&parser);
	closep(&opener);
	return 0;
}

/* The answers to a request for rows: two rules, and five rows in two answers. */
struct answers {
	struct file_answer rules, rows[2];
};

static struct answers *good_answers(void)
{
	static struct answers a;

	memset(&a, 0, sizeof(a));
	a.rules = (struct file_answer){
		.kind = FILE_REQUEST_ROWS, .user = user.number, .id = 9, .has_more = 1, .n = 2};
	a.rules.rules.head.n_rows = 5;
	a.rows[0] = a.rows[1] = a.rules;
	a.rows[0].n = 3;
	a.rows[1].n = 2;
	a.rows[1].has_more = 0;
	memset(a.rows[0].body, 0, sizeof(a.rows[0].body));
	memset(a.rows[1].body, 0, sizeof(a.rows[1].body));
	for (uint32_t i = 0; i < 5; i++)
		a.rows[i >= 3].rows[i >= 3 ? i - 3 : i] = (struct unwind_row){
			.address = i, .rule = (uint16_t)(UNWIND_RULES_FIRST + i % 2)};
	return &a;
}

static void give(struct file_answer *a, size_t n_bytes)
{
	a->n_bytes = (uint32_t)n_bytes;
	(void)!send(parser, a, FILE_ANSWER_HEAD + n_bytes, MSG_NOSIGNAL);
	event_base_loop(loop, EVLOOP_NONBLOCK);
}

static void give_all(struct answers *a)
{
	give(&a->rules, sizeof(struct file_rows) + a->rules.n * sizeof(struct unwind_rule));
	for (int i = 0; i < 2 && !has_given_up; i++)
		give(&a->rows[i], a->rows[i].n * sizeof(struct unwind_row));
}

TEST_WITH(rows_are_passed_on_in_parts, setup, teardown)
{
	give_all(good_answers());
	give_all(good_answers());
	assert_int_equal(n_answers, 6);
	assert_false(has_given_up);
}

TEST_WITH(a_file_without_rows_and_one_that_cannot_be_read_have_one_answer, setup, teardown)
{
	struct answers *a = good_answers();

	a->rules.has_more = a->rules.n = 0;
	a->rules.rules.head.n_rows = 0;
	give(&a->rules, sizeof(struct file_rows));
	a->rules.result = -ENOENT;
	give(&a->rules, 0);
	assert_int_equal(n_answers, 2);
	assert_false(has_given_up);
}

/* After the change the reader must give up, before the last answer has come. */
#define REFUSED(name, ...)                                                                         \
	TEST_WITH(name, setup, teardown)                                                           \
	{                                                                                          \
		struct answers *a = good_answers();                                                \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		give_all(a);                                                                       \
		assert_true(has_given_up);                                                         \
		assert_true(n_answers < 3);                                                        \
	}

REFUSED(a_rule_that_does_not_exist_is_refused, a->rows[0].rows[1].rule = UNWIND_RULES_FIRST + 2)
REFUSED(an_unknown_base_is_refused, a->rules.rules.rules[1].base = UNWIND_BASE_PLT + 1)
REFUSED(an_unknown_place_of_the_frame_pointer_is_refused, a->rules.rules.rules[1].fp = 7)
REFUSED(addresses_that_repeat_are_refused, a->rows[0].rows[2].address = 1)
REFUSED(addresses_that_go_back_in_the_next_part_are_refused, a->rows[1].rows[0].address = 2)
REFUSED(too_many_rows_are_refused, a->rules.rules.head.n_rows = 4)
REFUSED(rows_above_the_limit_are_refused, a->rules.rules.head.n_rows = EH_ROWS_MAX + 1)
REFUSED(too_few_rows_are_refused, a->rules.rules.head.n_rows = 6)
REFUSED(an_end_too_early_is_refused, a->rows[0].has_more = 0)
REFUSED(an_empty_part_is_refused, a->rows[0].n = 0)
REFUSED(an_error_between_the_parts_is_refused, a->rows[1].result = -EIO)
REFUSED(a_part_for_another_request_is_refused, a->rows[1].id = 10)
REFUSED(another_answer_between_the_parts_is_refused, a->rows[1].kind = FILE_REQUEST_NAMES)
REFUSED(parts_without_rows_are_refused, a->rules.rules.head.n_rows = 0)

/* ---- the other answers ---- */

/* Returns whether the reader passes on an answer of that kind, with these bytes, or gives up. */
static bool takes(uint32_t kind, uint32_t n, const void *bytes, size_t len)
{
	static struct file_answer a;
	unsigned before = n_answers;

	if (has_given_up) { /* it starts again */
		(void)teardown(NULL);
		assert_int_equal(setup(NULL), 0);
		before = 0;
	}
	a = (struct file_answer){.kind = kind, .user = user.number, .n = n};
	memcpy(a.body, bytes, len);
	give(&a, len);
	assert_int_not_equal(has_given_up, n_answers > before);
	return !has_given_up;
}

/* A mapping and its path in bytes that it has room for. */
static size_t put_mapping(char *to, const struct file_mapping *m, size_t len, const char *path)
{
	memset(to + len, 0, 64);
	strcpy(to + len, path);
	memcpy(to, m, sizeof(*m));
	return len + (m->path_len + 7) / 8 * 8;
}

TEST_WITH(mappings_that_lie_are_refused, setup, teardown)
{
	static const struct {
		struct file_mapping m;
		const char *path;
		int cut; /* bytes that the answer lacks */
		uint32_t address; /* of a mapping of data */
		bool is_good;
	} cases[] = {
		{{.start = 1, .end = 2, .path_len = 2}, "/a", 0, 0, true},
		{{.start = 1, .end = 2, .path_len = 0}, "", 0, FILE_NAMES_MAX - 1, true},
		{{.start = 2, .end = 2, .path_len = 2}, "/a", 0, 0, false},
		{{.start = 3, .end = 2, .path_len = 2}, "/a", 0, 0, false},
		{{.start = 1, .end = 2, .path_len = 2}, "/a", 1, 0, false},
		{{.start = 1, .end = 2, .path_len = 2}, "/a", 9, 0, false},
		{{.start = 1, .end = 2, .path_len = 3}, "/a", 0, 0, false}, /* a NUL in it */
		{{.start = 1, .end = 2, .path_len = FILE_PATH_MAX}, "/a", 0, 0, false},
		{{.start = 1, .end = 2, .path_len = UINT32_MAX}, "/a", 0, 0, false},
	};
	struct file_data_mapping d = {.is_behind = 0};
	char bytes[FILE_PATH_MAX + 256];
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool lies_in_size = cases[i].m.path_len >= FILE_PATH_MAX;

		len = put_mapping(bytes, &cases[i].m, sizeof(d.m), cases[i].path);
		len = lies_in_size ? sizeof(bytes) : len - (size_t)cases[i].cut;
		if (takes(FILE_REQUEST_MAPS, 1, bytes, len) != cases[i].is_good)
			fail_msg("case %zu", i);
		d.m = cases[i].m;
		d.address = cases[i].address;
		len = put_mapping(bytes, &d.m, sizeof(d), cases[i].path);
		memcpy(bytes, &d, sizeof(d));
		len = lies_in_size ? sizeof(bytes) : len - (size_t)cases[i].cut;
		if (takes(FILE_REQUEST_DATA_MAPS, 1, bytes, len) != cases[i].is_good)
			fail_msg("case %zu of data", i);
	}
	d = (struct file_data_mapping){.m = {.start = 1, .end = 2}, .address = FILE_NAMES_MAX};
	assert_false(takes(FILE_REQUEST_DATA_MAPS, 1, &d, sizeof(d)));
	assert_false(takes(FILE_REQUEST_MAPS, 1, bytes, 0));
}

TEST_WITH(names_and_files_that_lie_are_refused, setup, teardown)
{
	static const char names[] = "\1\0a\3\0bcd";
	struct elf_facts facts[6] = {{.n_segments = ELF_SEGMENTS_MAX}};

	assert_true(takes(FILE_REQUEST_NAMES, 2, names, 8));
	assert_false(takes(FILE_REQUEST_NAMES, 2, names, 7));
	assert_false(takes(FILE_REQUEST_NAMES, 2, names, 4));
	assert_false(takes(FILE_REQUEST_NAMES, 3, names, 8));
	facts[1].n_build_id = ELF_BUILD_ID_MAX + 1;
	facts[2].n_segments = ELF_SEGMENTS_MAX + 1;
	facts[3].n_data = ELF_SEGMENTS_MAX + 1;
	memset(facts[4].debug_link, 'x', sizeof(facts[4].debug_link));
	strcpy(facts[5].debug_link, "a/b");
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		assert_int_equal(takes(FILE_REQUEST_ELF, 0, &facts[i], sizeof(facts[i])), i == 0);
	assert_false(takes(FILE_REQUEST_ELF, 0, facts, sizeof(facts[0]) - 1));
	assert_true(takes(FILE_REQUEST_PERF_MAP, 1, "", 0));
	assert_false(takes(FILE_REQUEST_JITDUMP, 1, "x", 1));
	assert_false(takes(FILE_REQUEST_CLOSE_ALL, 0, "", 0));
	assert_true(takes(FILE_REQUEST_NAMES, 0, "", 0));
	assert_true(file_reader_is_alive());
	(void)!send(parser, names, 3, 0); /* no answer at all */
	event_base_loop(loop, EVLOOP_NONBLOCK);
	assert_true(has_given_up);
	assert_false(file_reader_is_alive());
	assert_int_equal(file_reader_join(&(struct file_reader_user){0}, loop), -ENOTSUP);
	assert_false(file_reader_request_maps(&user, 1, 1));
}

/* ---- requests ---- */

static struct file_request asked;

/* The request that the opener gets; its bytes. */
static size_t next_request(void)
{
	memset(&asked, 0xa5, sizeof(asked));
	return (size_t)recv(opener, &asked, sizeof(asked), MSG_DONTWAIT);
}

TEST_WITH(requests_name_what_is_to_be_opened, setup, teardown)
{
	const struct file_mapping m = {.start = 0x1000, .end = 0x2000, .inode = 7, .major = 8};
	const struct file_reader_process p = {.pid = 4, .pid_inside = 1, .uid = 33, .started = 9};
	const struct elf_facts elf = {
		.n_build_id = 3, .build_id = {0xab, 0xcd, 0xef}, .debug_link = "x.debug"};
	static const char paths[] = "/usr/lib/debug/.build-id/ab/cdef.debug\0/usr/bin/x.debug\0"
				    "/usr/bin/.debug/x.debug\0/usr/lib/debug/usr/bin/x.debug";
	uint64_t addresses[FILE_NAMES_MAX + 9] = {5, 6};

	assert_true(file_reader_request_maps(&user, 4, 5));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD);
	assert_true(asked.kind == FILE_REQUEST_MAPS && asked.pid == 4 && asked.tid == 5 &&
		    asked.id == 4 && asked.user == user.number);
	assert_true(file_reader_request_data_maps(&user, -1, 5, addresses, 2));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD + 16);
	assert_true(asked.n == 2 && asked.addresses[1] == 6 && asked.id == UINT32_MAX);
	assert_true(file_reader_request_names(&user, 3, 2, addresses, ARRAY_SIZE(addresses)));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD + 8 * FILE_NAMES_MAX);
	assert_true(asked.n == FILE_NAMES_MAX && asked.file == 2 && asked.id == 3);
	assert_true(file_reader_request_elf(&user, 3, 4, &m, "/a"));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD + 3);
	assert_true(asked.start == m.start && asked.end == m.end && asked.inode == 7 &&
		    asked.major == 8);
	assert_string_equal(asked.path, "/a");
	assert_true(file_reader_request_rows(&user, 3, FILE_VDSO, 0, NULL, NULL));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD);
	assert_int_equal(asked.file, FILE_VDSO);
	assert_true(file_reader_request_perf_map(&user, 3, &p));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD);
	assert_true(asked.pid_inside == 1 && asked.uid == 33 && asked.started == 9);
	assert_true(file_reader_request_jitdump(&user, 3, &p, &m, "/j"));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD + 3);
	assert_true(asked.inode == 7 && strcmp(asked.path, "/j") == 0);
	assert_true(file_reader_request_debug_file(&user, 4, 2, &elf, "/usr/bin/x"));
	assert_int_equal(next_request(), FILE_REQUEST_HEAD + sizeof(paths));
	assert_memory_equal(asked.path, paths, sizeof(paths));
	/* Without a build id and a link there is nothing to look for. */
	assert_true(
		file_reader_request_debug_file(&user, 4, 2, &(struct elf_facts){0}, "/usr/bin/x"));
	assert_int_equal(next_request(), (size_t)-1);
	file_reader_leave(&user);
	assert_int_equal(next_request(), FILE_REQUEST_HEAD);
	assert_int_equal(asked.kind, FILE_REQUEST_CLOSE_ALL);
}

/* A reader that does not keep up is not waited for. */
TEST_WITH(requests_end_when_the_opener_is_busy, setup, teardown)
{
	unsigned n = 0;

	while (file_reader_request_maps(&user, 1, 1) && n < 1000000)
		n++;
	assert_in_range(n, 1, 999999);
	assert_true(file_reader_is_alive());
	while (next_request() != (size_t)-1)
		;
	assert_true(file_reader_request_maps(&user, 1, 1));
}
