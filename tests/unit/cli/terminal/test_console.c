/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stderr is a pipe or a pseudo terminal while a test prints; the output is compared. A pseudo
 * terminal passes bytes on in a worker of the kernel, some time after write() returned. So the
 * output is complete when a last byte has been read.
 */
#include <pty.h>

#include "unit/test.h"
#include <errno.h>

#include "cli/terminal/console.h"

#define LAST_BYTE '\001'

static char printed[4096];

static void print_all(struct console *c)
{
	console_print(c, "one %d", 1);
	console_progress(c, "half");
	console_progress(c, "whole");
	console_error(c, "bad");
	console_progress(c, "again");
	console_print_block(c, "a\nb\n");
	console_error_block(c, "c\n");
	console_print_lines(c, "d\n  e\nf\n");
	console_clear_progress(c);
}

static void read_all(int fd)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, printed + len, sizeof(printed) - len);
		assert_true(n > 0);
		len += (size_t)n;
	} while (printed[len - 1] != LAST_BYTE);
	printed[len - 1] = '\0';
}

static void capture(int read_end, int write_end, bool quiet, void (*fn)(struct console *c))
{
	int saved = dup(STDERR_FILENO);
	const char last = LAST_BYTE;
	struct console c;

	dup2(write_end, STDERR_FILENO);
	console_init(&c, quiet);
	fn(&c);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(write(write_end, &last, 1), 1);
	close(write_end);
	read_all(read_end);
	close(read_end);
}

static void through_pipe(bool quiet, void (*fn)(struct console *c))
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	capture(p[0], p[1], quiet, fn);
}

static void through_terminal(unsigned short columns, bool quiet, void (*fn)(struct console *c))
{
	struct winsize w = {.ws_row = 24, .ws_col = columns};
	int master, slave, keep;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &w), 0);
	keep = dup(slave); /* the master reads nothing once all slaves are closed */
	capture(master, slave, quiet, fn);
	close(keep);
}

TEST(test_no_progress_in_a_pipe)
{
	through_pipe(false, print_all);
	assert_string_equal(printed,
			    "sonda: one 1\nsonda: bad\na\nb\nc\nsonda: d\n  e\nsonda: f\n");
}

TEST(test_quiet_says_errors_only)
{
	through_pipe(true, print_all);
	assert_string_equal(printed, "sonda: bad\nc\n");
	through_terminal(80, true, print_all);
	assert_string_equal(printed, "sonda: bad\r\nc\r\n");
}

/* Each line takes the progress away first, and nothing of it remains at the end. */
TEST(test_lines_and_progress_share_a_terminal)
{
	through_terminal(80, false, print_all);
	assert_string_equal(printed, "sonda: one 1\r\n"
				     "\r\033[Khalf\r\033[Kwhole"
				     "\r\033[Ksonda: bad\r\n"
				     "\r\033[Kagain"
				     "\r\033[Ka\r\nb\r\nc\r\n"
				     "sonda: d\r\n  e\r\nsonda: f\r\n");
}

static void print_long(struct console *c)
{
	console_progress(c, "0123456789abcdef");
	console_clear_progress(c);
	console_clear_progress(c);
}

static void print_verbose(struct console *c)
{
	c->verbose = true;
	console_progress(c, "  1 s   2 events");
	console_progress(c, "  2 s   4 events");
	console_print_block(c, "  lost     7 events\n");
}

TEST(test_progress_without_a_terminal_is_lines_and_only_if_it_is_asked_for)
{
	through_pipe(false, print_verbose);
	assert_string_equal(printed, "sonda: 1 s   2 events\nsonda: 2 s   4 events\n"
				     "  lost     7 events\n");
}

static void print_losses(struct console *c)
{
	assert_int_equal(console_set_color(c, "sometimes"), -EINVAL);
	assert_int_equal(console_set_color(c, "always"), 0);
	console_print_block(
		c, "Recorded\n  lost     nothing\n  lost     7\n           8\n  missing  it\n");
}

TEST(test_what_was_lost_is_red)
{
	through_pipe(false, print_losses);
	assert_string_equal(
		printed, "Recorded\n  lost     nothing\n\033[31m  lost\033[0m     7\n           8\n"
			 "\033[31m  missing\033[0m  it\n");
}

static void choose_colors(struct console *c)
{
	setenv("NO_COLOR", "1", 1);
	setenv("TERM", "xterm", 1);
	c->tty = true;
	console_set_color(c, "auto");
	assert_false(c->color);
	unsetenv("NO_COLOR");
	console_set_color(c, "auto");
	assert_true(c->color);
	setenv("TERM", "dumb", 1);
	console_set_color(c, "auto");
	assert_false(c->color);
}

TEST(test_no_color)
{
	through_pipe(false, choose_colors);
}

TEST(test_progress_is_cut_to_the_terminals_width)
{
	through_terminal(10, false, print_long);
	assert_string_equal(printed, "\r\033[K012345678\r\033[K");
}

static void print_names_of_others(struct console *c)
{
	console_error(c, "no '%s'", "a\033[2Jb\nc");
	console_error_block(c, "x\033]0;title\007\n\ty\302\233J\n");
}

TEST(test_control_characters_do_not_reach_the_terminal)
{
	through_pipe(false, print_names_of_others);
	assert_string_equal(printed, "sonda: no 'a?[2Jb?c'\nx?]0;title?\n\ty??J\n");
}
