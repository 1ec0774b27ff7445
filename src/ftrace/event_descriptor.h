/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/event_row.h"
#include "wire/pb_enc.h"

/*
 * Writes the content of a GenericEventDescriptor: the number of the event's field in FtraceEvent,
 * its message as a DescriptorProto (fields 1..n_ops in order), and its group.
 */
void event_descriptor_write(struct pb_enc *e, uint32_t number, const char *group, const char *name,
			    const struct field_op *ops, const char *const *field_names,
			    unsigned n_ops);
