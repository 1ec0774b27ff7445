/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"

/*
 * Items of sonda list and sonda describe, as lines for a person or as one JSON array:
 *
 *	mem      Memory: counters of its use ...
 *	    events    vmscan/mm_..., oom/...
 *	    x         int     comment of the field x
 *
 *	[{"kind":"preset","name":"mem","title":"Memory ...","events":["vmscan/mm_...","oom/..."],
 *	  "fields":[{"name":"x","type":"int","comment":"..."}]}]
 *
 * list_out_begin_item() begins an item; the calls until the next one add its values. Text from the
 * kernel and from other processes is made safe to print.
 */

struct list_out {
	bool json;
	bool with_kind; /* text: the kind is printed before the name */
	size_t n; /* items */
	size_t n_fields; /* of the open list of fields */
	struct strbuf text; /* owned; list_out_end empties it */
};

/* Begins an item. title may be NULL. */
void list_out_begin_item(struct list_out *o, const char *kind, const char *name, const char *title);
/* Adds a value; nothing for NULL and "". */
void list_out_add_value(struct list_out *o, const char *key, const char *value);
/* Adds a list of texts; nothing for an empty one. */
void list_out_add_values(struct list_out *o, const char *key, const char *const *values, size_t n);
/* Likewise, each on a line of its own. */
void list_out_add_lines(struct list_out *o, const char *key, const char *const *values, size_t n);

/* Adds a list of fields: list_out_begin_fields, list_out_add_field..., list_out_end_fields. comment
 * may be NULL. */
void list_out_begin_fields(struct list_out *o, const char *key);
void list_out_add_field(struct list_out *o, const char *name, const char *type,
			const char *comment);
void list_out_end_fields(struct list_out *o);

/* Writes everything to standard output and frees it. Returns 0 or -errno. */
int list_out_end(struct list_out *o);
