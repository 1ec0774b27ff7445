/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame is one message: the request's id, and a sub-message whose field number is its kind. In
 * frames with a payload, the payload is the last field:
 *
 *	| request_id | kind, length | its small fields | payload's tag, length | payload
 *	|<---------------- head, written here -------------------------------->| the caller's bytes
 *
 * Decoding is as tolerant as protobuf: unknown fields, and known ones of another wire type, are
 * skipped. If a frame has several kinds, the last one counts.
 *
 * Format: perfetto.protos.IPCFrame.
 */
#include "wire/frame.h"

#include <errno.h>
#include <string.h>

#include "gen/fields.h"
#include "wire/pb_dec.h"

/* ---- decoding ---- */

/* Combines a field number with its wire type, so that one switch checks both. */
#define VARINT(field) ((uint64_t)(field) << 3 | PB_WIRE_VARINT)
#define BYTES(field) ((uint64_t)(field) << 3 | PB_WIRE_BYTES)

static uint64_t frame_field_key(const struct pb_field *f)
{
	return (uint64_t)f->id << 3 | f->wire_type;
}

static void set_frame_text(struct frame *f, const struct pb_field *field)
{
	f->text = (const char *)field->data;
	f->text_len = field->len;
}

static void set_frame_payload(struct frame *f, const struct pb_field *field)
{
	f->payload = field->data;
	f->payload_len = field->len;
}

static void decode_bind_field(struct frame *f, const struct pb_field *field)
{
	if (frame_field_key(field) == BYTES(PB_IPC_FRAME_BIND_SERVICE_SERVICE_NAME))
		set_frame_text(f, field);
}

static void decode_bind_reply_field(struct frame *f, const struct pb_field *field)
{
	switch (frame_field_key(field)) {
	case VARINT(PB_IPC_FRAME_BIND_SERVICE_REPLY_SUCCESS):
		f->success = field->u64 != 0;
		break;
	case VARINT(PB_IPC_FRAME_BIND_SERVICE_REPLY_SERVICE_ID):
		f->service_id = (uint32_t)field->u64;
		break;
	}
}

static void decode_invoke_field(struct frame *f, const struct pb_field *field)
{
	switch (frame_field_key(field)) {
	case VARINT(PB_IPC_FRAME_INVOKE_METHOD_SERVICE_ID):
		f->service_id = (uint32_t)field->u64;
		break;
	case VARINT(PB_IPC_FRAME_INVOKE_METHOD_METHOD_ID):
		f->method_id = (uint32_t)field->u64;
		break;
	case VARINT(PB_IPC_FRAME_INVOKE_METHOD_DROP_REPLY):
		f->drop_reply = field->u64 != 0;
		break;
	case BYTES(PB_IPC_FRAME_INVOKE_METHOD_ARGS_PROTO):
		set_frame_payload(f, field);
		break;
	}
}

static void decode_reply_field(struct frame *f, const struct pb_field *field)
{
	switch (frame_field_key(field)) {
	case VARINT(PB_IPC_FRAME_INVOKE_METHOD_REPLY_SUCCESS):
		f->success = field->u64 != 0;
		break;
	case VARINT(PB_IPC_FRAME_INVOKE_METHOD_REPLY_HAS_MORE):
		f->has_more = field->u64 != 0;
		break;
	case BYTES(PB_IPC_FRAME_INVOKE_METHOD_REPLY_REPLY_PROTO):
		set_frame_payload(f, field);
		break;
	}
}

static void decode_error_field(struct frame *f, const struct pb_field *field)
{
	if (frame_field_key(field) == BYTES(PB_IPC_FRAME_REQUEST_ERROR_ERROR))
		set_frame_text(f, field);
}

static void ignore_field(struct frame *f, const struct pb_field *field)
{
}

/* The kinds by field number. whole: the payload is the sub-message itself. */
static const struct kind {
	uint32_t field;
	enum frame_kind kind;
	bool whole;
	void (*take)(struct frame *f, const struct pb_field *field);
} kinds[] = {
	{PB_IPC_FRAME_MSG_BIND_SERVICE, FRAME_BIND_SERVICE, false, decode_bind_field},
	{PB_IPC_FRAME_MSG_BIND_SERVICE_REPLY, FRAME_BIND_SERVICE_REPLY, true,
	 decode_bind_reply_field},
	{PB_IPC_FRAME_MSG_INVOKE_METHOD, FRAME_INVOKE_METHOD, false, decode_invoke_field},
	{PB_IPC_FRAME_MSG_INVOKE_METHOD_REPLY, FRAME_INVOKE_METHOD_REPLY, false,
	 decode_reply_field},
	{PB_IPC_FRAME_MSG_REQUEST_ERROR, FRAME_REQUEST_ERROR, false, decode_error_field},
	{PB_IPC_FRAME_SET_PEER_IDENTITY, FRAME_SET_PEER_IDENTITY, true, ignore_field},
};

