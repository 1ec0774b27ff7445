/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/msgsock.h"
#include "base/event_loop/sock.h"
#include "client/transport/service_trust.h"
#include "gen/fields.h"
#include "wire/frame.h"
#include "wire/pb_enc.h"
#include "wire/pb_mem.h"

#define CONNECT_WAIT_MS 1000
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* Writes the boot id of this machine. Without it the service identifies the machine by address. */
static void put_hint(struct pb_enc *e)
{
	_cleanup_(closep) int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	char id[64];
	ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof(id));

	while (n > 0 && id[n - 1] == '\n')
		n--;
	if (n > 0)
		pb_enc_bytes(e, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT, id, (size_t)n);
}

static void connection_put_name(struct pb_enc *e)
{
	const char *name = getenv("PERFETTO_MACHINE_NAME");
	struct utsname u;

	if (!(name && name[0]) && uname(&u) == 0)
		name = u.sysname;
	if (name && name[0])
		pb_enc_str(e, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_NAME, name);
}

/*
 * Writes an IPCFrame with SetPeerIdentity: our identity for a remote service, which cannot verify
 * it. The machine is identified by the kernel's boot id. Its name is PERFETTO_MACHINE_NAME of the
 * environment, else uname(2)'s sysname, as in Perfetto's relay.
 */
static void identity_put_frame(struct pb_enc *e)
{
	pb_enc_open(e, PB_IPC_FRAME_SET_PEER_IDENTITY);
	pb_enc_i64(e, PB_IPC_FRAME_SET_PEER_IDENTITY_PID, getpid());
	pb_enc_i64(e, PB_IPC_FRAME_SET_PEER_IDENTITY_UID, (int32_t)geteuid());
	put_hint(e);
	connection_put_name(e);
	pb_enc_close(e);
}

/*
 * One msgsock whose messages are IPCFrames. Frames are matched to open calls by request id only;
 * replies to different calls may interleave. Frames that match no open call (an unknown id, a
 * malformed frame, a kind for hosts only) are skipped, as the protocol requires.
 *
 *	BINDING --bind reply, success--> BOUND --socket ends--> LOST
 *	   |--bind reply, no success / socket ends------------> LOST
 */

#define REQUEST_BIND 1u

enum connection_state { CONNECTION_BINDING, CONNECTION_BOUND, CONNECTION_LOST };

struct connection_method {
	uint32_t id;
	char name[60]; /* longer than all names that we use */
};

struct connection_request {
	TAILQ_ENTRY(connection_request) link;
	uint64_t id;
	connection_reply_fn fn;
	void *ctx;
};

struct connection {
	struct msgsock *sock; /* owned; NULL once lost */
	const struct connection_ops *ops; /* borrowed from the owner for our life */
	void *ctx;
	enum connection_state state;
	uint32_t service_id;
	uint64_t next_id;
	bool *freed; /* set by connection_free() during connection_lost(); else NULL */
	TAILQ_HEAD(request_list, connection_request) open; /* owned, oldest first */
	unsigned n_methods;
	struct connection_method methods[CONNECTION_MAX_METHODS];
};

static const struct connection_method *find_method(const struct connection *c, const char *name)
{
	for (unsigned i = 0; i < c->n_methods; i++)
		if (strcmp(c->methods[i].name, name) == 0)
			return &c->methods[i];
	return NULL;
}

/* Ends every open call, then calls on_lost. A callback may free c. */
static void connection_lost(struct connection *c, int error)
{
	struct connection_reply reply = {.error = -EPIPE};
	struct connection_request *r;
	bool freed = false;

	c->state = CONNECTION_LOST;
	c->n_methods = 0;
	msgsock_free(TAKE_PTR(c->sock));
	c->freed = &freed;
	while ((r = TAILQ_FIRST(&c->open))) {
		connection_reply_fn fn = r->fn;
		void *ctx = r->ctx;

		TAILQ_REMOVE(&c->open, r, link);
		free(r);
		fn(ctx, &reply);
		if (freed)
			return;
	}
	c->freed = NULL;
	c->ops->on_lost(c->ctx, error);
}

static void on_bind_reply(struct connection *c, const struct frame *f)
{
	const char *name;
	size_t pos = 0, len;
	uint32_t id;

	if (!f->success) {
		connection_lost(c, -EPROTO);
		return;
	}
	while (c->n_methods < CONNECTION_MAX_METHODS &&
	       frame_next_method(f, &pos, &id, &name, &len)) {
		struct connection_method *m = &c->methods[c->n_methods];

		if (len >= sizeof(m->name))
			continue;
		m->id = id;
		memcpy(m->name, name, len);
		m->name[len] = '\0';
		c->n_methods++;
	}
	c->service_id = f->service_id;
	c->state = CONNECTION_BOUND;
	c->ops->on_bound(c->ctx);
}

static void connection_on_reply(struct connection *c, const struct frame *f)
{
	bool good = f->kind == FRAME_INVOKE_METHOD_REPLY && f->success;
	struct connection_reply reply = {.error = good ? 0 : -EPROTO};
	struct connection_request *r;
	connection_reply_fn fn;
	void *ctx;

	TAILQ_FOREACH (r, &c->open, link)
		if (r->id == f->request_id)
			break;
	if (!r)
		return;
	if (good) {
		reply.has_more = f->has_more;
		reply.data = f->payload;
		reply.len = f->payload_len;
	}
	fn = r->fn;
	ctx = r->ctx;
	if (!reply.has_more) {
		TAILQ_REMOVE(&c->open, r, link);
		free(r);
	}
	fn(ctx, &reply);
}

