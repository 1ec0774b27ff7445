/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/symbols/symbol_cache.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/ring/ring.h"
#include "ftrace/session/ftrace_stats.h"

/*
 * Names for the addresses of one session (symbolize_ksyms): it joins the process's table when it is
 * set up, and waits for it before its first record is read, so that the first bundle has names.
 *
 *	set up    session_symbols_join
 *	start     session_symbols_wait     true: done will be called, when the table is there, or
 *	                                   after that time without it
 *	          session_symbols_apply     to every listener
 *	read      session_symbols_report_missing     of records: tells it if the table is not there
 *	stop      session_symbols_wait     again, before the rest is read
 *	close     session_symbols_leave
 *
 * A session that does not want names gets by with the same calls.
 */
#define SESSION_SYMBOLS_WAIT_MS 5000u

struct session_symbols {
	struct symbol_cache_user user;
	struct event *timer; /* owned */
	void (*done)(void *ctx); /* NULL: nobody waits for the table */
	void *ctx;
};

/* 0 or -ENOMEM. loop and proc_root are borrowed until session_symbols_leave. */
int session_symbols_join(struct session_symbols *s, struct event_base *loop, const char *proc_root,
			 const Pb__FtraceConfig *config);
bool session_symbols_wait(struct session_symbols *s, uint32_t ms, void (*done)(void *ctx),
			  void *ctx);
/* Are names wanted, and the table not there yet? */
bool session_symbols_pending(const struct session_symbols *s);
/* Whoever waits has gone on without: done is called when the table is there, or never. */
void session_symbols_stop_waiting(struct session_symbols *s);
/* The table as it is now, to the listeners' translators; into the stats; why there will be none into
 * the reports. */
void session_symbols_apply(const struct session_symbols *s, struct ring_listener *const *listeners,
			   unsigned n, struct ftrace_stats_extra *more,
			   struct setup_errors *errors);
void session_symbols_report_missing(const struct session_symbols *s, struct setup_errors *errors);
/* The translators are gone. Zeroed is fine. */
void session_symbols_leave(struct session_symbols *s);
