/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a track event: its location in the source code, its log message, fields that
 * programs added, and annotations (`debug.NAME`).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/import/arg_writer.h"
#include "analyze/import/track_event.h"
#include "base/text/number_read.h"
#include "gen/fields.h"

/* Makes arguments of JSON text: objects and arrays become paths, their members arguments. */

#define JSON_MAX_DEPTH 64
#define MAX_NUMBER 64

struct json {
	const uint8_t *p, *end;
	struct arg_writer *w; /* NULL: the text is only checked */
	int depth;
};

static bool parse_value(struct json *j);

static void json_args_skip_space(struct json *j)
{
	while (j->p < j->end && memchr(" \t\r\n", *j->p, 4))
		j->p++;
}

static bool json_args_accept(struct json *j, char c)
{
	json_args_skip_space(j);
	if (j->p == j->end || *j->p != (uint8_t)c)
		return false;
	j->p++;
	return true;
}

static bool accept_word(struct json *j, const char *s)
{
	size_t len = strlen(s);

	if ((size_t)(j->end - j->p) < len || memcmp(j->p, s, len) != 0)
		return false;
	j->p += len;
	return true;
}

static bool parse_hex4(struct json *j, uint32_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++, j->p++) {
		const char *digits = "0123456789abcdef", *at;

		if (j->p == j->end || !*j->p)
			return false;
		at = strchr(digits, *j->p >= 'A' && *j->p <= 'F' ? *j->p + 32 : *j->p);
		if (!at)
			return false;
		*ret = *ret << 4 | (uint32_t)(at - digits);
	}
	return true;
}

