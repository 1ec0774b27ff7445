/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/answer_of_json.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

#define OUTPUT_DEPTH_MAX 32 /* of what a verb prints */
#define KEY_MAX 200

static const char *json_text(struct json_object *v)
{
	return json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
}

static bool is_list_of_objects(struct json_object *v)
{
	return json_object_is_type(v, json_type_array) && json_object_array_length(v) &&
	       json_object_is_type(json_object_array_get_idx(v, 0), json_type_object);
}

/* Returns true for an array of objects, each with the keys of the first one and without lists of
 * objects of its own. */
static bool is_table(struct json_object *v)
{
	size_t n = json_object_is_type(v, json_type_array) ? json_object_array_length(v) : 0;
	struct json_object *first = n ? json_object_array_get_idx(v, 0) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct json_object *row = json_object_array_get_idx(v, i);

		if (!json_object_is_type(row, json_type_object) ||
		    json_object_object_length(row) != json_object_object_length(first))
			return false;
		json_object_object_foreach(first, key, value)
		{
			if (!json_object_object_get_ex(row, key, &value) ||
			    is_list_of_objects(value))
				return false;
		}
	}
	return n > 0;
}

static void add_columns(struct answer *a, struct json_object *row)
{
	struct strbuf b = {0};
	const char *comma = "";

	strbuf_puts(&b, "columns [");
	json_object_object_foreach(row, key, value)
	{
		(void)value;
		strbuf_puts(&b, comma);
		strbuf_put_json(&b, key);
		comma = ",";
	}
	strbuf_putc(&b, ']');
	answer_add_head(a, b.s ? b.s : "");
	a->failed |= b.failed;
	strbuf_deinit(&b);
}

static void add_row(struct answer *a, struct json_object *row)
{
	struct strbuf b = {0};
	const char *comma = "[";

	json_object_object_foreach(row, key, value)
	{
		(void)key;
		strbuf_puts(&b, comma);
		/* Nine digits are enough to read; ids and times are whole numbers. */
		if (json_object_is_type(value, json_type_double))
			strbuf_printf(&b, "%.9g", json_object_get_double(value));
		else
			strbuf_puts(&b, json_text(value));
		comma = ",";
	}
	strbuf_putc(&b, ']');
	answer_add(a, b.s ? b.s : "");
	a->failed |= b.failed;
	strbuf_deinit(&b);
}

static void add_rows(struct answer *a, struct json_object *rows)
{
	size_t n = json_object_array_length(rows);

	add_columns(a, json_object_array_get_idx(rows, 0));
	for (size_t i = 0; i < n; i++)
		add_row(a, json_object_array_get_idx(rows, i));
	answer_end_rows(a);
}

/* Adds the tables of a report (docs/reference/json.md): those without rows in one line. */
static void add_tables(struct answer *a, struct json_object *tables)
{
	struct strbuf without_rows = {0};

	json_object_object_foreach(tables, key, table)
	{
		struct json_object *title = NULL, *rows = NULL, *lacks = NULL;

		json_object_object_get_ex(table, "title", &title);
		json_object_object_get_ex(table, "rows", &rows);
		if (json_object_object_get_ex(table, "lacks", &lacks)) {
			answer_printf(a, "table %s: %s", key, json_object_get_string(lacks));
		} else if (is_table(rows)) {
			answer_printf(a, "table %s: %s", key,
				      title ? json_object_get_string(title) : "");
			add_rows(a, rows);
		} else {
			strbuf_printf(&without_rows, "%s%s", without_rows.len ? ", " : "", key);
		}
	}
	if (without_rows.len)
		answer_printf(a, "tables without rows: %s", without_rows.s);
	strbuf_deinit(&without_rows);
}

static void add_json_value(struct answer *a, const char *key, struct json_object *v);

static void add_members(struct answer *a, const char *prefix, struct json_object *object)
{
	char name[KEY_MAX];

	json_object_object_foreach(object, key, value)
	{
		snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "." : "", key);
		if (!strcmp(key, "tables") && json_object_is_type(value, json_type_object))
			add_tables(a, value);
		else
			add_json_value(a, name, value);
	}
}

static void add_array(struct answer *a, const char *key, struct json_object *v)
{
	size_t n = json_object_array_length(v);
	char name[KEY_MAX];

	if (is_table(v)) {
		if (*key)
			answer_printf(a, "%s:", key);
		add_rows(a, v);
		return;
	}
	if (!is_list_of_objects(v)) {
		answer_printf(a, "%s%s%s", key, *key ? ": " : "", json_text(v));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s[%zu]", key, i);
		add_json_value(a, name, json_object_array_get_idx(v, i));
	}
}

/* Returns true for an object with a list of rows: it has lines of its own. */
static bool has_rows(struct json_object *v)
{
	json_object_object_foreach(v, key, value)
	{
		(void)key;
		if (is_table(value))
			return true;
	}
	return false;
}

static void add_json_value(struct answer *a, const char *key, struct json_object *v)
{
	struct json_object *tables;

	if (json_object_is_type(v, json_type_array))
		add_array(a, key, v);
	else if (json_object_is_type(v, json_type_object) &&
		 (!*key || has_rows(v) || json_object_object_get_ex(v, "tables", &tables) ||
		  strlen(json_text(v)) > ANSWER_LINE_MAX))
		add_members(a, key, v);
	else
		answer_printf(a, "%s%s%s", key, *key ? ": " : "",
			      json_object_is_type(v, json_type_string) && *key
				      ? json_object_get_string(v)
				      : json_text(v));
}

/* Returns the length of the text up to its last whole row. */
static size_t whole_rows_len(const char *text, size_t len)
{
	while (len && text[len - 1] != '\n')
		len--;
	while (len && strchr("\n, ", text[len - 1]))
		len--;
	return len;
}

int answer_add_json(struct answer *a, const char *text, size_t len, bool cut)
{
	struct json_tokener *t = json_tokener_new_ex(OUTPUT_DEPTH_MAX);
	struct json_object *value = NULL;
	size_t at = 0;
	int r = 0;

	if (!t)
		return -ENOMEM;
	if (cut)
		len = whole_rows_len(text, len);
	while (at < len && r == 0) {
		value = json_tokener_parse_ex(t, text + at, (int)(len - at));
		at += json_tokener_get_parse_end(t);
		if (cut && json_tokener_get_error(t) == json_tokener_continue)
			value = json_tokener_parse_ex(t, "]", 1);
		if (json_tokener_get_error(t) == json_tokener_success)
			add_json_value(a, "", value);
		else
			r = -EBADMSG;
		json_object_put(value);
		json_tokener_reset(t);
		while (at < len && strchr(" \n", text[at]))
			at++;
	}
	json_tokener_free(t);
	return r == 0 && a->failed ? -ENOMEM : r;
}
