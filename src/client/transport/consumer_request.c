/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/consumer_request.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "config/unpack.h"

void request_free(struct request *r)
{
	LIST_REMOVE(r, link);
	strbuf_deinit(&r->gathered);
	free(r);
}

void request_retire(struct request *r, const struct connection_reply *reply)
{
	if (reply->has_more)
		r->over = true;
	else
		request_free(r);
}

static void consumer_request_on_reply(void *ctx, const struct connection_reply *reply)
{
	struct request *r = ctx;

	if (r->over)
		request_retire(r, reply);
	else
		r->on_reply(r, reply);
}

struct request *request_new(struct consumer *c,
			    void (*fn)(struct request *r, const struct connection_reply *reply),
			    void *ctx)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->consumer = c;
	r->on_reply = fn;
	r->ctx = ctx;
	LIST_INSERT_HEAD(&c->open, r, link);
	return r;
}

int request_send(struct request *r, const char *method, const void *args, size_t len, int fd)
{
	int error = connection_call(r->consumer->conn, method, args, len, fd,
				    consumer_request_on_reply, r);

	if (error)
		request_free(r);
	return error;
}

int request_send_msg(struct request *r, const char *method, const ProtobufCMessage *args, int fd)
{
	size_t len = protobuf_c_message_get_packed_size(args);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	if (!bytes) {
		request_free(r);
		return -ENOMEM;
	}
	protobuf_c_message_pack(args, bytes);
	return request_send(r, method, bytes, len, fd);
}

void *request_unpack(const ProtobufCMessageDescriptor *type, const struct connection_reply *reply,
		     int *error)
{
	ProtobufCMessage *m;

	*error = reply->error;
	if (*error)
		return NULL;
	if (unpack_untrusted(type, reply->data, reply->len, &m)) {
		*error = -EPROTO;
		return NULL;
	}
	return m;
}

void request_free_message(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}
