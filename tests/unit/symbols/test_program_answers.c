/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program reader makes of the answers of its process, which a hostile file may have taken
 * over. This test answers in its place.
 */
#include <sys/socket.h>

#include "symbols/program_reader.h"
#include "unit/test.h"

#define NO_ANSWER (-1)

/* The answers that it gives, in this order, whatever the requests are. */
static struct {
	const void *message;
	ssize_t len;
} given[4];
static int other_end = -1;

int helper_process_start(const char *name, void (*run)(int fd, void *ctx), void *ctx, int keep_fd,
			 struct helper_process *ret)
{
	int pair[2];

	if (!given[0].message)
		return -EAGAIN;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (size_t i = 0; i < ARRAY_SIZE(given) && given[i].len > 0; i++)
		assert_int_equal(send(pair[1], given[i].message, (size_t)given[i].len, 0),
				 given[i].len);
	shutdown(pair[1], SHUT_WR);
	closep(&other_end);
	other_end = pair[1];
	*ret = (struct helper_process){.pid = fork(), .fd = pair[0]};
	if (ret->pid == 0)
		_exit(0);
	return 0;
}

static struct program_reader reader;
static struct err_text e;

static int start_with(const void *facts, ssize_t len)
{
	e.text[0] = '\0';
	given[0].message = facts;
	given[0].len = len;
	return program_reader_start("/proc/self/exe", &reader, &e);
}

static const struct program_facts_answer good_facts = {.elf = {.machine = 62}};

TEST(facts_that_lie_are_refused)
{
	struct program_facts_answer a[6];

	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		a[i] = good_facts;
	a[0].elf.n_build_id = ELF_BUILD_ID_MAX + 1;
	memset(a[1].elf.debug_link, 'x', sizeof(a[1].elf.debug_link));
	strcpy(a[2].elf.debug_link, "../secret");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(start_with(&a[i], sizeof(a[i])), -EBADMSG);
	a[3].result = -ENOEXEC;
	assert_int_equal(start_with(&a[3], sizeof(a[3])), -ENOEXEC);
	assert_string_equal(e.text, "/proc/self/exe: not an ELF file");
	assert_int_equal(start_with(&a[4], sizeof(a[4]) - 1), -EPIPE);
	assert_int_equal(start_with(&a[4], NO_ANSWER), -EPIPE);
	assert_non_null(strstr(e.text, "the process that read it exited"));
	assert_int_equal(start_with(NULL, 0), -EAGAIN);
	assert_non_null(strstr(e.text, "cannot start the helper that reads the file"));
}

static unsigned n_items;

static int count(void *ctx, const struct program_item *item)
{
	n_items++;
	return 0;
}

static struct program_answer item_of(uint32_t kind, const char *texts, size_t n)
{
	struct program_answer a = {.kind = kind, .text_len = (uint32_t)n};

	memcpy(a.text, texts, MIN(n, sizeof(a.text)));
	return a;
}

/* Starts a reader that gives a good item, then this one; lists static probes or else functions. */
static int list_with(const struct program_answer *second, size_t len, bool usdt)
{
	const struct program_answer first =
		item_of(usdt ? PROGRAM_USDT : PROGRAM_FUNCTION, "a\0b\0c", 6);
	int r;

	given[1].message = &first;
	given[1].len = PROGRAM_ANSWER_HEAD + 6;
	given[2].message = second;
	given[2].len = (ssize_t)len;
	n_items = 0;
	assert_int_equal(start_with(&good_facts, sizeof(good_facts)), 0);
	assert_int_equal(reader.machine, 62);
	r = usdt ? program_reader_list_usdt(&reader, "*", count, NULL, &e)
		 : program_reader_list_functions(&reader, "*", count, NULL, &e);
	assert_int_equal(n_items, 1);
	program_reader_stop(&reader);
	program_reader_stop(&reader);
	given[1].len = given[2].len = 0;
	return r;
}

TEST(items_that_lie_are_refused_and_the_good_ones_before_them_are_not)
{
	static const struct {
		uint32_t kind;
		bool usdt; /* what was requested */
		const char *texts;
		uint32_t text_len; /* as the item says */
		size_t len; /* of the text in the message */
	} cases[] = {
		{PROGRAM_FUNCTION, true, "a\0b\0c", 6, 6}, /* not what was requested */
		{PROGRAM_USDT, false, "a\0b\0c", 6, 6},
		{PROGRAM_SUGGESTION + 1, false, "a\0b\0c", 6, 6},
		{PROGRAM_FUNCTION, false, "a\0b\0c", 7, 6}, /* its length */
		{PROGRAM_FUNCTION, false, "a\0b\0c", 5, 6},
		{PROGRAM_FUNCTION, false, "a\0b\0c", UINT32_MAX, 6},
		{PROGRAM_FUNCTION, false, "a\0b\0c", 5, 5}, /* its strings */
		{PROGRAM_FUNCTION, false, "a\0b\0c\0d", 8, 8},
		{PROGRAM_FUNCTION, false, "a\0b", 4, 4},
		{PROGRAM_FUNCTION, false, "", 0, 0},
	};
	struct program_answer a = item_of(PROGRAM_FUNCTION, "a\0b\0c", 6);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		a = item_of(cases[i].kind, cases[i].texts, cases[i].len);
		a.text_len = cases[i].text_len;
		if (list_with(&a, PROGRAM_ANSWER_HEAD + cases[i].len, cases[i].usdt) != -EBADMSG)
			fail_msg("case %zu", i);
	}
	assert_int_equal(list_with(&a, PROGRAM_ANSWER_HEAD - 1, false), -EBADMSG);
	/* The process ends in the middle, or says why it cannot go on. */
	assert_int_equal(list_with(NULL, 0, false), -EPIPE);
	a = (struct program_answer){.is_end = 1, .result = -ENOMEM};
	assert_int_equal(list_with(&a, PROGRAM_ANSWER_HEAD, true), -ENOMEM);
	assert_string_equal(e.text, strerror(ENOMEM));
	a.result = 0;
	assert_int_equal(list_with(&a, PROGRAM_ANSWER_HEAD, true), 0);
}

TEST(a_name_that_no_request_has_room_for_is_not_cut)
{
	char name[PROGRAM_NAME_MAX + 1];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(start_with(&good_facts, sizeof(good_facts)), 0);
	assert_int_equal(program_reader_find_function(&reader, name, count, NULL, &e),
			 -ENAMETOOLONG);
	program_reader_stop(&reader);
}