static void connection_on_message(void *ctx, const uint8_t *data, size_t len)
{
	struct connection *c = ctx;
	struct frame f;

	if (frame_decode(data, len, &f) < 0)
		return;
	if (c->state == CONNECTION_BINDING) {
		if (f.request_id != REQUEST_BIND)
			return;
		if (f.kind == FRAME_BIND_SERVICE_REPLY)
			on_bind_reply(c, &f);
		else if (f.kind == FRAME_REQUEST_ERROR)
			connection_lost(c, -EPROTO);
	} else if (f.kind == FRAME_INVOKE_METHOD_REPLY || f.kind == FRAME_REQUEST_ERROR) {
		connection_on_reply(c, &f);
	}
}

static void on_close(void *ctx, int error)
{
	connection_lost(ctx, error);
}

static const struct msgsock_ops sock_ops = {.on_message = connection_on_message,
					    .on_close = on_close};

static int send_bind(struct connection *c, const char *service)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	frame_put_bind(&m.enc, REQUEST_BIND, service);
	if (m.failed)
		return -ENOMEM;
	return msgsock_send(c->sock, &(struct iovec){m.buf, pb_mem_len(&m)}, 1, -1);
}

/* Sends our identity: the kernel does not report it over TCP and vsock. */
static int send_identity(struct connection *c)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	identity_put_frame(&m.enc);
	if (m.failed)
		return -ENOMEM;
	return msgsock_send(c->sock, &(struct iovec){m.buf, pb_mem_len(&m)}, 1, -1);
}

static void connection_freep(struct connection **c)
{
	connection_free(*c);
}

static int new_conn(struct event_base *loop, int fd, bool is_remote, const char *service,
		    const struct connection_ops *ops, void *ctx, struct connection **ret)
{
	_cleanup_(connection_freep) struct connection *c = calloc(1, sizeof(*c));
	int r;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->ops = ops;
	c->ctx = ctx;
	c->next_id = REQUEST_BIND + 1;
	TAILQ_INIT(&c->open);
	r = msgsock_new(loop, fd, CONNECTION_SEND_LIMIT, &sock_ops, c, &c->sock);
	if (r < 0) {
		close(fd);
		return r;
	}
	r = is_remote ? send_identity(c) : 0;
	if (r == 0)
		r = send_bind(c, service);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

int connection_new(struct event_base *loop, const char *address, const char *service,
		   const struct connection_ops *ops, void *ctx, struct connection **ret)
{
	int fd, r = sock_connect_within(address, CONNECT_WAIT_MS, &fd);

	if (r < 0)
		return r;
	r = service_trust_check(fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	return new_conn(loop, fd, sock_is_remote(address), service, ops, ctx, ret);
}

void connection_free(struct connection *c)
{
	struct connection_request *r;

	if (!c)
		return;
	if (c->freed)
		*c->freed = true;
	while ((r = TAILQ_FIRST(&c->open))) {
		TAILQ_REMOVE(&c->open, r, link);
		free(r);
	}
	msgsock_free(c->sock);
	free(c);
}

bool connection_has(const struct connection *c, const char *method)
{
	return find_method(c, method) != NULL;
}

int connection_call(struct connection *c, const char *method, const void *args, size_t len, int fd,
		    connection_reply_fn fn, void *ctx)
{
	_cleanup_(freep) struct connection_request *request = NULL;
	const struct connection_method *m = find_method(c, method);
	uint8_t head[FRAME_MAX_HEAD];
	struct iovec pieces[2];
	int r;

	if (c->state == CONNECTION_LOST)
		return -EPIPE;
	if (!m)
		return -ENOSYS;
	if (len > MSGSOCK_MAX_MESSAGE)
		return -EMSGSIZE; /* before the length is written into a frame head */
	if (fn) {
		request = malloc(sizeof(*request));
		if (!request)
			return -ENOMEM;
		*request = (struct connection_request){.id = c->next_id, .fn = fn, .ctx = ctx};
	}
	pieces[0].iov_base = head;
	pieces[0].iov_len = frame_put_invoke(head, c->next_id, c->service_id, m->id, !fn, len);
	pieces[1] = (struct iovec){(void *)args, len};
	r = msgsock_send(c->sock, pieces, len ? 2 : 1, fd);
	if (r < 0)
		return r;
	c->next_id++;
	if (request) {
		TAILQ_INSERT_TAIL(&c->open, request, link);
		request = NULL;
	}
	return 0;
}

int connection_call_msg(struct connection *c, const char *method, const ProtobufCMessage *args,
			connection_reply_fn fn, void *ctx)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	size_t len = protobuf_c_message_get_packed_size(args);

	bytes = malloc(len ? len : 1);
	if (!bytes)
		return -ENOMEM;
	protobuf_c_message_pack(args, bytes);
	return connection_call(c, method, bytes, len, -1, fn, ctx);
}

bool connection_service_is_privileged(const struct connection *c)
{
	return c->sock && service_trust_speaks_for_root(msgsock_fd(c->sock));
}

int connection_take_fd(struct connection *c)
{
	return c->sock ? msgsock_take_fd(c->sock) : -1;
}

size_t connection_queued(const struct connection *c)
{
	return c->sock ? msgsock_queued(c->sock) : 0;
}

int connection_drain(struct connection *c, int timeout_ms)
{
	return c->sock ? msgsock_drain(c->sock, timeout_ms) : -EPIPE;
}
