/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "procfs/counters/counter_files.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

static struct polled_source p;
static struct counter_file f;
static struct span text;
static int at;

static int setup(void **state)
{
	proc_new();
	p = (struct polled_source){.pass = 1};
	f = (struct counter_file){.fd = -1};
	at = open(proc_root, O_RDONLY | O_DIRECTORY);
	return at < 0;
}

static int teardown(void **state)
{
	counter_file_close(&f, &p);
	assert_int_equal(p.fds, 0);
	strbuf_deinit(&p.text);
	close(at);
	proc_remove_all();
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

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(a_file_is_opened_once_and_read_anew)
{
	int fd;

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

FIXTURE_TEST(one_that_is_missing_is_looked_for_again_later)
{
	assert_int_equal(get(), -ENOENT);
	put("1\n");
	for (unsigned i = 1; i < COUNTER_FILE_RETRY; i++) {
		p.pass++;
		assert_int_equal(get(), -ENOENT);
	}
	p.pass++;
	assert_int_equal(get(), 0);
}

FIXTURE_TEST(passes_may_overflow)
{
	p.pass = UINT32_MAX;
	assert_int_equal(get(), -ENOENT);
	put("1\n");
	p.pass += 3;
	assert_int_equal(get(), -ENOENT);
	p.pass += COUNTER_FILE_RETRY;
	assert_int_equal(get(), 0);
}

FIXTURE_TEST(the_last_line_must_be_whole)
{
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

FIXTURE_TEST(texts_longer_than_a_read)
{
	static char s[100001];

	memset(s, 'x', sizeof(s) - 2);
	s[sizeof(s) - 2] = '\n';
	put(s);
	for (int whole = 0; whole < 2; whole++) {
		assert_int_equal(counter_file_read(&f, &p, at, "file", whole, &text), 0);
		assert_int_equal(text.len, sizeof(s) - 1);
	}
}

FIXTURE_TEST(a_folder_is_no_file)
{
	proc_put("", 0, "file/x");
	assert_int_equal(get(), -EISDIR);
	assert_int_equal(f.fd, -1);
	assert_int_equal(get(), -EISDIR); /* not missing: told each time */
}

FIXTURE_TEST(a_pipe_does_not_block)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/file", proc_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(get() < 0);
}

FIXTURE_TEST(beyond_the_limit_files_are_not_kept)
{
	put("1\n");
	p.fds = COUNTER_FDS_MAX;
	assert_int_equal(get(), 0);
	assert_int_equal(f.fd, -1);
	assert_int_equal(p.fds, COUNTER_FDS_MAX);
	p.fds = 0;
}

FIXTURE_TEST(of_the_kernel)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(counter_file_read(&f, &p, proc, "self/net/dev", false, &text), 0);
		assert_non_null(memmem(text.p, text.len, "lo:", 3));
	}
	close(proc);
}
