/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/trace/alert.h"

struct event_base;

/*
 * The recorder's socket for alerts, which root and the members of the group sonda may connect to. A
 * connection has one line, and one line as the answer:
 *
 *	an alert as JSON (alert.h)	saved | failed | skipped	when that is known
 *	ring				ring HOLDS BEFORE		seconds that the ring holds at its
 *									present rate, and that a snapshot has
 */
#define RECORDER_ALERTS_CONNECTIONS 16 /* further ones wait in the kernel */

struct recorder_alerts;

struct recorder_alerts_setup {
	struct event_base *loop; /* borrowed, as address */
	const char *address;
	/* Begins a snapshot. Returns false if none will be saved, as soon after the last one. */
	bool (*take)(void *ctx, const struct alert *a);
	void (*ring)(void *ctx, uint64_t *ret_holds_s, uint64_t *ret_before_s);
	void *ctx;
};

/* Returns 0, or -errno and sets e. */
int recorder_alerts_new(const struct recorder_alerts_setup *setup, struct recorder_alerts **ret,
			struct err_text *e);
/* Removes the socket's file. No-op for NULL. */
void recorder_alerts_free(struct recorder_alerts *l);
/* Answers the connections that await the snapshot of this alert. l may be NULL. */
void recorder_alerts_done(struct recorder_alerts *l, const struct alert *a, bool saved);
