/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug annotations, and fields by number. The list of arguments is flat, with elements that open
 * and close a dictionary, array or message. A stack holds the open ones:
 *
 *	DICT m | BOOL ok | ARRAY v | INT 1 | CLOSE | CLOSE | END
 *
 * An invalid list loses arguments: open elements are closed at the end, elements that are too deep
 * are left out, and a close without an open element is ignored.
 */
#include "gen/fields.h"
#include "lib/track_event/event.h"

/* The encoder's maximum depth, without the messages of the event itself and of the last
 * annotation. */
#define MAX_NESTING (PB_MAX_DEPTH - 2)

struct nesting {
	struct event_encoder *x;
	unsigned depth;
	unsigned too_deep; /* open messages that are left out */
	struct {
		uint8_t *length;
		uint8_t is_array;
	} open[MAX_NESTING];
};

static void close_innermost(struct nesting *n)
{
	if (n->too_deep > 0)
		n->too_deep--;
	else if (n->depth > 0)
		event_close(n->x, n->open[--n->depth].length);
}

static void close_all(struct nesting *n)
{
	n->too_deep = 0;
	while (n->depth > 0)
		close_innermost(n);
}

/* Returns true if there is room for another level; otherwise counts the level as left out. */
static bool has_room_or_count_level(struct nesting *n)
{
	if (n->depth < MAX_NESTING && n->too_deep == 0)
		return true;
	n->too_deep++;
	return false;
}

/* ---- annotations ---- */

static void event_annotations_write_text(struct pb_enc *e, uint32_t field,
					 const struct sonda_arg *a)
{
	pb_enc_bytes(e, field, a->value.p, event_text_len(a));
}

static void write_interned(struct event_encoder *x, struct sonda_string *value)
{
	uint32_t iid = event_intern(x, INTERN_VALUE, value);

	if (iid)
		pb_enc_u64(x->enc, PB_DEBUG_ANNOTATION_STRING_VALUE_IID, iid);
	else
		pb_enc_str(x->enc, PB_DEBUG_ANNOTATION_STRING_VALUE, value->text);
}

static void write_value(struct event_encoder *x, const struct sonda_arg *a)
{
	struct pb_enc *e = x->enc;

	switch (a->type) {
	case SONDA_ARG_BOOL:
		pb_enc_bool(e, PB_DEBUG_ANNOTATION_BOOL_VALUE, a->value.u);
		break;
	case SONDA_ARG_UINT:
		pb_enc_u64(e, PB_DEBUG_ANNOTATION_UINT_VALUE, a->value.u);
		break;
	case SONDA_ARG_INT:
		pb_enc_i64(e, PB_DEBUG_ANNOTATION_INT_VALUE, a->value.i);
		break;
	case SONDA_ARG_DOUBLE:
		pb_enc_double(e, PB_DEBUG_ANNOTATION_DOUBLE_VALUE, a->value.d);
		break;
	case SONDA_ARG_POINTER:
		pb_enc_u64(e, PB_DEBUG_ANNOTATION_POINTER_VALUE, a->value.u);
		break;
	case SONDA_ARG_STRING:
		event_annotations_write_text(e, PB_DEBUG_ANNOTATION_STRING_VALUE, a);
		break;
	case SONDA_ARG_JSON:
		event_annotations_write_text(e, PB_DEBUG_ANNOTATION_LEGACY_JSON_VALUE, a);
		break;
	case SONDA_ARG_INTERNED:
		write_interned(x, (struct sonda_string *)a->value.p);
		break;
	}
}

/* Writes a value that is a message. A reader cannot decode it without the name of its type: if the
 * name has no id, the value is left out. */
static void write_proto(struct event_encoder *x, const struct sonda_arg *a)
{
	const struct sonda_arg *type = a + 1;
	uint32_t iid = 0;

	if (type->type == SONDA_ARG_INTERNED && !type->key.string && type->value.p)
		iid = event_intern(x, INTERN_TYPE_NAME, (struct sonda_string *)type->value.p);
	if (!iid)
		return;
	pb_enc_u64(x->enc, PB_DEBUG_ANNOTATION_PROTO_TYPE_NAME_IID, iid);
	event_annotations_write_text(x->enc, PB_DEBUG_ANNOTATION_PROTO_VALUE, a);
}

/* Writes the id of the name. Returns a name that must be written in full, or NULL. */
static const char *write_name_iid(struct event_encoder *x, const struct sonda_arg *a)
{
	uint32_t iid;

	if (a->dynamic_key)
		return a->key.text;
	if (!a->key.string)
		return NULL;
	iid = event_intern(x, INTERN_ANNOTATION, a->key.string);
	if (!iid)
		return a->key.string->text;
	pb_enc_u64(x->enc, PB_DEBUG_ANNOTATION_NAME_IID, iid);
	return NULL;
}

