/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Output of a verb on stderr: lines, and below them one progress line that is rewritten in place.
 * Progress is shown on a terminal only.
 */
struct console {
	bool tty;
	bool quiet; /* only errors */
	bool verbose; /* progress as lines where it cannot be rewritten */
	bool color; /* what needs attention is red */
	bool has_progress; /* a progress line is on the terminal */
};

/* Colours on a terminal, unless NO_COLOR is set (no-color.org) or TERM is "dumb". */
void console_init(struct console *c, bool quiet);
/* Sets colours by "always", "never" or "auto" (as console_init()). Returns 0 or -EINVAL. */
int console_color(struct console *c, const char *when);
/* Prints "sonda: text", also with quiet. */
void console_error(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints "sonda: text". */
void console_say(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints one or more lines, each ended, without control characters. The second function prints them
 * also with quiet. */
void console_block(struct console *c, const char *text);
void console_error_block(struct console *c, const char *text);
/* As console_block(), with "sonda: " before each line that does not begin with a space. */
void console_say_lines(struct console *c, const char *text);
/* As console_block(), for one line without its end. */
void console_line(struct console *c, const char *line);

bool console_shows_progress(const struct console *c);
/* Replaces the progress line, ASCII; cut to the terminal's width. */
void console_progress(struct console *c, const char *line);
/* Removes the progress line. */
void console_clear(struct console *c);
