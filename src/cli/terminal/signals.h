/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct event_base;

/*
 * Termination signals as events of a loop: SIGINT, SIGTERM and, unless it is ignored (nohup),
 * SIGHUP. SIGPIPE and SIGXFSZ are ignored permanently: write(2) reports a closed pipe and a full
 * disk.
 *
 * One request to end may arrive as several signals: timeout(1) signals the process and its group, a
 * wrapper forwards a Ctrl-C that the process receives as well, the end of a login sends SIGTERM and
 * SIGHUP. Therefore signals shortly after a reported one are dropped.
 */
struct termination_signals;

#define END_SIGNALS_SAME_MS 500 /* less than a user needs to react to the first signal */

/* by_terminal: the terminal sent the signal to all foreground processes. The callback may free the
 * struct termination_signals. */
typedef void (*termination_signals_fn)(void *ctx, int number, bool by_terminal);

/* Starts to report signals to fn, from the loop. same_ms: signals within this time after a reported
 * one are dropped; 0: each is reported. Returns 0 or -ENOMEM. */
int termination_signals_watch(struct event_base *loop, unsigned same_ms, termination_signals_fn fn,
			      void *ctx, struct termination_signals **ret);
/* Drops pending signals and restores the previous signal mask. No-op for NULL. */
void termination_signals_free(struct termination_signals *s);

/* Returns a descriptor that is readable when a signal is pending, for code that waits without the
 * loop. */
int termination_signals_fd(const struct termination_signals *s);

/* Sets a handler of SIGBUS, which prints an error and ends the process with EXIT_FAILED. The kernel
 * sends SIGBUS for the missing pages of a mapped trace that became shorter. */
void mapped_trace_handle_sigbus(void);
