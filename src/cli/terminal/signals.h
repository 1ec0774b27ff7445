/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct event_base;

/*
 * SIGINT, SIGTERM and SIGHUP as events of a loop. SIGHUP only where it is not ignored: that is
 * nohup's wish. SIGPIPE and SIGXFSZ are ignored from here on for good: a closed pipe and a full
 * disk are reported by write(2).
 *
 * One wish may come as several signals: timeout(1) sends one to us and one to our group, a wrapper
 * forwards the Ctrl-C that we have got as well, the end of a login sends SIGTERM and SIGHUP. So what
 * comes shortly after one that was reported is not told.
 */
struct end_signals;

#define END_SIGNALS_SAME_MS 500 /* a person needs longer to see what the first one did */

/* by_terminal: all of its foreground processes have got it. */
typedef void (*end_signals_fn)(void *ctx, int number, bool by_terminal);

/* same_ms: so long after one that was reported the others are the same wish; 0: each is reported. 0 or
 * -errno. */
int end_signals_watch(struct event_base *loop, unsigned same_ms, end_signals_fn fn, void *ctx,
		      struct end_signals **ret);
/* Signals that came and were not told are dropped; from here on they do what they did before.
 * No-op for NULL. */
void end_signals_free(struct end_signals *s);

/* Readable when there is one: for who waits without the loop. */
int end_signals_fd(const struct end_signals *s);
