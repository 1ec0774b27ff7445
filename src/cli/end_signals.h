/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct event_base;

/*
 * SIGINT, SIGTERM and SIGHUP as events of a loop. SIGHUP only where it is not ignored: that is
 * nohup's wish. SIGPIPE and SIGXFSZ are ignored from here on for good: a closed pipe and a full
 * disk are told by write(2).
 */
struct end_signals;

/* by_terminal: all of its foreground processes have got it. */
typedef void (*end_signals_fn)(void *ctx, int number, bool by_terminal);

/* 0 or -errno. */
int end_signals_watch(struct event_base *loop, end_signals_fn fn, void *ctx,
		      struct end_signals **ret);
/* Signals that came and were not told are dropped; from here on they do what they did before.
 * NULL is fine. */
void end_signals_free(struct end_signals *s);
