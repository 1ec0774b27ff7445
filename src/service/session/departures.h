/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pb_enc;
struct session;
struct source_instance;

/*
 * The data sources that a session lost while it recorded: for each data source of the config, how
 * often a producer went away or unregistered it, the last of them, and when another one took its
 * place. Format: SourceDeparture of protos/common/source_departure.proto.
 */
struct departures {
	struct departure *list; /* owned, by index of the config's data sources; NULL: none */
	size_t n;
};

/* An instance goes away. Counted if it has been started and not stopped. */
void departures_note(struct session *s, const struct source_instance *i);
/* An instance is started: it ends the departure of an earlier one. */
void departures_note_start(struct session *s, const struct source_instance *i);
/* Writes each under this field. */
void departures_put(const struct session *s, uint32_t field, struct pb_enc *e);
/* Gives a clone the list of its source. Both have the same config, so the indexes agree. Returns 0 or
 * -ENOMEM. */
int departures_copy(const struct departures *from, struct departures *to);
void departures_deinit(struct departures *d);
