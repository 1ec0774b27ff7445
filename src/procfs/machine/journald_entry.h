/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pb_enc;

/*
 * One line of the journal as a SystemdJournaldEvent, field by field as the journal gives them:
 * "NAME=bytes of any kind". Names: systemd.journal-fields(7).
 *
 * Format: protos/trace/linux/journald_event.proto.
 */

/* Of a longer value the rest is left out. */
#define JOURNALD_VALUE_MAX (64u << 10)

/* Those written so far; zero-initialise for each line. A name may come again: the first counts. */
struct journald_entry {
	uint32_t has; /* bits by field number */
};

/* Adds the field, where it is one of the message. data is foreign: it may have any shape. */
void journald_entry_add(struct journald_entry *entry, struct pb_enc *e, const void *data,
			size_t len);