static const struct kind *frame_kind_of(const struct pb_field *field)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (frame_field_key(field) == BYTES(kinds[i].field))
			return &kinds[i];
	return NULL;
}

/* Decodes the sub-message msg into f, and clears the fields of an earlier sub-message; the request
 * id stays. Returns 0 or -EBADMSG. */
static int decode_frame_of_kind(const struct kind *kind, const struct pb_field *msg,
				struct frame *f)
{
	struct pb_field field;
	struct pb_dec d;

	*f = (struct frame){.kind = kind->kind, .request_id = f->request_id};
	pb_dec_init(&d, msg->data, msg->len);
	while (pb_dec_next(&d, &field))
		kind->take(f, &field);
	if (kind->whole)
		set_frame_payload(f, msg);
	return pb_dec_ok(&d) ? 0 : -EBADMSG;
}

int frame_decode(const uint8_t *data, size_t len, struct frame *ret)
{
	struct frame f = {.kind = FRAME_UNKNOWN};
	const struct kind *kind;
	struct pb_field field;
	struct pb_dec d;
	int r;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &field)) {
		if (frame_field_key(&field) == VARINT(PB_IPC_FRAME_REQUEST_ID)) {
			f.request_id = field.u64;
			continue;
		}
		kind = frame_kind_of(&field);
		r = kind ? decode_frame_of_kind(kind, &field, &f) : 0;
		if (r < 0)
			return r;
	}
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	*ret = f;
	return 0;
}

/* Decodes a method. Returns false if the entry is invalid, or has no id or name. */
static bool decode_method(const struct pb_field *entry, uint32_t *ret_id, const char **ret_name,
			  size_t *ret_len)
{
	struct pb_field field;
	struct pb_dec d;

	*ret_id = 0;
	*ret_len = 0;
	pb_dec_init(&d, entry->data, entry->len);
	while (pb_dec_next(&d, &field)) {
		switch (frame_field_key(&field)) {
		case VARINT(PB_IPC_FRAME_BIND_SERVICE_REPLY_METHOD_INFO_ID):
			*ret_id = (uint32_t)field.u64;
			break;
		case BYTES(PB_IPC_FRAME_BIND_SERVICE_REPLY_METHOD_INFO_NAME):
			*ret_name = (const char *)field.data;
			*ret_len = field.len;
			break;
		}
	}
	return pb_dec_ok(&d) && *ret_id != 0 && *ret_len != 0;
}

bool frame_next_method(const struct frame *f, size_t *pos, uint32_t *ret_id, const char **ret_name,
		       size_t *ret_len)
{
	struct pb_field field;
	struct pb_dec d;
	const char *name = NULL;
	uint32_t id;
	size_t len;

	if (f->kind != FRAME_BIND_SERVICE_REPLY)
		return false;
	pb_dec_init(&d, f->payload + *pos, f->payload_len - *pos);
	while (pb_dec_next(&d, &field)) {
		*pos = (size_t)(d.cur - f->payload);
		if (frame_field_key(&field) != BYTES(PB_IPC_FRAME_BIND_SERVICE_REPLY_METHODS) ||
		    !decode_method(&field, &id, &name, &len))
			continue;
		*ret_id = id;
		*ret_name = name;
		*ret_len = len;
		return true;
	}
	return false;
}

/* ---- heads of frames with a payload ---- */

static uint8_t *put_varint_field(uint8_t *p, uint32_t field, uint64_t v)
{
	return pb_put_varint(pb_put_varint(p, pb_tag(field, PB_WIRE_VARINT)), v);
}

static uint8_t *put_length(uint8_t *p, uint32_t field, size_t len)
{
	return pb_put_varint(pb_put_varint(p, pb_tag(field, PB_WIRE_BYTES)), len);
}

/* Writes the head of a frame. inner: the fields before the payload, then the tag and length of the
 * payload unless it is empty. Returns the size of the head. */
static size_t frame_put_head(uint8_t *buf, uint64_t request_id, uint32_t kind, const uint8_t *inner,
			     size_t inner_len, size_t payload_len)
{
	uint8_t *p = put_varint_field(buf, PB_IPC_FRAME_REQUEST_ID, request_id);

	p = put_length(p, kind, inner_len + payload_len);
	memcpy(p, inner, inner_len);
	return (size_t)(p - buf) + inner_len;
}

