/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/findings/recorded.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

#define NAME_MAX_BYTES 200u /* a longer text is not the name of an event or source */

/* ---- the config ---- */

static bool copy_event_name(const struct pb_field *f, char ret[static NAME_MAX_BYTES + 1])
{
	if (!f->data || f->len > NAME_MAX_BYTES)
		return false;
	memcpy(ret, f->data, f->len);
	ret[f->len] = '\0';
	return true;
}

/* Returns true if a request, GROUP/NAME or NAME with patterns, matches the event GROUP/NAME. */
static bool request_matches_event(const struct pb_field *request, const char *event)
{
	char text[NAME_MAX_BYTES + 1];
	const char *slash = strchr(event, '/');

	return copy_event_name(request, text) &&
	       str_glob(text, strchr(text, '/') || !slash ? event : slash + 1);
}

static bool source_records(const struct pb_field *source, const struct finding_need *need)
{
	char name[NAME_MAX_BYTES + 1];
	struct pb_field of_name = {0}, ftrace = {0};

	pb_read(source, PB_TO(PB_DATA_SOURCE_CONFIG_NAME, &of_name),
		PB_TO(PB_DATA_SOURCE_CONFIG_FTRACE_CONFIG, &ftrace));
	if (need->kind == NEED_SOURCE)
		return copy_event_name(&of_name, name) && str_glob(need->name, name);
	pb_for_each (f, &ftrace)
		if (f.id == PB_FTRACE_CONFIG_FTRACE_EVENTS && request_matches_event(&f, need->name))
			return true;
	return false;
}

bool recorded_is_requested(const uint8_t *config, size_t len, const struct finding_need *need)
{
	struct pb_field f, source;
	struct pb_dec d;

	pb_dec_init(&d, config, config ? len : 0);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_TRACE_CONFIG_DATA_SOURCES)
			continue;
		source = pb_inner_field(&f, PB_TRACE_CONFIG_DATA_SOURCE_CONFIG);
		if (source.id && source_records(&source, need))
			return true;
	}
	return false;
}

/* ---- the rows ---- */

/* Returns true if the statement, with the text as its parameter, has a row. */
static bool statement_has_row(sqlite3 *db, const char *sql, const char *text)
{
	sqlite3_stmt *st;
	bool some;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(st, 1, text, -1, SQLITE_STATIC);
	some = sqlite3_step(st) == SQLITE_ROW;
	sqlite3_finalize(st);
	return some;
}

static bool event_is_recorded(const struct recorded *r, const struct finding_need *need)
{
	static const char refused[] =
		"SELECT 1 FROM metadata WHERE name = 'ftrace_setup_errors' AND "
		"instr(str_value, ?1)";
	const char *slash = strchr(need->name, '/'), *name = slash ? slash + 1 : need->name;

	if (recorded_is_requested(r->config, r->config_len, need) &&
	    !statement_has_row(r->db, refused, need->name))
		return true;
	return statement_has_row(r->db, "SELECT 1 FROM ftrace_event WHERE name GLOB ?1 LIMIT 1",
				 name);
}

bool recorded_has(const struct recorded *r, const struct finding_need *need)
{
	char sql[NAME_MAX_BYTES + 64];

	switch (need->kind) {
	case NEED_EVENT:
		return event_is_recorded(r, need);
	case NEED_SOURCE:
		return recorded_is_requested(r->config, r->config_len, need);
	case NEED_COUNTER:
		return statement_has_row(
			r->db,
			"SELECT 1 FROM __intrinsic_track WHERE event_type = 'counter' AND "
			"name GLOB ?1 LIMIT 1",
			need->name);
	default:
		snprintf(sql, sizeof(sql), "SELECT 1 FROM %.*s LIMIT 1", (int)NAME_MAX_BYTES,
			 need->name);
		return statement_has_row(r->db, sql, "");
	}
}

int recorded_find_missing(const struct recorded *r, const struct finding *f)
{
	bool met = false;

	for (size_t i = 0; i < f->n_needs; i++) {
		met = met || recorded_has(r, &f->needs[i]);
		if (f->needs[i].or_next)
			continue;
		if (!met)
			return (int)i;
		met = false;
	}
	return -1;
}
