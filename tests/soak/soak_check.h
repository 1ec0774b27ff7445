/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "soak_packet.h"

/*
 * What holds for every trace of the soak. Of each sequence: one writer; its packets whole, in
 * order, each once; and where one is missing, the next one says so (previous_packet_dropped).
 */

struct soak_seq {
	uint32_t sequence; /* trusted_packet_sequence_id; 0: not seen */
	uint64_t next;
	bool last;
};

struct soak_check {
	const char *what; /* the trace, for complaints */
	struct soak_seq *seqs; /* owned, by id of the producer */
	size_t n_seqs;
	uint64_t packets, gaps, bad;
};

static inline void soak_complain(struct soak_check *c, const struct soak_packet *p, const char *why)
{
	if (c->bad++ < 5)
		printf("# %s: packet %llu of producer %u %s\n", c->what,
		       (unsigned long long)p->number, p->id, why);
}

static inline struct soak_seq *soak_seq_of(struct soak_check *c, uint32_t id)
{
	size_t n = id + 1024;

	if (id >= c->n_seqs) {
		c->seqs = realloc(c->seqs, n * sizeof(*c->seqs));
		if (!c->seqs)
			abort();
		memset(c->seqs + c->n_seqs, 0, (n - c->n_seqs) * sizeof(*c->seqs));
		c->n_seqs = n;
	}
	return &c->seqs[id];
}

static inline void soak_check_numbered(struct soak_check *c, const struct soak_packet *p,
				       uint32_t sequence, bool dropped)
{
	struct soak_seq *s = soak_seq_of(c, p->id);

	if (s->sequence && s->sequence != sequence)
		soak_complain(c, p, "is of a second sequence");
	if (s->last)
		soak_complain(c, p, "comes behind the last one");
	if (p->number < s->next)
		soak_complain(c, p, "comes late, or again");
	if (p->number > s->next && !dropped)
		soak_complain(c, p, "does not say what is missing in front of it");
	c->gaps += p->number > s->next;
	c->packets++;
	*s = (struct soak_seq){.sequence = sequence, .next = p->number + 1, .last = p->last};
}

static inline void soak_check_packet(struct soak_check *c, const uint8_t *data, size_t len)
{
	struct soak_packet p = {0};
	struct pb_field f, content = {0};
	uint32_t sequence = 0;
	bool dropped = false;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == SOAK_PACKET)
			content = f;
		if (f.id == PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID)
			sequence = (uint32_t)f.u64;
		if (f.id == PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED)
			dropped = f.u64 != 0;
	}
	if (!pb_dec_ok(&d))
		soak_complain(c, &p, "(unknown) does not parse");
	if (!content.data)
		return;
	if (!soak_get(content.data, content.len, &p))
		soak_complain(c, &p, "is not what was written");
	else if (!sequence)
		soak_complain(c, &p, "has no sequence");
	else
		soak_check_numbered(c, &p, sequence, dropped);
}

/* A producer that lived as long as the session: all of it is there. */
static inline void soak_check_survivor(struct soak_check *c, uint32_t id)
{
	struct soak_packet p = {.id = id, .number = soak_seq_of(c, id)->next};

	if (!soak_seq_of(c, id)->last)
		soak_complain(c, &p, "and the rest up to the last one are missing");
}
