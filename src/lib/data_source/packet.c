/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/data_source/packet.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/public.h"
#include "wire/pb_enc.h"

_Static_assert(SONDA_PACKET_MAX_DEPTH == PB_MAX_DEPTH, "public");

/* Returns true for invalid field numbers. Such fields are left out, because protobuf's readers
 * would reject the whole message. */
static bool is_invalid_field_number(uint32_t field)
{
	return field == 0 || field >= 1u << 29;
}

static bool is_left_out(const struct sonda_packet *p, uint32_t field)
{
	return p->left_out > 0 || is_invalid_field_number(field);
}

SONDA_PUBLIC void sonda_packet_u64(struct sonda_packet *p, uint32_t field, uint64_t value)
{
	if (!is_left_out(p, field))
		pb_enc_u64(p->enc, field, value);
}

SONDA_PUBLIC void sonda_packet_i64(struct sonda_packet *p, uint32_t field, int64_t value)
{
	if (!is_left_out(p, field))
		pb_enc_i64(p->enc, field, value);
}

SONDA_PUBLIC void sonda_packet_sint(struct sonda_packet *p, uint32_t field, int64_t value)
{
	if (!is_left_out(p, field))
		pb_enc_sint(p->enc, field, value);
}

SONDA_PUBLIC void sonda_packet_bool(struct sonda_packet *p, uint32_t field, bool value)
{
	if (!is_left_out(p, field))
		pb_enc_bool(p->enc, field, value);
}

SONDA_PUBLIC void sonda_packet_double(struct sonda_packet *p, uint32_t field, double value)
{
	if (!is_left_out(p, field))
		pb_enc_double(p->enc, field, value);
}

SONDA_PUBLIC void sonda_packet_float(struct sonda_packet *p, uint32_t field, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	sonda_packet_fixed32(p, field, bits);
}

SONDA_PUBLIC void sonda_packet_fixed32(struct sonda_packet *p, uint32_t field, uint32_t value)
{
	if (!is_left_out(p, field))
		pb_enc_fixed32(p->enc, field, value);
}

SONDA_PUBLIC void sonda_packet_fixed64(struct sonda_packet *p, uint32_t field, uint64_t value)
{
	if (!is_left_out(p, field))
		pb_enc_fixed64(p->enc, field, value);
}

SONDA_PUBLIC void sonda_packet_bytes(struct sonda_packet *p, uint32_t field, const void *data,
				     size_t len)
{
	if (!is_left_out(p, field) && len <= PB_MAX_MESSAGE)
		pb_enc_bytes(p->enc, field, data, len);
}

SONDA_PUBLIC void sonda_packet_str(struct sonda_packet *p, uint32_t field, const char *text)
{
	sonda_packet_bytes(p, field, text, strlen(text));
}

SONDA_PUBLIC void sonda_packet_raw(struct sonda_packet *p, const void *data, size_t len)
{
	if (p->left_out == 0)
		pb_enc_raw(p->enc, data, len);
}

SONDA_PUBLIC void sonda_packet_open(struct sonda_packet *p, uint32_t field)
{
	if (is_left_out(p, field) || p->enc->depth == PB_MAX_DEPTH)
		p->left_out++;
	else
		pb_enc_open(p->enc, field);
}

SONDA_PUBLIC void sonda_packet_close(struct sonda_packet *p)
{
	if (p->left_out > 0)
		p->left_out--;
	else if (p->enc->depth > 0)
		pb_enc_close(p->enc);
}

/* ---- messages in memory ---- */

struct message {
	struct sonda_packet packet;
	struct pb_mem mem;
};

SONDA_PUBLIC struct sonda_packet *sonda_message_new(void)
{
	struct message *m = calloc(1, sizeof(*m));

	if (!m || pb_mem_init(&m->mem) < 0) {
		free(m);
		return NULL;
	}
	m->packet.enc = &m->mem.enc;
	return &m->packet;
}

SONDA_PUBLIC const void *sonda_message_data(struct sonda_packet *p, size_t *ret_len)
{
	struct message *m = container_of(p, struct message, packet);

	while (p->left_out > 0 || m->mem.enc.depth > 0)
		sonda_packet_close(p);
	if (m->mem.failed)
		return NULL;
	*ret_len = pb_mem_len(&m->mem);
	return m->mem.buf;
}

SONDA_PUBLIC void sonda_message_free(struct sonda_packet *p)
{
	struct message *m;

	if (!p)
		return;
	m = container_of(p, struct message, packet);
	pb_mem_deinit(&m->mem);
	free(m);
}
