/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "ftrace/symbols/symbol_table.h"

struct event_base;

/*
 * The kernel's symbols, once for all sessions of this process, as there is one kernel. Read when
 * the first one joins, in turns of the loop of about SYMBOL_CACHE_SLICE_NS; freed when the last one has
 * left, unless it or one before it asked for the table to be kept.
 *
 *	struct symbol_cache_user u = {.ready = ready, .ctx = me};
 *
 *	symbol_cache_join(&u, loop, proc_root, SYMBOL_CACHE_NONE);
 *	...                       -> ready(me), once; at once, where the table is there already
 *	symbol_cache_table(&u)              the table; NULL: not ready, or u.problem says why there is none
 *	symbol_cache_leave(&u);
 *
 * A kept table is read anew by who joins when other modules are loaded than were then.
 */
#define SYMBOL_CACHE_SLICE_NS 2000000u
#define SYMBOL_CACHE_TEXT_MAX (1ull << 28) /* of kallsyms; the rest is left out */

/* Of FtraceConfig.KsymsMemPolicy, by its numbers. */
enum symbol_cache_policy {
	SYMBOL_CACHE_NONE = 0, /* nobody's wish is changed */
	SYMBOL_CACHE_CLEANUP = 1, /* the table goes when the last one leaves */
	SYMBOL_CACHE_RETAIN = 2, /* it stays */
};

struct symbol_cache_user {
	/* The owner's. */
	void (*ready)(void *ctx); /* from the loop or from symbol_cache_join; may leave */
	void *ctx;
	/* Of the share. */
	bool joined;
	bool is_ready;
	const char *problem; /* borrowed until it leaves; NULL: there is a table, or not yet */
	TAILQ_ENTRY(symbol_cache_user) link;
};

/* u was zeroed but for the owner's part. loop and proc_root ("/proc") are borrowed as long as
 * anybody has joined. 0 or -ENOMEM. */
int symbol_cache_join(struct symbol_cache_user *u, struct event_base *loop, const char *proc_root,
		      enum symbol_cache_policy policy);
/* Who has not joined is fine. */
void symbol_cache_leave(struct symbol_cache_user *u);

const struct symbol_table *symbol_cache_table(const struct symbol_cache_user *u);
