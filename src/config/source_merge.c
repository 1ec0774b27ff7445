/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf defines the concatenation of two serialized messages: lists are joined, sub-messages are
 * merged, and the second of two numbers wins. The merge starts with that. Then it corrects the
 * lists, flags, periods and sizes of the result.
 */
#include "config/source_merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "config/text_field.h"

typedef ProtobufCMessage message;
typedef ProtobufCFieldDescriptor field;

enum rule {
	RULE_FLAG, /* set if one of the two is set */
	RULE_SHORTER, /* the shorter of two periods; 0 means off */
	RULE_LARGER, /* the larger of two sizes */
	RULE_OTHER, /* the values have no order */
};

static enum rule find_field_rule(const field *f)
{
	if (f->type == PROTOBUF_C_TYPE_BOOL)
		return RULE_FLAG;
	if (f->type != PROTOBUF_C_TYPE_UINT32)
		return RULE_OTHER;
	if (str_ends(f->name, "_period_ms") || str_ends(f->name, "_poll_ms") ||
	    str_ends(f->name, "_ttl_ms") || !strcmp(f->name, "period_ms"))
		return RULE_SHORTER;
	return str_ends(f->name, "_size_kb") ? RULE_LARGER : RULE_OTHER;
}

static const message *get_submessage(const message *m, const field *f)
{
	return text_field_count(m, f) ? *(message *const *)text_field_get(m, f, 0) : NULL;
}

/* ---- values ---- */

static bool is_same_message(const message *a, const message *b)
{
	size_t len = protobuf_c_message_get_packed_size(a);
	_cleanup_(freep) uint8_t *of_a = malloc(2 * len + 1);

	if (!of_a || protobuf_c_message_get_packed_size(b) != len)
		return false;
	protobuf_c_message_pack(a, of_a);
	protobuf_c_message_pack(b, of_a + len);
	return !memcmp(of_a, of_a + len, len);
}

static bool field_values_are_equal(const field *f, const void *a, const void *b)
{
	const ProtobufCBinaryData *x = a, *y = b;

	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		return !strcmp(*(const char *const *)a, *(const char *const *)b);
	case PROTOBUF_C_TYPE_MESSAGE:
		return is_same_message(*(message *const *)a, *(message *const *)b);
	case PROTOBUF_C_TYPE_BYTES:
		return x->len == y->len && !memcmp(x->data, y->data, x->len);
	default:
		return !memcmp(a, b, text_field_size(f));
	}
}

/* ---- whether two messages can be merged without a loss ---- */

/* Returns true if the message enables the data that the list restricts: "vmstat_counters" has an
 * effect only with "vmstat_period_ms". */
static bool enables_data_of_list(const message *m, const field *list)
{
	size_t stem = strlen(list->name);
	char period[64];
	const field *f;

	if (str_ends(list->name, "_counters"))
		stem -= strlen("_counters");
	snprintf(period, sizeof(period), "%.*s_period_ms", (int)stem, list->name);
	f = protobuf_c_message_descriptor_get_field_by_name(m->descriptor, period);
	return !f || (text_field_count(m, f) && *(const uint32_t *)text_field_get(m, f, 0));
}

static bool lists_can_merge(const message *a, const message *b, const field *f)
{
	size_t in_a = text_field_count(a, f), in_b = text_field_count(b, f);

	if (!in_a == !in_b)
		return true;
	return !enables_data_of_list(in_a ? b : a, f);
}

static uint32_t get_number(const message *m, const field *f)
{
	return text_field_count(m, f) ? *(const uint32_t *)text_field_get(m, f, 0) : 0;
}

static bool numbers_can_merge(const message *a, const message *b, const field *f)
{
	bool in_a = text_field_count(a, f), in_b = text_field_count(b, f);
	enum rule rule = find_field_rule(f);

	if (!in_a && !in_b)
		return true;
	if (!strcmp(f->name, "target_buffer"))
		return get_number(a, f) == get_number(b, f);
	if (in_a && in_b &&
	    field_values_are_equal(f, text_field_get(a, f, 0), text_field_get(b, f, 0)))
		return true;
	if (rule == RULE_FLAG)
		return true;
	/* "period_ms" has a default; the other periods are off where they are not set. */
	return rule == RULE_SHORTER && ((in_a && in_b) || strcmp(f->name, "period_ms") != 0);
}

static bool messages_can_merge(const message *a, const message *b)
{
	bool fit = !a->n_unknown_fields && !b->n_unknown_fields;

	for (unsigned i = 0; i < a->descriptor->n_fields && fit; i++) {
		const field *f = &a->descriptor->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			fit = lists_can_merge(a, b, f);
		else if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			fit = numbers_can_merge(a, b, f);
		else if (get_submessage(a, f) && get_submessage(b, f))
			fit = messages_can_merge(get_submessage(a, f), get_submessage(b, f));
		else
			fit = !get_submessage(a, f) && !get_submessage(b, f);
	}
	return fit;
}

/* ---- the merged message ---- */

static void free_field_value(const field *f, void *value)
{
	if (f->type == PROTOBUF_C_TYPE_STRING)
		free(*(char **)value);
	else if (f->type == PROTOBUF_C_TYPE_BYTES)
		free(((ProtobufCBinaryData *)value)->data);
	else if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		protobuf_c_message_free_unpacked(*(message **)value, NULL);
}

