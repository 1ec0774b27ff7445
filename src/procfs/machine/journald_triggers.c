/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any process can write an entry with any MESSAGE_ID and UNIT. journald itself writes the fields
 * that begin with '_', so only an entry with _PID=1 shows that a unit has failed.
 */
#include "procfs/machine/journald_triggers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/regex.h"
#include "base/text/span.h"

#define STEPS_MAX 1000000u /* of an expression, for one entry */
#define UNIT_MAX 256

/* The MESSAGE_IDs of systemd (sd-messages.h): a unit has failed, or has entered the failed
 * state. */
#define ID_UNIT_FAILED "be02cf6855d2428ba40df7e9d022f03d"
#define ID_UNIT_FAILURE_RESULT "d9b373ed55a64feb8242e02dbe79a49c"

struct journald_trigger {
	const char *name, *unit; /* borrowed from the config; unit NULL: any */
	struct regex *message; /* owned; NULL: any */
	bool unit_failed;
	uint64_t fired_ns; /* 0: never */
};

struct journald_triggers {
	struct journald_trigger of[JOURNALD_TRIGGERS_MAX];
	size_t n;
	const char *fired[JOURNALD_TRIGGERS_MAX];
	/* The entry so far. */
	char text[JOURNALD_TEXT_MAX];
	size_t text_len;
	char own_unit[UNIT_MAX], about_unit[UNIT_MAX]; /* "": none */
	bool has_failure_id, is_of_init;
};

static int refuse_trigger(struct strbuf *errors, size_t i, const char *why)
{
	if (!errors->s)
		strbuf_printf(errors, "triggers[%zu] is ignored: %s", i, why);
	return -EINVAL;
}

/* Returns 0, -EINVAL and appends why, or -ENOMEM. */
static int journald_trigger_init(struct journald_trigger *t, size_t i,
				 const Pb__SystemdJournaldConfig__Trigger *c, struct strbuf *errors)
{
	struct err_text e;
	int r;

	if (!c->name || !*c->name)
		return refuse_trigger(errors, i, "name is missing");
	if (!c->message && !c->unit && !c->unit_failed)
		return refuse_trigger(errors, i, "set message, unit or unit_failed");
	*t = (struct journald_trigger){
		.name = c->name, .unit = c->unit, .unit_failed = c->unit_failed};
	r = c->message ? regex_new(c->message, &e, &t->message) : 0;
	return r == -EINVAL ? refuse_trigger(errors, i, e.text) : r;
}

int journald_triggers_new(const Pb__SystemdJournaldConfig *c, struct strbuf *errors,
			  struct journald_triggers **ret)
{
	struct journald_triggers *t = calloc(1, sizeof(*t));
	int r = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->n_triggers && r == 0; i++) {
		if (t->n == JOURNALD_TRIGGERS_MAX) {
			refuse_trigger(errors, i, "too many triggers; the limit is 32");
			break;
		}
		r = journald_trigger_init(&t->of[t->n], i, c->triggers[i], errors);
		t->n += r == 0;
		r = r == -EINVAL ? 0 : r;
	}
	if (r < 0 || !t->n) {
		journald_triggers_free(t);
		t = NULL;
	}
	if (r == 0)
		*ret = t;
	return r;
}

void journald_triggers_free(struct journald_triggers *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		regex_free(t->of[i].message);
	free(t);
}

/* ---- an entry ---- */

/* Copies the name of a unit. Ignores a value that is not the name of any unit: too long, or with a
 * NUL. */
static void copy_unit(char unit[static UNIT_MAX], struct span value)
{
	if (value.len >= UNIT_MAX || memchr(value.p, '\0', value.len))
		return;
	memcpy(unit, value.p, value.len);
	unit[value.len] = '\0';
}

void journald_triggers_add_field(struct journald_triggers *t, const void *data, size_t len)
{
	const char *text = data, *equals = len ? memchr(text, '=', len) : NULL;
	struct span name, value;

	if (!equals)
		return;
	name = (struct span){text, (size_t)(equals - text)};
	value = (struct span){equals + 1, len - name.len - 1};
	if (span_is(name, "MESSAGE") && !t->text_len) {
		t->text_len = MIN(value.len, (size_t)JOURNALD_TEXT_MAX);
		memcpy(t->text, value.p, t->text_len);
	} else if (span_is(name, "_SYSTEMD_UNIT")) {
		copy_unit(t->own_unit, value);
	} else if (span_is(name, "UNIT")) {
		copy_unit(t->about_unit, value);
	} else if (span_is(name, "_PID")) {
		t->is_of_init = span_is(value, "1");
	} else if (span_is(name, "MESSAGE_ID")) {
		t->has_failure_id =
			span_is(value, ID_UNIT_FAILED) || span_is(value, ID_UNIT_FAILURE_RESULT);
	}
}

static bool journald_trigger_matches(const struct journald_trigger *c,
				     const struct journald_triggers *t)
{
	bool about = c->unit && t->is_of_init && str_glob(c->unit, t->about_unit);
	uint64_t steps = STEPS_MAX;

	if (c->unit_failed && (!t->is_of_init || !t->has_failure_id))
		return false;
	if (c->unit && !about && (c->unit_failed || !str_glob(c->unit, t->own_unit)))
		return false;
	return !c->message ||
	       regex_match(c->message, REGEX_SEARCH, t->text, t->text_len, 0, NULL, &steps) == 1;
}

size_t journald_triggers_end_entry(struct journald_triggers *t, uint64_t now_ns,
				   const char *const **ret_names)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct journald_trigger *c = &t->of[i];

		if (c->fired_ns && now_ns - c->fired_ns < JOURNALD_TRIGGER_PAUSE_NS)
			continue;
		if (!journald_trigger_matches(c, t))
			continue;
		c->fired_ns = now_ns;
		t->fired[n++] = c->name;
	}
	t->text_len = 0;
	t->own_unit[0] = t->about_unit[0] = '\0';
	t->has_failure_id = t->is_of_init = false;
	*ret_names = t->fired;
	return n;
}
