/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/alert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/trace/trace_attributes.h"

/* ---- reading ---- */

static void read_labels(struct json_reader *r, struct alert *a)
{
	struct alert_label l;

	if (!json_open(r, '{')) {
		json_skip(r);
		return;
	}
	while (json_next_member(r, l.name, sizeof(l.name))) {
		if (a->n_labels < ALERT_LABELS_MAX && l.name[0] &&
		    json_take_string(r, l.value, sizeof(l.value)))
			a->labels[a->n_labels++] = l;
		else
			json_skip(r);
	}
}

static void read_text(struct json_reader *r, char *to, size_t size)
{
	if (!json_take_string(r, to, size)) {
		to[0] = '\0';
		json_skip(r);
	}
}

bool alert_read(struct json_reader *r, struct alert *ret)
{
	char key[32], status[16] = "";

	*ret = (struct alert){.is_firing = false};
	if (!json_open(r, '{')) {
		json_skip(r);
		return false;
	}
	while (json_next_member(r, key, sizeof(key))) {
		if (!strcmp(key, "status"))
			read_text(r, status, sizeof(status));
		else if (!strcmp(key, "fingerprint"))
			read_text(r, ret->fingerprint, sizeof(ret->fingerprint));
		else if (!strcmp(key, "startsAt"))
			read_text(r, ret->starts_at, sizeof(ret->starts_at));
		else if (!strcmp(key, "labels"))
			read_labels(r, ret);
		else
			json_skip(r);
	}
	ret->is_firing = !strcmp(status, "firing");
	return (ret->is_firing || !strcmp(status, "resolved")) && ret->fingerprint[0] &&
	       ret->fingerprint[strspn(ret->fingerprint, "0123456789abcdef")] == '\0';
}

/* Calls fn with each alert; fn NULL: only checks the text. Returns true if it is a request of the
 * webhook. */
static bool read_request(const char *text, size_t len, void (*fn)(void *ctx, const struct alert *a),
			 void *ctx)
{
	char key[32], version[8] = "";
	bool has_alerts = false;
	struct json_reader r;
	struct alert a;

	json_reader_init(&r, text, len);
	if (!json_open(&r, '{'))
		return false;
	while (json_next_member(&r, key, sizeof(key))) {
		if (!strcmp(key, "version")) {
			read_text(&r, version, sizeof(version));
		} else if (!strcmp(key, "alerts") && json_open(&r, '[')) {
			has_alerts = true;
			while (json_next_element(&r))
				if (alert_read(&r, &a) && fn)
					fn(ctx, &a);
		} else {
			json_skip(&r);
		}
	}
	return json_end(&r) && has_alerts && !strcmp(version, "4");
}

int alert_for_each(const char *text, size_t len, void (*fn)(void *ctx, const struct alert *a),
		   void *ctx)
{
	if (!read_request(text, len, NULL, NULL))
		return -EBADMSG;
	read_request(text, len, fn, ctx);
	return 0;
}

const char *alert_find_label(const struct alert *a, const char *name)
{
	for (size_t i = 0; i < a->n_labels; i++)
		if (!strcmp(a->labels[i].name, name))
			return a->labels[i].value;
	return "";
}

/* ---- writing ---- */

void alert_put_json(const struct alert *a, struct strbuf *b)
{
	strbuf_printf(b,
		      "{\"status\":\"%s\",\"fingerprint\":", a->is_firing ? "firing" : "resolved");
	strbuf_put_json(b, a->fingerprint);
	strbuf_puts(b, ",\"startsAt\":");
	strbuf_put_json(b, a->starts_at);
	strbuf_puts(b, ",\"labels\":{");
	for (size_t i = 0; i < a->n_labels; i++) {
		strbuf_puts(b, i ? "," : "");
		strbuf_put_json(b, a->labels[i].name);
		strbuf_putc(b, ':');
		strbuf_put_json(b, a->labels[i].value);
	}
	strbuf_puts(b, "}}");
}

void alert_put_packet(const struct alert *a, struct strbuf *b)
{
	struct trace_attributes attributes;

	trace_attributes_begin(&attributes);
	trace_attributes_put(&attributes, "alert.fingerprint", a->fingerprint);
	trace_attributes_put(&attributes, "alert.starts_at", a->starts_at);
	for (size_t i = 0; i < a->n_labels; i++) {
		char key[128];

		snprintf(key, sizeof(key), "alert.label.%s", a->labels[i].name);
		trace_attributes_put(&attributes, key, a->labels[i].value);
	}
	trace_attributes_end(&attributes, b);
}