/* Keeps the first of equal values in the list, and frees the others. */
static void remove_duplicates(message *m, const field *f)
{
	size_t *n = (size_t *)((char *)m + f->quantifier_offset), kept = 0;
	char *array = *(char **)((char *)m + f->offset);
	size_t size = *n > 1 ? (size_t)((const char *)text_field_get(m, f, 1) - array) : 0;

	if (*n < 2)
		return;
	for (size_t i = 0; i < *n; i++) {
		size_t k = 0;

		while (k < kept && !field_values_are_equal(f, array + k * size, array + i * size))
			k++;
		if (k < kept)
			free_field_value(f, array + i * size);
		else
			memmove(array + kept++ * size, array + i * size, size);
	}
	*n = kept;
}

/* Applies the field's rule to a number of the result, where protobuf has taken that of b. */
static void apply_rule(message *result, const message *a, const message *b, const field *f)
{
	void *to = (void *)text_field_get(result, f, 0);
	const void *of_a = text_field_get(a, f, 0), *of_b = text_field_get(b, f, 0);
	uint32_t x, y;

	if (!text_field_count(a, f) || !text_field_count(b, f))
		return;
	if (find_field_rule(f) == RULE_FLAG) {
		*(protobuf_c_boolean *)to =
			*(const protobuf_c_boolean *)of_a || *(const protobuf_c_boolean *)of_b;
		return;
	}
	if (find_field_rule(f) == RULE_OTHER)
		return;
	x = *(const uint32_t *)of_a;
	y = *(const uint32_t *)of_b;
	if (find_field_rule(f) == RULE_LARGER || !x || !y)
		*(uint32_t *)to = MAX(x, y);
	else
		*(uint32_t *)to = MIN(x, y);
}

static void apply_rules(message *result, const message *a, const message *b)
{
	for (unsigned i = 0; i < result->descriptor->n_fields; i++) {
		const field *f = &result->descriptor->fields[i];

		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			remove_duplicates(result, f);
		else if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			apply_rule(result, a, b, f);
		else if (get_submessage(a, f) && get_submessage(b, f))
			apply_rules((message *)get_submessage(result, f), get_submessage(a, f),
				    get_submessage(b, f));
	}
}

/* Returns a new message from the bytes of a followed by those of b (may be NULL); NULL if memory
 * runs out. */
static message *concatenate_messages(const message *a, const message *b)
{
	size_t of_a = protobuf_c_message_get_packed_size(a);
	size_t of_b = b ? protobuf_c_message_get_packed_size(b) : 0;
	_cleanup_(freep) uint8_t *bytes = malloc(of_a + of_b + 1);

	if (!bytes)
		return NULL;
	protobuf_c_message_pack(a, bytes);
	if (b)
		protobuf_c_message_pack(b, bytes + of_a);
	return protobuf_c_message_unpack(a->descriptor, NULL, of_a + of_b, bytes);
}

/* ---- data sources ---- */

static bool source_merge_has_name(const Pb__TraceConfig__DataSource *s, const char *name)
{
	return s->config && s->config->name && !strcmp(s->config->name, name);
}

Pb__DataSourceConfig *config_find_ftrace(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (source_merge_has_name(config->data_sources[i], "linux.ftrace") &&
		    (!c->ftrace_config ||
		     (!c->ftrace_config->instance_name && !c->ftrace_config->kept_instance)))
			return c;
	}
	return NULL;
}

/* Returns the pointer in config to the data source that `added` can be merged with, or NULL. */
static Pb__DataSourceConfig **find_merge_target(Pb__TraceConfig *config,
						const Pb__DataSourceConfig *added)
{
	const Pb__DataSourceConfig *ftrace = config_find_ftrace(config);

	for (size_t i = 0; i < config->n_data_sources; i++) {
		Pb__TraceConfig__DataSource *s = config->data_sources[i];

		if (!source_merge_has_name(s, added->name) || s->n_producer_name_filter ||
		    s->n_producer_name_regex_filter || s->n_machine_name_filter)
			continue;
		if (s->config == ftrace || messages_can_merge(&s->config->base, &added->base))
			return &s->config;
	}
	return NULL;
}

static int source_merge_append(Pb__TraceConfig *config, Pb__DataSourceConfig *source)
{
	Pb__TraceConfig__DataSource *s = malloc(sizeof(*s)), **longer;

	longer = s ? realloc(config->data_sources, (config->n_data_sources + 1) * sizeof(*longer))
		   : NULL;
	if (!longer) {
		free(s);
		return -ENOMEM;
	}
	pb__trace_config__data_source__init(s);
	s->config = source;
	config->data_sources = longer;
	longer[config->n_data_sources++] = s;
	return 0;
}

static int merge_into_source(Pb__DataSourceConfig **slot, Pb__DataSourceConfig *added)
{
	Pb__DataSourceConfig *old = *slot;
	message *both;

	/* linux.ftrace keeps the buffer that it has in the config. */
	added->has_target_buffer = false;
	both = concatenate_messages(&old->base, &added->base);
	if (!both)
		return -ENOMEM;
	apply_rules(both, &old->base, &added->base);
	pb__data_source_config__free_unpacked(old, NULL);
	*slot = (Pb__DataSourceConfig *)both;
	return 0;
}

int config_add_source(Pb__TraceConfig *config, const Pb__DataSourceConfig *source, uint32_t buffer)
{
	Pb__DataSourceConfig *added =
		(Pb__DataSourceConfig *)concatenate_messages(&source->base, NULL);
	Pb__DataSourceConfig **slot;
	int r;

	if (!added)
		return -ENOMEM;
	added->has_target_buffer = buffer != 0;
	added->target_buffer = buffer;
	slot = find_merge_target(config, added);
	r = slot ? merge_into_source(slot, added) : source_merge_append(config, added);
	if (slot || r)
		pb__data_source_config__free_unpacked(added, NULL);
	return r;
}
