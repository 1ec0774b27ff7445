/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * What a verb says on stderr while it works: lines, and below them one line of progress that
 * rewrites itself. Progress is shown on a terminal only.
 */
struct console {
	bool tty;
	bool quiet; /* only errors */
	bool has_progress; /* a line of it stands on the terminal */
};

void console_init(struct console *c, bool quiet);
/* "sonda: text", also when quiet. */
void console_error(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "sonda: text". */
void console_say(struct console *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text of one or more lines, each ended; made plain. The second also when quiet. */
void console_block(struct console *c, const char *text);
void console_error_block(struct console *c, const char *text);

bool console_shows_progress(const struct console *c);
/* Replaces the line of progress, ASCII; cut to the terminal's width. */
void console_progress(struct console *c, const char *line);
/* Takes the line of progress away. */
void console_clear(struct console *c);
