/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/compiled_event.h"

#include <string.h>

#include "common/descriptor.pb-c.h"
#include "ftrace/format/field_type.h"
#include "gen/fields.h"

/* Describes an event so that readers without a message for it can show its fields by name. */

static unsigned type_of(enum field_type type)
{
	if (field_is_str(type) || field_is_text(type))
		return PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_STRING;
	if (!field_is_int(type))
		return PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BYTES;
	return field_type_is_signed(type) ? PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_INT64
					  : PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_UINT64;
}

static void write_field(struct pb_enc *e, const struct described_field *f)
{
	size_t len = strlen(f->name), suffix_len = strlen(f->suffix);

	pb_enc_open(e, PB_DESCRIPTOR_PROTO_FIELD);
	pb_enc_header(e, PB_FIELD_DESCRIPTOR_PROTO_NAME, len + suffix_len);
	pb_enc_raw(e, f->name, len);
	pb_enc_raw(e, f->suffix, suffix_len);
	pb_enc_u64(e, PB_FIELD_DESCRIPTOR_PROTO_NUMBER, f->number);
	pb_enc_u64(e, PB_FIELD_DESCRIPTOR_PROTO_TYPE, type_of(f->type));
	pb_enc_close(e);
}

void event_descriptor_write(struct pb_enc *e, uint32_t number, const char *group, const char *name,
			    const struct described_field *fields, unsigned n_fields)
{
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, number);
	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	pb_enc_str(e, PB_DESCRIPTOR_PROTO_NAME, name);
	for (unsigned i = 0; i < n_fields; i++)
		write_field(e, &fields[i]);
	pb_enc_close(e);
	pb_enc_str(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME, group);
}
