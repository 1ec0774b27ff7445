/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/core/clock.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * The packets of the soak: TracePacket.for_testing with who wrote it, its number in this sequence,
 * whether it is the last one, and a text that follows from both. A producer has one sequence in a
 * session, and no two producers of a run have the same id.
 */

#define SOAK_SOURCE "sonda.test.soak"
#define SOAK_PACKET 900 /* for_testing, of which we have no message */
#define SOAK_ID 2
#define SOAK_NUMBER 3
#define SOAK_LAST 4
#define SOAK_PAYLOAD 5
#define SOAK_TEXT 1 /* of the payload */
#define SOAK_MAX_TEXT (48u << 10)

struct soak_packet {
	uint32_t id;
	uint64_t number;
	bool last;
};

/* Most are small; some go over several chunks. */
static inline size_t soak_text_len(const struct soak_packet *p)
{
	uint64_t mixed = (p->id * 0x9e3779b97f4a7c15ull) ^ (p->number * 0x2545f4914f6cdd1dull);

	mixed ^= mixed >> 29;
	return mixed % 200 == 0 ? mixed / 200 % SOAK_MAX_TEXT : mixed % 600;
}

static inline char soak_char(const struct soak_packet *p)
{
	return (char)('a' + (p->id * 7 + p->number) % 26);
}

/* A packet with `len` bytes of its text; its message is left open. */
static inline void soak_put(struct pb_enc *e, const struct soak_packet *p, size_t len)
{
	char text[1024];

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, SOAK_PACKET);
	pb_enc_u64(e, SOAK_ID, p->id);
	pb_enc_u64(e, SOAK_NUMBER, p->number);
	pb_enc_bool(e, SOAK_LAST, p->last);
	memset(text, soak_char(p), sizeof(text));
	while (len > 0) {
		size_t n = len < sizeof(text) ? len : sizeof(text);

		pb_enc_open(e, SOAK_PAYLOAD);
		pb_enc_bytes(e, SOAK_TEXT, text, n);
		pb_enc_close(e);
		len -= n;
	}
}

/* False where it is not what soak_put wrote, to the last byte of its text. */
static inline bool soak_get(const uint8_t *data, size_t len, struct soak_packet *ret)
{
	struct soak_packet p = {0};
	struct pb_field f, text;
	struct pb_dec d, in;
	size_t got = 0;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == SOAK_ID)
			p.id = (uint32_t)f.u64;
		if (f.id == SOAK_NUMBER)
			p.number = f.u64;
		if (f.id == SOAK_LAST)
			p.last = f.u64;
		if (f.id != SOAK_PAYLOAD)
			continue;
		pb_dec_init(&in, f.data, f.len);
		if (!pb_dec_next(&in, &text) || text.id != SOAK_TEXT)
			return false;
		for (size_t i = 0; i < text.len; i++)
			if (text.data[i] != (uint8_t)soak_char(&p))
				return false;
		got += text.len;
	}
	*ret = p;
	return pb_dec_ok(&d) && got == soak_text_len(&p);
}
