/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/json_read.h"
#include "base/text/str.h"

/* An alert of Prometheus, as Alertmanager's webhook (version 4) sends it: read from JSON, written
 * as JSON and into a trace. All of it is untrusted. */
#define ALERT_LABELS_MAX 32 /* further ones are left out, as are those that do not fit */

struct alert_label {
	char name[64];
	char value[256];
};

struct alert {
	bool is_firing; /* else it is resolved */
	char fingerprint[33]; /* hexadecimal digits */
	char starts_at[40]; /* RFC 3339; "" unknown */
	struct alert_label labels[ALERT_LABELS_MAX];
	size_t n_labels;
};

/* Reads an object of the array "alerts", of the webhook or from alert_put_json(). Returns false if
 * it is not one: it has no valid fingerprint or no status. The reader continues after the
 * object. */
bool alert_read(struct json_reader *r, struct alert *ret);
/* Calls fn with each alert of a request of the webhook. Returns 0; or -EBADMSG, without a call, if
 * the text is not such a request. */
int alert_for_each(const char *text, size_t len, void (*fn)(void *ctx, const struct alert *a),
		   void *ctx);

/* Returns the value of a label; "" if there is none. */
const char *alert_find_label(const struct alert *a, const char *name);
/* Appends an object that alert_read() reads. */
void alert_put_json(const struct alert *a, struct strbuf *b);
/* Appends a packet of a trace (the bytes of Trace.packet), with the alert as TraceAttributes. */
void alert_put_packet(const struct alert *a, struct strbuf *b);