static bool parse_escape(struct json *j, struct strbuf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	uint32_t c, low;

	if (j->p == j->end || !*j->p)
		return false;
	if (*j->p != 'u') {
		at = strchr(from, *j->p++);
		if (at)
			strbuf_putc(out, to[at - from]);
		return at;
	}
	j->p++;
	if (!parse_hex4(j, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00 && accept_word(j, "\\u")) {
		if (!parse_hex4(j, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	strbuf_put_utf8(out, c);
	return true;
}

/* Reads a string into out, which it clears first. Returns false if the JSON is malformed. */
static bool parse_text(struct json *j, struct strbuf *out)
{
	strbuf_clear(out);
	if (!json_args_accept(j, '"'))
		return false;
	while (j->p < j->end && *j->p != '"') {
		uint8_t c = *j->p++;

		if (c != '\\')
			strbuf_putc(out, (char)c);
		else if (!parse_escape(j, out))
			return false;
	}
	return j->p < j->end && *j->p++ == '"';
}

static bool parse_object(struct json *j)
{
	struct strbuf name = {0};
	bool ok = true;

	if (json_args_accept(j, '}'))
		return true;
	do {
		struct arg_mark mark = {.key = 0};

		ok = parse_text(j, &name) && json_args_accept(j, ':');
		if (name.failed && j->w)
			j->w->store->budget.error = -ENOMEM;
		if (ok && j->w)
			mark = arg_writer_enter(j->w, name.s, name.len, true);
		ok = ok && parse_value(j);
		if (j->w)
			arg_writer_end_key(j->w, mark);
	} while (ok && json_args_accept(j, ','));
	strbuf_deinit(&name);
	return ok && json_args_accept(j, '}');
}

static bool parse_array(struct json *j)
{
	unsigned index = j->w ? arg_writer_next_index(j->w) : 0;
	bool ok = true;

	if (json_args_accept(j, ']'))
		return true;
	do {
		struct arg_mark mark = {.key = 0};

		json_args_skip_space(j);
		if (j->w)
			mark = arg_writer_enter_index(j->w, index);
		index += j->p < j->end && *j->p != 'n'; /* null has no index */
		ok = parse_value(j);
		if (j->w)
			arg_writer_end_key(j->w, mark);
	} while (ok && json_args_accept(j, ','));
	return ok && json_args_accept(j, ']');
}

static bool parse_number(struct json *j)
{
	char s[MAX_NUMBER];
	const char *end;
	bool is_real = false;
	size_t n = 0;
	int64_t v = 0;
	double real = 0;

	while (j->p + n < j->end && j->p[n] && strchr("+-.0123456789eE", j->p[n])) {
		if (n + 1 >= sizeof(s))
			return false;
		s[n] = (char)j->p[n];
		is_real |= s[n] == '.' || s[n] == 'e' || s[n] == 'E';
		n++;
	}
	s[n] = '\0';
	j->p += n;
	end = s;
	is_real |= str_read_i64(&end, 10, &v) == -ERANGE;
	end = s;
	(void)str_read_double(&end, &real);
	if (!n || *end)
		return false;
	if (j->w && is_real)
		arg_writer_real(j->w, real);
	else if (j->w)
		arg_writer_int(j->w, ARG_INT, v);
	return true;
}

static bool parse_string_value(struct json *j)
{
	struct strbuf s = {0};
	bool ok = parse_text(j, &s);

	if (ok && j->w)
		arg_writer_buf(j->w, &s);
	strbuf_deinit(&s);
	return ok;
}

static bool parse_value(struct json *j)
{
	bool ok;

	json_args_skip_space(j);
	if (j->p == j->end || j->depth >= JSON_MAX_DEPTH)
		return false;
	j->depth++;
	if (json_args_accept(j, '{')) {
		ok = parse_object(j);
	} else if (json_args_accept(j, '[')) {
		ok = parse_array(j);
	} else if (*j->p == '"') {
		ok = parse_string_value(j);
	} else if (accept_word(j, "null")) {
		ok = true;
	} else if (accept_word(j, "true") || accept_word(j, "false")) {
		if (j->w)
			arg_writer_int(j->w, ARG_BOOL, j->p[-2] == 'u');
		ok = true;
	} else {
		ok = parse_number(j);
	}
	j->depth--;
	return ok;
}

/* Adds the values of a JSON text. Returns false, and adds nothing, if the text is not JSON. */
static bool arg_writer_put_json(struct arg_writer *w, const uint8_t *s, size_t len)
{
	struct json check = {.p = s, .end = s + len}, j = {.p = s, .end = s + len, .w = w};

	if (!parse_value(&check))
		return false;
	json_args_skip_space(&check);
	return check.p == check.end && parse_value(&j);
}

#define MAX_DEPTH 64

struct event_args {
	struct import *im;
	struct machine *m;
	const struct track_event *e;
	struct arg_writer w;
	int depth;
};

static struct arg_mark track_event_args_enter(struct event_args *a, const char *name)
{
	return arg_writer_enter(&a->w, name, strlen(name), false);
}

static void track_event_args_put_text(struct event_args *a, const char *key, const void *s,
				      size_t len)
{
	struct arg_mark mark = track_event_args_enter(a, key);

	arg_writer_text(&a->w, s, len);
	arg_writer_end_key(&a->w, mark);
}

static void put_int_arg(struct event_args *a, const char *key, enum arg_type type, int64_t v)
{
	struct arg_mark mark = track_event_args_enter(a, key);

	arg_writer_int(&a->w, type, v);
	arg_writer_end_key(&a->w, mark);
}

/* ---- source locations ---- */

/* Adds a path, in which '\\' becomes '/'. */
static void put_plain_path(struct event_args *a, const struct pb_field *f)
{
	struct strbuf path = {0};

	for (size_t i = 0; i < f->len; i++)
		strbuf_putc(&path, f->data[i] == '\\' ? '/' : (char)f->data[i]);
	if (path.failed)
		a->w.store->budget.error = -ENOMEM;
	track_event_args_put_text(a, "file_name", path.s, path.len);
	strbuf_deinit(&path);
}

static void put_location_field(struct event_args *a, const struct pb_field *f,
			       enum arg_type line_type)
{
	if (f->id == PB_SOURCE_LOCATION_FILE_NAME && f->data)
		track_event_args_put_text(a, "file_name", f->data, f->len);
	else if (f->id == PB_SOURCE_LOCATION_FUNCTION_NAME && f->data)
		track_event_args_put_text(a, "function_name", f->data, f->len);
	else if (f->id == PB_SOURCE_LOCATION_LINE_NUMBER)
		put_int_arg(a, "line_number", line_type, (int64_t)f->u64);
}

/* Adds an interned location. turn: '\\' in its path becomes '/'. */
static void put_location(struct event_args *a, const char *key, uint64_t iid, bool turn,
			 enum arg_type line_type)
{
	struct arg_mark mark = track_event_args_enter(a, key);
	struct pb_field entry;

	if (sequences_message(&a->m->sequences, a->e->state, PB_INTERNED_DATA_SOURCE_LOCATIONS, iid,
			      &entry)) {
		pb_for_each (f, &entry) {
			if (f.id == PB_SOURCE_LOCATION_FILE_NAME && f.data && turn)
				put_plain_path(a, &f);
			else
				put_location_field(a, &f, line_type);
		}
	}
	arg_writer_end_key(&a->w, mark);
}

/* Adds a location that is in the event itself. */
static void put_inline_location(struct event_args *a, const struct pb_field *location)
{
	struct arg_mark mark = track_event_args_enter(a, "source_location");

	pb_for_each (f, location)
		put_location_field(a, &f, ARG_UINT);
	arg_writer_end_key(&a->w, mark);
}

/* ---- log, task, correlation ---- */

static void put_log(struct event_args *a, const struct pb_field *message)
{
	uint64_t location = 0, body = 0;
	struct pb_field priority = {0}, entry, text = {0};
	struct sequences *q = &a->m->sequences;

	pb_read(message, PB_TO(PB_LOG_MESSAGE_SOURCE_LOCATION_IID, &location),
		PB_TO(PB_LOG_MESSAGE_BODY_IID, &body), PB_TO_ANY(PB_LOG_MESSAGE_PRIO, &priority));
	if (!sequences_message(q, a->e->state, PB_INTERNED_DATA_LOG_MESSAGE_BODY, body, &entry))
		return;
	pb_read(&entry, PB_TO(PB_INTERNED_STRING_STR, &text));
	if (text.data)
		track_event_args_put_text(a, "track_event.log_message.message", text.data,
					  text.len);
	if (location)
		put_location(a, "track_event.log_message", location, false, ARG_INT);
	if (priority.id)
		put_int_arg(a, "track_event.priority", ARG_INT, (int64_t)priority.u64);
}

static void put_correlation(struct event_args *a, const struct pb_field *f)
{
	char text[32];
	uint32_t s;

	if (f->id == PB_TRACK_EVENT_CORRELATION_ID) {
		track_event_args_put_text(a, "correlation_id", text,
					  (size_t)snprintf(text, sizeof(text), "tp:#%llu",
							   (unsigned long long)f->u64));
	} else if (f->id == PB_TRACK_EVENT_CORRELATION_ID_STR && f->data) {
		track_event_args_put_text(a, "correlation_id", f->data, f->len);
	} else {
		s = sequences_string(&a->m->sequences, a->e->state,
				     PB_INTERNED_DATA_CORRELATION_ID_STR, f->u64);
		if (s != NULL_U32)
			track_event_args_put_text(a, "correlation_id",
						  strings_get(&a->im->store->strings, s),
						  a->im->store->strings.of[s].len);
	}
}

/* ---- annotations ---- */

/* Enters the next element of the array with the current path. index: -1 before the first one. */
static struct arg_mark enter_next_element(struct event_args *a, int64_t *index)
{
	if (*index < 0)
		*index = arg_writer_next_index(&a->w);
	return arg_writer_enter_index(&a->w, (unsigned)*index);
}

/* Adds a NestedValue. Returns true if it made an argument: the indexes of an array count only
 * values that did. */
static bool put_nested_value(struct event_args *a, const struct pb_field *value)
{
	size_t before = a->w.out->n;
	struct pb_field f, key;
	struct arg_mark mark;
	struct pb_dec d, k;
	int64_t index = -1;

	if (a->depth >= MAX_DEPTH)
		return false;
	a->depth++;
	pb_dec_init(&d, value->data, value->len);
	pb_dec_init(&k, value->data, value->len);
	while (pb_dec_next(&d, &f)) {
		double real;

		switch (f.id) {
		/* the n-th value has the n-th key */
		case PB_DEBUG_ANNOTATION_NESTED_VALUE_DICT_VALUES:
			do
				key.id = 0;
			while (pb_dec_next(&k, &key) &&
			       (key.id != PB_DEBUG_ANNOTATION_NESTED_VALUE_DICT_KEYS || !key.data));
			if (!f.data || key.id != PB_DEBUG_ANNOTATION_NESTED_VALUE_DICT_KEYS)
				break;
			mark = arg_writer_enter(&a->w, key.data, key.len, true);
			put_nested_value(a, &f);
			arg_writer_end_key(&a->w, mark);
			break;
		case PB_DEBUG_ANNOTATION_NESTED_VALUE_ARRAY_VALUES:
			if (!f.data)
				break;
			mark = enter_next_element(a, &index);
			index += put_nested_value(a, &f);
			arg_writer_end_key(&a->w, mark);
			break;
		case PB_DEBUG_ANNOTATION_NESTED_VALUE_INT_VALUE:
			arg_writer_int(&a->w, ARG_INT, (int64_t)f.u64);
			break;
		case PB_DEBUG_ANNOTATION_NESTED_VALUE_DOUBLE_VALUE:
			memcpy(&real, &f.u64, sizeof(real));
			arg_writer_real(&a->w, real);
			break;
		case PB_DEBUG_ANNOTATION_NESTED_VALUE_BOOL_VALUE:
			arg_writer_int(&a->w, ARG_BOOL, f.u64 != 0);
			break;
		case PB_DEBUG_ANNOTATION_NESTED_VALUE_STRING_VALUE:
			if (f.data)
				arg_writer_text(&a->w, f.data, f.len);
			break;
		}
	}
	a->depth--;
	return a->w.out->n > before;
}

static bool put_annotation(struct event_args *a, const struct pb_field *annotation, bool named);

static bool track_event_args_put_json(struct event_args *a, const struct pb_field *f)
{
	size_t before = a->w.out->n, at = 0;

	while (at < f->len && strchr(" \t\r\n", f->data[at]) && f->data[at])
		at++;
	if (at < f->len && (f->data[at] == '{' || f->data[at] == '['))
		arg_writer_put_json(&a->w, f->data, f->len);
	return a->w.out->n > before;
}

static bool put_string_iid(struct event_args *a, uint64_t iid)
{
	const struct strings *s = &a->im->store->strings;
	uint32_t id = sequences_string(&a->m->sequences, a->e->state,
				       PB_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES, iid);

	if (id == NULL_U32) {
		stats_add(a->im->store, STAT_INTERNED_DATA_TOKENIZER_ERRORS, STAT_NO_INDEX, 1);
		return false;
	}
	arg_writer_text(&a->w, strings_get(s, id), s->of[id].len);
	return true;
}

/* Adds a value in one field of an annotation. Returns true if it made an argument. */
static bool put_scalar(struct event_args *a, const struct pb_field *f)
{
	double real;

	switch (f->id) {
	case PB_DEBUG_ANNOTATION_BOOL_VALUE:
		arg_writer_int(&a->w, ARG_BOOL, f->u64 != 0);
		return true;
	case PB_DEBUG_ANNOTATION_UINT_VALUE:
		arg_writer_int(&a->w, ARG_UINT, (int64_t)f->u64);
		return true;
	case PB_DEBUG_ANNOTATION_INT_VALUE:
		arg_writer_int(&a->w, ARG_INT, (int64_t)f->u64);
		return true;
	case PB_DEBUG_ANNOTATION_DOUBLE_VALUE:
		memcpy(&real, &f->u64, sizeof(real));
		arg_writer_real(&a->w, real);
		return true;
	case PB_DEBUG_ANNOTATION_POINTER_VALUE:
		arg_writer_int(&a->w, ARG_POINTER, (int64_t)f->u64);
		return true;
	case PB_DEBUG_ANNOTATION_STRING_VALUE:
		if (f->data)
			arg_writer_text(&a->w, f->data, f->len);
		return f->data;
	case PB_DEBUG_ANNOTATION_STRING_VALUE_IID:
		return put_string_iid(a, f->u64);
	case PB_DEBUG_ANNOTATION_LEGACY_JSON_VALUE:
		return f->data && track_event_args_put_json(a, f);
	case PB_DEBUG_ANNOTATION_NESTED_VALUE:
		return f->data && put_nested_value(a, f);
	}
	return false;
}

/* Adds a message of a type that the trace describes. Returns true if it made an argument. */
static bool put_proto(struct event_args *a, uint32_t type, const struct pb_field *f)
{
	size_t before = a->w.out->n;

	proto_field_add_args(a->im, &a->w, strings_get(&a->im->store->strings, type), f, NULL);
	if (a->w.out->n == before && f->len)
		stats_add(a->im->store, STAT_TRACK_EVENT_PARSER_ERRORS, STAT_NO_INDEX, 1);
	return a->w.out->n > before;
}

static bool track_event_args_put_value(struct event_args *a, const struct pb_field *annotation)
{
	struct strings *s = &a->im->store->strings;
	uint32_t type = NULL_U32;
	int64_t index = -1;
	bool some = false;

	pb_for_each (f, annotation) {
		if (f.id == PB_DEBUG_ANNOTATION_DICT_ENTRIES && f.data) {
			some |= put_annotation(a, &f, true);
		} else if (f.id == PB_DEBUG_ANNOTATION_ARRAY_VALUES && f.data) {
			struct arg_mark mark = enter_next_element(a, &index);
			bool made = put_annotation(a, &f, false);

			arg_writer_end_key(&a->w, mark);
			index += made;
			some |= made;
		} else if (f.id == PB_DEBUG_ANNOTATION_PROTO_TYPE_NAME && f.data) {
			type = strings_intern(s, f.data, f.len);
		} else if (f.id == PB_DEBUG_ANNOTATION_PROTO_TYPE_NAME_IID) {
			type = sequences_string(&a->m->sequences, a->e->state,
						PB_INTERNED_DATA_DEBUG_ANNOTATION_VALUE_TYPE_NAMES,
						f.u64);
		} else if (f.id == PB_DEBUG_ANNOTATION_PROTO_VALUE && f.data && type != NULL_U32) {
			some |= put_proto(a, type, &f);
		} else {
			some |= put_scalar(a, &f);
		}
	}
	return some;
}

static bool annotation_name(struct event_args *a, const struct pb_field *annotation,
			    struct pb_field *ret)
{
	const struct strings *s = &a->im->store->strings;
	uint32_t id;
	bool found = false;

	pb_for_each (f, annotation) {
		if (f.id == PB_DEBUG_ANNOTATION_NAME && f.data) {
			*ret = f;
			found = true;
		} else if (f.id == PB_DEBUG_ANNOTATION_NAME_IID) {
			id = sequences_string(&a->m->sequences, a->e->state,
					      PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES, f.u64);
			if (id == NULL_U32) {
				stats_add(a->im->store, STAT_INTERNED_DATA_TOKENIZER_ERRORS,
					  STAT_NO_INDEX, 1);
				continue;
			}
			ret->data = (const uint8_t *)strings_get(s, id);
			ret->len = s->of[id].len;
			found = true;
		}
	}
	return found;
}

/* Adds an annotation. named: it has a name, as a member of a dictionary or of the event. Returns
 * true if it made an argument. */
static bool put_annotation(struct event_args *a, const struct pb_field *annotation, bool named)
{
	struct pb_field name;
	struct arg_mark mark = {.key = 0};
	bool some = false;

	if (a->depth >= MAX_DEPTH)
		return false;
	if (named && !annotation_name(a, annotation, &name)) {
		stats_add(a->im->store, STAT_TRACK_EVENT_PARSER_ERRORS, STAT_NO_INDEX, 1);
		return false;
	}
	a->depth++;
	if (named)
		mark = arg_writer_enter(&a->w, name.data, name.len, true);
	some = track_event_args_put_value(a, annotation);
	if (named)
		arg_writer_end_key(&a->w, mark);
	a->depth--;
	return some;
}

/* ---- all ---- */

/* Returns true for a field that the importer reads itself. */
static bool is_own_field(uint32_t field)
{
	return field < 1000;
}

/* Adds two fields as they are, in addition to the arguments made from them, and the fields that
 * programs added. */
static void put_plain_fields(struct event_args *a)
{
	pb_for_each (f, &a->e->message) {
		if (f.id == PB_TRACK_EVENT_SOURCE_LOCATION && f.data)
			put_inline_location(a, &f);
		else if (f.id == PB_TRACK_EVENT_SOURCE_LOCATION_IID)
			put_int_arg(a, "source_location_iid", ARG_UINT, (int64_t)f.u64);
	}
	proto_field_add_args(a->im, &a->w, ".perfetto.protos.TrackEvent", &a->e->message,
			     is_own_field);
}

/* Fields of the event whose arguments come before the annotations, in this order. */
struct event_parts {
	struct pb_field location, task, log, correlation;
};

static void put_posted_from(struct event_args *a, const struct pb_field *task)
{
	pb_for_each (f, task)
		if (f.id == PB_TASK_EXECUTION_POSTED_FROM_IID)
			put_location(a, "task.posted_from", f.u64, true, ARG_UINT);
}

void track_event_add_args(struct import *im, struct machine *m, const struct track_event *e,
			  const struct arg_builder *earlier)
{
	struct event_args a = {.im = im, .m = m, .e = e};
	struct event_parts parts = {.location = {.id = 0}};
	struct arg_mark mark;

	arg_writer_init(&a.w, im->store, &im->args);
	a.w.earlier = earlier;
	pb_for_each (f, &e->message) {
		if (f.id == PB_TRACK_EVENT_SOURCE_LOCATION_IID)
			parts.location = f;
		else if (f.id == PB_TRACK_EVENT_TASK_EXECUTION && f.data)
			parts.task = f;
		else if (f.id == PB_TRACK_EVENT_LOG_MESSAGE && f.data)
			parts.log = f;
		else if (f.id >= PB_TRACK_EVENT_CORRELATION_ID &&
			 f.id <= PB_TRACK_EVENT_CORRELATION_ID_STR_IID)
			parts.correlation = f;
	}
	if (parts.location.id)
		put_location(&a, "source", parts.location.u64, true, ARG_UINT);
	if (parts.task.id)
		put_posted_from(&a, &parts.task);
	if (parts.log.id)
		put_log(&a, &parts.log);
	if (parts.correlation.id)
		put_correlation(&a, &parts.correlation);
	put_plain_fields(&a);
	mark = track_event_args_enter(&a, "debug");
	pb_for_each (f, &e->message)
		if (f.id == PB_TRACK_EVENT_DEBUG_ANNOTATIONS && f.data)
			put_annotation(&a, &f, true);
	arg_writer_end_key(&a.w, mark);
	arg_writer_deinit(&a.w);
}
