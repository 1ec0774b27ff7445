/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Output of a verb on stderr: lines, and below them, on a terminal, one progress line that is
 * rewritten in place. Elsewhere progress is printed as lines, if it is verbose, or not at all. */
struct console {
	bool tty; /* stderr is a terminal */
	bool quiet; /* only errors */
	bool verbose; /* prints progress as lines where stderr is not a terminal */
	bool color; /* the labels of lines that report a loss are red */
	bool has_progress; /* a progress line is on the terminal */
};

/* Sets all of *c. Colours are on if stderr is a terminal, unless NO_COLOR is set (no-color.org), or
 * TERM is unset or "dumb". */
void console_init(struct console *c, bool quiet);
/* Sets colours by "always", "never" or "auto" (as console_init()). Returns 0 or -EINVAL. */
int console_set_color(struct console *c, const char *when);
/* Prints "sonda: text", also with quiet. */
void console_error(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints "sonda: text", unless quiet. */
void console_print(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Print text, whose lines each end with a newline, with '?' in place of control characters. The
 * first function prints nothing with quiet. */
void console_print_block(struct console *c, const char *text);
void console_error_block(struct console *c, const char *text);
/* Like console_print_block(), but with "sonda: " before each line that does not begin with a
 * space. */
void console_print_lines(struct console *c, const char *text);
/* Like console_print_block(), but for one line: `line` has no newline, and one is added. */
void console_print_line(struct console *c, const char *line);

/* Returns the width of the terminal on fd; 0 if it is none, or one that does not know its width. */
size_t console_columns(int fd);
bool console_shows_progress(const struct console *c);
/* Replaces the progress line with `line`, which is ASCII and is cut to the terminal's width. Where
 * stderr is not a terminal, prints it as a line if verbose. */
void console_progress(struct console *c, const char *line);
/* Removes the progress line from the terminal. */
void console_clear_progress(struct console *c);