size_t frame_put_invoke(uint8_t buf[static FRAME_MAX_HEAD], uint64_t request_id,
			uint32_t service_id, uint32_t method_id, bool drop_reply,
			size_t payload_len)
{
	uint8_t inner[FRAME_MAX_HEAD / 2], *p = inner;

	p = put_varint_field(p, PB_IPC_FRAME_INVOKE_METHOD_SERVICE_ID, service_id);
	p = put_varint_field(p, PB_IPC_FRAME_INVOKE_METHOD_METHOD_ID, method_id);
	if (drop_reply)
		p = put_varint_field(p, PB_IPC_FRAME_INVOKE_METHOD_DROP_REPLY, 1);
	if (payload_len > 0)
		p = put_length(p, PB_IPC_FRAME_INVOKE_METHOD_ARGS_PROTO, payload_len);
	return frame_put_head(buf, request_id, PB_IPC_FRAME_MSG_INVOKE_METHOD, inner,
			      (size_t)(p - inner), payload_len);
}

size_t frame_put_reply(uint8_t buf[static FRAME_MAX_HEAD], uint64_t request_id, bool success,
		       bool has_more, size_t payload_len)
{
	uint8_t inner[FRAME_MAX_HEAD / 2], *p = inner;

	p = put_varint_field(p, PB_IPC_FRAME_INVOKE_METHOD_REPLY_SUCCESS, success);
	p = put_varint_field(p, PB_IPC_FRAME_INVOKE_METHOD_REPLY_HAS_MORE, has_more);
	if (payload_len > 0)
		p = put_length(p, PB_IPC_FRAME_INVOKE_METHOD_REPLY_REPLY_PROTO, payload_len);
	return frame_put_head(buf, request_id, PB_IPC_FRAME_MSG_INVOKE_METHOD_REPLY, inner,
			      (size_t)(p - inner), payload_len);
}
/* inner holds at most two tags with 32-bit varints, one with a bool, one with a 64-bit length. */
_Static_assert(2 * (1 + 5) + 2 + 1 + 10 <= FRAME_MAX_HEAD / 2, "inner");
_Static_assert(1 + 10 + 1 + 10 + FRAME_MAX_HEAD / 2 <= FRAME_MAX_HEAD, "head");

/* ---- whole frames ---- */

void frame_put_bind(struct pb_enc *e, uint64_t request_id, const char *service_name)
{
	pb_enc_u64(e, PB_IPC_FRAME_REQUEST_ID, request_id);
	pb_enc_open(e, PB_IPC_FRAME_MSG_BIND_SERVICE);
	pb_enc_str(e, PB_IPC_FRAME_BIND_SERVICE_SERVICE_NAME, service_name);
	pb_enc_close(e);
}

static void put_method_info(struct pb_enc *e, const struct frame_method *method)
{
	pb_enc_open(e, PB_IPC_FRAME_BIND_SERVICE_REPLY_METHODS);
	pb_enc_u64(e, PB_IPC_FRAME_BIND_SERVICE_REPLY_METHOD_INFO_ID, method->id);
	pb_enc_str(e, PB_IPC_FRAME_BIND_SERVICE_REPLY_METHOD_INFO_NAME, method->name);
	pb_enc_close(e);
}

void frame_put_bind_reply(struct pb_enc *e, uint64_t request_id, bool success, uint32_t service_id,
			  const struct frame_method *methods, size_t n_methods)
{
	pb_enc_u64(e, PB_IPC_FRAME_REQUEST_ID, request_id);
	pb_enc_open(e, PB_IPC_FRAME_MSG_BIND_SERVICE_REPLY);
	if (success) {
		pb_enc_bool(e, PB_IPC_FRAME_BIND_SERVICE_REPLY_SUCCESS, true);
		pb_enc_u64(e, PB_IPC_FRAME_BIND_SERVICE_REPLY_SERVICE_ID, service_id);
		for (size_t i = 0; i < n_methods; i++)
			put_method_info(e, &methods[i]);
	}
	pb_enc_close(e);
}

void frame_put_error(struct pb_enc *e, uint64_t request_id, const char *text)
{
	pb_enc_u64(e, PB_IPC_FRAME_REQUEST_ID, request_id);
	pb_enc_open(e, PB_IPC_FRAME_MSG_REQUEST_ERROR);
	pb_enc_str(e, PB_IPC_FRAME_REQUEST_ERROR_ERROR, text);
	pb_enc_close(e);
}
