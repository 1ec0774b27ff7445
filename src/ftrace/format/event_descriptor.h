/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/format/event_row.h"
#include "wire/pb_enc.h"

/*
 * Readers take up to 31 fields of an event by descriptor, by the numbers 1 to 31, and complain of
 * others.
 */
#define EVENT_DESCRIPTOR_MAX_FIELDS 31u

struct described_field {
	const char *name;
	const char *suffix; /* of the name; "" is none */
	uint16_t number;
	uint8_t kind; /* enum field_kind */
};

/*
 * Writes the content of a GenericEventDescriptor: the number of the event's field in FtraceEvent,
 * its message as a DescriptorProto, and its group.
 */
void event_descriptor_write(struct pb_enc *e, uint32_t number, const char *group, const char *name,
			    const struct described_field *fields, unsigned n_fields);
