/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#include "base/core/err.h"
#include "cli/record/record_options.h"
#include "cli/terminal/event_patterns.h"
#include "config/ftrace/ftrace_config.pb-c.h"

/*
 * Parts of a message that is built in place. Each part is allocated separately, as protobuf-c does
 * when it unpacks a message, and protobuf-c frees it. The message is valid at every step, so the
 * error path frees it like any other.
 */

/* Appends an element to a repeated message field, which owns it. list: the address of the field.
 * Returns NULL if memory runs out. */
void *message_add_submessage(size_t *n, void *list, const ProtobufCMessageDescriptor *type);

/* Set a string field that is not set, and append to a repeated one. Return 0 or -ENOMEM. */
int message_set_string(char **field, const char *s);
int message_add_string(size_t *n, char ***list, const char *s);

/*
 * Converts the options about kernel events to the config of linux.ftrace. events and presets
 * may be NULL. The functions return 0, -EINVAL and set e, or -ENOMEM.
 */

/* Replaces the events of f with those that f and the words select together. Words with '!' that
 * exclude nothing are added to ret_idle. */
int record_ftrace_put_events(const struct record_options *o, const struct tracefs_events *events,
			     struct presets *presets, struct event_requests *ret_idle,
			     Pb__FtraceConfig *f, struct err_text *e);

/* Adds filters and triggers of the words, and options that create events. */
int record_ftrace_put_options(const struct record_options *o, const struct tracefs_events *events,
			      struct presets *presets, Pb__FtraceConfig *f, struct err_text *e);
/* Adds the options of the rings, including -C. */
int record_ftrace_put_rings(const struct record_options *o, Pb__FtraceConfig *f);
/* Replaces the names of functions in f->uprobe_events with their offsets. */
int record_ftrace_find_probes(const struct record_options *o, Pb__FtraceConfig *f,
			      struct err_text *e);
