/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/metrics/http_request.h"

struct event_base;

/*
 * Alertmanager's webhook: each alert that begins to fire becomes a snapshot of the recorder, or a
 * trigger of tracing sessions.
 *
 *	Alertmanager --> POST /alerts --> alert_intake --> socket of sonda recorder --> snapshot
 *	                                       |
 *	                                       +---------> producer socket of the service --> trigger
 *
 * An alert counts once (by its fingerprint and start), although Alertmanager repeats it. In an hour
 * at most a number of alerts is passed on. If the recorder or the service cannot be reached, the
 * answer is 503, so Alertmanager tries again.
 */
#define ALERT_MATCHES_MAX 8
#define ALERT_TRIGGERS_MAX 32
#define ALERT_LIMIT_MAX 1000u /* alerts in an hour */

enum alert_result {
	ALERT_FIRED, /* it was passed on */
	ALERT_DUPLICATE,
	ALERT_RESOLVED,
	ALERT_REFUSED, /* above the limit, of another machine, or nothing acts on it */
	ALERT_RESULTS
};

struct alert_intake_setup {
	struct event_base *loop; /* borrowed, as all that follows */
	const char *token; /* of the header Authorization */
	const char *recorder; /* its socket; NULL: none */
	const char *service; /* the producer socket of the tracing service */
	/* "GLOB=NAME": an alert with such a name activates the trigger NAME; the first one counts.
	 * Only other alerts are for the recorder. */
	char *triggers[ALERT_TRIGGERS_MAX];
	size_t n_triggers;
	const char *matches[ALERT_MATCHES_MAX]; /* "LABEL=GLOB": all must match */
	size_t n_matches;
	uint32_t limit; /* alerts in an hour */
	void (*on_alert)(void *ctx, enum alert_result result);
	/* result: the answer of the recorder, "saved", "failed" or "skipped". */
	void (*on_snapshot)(void *ctx, const char *result);
	void *ctx;
};

struct alert_intake;

/* Returns NULL if memory runs out. */
struct alert_intake *alert_intake_new(const struct alert_intake_setup *setup);
void alert_intake_free(struct alert_intake *a);

/* Handles a request; body: NUL-terminated, of r->length bytes. Returns the status of the answer. */
unsigned alert_intake_handle_request(struct alert_intake *a, const struct http_request *r,
				     const char *body);

/* Asks the recorder whether its ring still holds the start of an alert that arrives delay_s later.
 * Logs the answer when it comes. */
void alert_intake_check_ring(struct alert_intake *a, uint32_t delay_s);

/* Reads a token: the first line of a file, at most 256 characters. The caller frees *ret. Returns
 * 0, or -errno and sets e. */
int alert_intake_read_token(const char *path, char **ret, struct err_text *e);
