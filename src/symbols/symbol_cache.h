/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "symbols/symbol_table.h"

struct event_base;

/*
 * The kernel's symbols: one table for all sessions of the process. Loaded when the first session
 * joins, in time slices of SYMBOL_CACHE_SLICE_NS. Freed when the last session leaves, unless a
 * session requested to retain it.
 *
 *	struct symbol_cache_user u = {.ready = ready, .ctx = me};
 *
 *	symbol_cache_join(&u, loop, proc_root, SYMBOL_CACHE_NONE);
 *	...                       -> ready(me), once; immediately if the table is loaded
 *	symbol_cache_table(&u)    the table; NULL: not ready, or u.problem is the reason
 *	symbol_cache_leave(&u);
 *
 * A retained table is reloaded at the next join if the set of loaded modules has changed.
 */
#define SYMBOL_CACHE_SLICE_NS 2000000u
#define SYMBOL_CACHE_TEXT_MAX (1ull << 28) /* bytes of kallsyms; the rest is ignored */

/* The values of FtraceConfig.KsymsMemPolicy. */
enum symbol_cache_policy {
	SYMBOL_CACHE_NONE = 0, /* keeps the policy of earlier sessions */
	SYMBOL_CACHE_CLEANUP = 1, /* frees the table when the last session leaves */
	SYMBOL_CACHE_RETAIN = 2, /* retains the table */
};

struct symbol_cache_user {
	/* Set by the caller. */
	void (*ready)(
		/* called from the loop or from symbol_cache_join; may call symbol_cache_leave */
		void *ctx);
	void *ctx;
	/* Set by the cache. */
	bool joined;
	bool is_ready;
	/* why there is no table, borrowed until the user leaves; NULL: it is available or still
	 * loading */
	const char *problem;
	TAILQ_ENTRY(symbol_cache_user) link;
};

/* Adds a user. The table is loaded unless it is there already; then ready() is called. Zero u
 * except for the caller's part. loop and proc_root ("/proc") are borrowed while a user is joined.
 * Returns 0 or -ENOMEM. */
int symbol_cache_join(struct symbol_cache_user *u, struct event_base *loop, const char *proc_root,
		      enum symbol_cache_policy policy);
/* Removes a user; the last one frees the table, unless it is retained. No-op if u has not
 * joined. */
void symbol_cache_leave(struct symbol_cache_user *u);

const struct symbol_table *symbol_cache_table(const struct symbol_cache_user *u);
