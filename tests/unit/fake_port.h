/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <protobuf-c/protobuf-c.h>

#include "base/event_loop/sock.h"
#include "service/ipc/msgsock.h"
#include "unit/proto_text.h"
#include "wire/frame.h"
#include "wire/pb_enc.h"

/*
 * The service's end of a protocol socket, on the same loop as its client: answers the bind and
 * hands each call to the test, which answers what and when it likes. One client at a time.
 */

struct fake_port {
	struct event_base *loop;
	const struct frame_method *methods;
	size_t n_methods;
	bool refuse_bind;
	/* A call came; args live during the call. Answer with fake_reply*, now or later, or
	 * never. */
	void (*on_call)(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
			size_t len);
	void *ctx; /* the test's */
	char calls[1024]; /* names of the methods called, each with a blank behind it */
	unsigned n_identities;
	bool hung_up; /* the client closed its end */
	char dir[64];
	char address[96];
	int listen_fd;
	struct event *accept_event;
	struct msgsock *peer;
};

static inline void fake_send(struct fake_port *p, const void *head, size_t head_len,
			     const void *body, size_t len)
{
	struct iovec v[2] = {{(void *)head, head_len}, {(void *)body, len}};

	if (p->peer)
		msgsock_send(p->peer, v, len ? 2 : 1, -1);
}

static inline void fake_reply(struct fake_port *p, uint64_t id, bool has_more, const void *data,
			      size_t len)
{
	uint8_t head[FRAME_MAX_HEAD];

	fake_send(p, head, frame_put_reply(head, id, true, has_more, len), data, len);
}

static inline void fake_reply_msg(struct fake_port *p, uint64_t id, bool has_more,
				  const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	uint8_t *data = malloc(len + 1);

	assert(data);
	protobuf_c_message_pack(m, data);
	fake_reply(p, id, has_more, data, len);
	free(data);
}

/* The message in protobuf's text format. */
static inline void fake_reply_text(struct fake_port *p, uint64_t id, bool has_more,
				   const ProtobufCMessageDescriptor *type, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
static inline void fake_reply_text(struct fake_port *p, uint64_t id, bool has_more,
				   const ProtobufCMessageDescriptor *type, const char *fmt, ...)
{
	ProtobufCMessage *m;
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	m = proto_parse(type, text);
	fake_reply_msg(p, id, has_more, m);
	protobuf_c_message_free_unpacked(m, NULL);
}

static inline void fake_refuse(struct fake_port *p, uint64_t id)
{
	uint8_t head[FRAME_MAX_HEAD];

	fake_send(p, head, frame_put_reply(head, id, false, false, 0), NULL, 0);
}

/* The service goes away. */
static inline void fake_hang_up(struct fake_port *p)
{
	msgsock_free(p->peer);
	p->peer = NULL;
}

static inline void fake_on_message(void *ctx, const uint8_t *data, size_t len)
{
	struct fake_port *p = ctx;
	struct pb_mem m;
	struct frame f;
	int r;

	r = frame_decode(data, len, &f);
	assert(r == 0);
	if (f.kind == FRAME_BIND_SERVICE) {
		r = pb_mem_init(&m);
		assert(r == 0);
		frame_put_bind_reply(&m.enc, f.request_id, !p->refuse_bind, 1, p->methods,
				     p->refuse_bind ? 0 : p->n_methods);
		fake_send(p, m.buf, pb_mem_len(&m), NULL, 0);
		pb_mem_deinit(&m);
		return;
	}
	if (f.kind == FRAME_SET_PEER_IDENTITY) {
		p->n_identities++;
		return;
	}
	assert(f.kind == FRAME_INVOKE_METHOD);
	for (size_t i = 0; i < p->n_methods; i++)
		if (p->methods[i].id == f.method_id) {
			size_t n = strlen(p->calls);

			snprintf(p->calls + n, sizeof(p->calls) - n, "%s ", p->methods[i].name);
			p->on_call(p, p->methods[i].name, f.request_id, f.payload, f.payload_len);
			return;
		}
	assert(!"a method that was not offered");
}

static inline void fake_on_close(void *ctx, int error)
{
	struct fake_port *p = ctx;

	p->hung_up = true;
	fake_hang_up(p);
}

static const struct msgsock_ops fake_port_ops = {
	.on_message = fake_on_message,
	.on_close = fake_on_close,
};

static inline void fake_on_accept(evutil_socket_t fd, short what, void *ctx)
{
	struct fake_port *p = ctx;
	int peer;

	if (sock_accept(fd, &peer))
		return;
	fake_hang_up(p);
	p->hung_up = false;
	msgsock_new(p->loop, peer, 16u << 20, &fake_port_ops, p, &p->peer);
}

/* Listens on a socket in a directory of its own. The fields above `calls` are the test's to set. */
static inline void fake_port_open(struct fake_port *p, struct event_base *loop)
{
	struct err_text e;
	int r;

	p->loop = loop;
	strcpy(p->dir, "/tmp/fake-port-XXXXXX");
	if (!mkdtemp(p->dir))
		abort();
	snprintf(p->address, sizeof(p->address), "%s/c", p->dir);
	r = sock_listen(p->address, &p->listen_fd, &e);
	assert(r == 0);
	p->accept_event = event_new(loop, p->listen_fd, EV_READ | EV_PERSIST, fake_on_accept, p);
	event_add(p->accept_event, NULL);
}

static inline void fake_port_close(struct fake_port *p)
{
	fake_hang_up(p);
	event_free(p->accept_event);
	close(p->listen_fd);
	unlink(p->address);
	rmdir(p->dir);
}

/* The consumer port's methods. */
static const struct frame_method fake_consumer_methods[] = {
	{1, "EnableTracing"},
	{2, "DisableTracing"},
	{3, "ReadBuffers"},
	{4, "FreeBuffers"},
	{5, "Flush"},
	{6, "StartTracing"},
	{8, "Detach"},
	{9, "Attach"},
	{10, "GetTraceStats"},
	{11, "ObserveEvents"},
	{12, "QueryServiceState"},
	{15, "CloneSession"},
	{13, "QueryCapabilities"},
};
