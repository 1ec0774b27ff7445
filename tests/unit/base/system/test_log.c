/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>

#include "base/core/clock.h"
#include "base/system/log.h"
#include "unit/test.h"

/* stderr goes into a file of its own while a test runs. */
static int saved_stderr, captured;
static char text[8192];
static off_t text_pos;

static int capture(void **state)
{
	text_pos = 0;
	saved_stderr = dup(STDERR_FILENO);
	captured = memfd_create("stderr", MFD_CLOEXEC);
	if (saved_stderr < 0 || captured < 0)
		return -1;
	return dup2(captured, STDERR_FILENO) < 0 ? -1 : 0;
}

static int release(void **state)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(captured);
	unsetenv("JOURNAL_STREAM");
	log_init("sonda");
	log_set_level(LOG_LEVEL_INFO);
	return 0;
}

/* What was written since the last call. */
static const char *written(void)
{
	ssize_t n = pread(captured, text, sizeof(text) - 1, text_pos);

	assert_true(n >= 0);
	text[n] = '\0';
	text_pos += n;
	return text;
}

static unsigned count_lines(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

#define CAPTURED(name) TEST_WITH(name, capture, release)

CAPTURED(one_line_a_message)
{
	log_init("sondad");
	log_error("cannot open %s", "x");
	assert_string_equal(written(), "sondad: cannot open x\n");
	log_warn("w%d", 1);
	log_info("i");
	assert_string_equal(written(), "sondad: w1\nsondad: i\n");
}

CAPTURED(level_hides_what_is_below)
{
	log_init("p");
	log_debug("hidden");
	assert_string_equal(written(), "");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("shown");
	assert_string_equal(written(), "p: shown\n");
	log_set_level(LOG_LEVEL_ERROR);
	log_warn("hidden");
	log_info("hidden");
	log_error("shown");
	assert_string_equal(written(), "p: shown\n");
}

CAPTURED(control_characters_cannot_forge_lines)
{
	log_init("p");
	log_info("name \"%s\"", "a\nsondad: forged\r\x1b[2J\x7f\tb");
	assert_string_equal(written(), "p: name \"a?sondad: forged??[2J??b\"\n");
	log_info("%s", "gr\xc3\xbc\xc3\x9f");
	assert_string_equal(written(), "p: gr\xc3\xbc\xc3\x9f\n");
}

CAPTURED(long_messages_are_cut_and_say_so)
{
	char longer[5000];
	const char *got;

	log_init("p");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	for (size_t n = 900; n < 1200; n++) {
		longer[n] = '\0';
		log_info("%s", longer);
		longer[n] = 'x';
		got = written();
		assert_int_equal(count_lines(got), 1);
		assert_int_equal(got[strlen(got) - 1], '\n');
		if (strlen(got) != 3 + n + 1)
			assert_string_equal(got + strlen(got) - 5, "x...\n");
	}
	log_info("%s", longer);
	assert_int_equal(count_lines(written()), 1);
}

CAPTURED(journal_lines_carry_their_priority)
{
	char stream[64];
	struct stat st;

	fstat(captured, &st);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_init("p");
	log_error("e");
	log_info("i");
	assert_string_equal(written(), "<3>p: e\n<6>p: i\n");
}

/* The variable is inherited; stderr may have been redirected since. */
CAPTURED(another_stream_is_not_the_journal)
{
	static const char *const streams[] = {"1:2", "", "x", "12", ":"};

	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		setenv("JOURNAL_STREAM", streams[i], 1);
		log_init("p");
		log_error("e");
		assert_string_equal(written(), "p: e\n");
	}
}

CAPTURED(errno_survives)
{
	struct log_limit limit = {0};

	close(STDERR_FILENO);
	errno = ENOTTY;
	log_error("without a reader");
	assert_int_equal(errno, ENOTTY);
	log_write_limited(&limit, LOG_LEVEL_ERROR, "nor this");
	assert_int_equal(errno, ENOTTY);
}

CAPTURED(limit_lets_a_burst_through)
{
	struct log_limit limit = {0};

	log_init("p");
	for (int i = 0; i < 100; i++)
		log_write_limited(&limit, LOG_LEVEL_WARN, "bad frame %d", i);
	assert_string_equal(written(), "p: bad frame 0\np: bad frame 1\np: bad frame 2\n"
				       "p: bad frame 3\np: bad frame 4\n");
}

CAPTURED(limit_tells_later_what_was_left_out)
{
	struct log_limit limit = {0};

	log_init("p");
	for (int i = 0; i < 12; i++)
		log_write_limited(&limit, LOG_LEVEL_WARN, "bad");
	written();
	limit.period_start_ns -= 10 * NS_PER_S; /* the period is over */
	log_write_limited(&limit, LOG_LEVEL_WARN, "bad again");
	log_write_limited(&limit, LOG_LEVEL_WARN, "and again");
	assert_string_equal(written(), "p: bad again (7 more suppressed)\np: and again\n");
	/* nothing is left out, so no line says so */
	limit.period_start_ns -= 10 * NS_PER_S;
	log_write_limited(&limit, LOG_LEVEL_WARN, "later");
	assert_string_equal(written(), "p: later\n");
}

CAPTURED(limits_are_apart_and_hidden_messages_do_not_count)
{
	struct log_limit a = {0}, b = {0};

	log_init("p");
	for (int i = 0; i < 50; i++)
		log_write_limited(&a, LOG_LEVEL_DEBUG, "hidden");
	for (int i = 0; i < 50; i++)
		log_write_limited(&a, LOG_LEVEL_INFO, "a");
	log_write_limited(&b, LOG_LEVEL_INFO, "b");
	assert_int_equal(count_lines(written()), 6);
}
