/* SPDX-License-Identifier: Apache-2.0 */
/* The texts and locations of an event, as ids of its sequence, and the definitions of new ids. */
#include "gen/fields.h"
#include "lib/track_event/event.h"

static struct event_definition *definition_add(struct event_encoder *x, enum intern_field field,
					       uint32_t id)
{
	struct event_definition *d = &x->definitions[x->n_definitions];
	uint32_t iid;

	if (x->small || x->n_definitions == EVENT_DEFINITIONS)
		return NULL;
	iid = intern_map_add(&x->sequence->maps[field], id);
	if (!iid)
		return NULL;
	x->n_definitions++;
	*d = (struct event_definition){.field = (uint8_t)field, .iid = iid};
	return d;
}

uint32_t event_define(struct event_encoder *x, enum intern_field field, uint32_t id,
		      const char *text)
{
	struct event_definition *d = definition_add(x, field, id);

	if (!d)
		return 0;
	d->text = text;
	d->len = (uint32_t)strlen(text);
	return d->iid;
}

uint32_t event_intern_location(struct event_encoder *x, struct sonda_location *l)
{
	uint32_t id = location_id(l);
	uint32_t iid = intern_map_find(&x->sequence->maps[INTERN_LOCATION], id);
	struct event_definition *d;

	if (iid)
		return iid;
	d = definition_add(x, INTERN_LOCATION, id);
	if (!d)
		return 0;
	d->location = l;
	return d->iid;
}

uint32_t event_define_log_body(struct event_encoder *x, const struct sonda_arg *a)
{
	if (x->n_definitions == EVENT_DEFINITIONS)
		return 0;
	x->definitions[x->n_definitions++] = (struct event_definition){
		.field = INTERN_LOG_BODY,
		.iid = ++x->sequence->last_log_body,
		.text = a->value.p,
		.len = (uint32_t)event_text_len(a),
	};
	return x->sequence->last_log_body;
}

static void definition_write_location(struct pb_enc *e, const struct sonda_location *l)
{
	if (l->file)
		pb_enc_str(e, PB_SOURCE_LOCATION_FILE_NAME, l->file);
	if (l->function)
		pb_enc_str(e, PB_SOURCE_LOCATION_FUNCTION_NAME, l->function);
	pb_enc_u64(e, PB_SOURCE_LOCATION_LINE_NUMBER, l->line);
}

static void definition_write(struct pb_enc *e, const struct event_definition *d)
{
	static const uint32_t fields[INTERN_FIELDS] = {
		[INTERN_CATEGORY] = PB_INTERNED_DATA_EVENT_CATEGORIES,
		[INTERN_NAME] = PB_INTERNED_DATA_EVENT_NAMES,
		[INTERN_ANNOTATION] = PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
		[INTERN_LOCATION] = PB_INTERNED_DATA_SOURCE_LOCATIONS,
		[INTERN_TYPE_NAME] = PB_INTERNED_DATA_DEBUG_ANNOTATION_VALUE_TYPE_NAMES,
		[INTERN_VALUE] = PB_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES,
		[INTERN_LOG_BODY] = PB_INTERNED_DATA_LOG_MESSAGE_BODY,
	};

	pb_enc_open(e, fields[d->field]);
	/* In all these messages field 1 is the id, and field 2 the text, if there is one. */
	pb_enc_u64(e, PB_INTERNED_STRING_IID, d->iid);
	if (d->location)
		definition_write_location(e, d->location);
	else
		pb_enc_bytes(e, PB_INTERNED_STRING_STR, d->text, d->len);
	pb_enc_close(e);
}

void event_write_definitions(struct event_encoder *x)
{
	if (x->n_definitions == 0)
		return;
	pb_enc_open(x->enc, PB_TRACE_PACKET_INTERNED_DATA);
	for (int i = 0; i < x->n_definitions; i++)
		definition_write(x->enc, &x->definitions[i]);
	pb_enc_close(x->enc);
}