static void write_annotation(struct nesting *n, const struct sonda_arg *a)
{
	struct event_encoder *x = n->x;
	bool nests = a->type == SONDA_ARG_DICT || a->type == SONDA_ARG_ARRAY;
	uint32_t field = n->depth == 0			  ? PB_TRACK_EVENT_DEBUG_ANNOTATIONS
			 : n->open[n->depth - 1].is_array ? PB_DEBUG_ANNOTATION_ARRAY_VALUES
							  : PB_DEBUG_ANNOTATION_DICT_ENTRIES;
	const char *name;
	uint8_t *length;

	if (nests ? !has_room_or_count_level(n) : n->too_deep > 0)
		return;
	length = event_open(x, field);
	name = write_name_iid(x, a);
	if (a->type == SONDA_ARG_PROTO)
		write_proto(x, a);
	else if (!nests)
		write_value(x, a);
	if (name)
		pb_enc_str(x->enc, PB_DEBUG_ANNOTATION_NAME, name);
	if (!nests) {
		event_close(x, length);
		return;
	}
	n->open[n->depth].length = length;
	n->open[n->depth++].is_array = a->type == SONDA_ARG_ARRAY;
}

/* Annotations and fields share the closing elements. So each pass skips the elements of the other
 * kind together with their contents. */
static bool is_annotation(const struct sonda_arg *a)
{
	return a->type > SONDA_ARG_CLOSE && a->type < SONDA_ARG_FIELD_VARINT;
}

static bool arg_is_proto_field(const struct sonda_arg *a)
{
	return a->type >= SONDA_ARG_FIELD_VARINT && a->type < SONDA_ARG_TRACK;
}

/* Returns the last element of a: itself, or the element that closes it. */
static const struct sonda_arg *find_last_element(const struct sonda_arg *a)
{
	unsigned depth = 0;

	for (;; a++) {
		if (a->type == SONDA_ARG_DICT || a->type == SONDA_ARG_ARRAY ||
		    a->type == SONDA_ARG_FIELD_MESSAGE)
			depth++;
		else if (a->type == SONDA_ARG_CLOSE && depth > 0)
			depth--;
		if (depth == 0 || a[1].type == SONDA_ARG_LIST_END)
			return a;
	}
}

void event_write_annotations(struct event_encoder *x, const struct sonda_arg *args)
{
	struct nesting n = {.x = x};

	for (const struct sonda_arg *a = args; a->type != SONDA_ARG_LIST_END; a++) {
		if (a->type == SONDA_ARG_CLOSE)
			close_innermost(&n);
		else if (is_annotation(a))
			write_annotation(&n, a);
		else if (arg_is_proto_field(a))
			a = find_last_element(a);
		/* The name of a type belongs to the element before it. */
		if (a->type == SONDA_ARG_PROTO && a[1].type == SONDA_ARG_INTERNED)
			a++;
	}
	close_all(&n);
}

/* ---- fields by number ---- */

static void write_proto_field(struct nesting *n, const struct sonda_arg *a)
{
	uint32_t number = (uint32_t)a->key.number;
	struct pb_enc *e = n->x->enc;

	if (a->type == SONDA_ARG_FIELD_MESSAGE) {
		if (has_room_or_count_level(n))
			n->open[n->depth++].length = event_open(n->x, number);
		return;
	}
	if (n->too_deep > 0)
		return;
	switch (a->type) {
	case SONDA_ARG_FIELD_VARINT:
		pb_enc_u64(e, number, a->value.u);
		break;
	case SONDA_ARG_FIELD_FIXED64:
		pb_enc_fixed64(e, number, a->value.u);
		break;
	case SONDA_ARG_FIELD_DOUBLE:
		pb_enc_double(e, number, a->value.d);
		break;
	case SONDA_ARG_FIELD_BYTES:
		event_annotations_write_text(e, number, a);
		break;
	}
}

void event_write_fields(struct event_encoder *x, const struct sonda_arg *args)
{
	struct nesting n = {.x = x};

	for (const struct sonda_arg *a = args; a->type != SONDA_ARG_LIST_END; a++) {
		if (a->type == SONDA_ARG_CLOSE)
			close_innermost(&n);
		else if (arg_is_proto_field(a))
			write_proto_field(&n, a);
		else if (is_annotation(a))
			a = find_last_element(a);
	}
	close_all(&n);
}
