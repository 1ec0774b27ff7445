/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"
#include "config/data_source_config.pb-c.h"

/*
 * Triggers that an entry of the journal fires (SystemdJournaldConfig.triggers). The fields of an
 * entry are added one by one, then the entry is ended:
 *
 *	journald_triggers_add_field ... --> journald_triggers_end_entry
 */
struct journald_triggers;

#define JOURNALD_TRIGGERS_MAX 32u
#define JOURNALD_TRIGGER_PAUSE_NS 1000000000ull /* between two firings of a trigger */
#define JOURNALD_TEXT_MAX 2048u /* bytes of a message that an expression is matched with */

/* Compiles the triggers of the config. Leaves out those that are not valid, and appends a sentence
 * to errors for the first of them. *ret is NULL if none is left. Returns 0 or -ENOMEM. */
int journald_triggers_new(const Pb__SystemdJournaldConfig *c, struct strbuf *errors,
			  struct journald_triggers **ret);
/* No-op for NULL. */
void journald_triggers_free(struct journald_triggers *t);

/* Adds a field, "NAME=value": untrusted bytes, borrowed during the call. */
void journald_triggers_add_field(struct journald_triggers *t, const void *data, size_t len);
/* Ends the entry. Returns how many triggers it fires, and their names, which are borrowed until the
 * next call. */
size_t journald_triggers_end_entry(struct journald_triggers *t, uint64_t now_ns,
				   const char *const **ret_names);
