/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "procfs/counters/counter_files.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

static struct counter_poll p;
static struct counter_file f;
static struct span text;
static int at;

static int setup(void **state)
{
	(void)state;
	proc_new();
	p = (struct counter_poll){.pass = 1};
	f = (struct counter_file){.fd = -1};
	at = open(proc_root, O_RDONLY | O_DIRECTORY);
	return at < 0;
}

static int teardown(void **state)
{
	(void)state;
	counter_file_close(&f, &p);
	assert_int_equal(p.fds, 0);
	strbuf_deinit(&p.text);
	close(at);
	proc_remove("");
	return 0;
}

static void put(const char *s)
{
	proc_put(s, strlen(s), "file");
}

static int get(void)
{
	return counter_file_read(&f, &p, at, "file", true, &text);
}

static void a_file_is_opened_once_and_read_anew(void **state)
{
	int fd;

	(void)state;
	put("one 1\n");
	assert_int_equal(get(), 0);
	assert_true(span_is(text, "one 1\n"));
	fd = f.fd;
	put("two\nlines\n"); /* the same file, truncated and written */
	assert_int_equal(get(), 0);
	assert_true(span_is(text, "two\nlines\n"));
	assert_int_equal(f.fd, fd);
	assert_int_equal(p.fds, 1);
}

static void one_that_is_missing_is_looked_for_again_later(void **state)
{
	(void)state;
	assert_int_equal(get(), -ENOENT);
	put("1\n");
	for (unsigned i = 1; i < COUNTER_FILE_RETRY; i++) {
		p.pass++;
		assert_int_equal(get(), -ENOENT);
	}
	p.pass++;
	assert_int_equal(get(), 0);
}

static void passes_may_overflow(void **state)
{
	(void)state;
	p.pass = UINT32_MAX;
	assert_int_equal(get(), -ENOENT);
	put("1\n");
	p.pass += 3;
	assert_int_equal(get(), -ENOENT);
	p.pass += COUNTER_FILE_RETRY;
	assert_int_equal(get(), 0);
}

static void the_last_line_must_be_whole(void **state)
{
	(void)state;
	put("anon 1\nfile 12");
	assert_int_equal(get(), -EBADMSG);
	assert_true(span_is(text, "anon 1\n"));
	put("12");
	assert_int_equal(get(), -EBADMSG);
	assert_int_equal(text.len, 0);
	put("");
	assert_int_equal(get(), -ENODATA);
	assert_int_equal(text.len, 0);
}

static void texts_longer_than_a_read(void **state)
{
	static char s[100001];

	(void)state;
	memset(s, 'x', sizeof(s) - 2);
	s[sizeof(s) - 2] = '\n';
	put(s);
	for (int whole = 0; whole < 2; whole++) {
		assert_int_equal(counter_file_read(&f, &p, at, "file", whole, &text), 0);
		assert_int_equal(text.len, sizeof(s) - 1);
	}
}

static void a_folder_is_no_file(void **state)
{
	(void)state;
	proc_put("", 0, "file/x");
	assert_int_equal(get(), -EISDIR);
	assert_int_equal(f.fd, -1);
	assert_int_equal(get(), -EISDIR); /* not missing: told each time */
}

static void a_pipe_does_not_block(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/file", proc_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(get() < 0);
}

static void beyond_the_limit_files_are_not_kept(void **state)
{
	(void)state;
	put("1\n");
	p.fds = COUNTER_FDS_MAX;
	assert_int_equal(get(), 0);
	assert_int_equal(f.fd, -1);
	assert_int_equal(p.fds, COUNTER_FDS_MAX);
	p.fds = 0;
}

static void of_the_kernel(void **state)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY);

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(counter_file_read(&f, &p, proc, "self/net/dev", false, &text), 0);
		assert_non_null(memmem(text.p, text.len, "lo:", 3));
	}
	close(proc);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_file_is_opened_once_and_read_anew),
		TEST(one_that_is_missing_is_looked_for_again_later),
		TEST(passes_may_overflow),
		TEST(the_last_line_must_be_whole),
		TEST(texts_longer_than_a_read),
		TEST(a_folder_is_no_file),
		TEST(a_pipe_does_not_block),
		TEST(beyond_the_limit_files_are_not_kept),
		TEST(of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
