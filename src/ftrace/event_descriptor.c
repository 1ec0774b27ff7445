// SPDX-License-Identifier: Apache-2.0
/* What a reader that has never heard of an event needs to show its fields by name. */
#include "common/descriptor.pb-c.h"
#include "ftrace/event_descriptor.h"
#include "ftrace/field_kind.h"
#include "gen/fields.h"

static unsigned type_of(enum field_kind kind)
{
	if (field_is_str(kind))
		return PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_STRING;
	if (!field_is_int(kind))
		return PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_BYTES;
	return field_kind_is_signed(kind) ? PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_INT64
					  : PB__FIELD_DESCRIPTOR_PROTO__TYPE__TYPE_UINT64;
}

void event_descriptor_write(struct pb_enc *e, uint32_t number, const char *group, const char *name,
			    const struct field_op *ops, const char *const *field_names,
			    unsigned n_ops)
{
	pb_enc_u64(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, number);
	pb_enc_open(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	pb_enc_str(e, PB_DESCRIPTOR_PROTO_NAME, name);
	for (unsigned i = 0; i < n_ops; i++) {
		pb_enc_open(e, PB_DESCRIPTOR_PROTO_FIELD);
		pb_enc_str(e, PB_FIELD_DESCRIPTOR_PROTO_NAME, field_names[i]);
		pb_enc_u64(e, PB_FIELD_DESCRIPTOR_PROTO_NUMBER, i + 1);
		pb_enc_u64(e, PB_FIELD_DESCRIPTOR_PROTO_TYPE, type_of(ops[i].kind));
		pb_enc_close(e);
	}
	pb_enc_close(e);
	pb_enc_str(e, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME, group);
}
