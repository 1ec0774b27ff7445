/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/*
 * IPCFrame: the envelope of every message on the protocol's sockets. The sender writes the
 * 4-byte length before it. Decoding returns views into the frame. Encoding writes the envelope
 * around a payload that the caller has encoded.
 */

enum frame_kind {
	FRAME_UNKNOWN, /* valid, but of an unknown kind */
	FRAME_BIND_SERVICE,
	FRAME_BIND_SERVICE_REPLY,
	FRAME_INVOKE_METHOD,
	FRAME_INVOKE_METHOD_REPLY,
	FRAME_REQUEST_ERROR,
	FRAME_SET_PEER_IDENTITY,
};

struct frame {
	enum frame_kind kind;
	uint64_t request_id;
	/* bind: name of the service; request error: its text. Not NUL-terminated; may be NULL */
	const char *text;
	size_t text_len;
	/* bind reply, invoke */
	uint32_t service_id;
	uint32_t method_id;
	bool drop_reply;
	/* replies */
	bool success;
	bool has_more;
	/* invoke: the arguments; invoke reply: the reply; bind reply: the whole sub-message, for
	 * frame_next_method; set peer identity: the whole sub-message */
	const uint8_t *payload;
	size_t payload_len;
};

/* Returns 0, or -EBADMSG if the bytes are not an IPCFrame. The views are valid as long as data. */
int frame_decode(const uint8_t *data, size_t len, struct frame *ret);

/* Iterates the methods of a bind reply; *pos starts at 0. Returns false at the end, at an invalid
 * field, or if the frame is of another kind. Entries without a name or with id 0 are skipped. */
bool frame_next_method(const struct frame *f, size_t *pos, uint32_t *ret_id, const char **ret_name,
		       size_t *ret_len);

/* Maximum size of an envelope: the bytes that the functions below write before a payload. */
#define FRAME_MAX_HEAD 64

/* Write the heads of invoke and reply frames: the caller sends head and payload as one message.
 * Each function returns the number of bytes written to buf. The payload is the last field of the
 * innermost message, so nothing follows it. */
size_t frame_put_invoke(uint8_t buf[static FRAME_MAX_HEAD], uint64_t request_id,
			uint32_t service_id, uint32_t method_id, bool drop_reply,
			size_t payload_len);
size_t frame_put_reply(uint8_t buf[static FRAME_MAX_HEAD], uint64_t request_id, bool success,
		       bool has_more, size_t payload_len);

/* Write whole frames. */
void frame_put_bind(struct pb_enc *e, uint64_t request_id, const char *service_name);
struct frame_method {
	uint32_t id;
	const char *name;
};
void frame_put_bind_reply(struct pb_enc *e, uint64_t request_id, bool success, uint32_t service_id,
			  const struct frame_method *methods, size_t n_methods);
void frame_put_error(struct pb_enc *e, uint64_t request_id, const char *text);
