/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/ring/ring.h"
#include "ftrace/session/ftrace_stats.h"
#include "symbols/symbol_cache.h"

/*
 * Function names for one session (symbolize_ksyms). It joins the process's symbol cache during
 * setup and waits for the table before the first record is read, so that the first bundle has
 * names.
 *
 *	set up    session_symbols_join
 *	start     session_symbols_wait             true: done will be called when the table is
 *	                                           ready; if that takes longer than ms, after
 *	                                           that time, too
 *	          session_symbols_apply            to all listeners
 *	read      session_symbols_report_missing   if the table is not ready
 *	stop      session_symbols_wait             again, before the rest is read
 *	close     session_symbols_leave
 *
 * All calls are allowed for a session without symbolize_ksyms.
 */
#define SESSION_SYMBOLS_WAIT_MS 5000u

struct session_symbols {
	struct symbol_cache_user user;
	struct event *timer; /* owned */
	void (*done)(void *ctx); /* NULL: nothing waits for the table */
	void *ctx;
};

/* Joins the symbol cache if the config requests names. Returns 0 or -ENOMEM. loop and proc_root are
 * borrowed until session_symbols_leave. */
int session_symbols_join(struct session_symbols *s, struct event_base *loop, const char *proc_root,
			 const Pb__FtraceConfig *config);
/* Calls done when the table is ready, or after ms. Returns false, and calls nothing, if there is
 * nothing to wait for or no timer. */
bool session_symbols_wait(struct session_symbols *s, uint32_t ms, void (*done)(void *ctx),
			  void *ctx);
/* Returns true if names are requested and the table is not ready. */
bool session_symbols_are_pending(const struct session_symbols *s);
/* Cancels the timer. done is called once more when the table is ready, or never. */
void session_symbols_stop_waiting(struct session_symbols *s);
/* Passes the current table to the encoders of the listeners and to the stats. Reports why there is
 * no table. */
void session_symbols_apply(const struct session_symbols *s, struct ring_listener *const *listeners,
			   unsigned n, struct ftrace_stats_extra *more,
			   struct setup_errors *errors);
/* Reports, once, that records were encoded without names while the table was pending. No-op if it
 * is not. */
void session_symbols_report_missing(const struct session_symbols *s, struct setup_errors *errors);
/* Releases the table; call it after the encoders are freed. Zeroed is allowed. */
void session_symbols_leave(struct session_symbols *s);
