/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The terminal of sonda top: keys without Enter, and the alternate screen, so that the earlier
 * contents of the terminal reappear afterwards. The escape sequences are those of ECMA-48 and xterm
 * that every Linux terminal supports. */
struct top_terminal;

/* Shows the alternate screen and, if standard input is a terminal, turns off echo and line input.
 * color: whether to use colours. Returns 0 (the caller frees with top_terminal_free()) or
 * -errno. */
int top_terminal_new(bool color, struct top_terminal **ret);
/* Restores the terminal and frees t. No-op for NULL. */
void top_terminal_free(struct top_terminal *t);

/* The first restores the terminal, before another program uses it or this one is stopped. The
 * second undoes that, afterwards. In between, top_terminal_draw() does nothing. */
void top_terminal_restore(struct top_terminal *t);
void top_terminal_enter(struct top_terminal *t);

void top_terminal_size(const struct top_terminal *t, size_t *ret_width, size_t *ret_height);

/* Replaces the screen with lines, each with its style (cli/top/top_view.h) in front and a newline
 * at its end. They are cut at the terminal's size. signals: a descriptor that is readable when a
 * signal is pending; then a terminal that accepts no output does not block. Returns 0, -EAGAIN
 * (interrupted by a signal) or -errno. */
int top_terminal_draw(struct top_terminal *t, const char *lines, int signals);

/* Writes data to a pipe, file or terminal. signals and result as for top_terminal_draw(); signals
 * -1: returns -EAGAIN if fd accepts nothing for a second. */
int top_write(int fd, const char *data, size_t len, int signals);
