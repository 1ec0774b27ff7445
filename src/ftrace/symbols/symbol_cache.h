/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "ftrace/symbols/ksyms.h"

struct event_base;

/*
 * The kernel's symbols, once for all sessions of this process, as there is one kernel. Read when
 * the first one joins, in turns of the loop of about KSYMS_TURN_NS; freed when the last one has
 * left, unless it or one before it asked for the table to be kept.
 *
 *	struct ksyms_user u = {.ready = ready, .ctx = me};
 *
 *	ksyms_join(&u, loop, proc_root, KSYMS_POLICY_NONE);
 *	...                       -> ready(me), once; at once, where the table is there already
 *	ksyms_of(&u)              the table; NULL: not ready, or u.problem says why there is none
 *	ksyms_leave(&u);
 *
 * A kept table is read anew by who joins when other modules are loaded than were then.
 */
#define KSYMS_TURN_NS 2000000u
#define KSYMS_TEXT_MAX (1ull << 28) /* of kallsyms; the rest is left out */

/* Of FtraceConfig.KsymsMemPolicy, by its numbers. */
enum ksyms_policy {
	KSYMS_POLICY_NONE = 0, /* nobody's wish is changed */
	KSYMS_POLICY_CLEANUP = 1, /* the table goes when the last one leaves */
	KSYMS_POLICY_RETAIN = 2, /* it stays */
};

struct ksyms_user {
	/* The owner's. */
	void (*ready)(void *ctx); /* from the loop or from ksyms_join; may leave */
	void *ctx;
	/* Of the share. */
	bool joined;
	bool is_ready;
	const char *problem; /* borrowed until it leaves; NULL: there is a table, or not yet */
	TAILQ_ENTRY(ksyms_user) link;
};

/* u was zeroed but for the owner's part. loop and proc_root ("/proc") are borrowed as long as
 * anybody has joined. 0 or -ENOMEM. */
int ksyms_join(struct ksyms_user *u, struct event_base *loop, const char *proc_root,
	       enum ksyms_policy policy);
/* Who has not joined is fine. */
void ksyms_leave(struct ksyms_user *u);

const struct ksyms *ksyms_of(const struct ksyms_user *u);
