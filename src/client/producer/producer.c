/* SPDX-License-Identifier: Apache-2.0 */
#include "client/producer/producer.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "client/producer/producer_commands.h"
#include "client/producer/relay_client.h"
#include "client/transport/service_trust.h"
#include "config/limits.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "ipc/producer_port.pb-c.h"
#include "wire/pb_mem.h"

/*
 * A producer keeps one connection at a time. Everything that belongs to a connection (conn,
 * arbiter, instances) is created when the service is bound and freed with it; nothing is carried
 * over.
 *
 *	        connect               bind, InitializeConnection       its reply, SetupTracing...
 *	WAITING --------> CONNECTING ------------------------> BOUND --------------------> BOUND
 *	   ^   retry timer,   |  refused                         |  registered: on_connected
 *	   |   inotify        v                                  v
 *	   +--------------- tear_down: stop and destroy instances, arbiter, conn
 *
 * The wait starts at 100 ms and doubles up to 30 s. It starts at 100 ms again when a service has
 * accepted InitializeConnection, and when a file appears at the socket's path (socket_watch).
 */

#define SERVICE "ProducerPort"
#define RETRY_MIN_MS 100u
#define RETRY_MAX_MS 30000u
/* The service's socket may belong to another user and be closed to others. */
#define CONNECT_CAPABILITIES (1ull << CAP_DAC_OVERRIDE)
/* How long producer_free() waits for an empty send queue, before and after the last commit. */
#define FAREWELL_MS 500

#define SCRAPING(mode)                                                                             \
	PB__INITIALIZE_CONNECTION_REQUEST__PRODUCER_SMBSCRAPING_MODE__SMB_SCRAPING_##mode

/* ---- socket_watch: reports that a socket may have appeared at a path ---- */

/*
 * One inotify descriptor watches the directory of the path. A service binds (the file appears),
 * changes the mode, then listens. A connect() in between is refused, so the caller retries soon.
 */

#define WATCHED (IN_CREATE | IN_MOVED_TO | IN_ATTRIB)

struct socket_watch {
	int fd;
	struct event *readable; /* owned */
	void (*fn)(void *ctx);
	void *ctx;
	char name[NAME_MAX + 1]; /* last part of the path */
};

/* Reads all pending events. Returns true if one of them names our file. */
static bool read_events(struct socket_watch *w)
{
	union {
		struct inotify_event align;
		char bytes[4096];
	} buf;
	bool hit = false;
	ssize_t n;

	while ((n = read(w->fd, &buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(buf.bytes + at);

			hit = hit || (e->len > 0 && strcmp(e->name, w->name) == 0);
			at += (ssize_t)sizeof(*e) + e->len;
		}
	}
	return hit;
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct socket_watch *w = ctx;

	(void)fd, (void)what;
	if (read_events(w))
		w->fn(w->ctx);
}

/* Splits a path into its directory ("." for a bare name) and its last part. */
static int split(const char *path, char dir[static PATH_MAX], char name[static NAME_MAX + 1])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t dir_len = slash ? MAX((size_t)(slash - path), 1u) : 1;

	if (!*base)
		return -EINVAL;
	if (dir_len >= PATH_MAX || strlen(base) > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(dir, slash ? path : ".", dir_len);
	dir[dir_len] = '\0';
	strcpy(name, base);
	return 0;
}

static int start_watch(struct socket_watch *w, struct event_base *loop, const char *path)
{
	char dir[PATH_MAX];
	int r = split(path, dir, w->name);

	if (r < 0)
		return r;
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0 || inotify_add_watch(w->fd, dir, WATCHED | IN_ONLYDIR) < 0)
		return -errno;
	w->readable = event_new(loop, w->fd, EV_READ | EV_PERSIST, on_readable, w);
	if (!w->readable || event_add(w->readable, NULL) < 0)
		return -ENOMEM;
	return 0;
}

/* No-op for NULL. fn may call it. */
static void socket_watch_free(struct socket_watch *w)
{
	if (!w)
		return;
	event_freep(&w->readable);
	closep(&w->fd);
	free(w);
}

/*
 * Calls fn, from the loop, each time a file of this path is created, moved there or changes its
 * mode. Returns 0, or -errno of inotify(7) (-ENOENT: the directory does not exist).
 */
static int socket_watch_new(struct event_base *loop, const char *path, void (*fn)(void *ctx),
			    void *ctx, struct socket_watch **ret)
{
	struct socket_watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	*w = (struct socket_watch){.fd = -1, .fn = fn, .ctx = ctx};
	r = start_watch(w, loop, path);
	if (r < 0) {
		socket_watch_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

/* ---- waiting ---- */

static void try_connect(struct producer *p);

static void on_retry(evutil_socket_t fd, short what, void *ctx)
{
	struct producer *p = ctx;

	(void)fd, (void)what;
	/* Connected, but not bound: the listener hangs, or is not a tracing service. */
	if (p->conn && p->reported_error != -ETIMEDOUT) {
		p->reported_error = -ETIMEDOUT;
		producer_report(p, "the listener on %s does not answer; waiting for it",
				p->o.socket);
	}
	try_connect(p);
}

static void on_socket_appears(void *ctx)
{
	struct producer *p = ctx;

	p->retry_ms = RETRY_MIN_MS;
	try_connect(p);
}

static void wait_for_service(struct producer *p)
{
	const struct timeval wait = {.tv_sec = p->retry_ms / 1000,
				     .tv_usec = (long)(p->retry_ms % 1000) * 1000};

	/* Start the watch before the next attempt, so that no change is missed. If the watch fails
	 * (the directory is missing, for example), only the retries remain. */
	if (!p->watch && sock_family_of(p->o.socket) == SOCK_FAMILY_UNIX_PATH)
		(void)socket_watch_new(p->o.env.loop, p->o.socket, on_socket_appears, p, &p->watch);
	evtimer_add(p->retry, &wait);
	p->retry_ms = MIN(p->retry_ms * 2, RETRY_MAX_MS);
}

/* Destroys everything that runs on the connection, then the connection. */
static void tear_down(struct producer *p)
{
	instance_table_free(TAKE_PTR(p->instances));
	event_freep(&p->commit);
	arbiter_free(TAKE_PTR(p->arbiter));
	connection_free(TAKE_PTR(p->conn));
	relay_client_free(TAKE_PTR(p->relay));
	p->o.env.arbiter = NULL;
}

static void give_up(struct producer *p)
{
	bool connected = p->connected;

	p->connected = false;
	if (p->arbiter)
		arbiter_detach(p->arbiter); /* writers must not wait for this service any more */
	tear_down(p);
	wait_for_service(p);
	if (connected && p->o.on_disconnected)
		p->o.on_disconnected(p->o.ctx);
}

/* ---- introduction ---- */

static void on_synced(void *ctx, const struct connection_reply *reply)
{
	struct producer *p = ctx;

	/* A service that does not support Sync has still read all earlier requests. */
	if (reply->error == -EPIPE)
		return;
	p->connected = true;
	if (p->o.on_connected)
		p->o.on_connected(p->o.ctx);
}

static void on_registered(void *ctx, const struct connection_reply *reply)
{
	if (reply->error == -EPROTO)
		producer_report(ctx, "the service refuses one of our data sources");
}

static void put_descriptor(struct pb_enc *e, const struct data_source *source)
{
	pb_enc_open(e, PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR);
	pb_enc_str(e, PB_DATA_SOURCE_DESCRIPTOR_NAME, source->name);
	pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_STOP, true);
	pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_START, true);
	if (source->handles_incremental_state_clear)
		pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR, true);
	if (source->describe)
		source->describe(e);
	pb_enc_close(e);
}

/* Registers every source, then sends Sync. Its reply shows that the service has read all requests
 * before it. */
static int register_sources(struct producer *p)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	for (const struct data_source *const *s = p->o.sources; r == 0 && *s; s++) {
		pb_mem_reset(&m);
		put_descriptor(&m.enc, *s);
		r = m.failed ? -ENOMEM
			     : connection_call(p->conn, "RegisterDataSource", m.buf, pb_mem_len(&m),
					       -1, on_registered, p);
	}
	if (r == 0)
		r = connection_call(p->conn, "Sync", NULL, 0, -1, on_synced, p);
	if (r == -ENOSYS && connection_has(p->conn, "RegisterDataSource")) {
		on_synced(p, &(struct connection_reply){.error = 0});
		r = 0;
	}
	return r;
}

static int on_welcome(struct producer *p, const Pb__InitializeConnectionResponse *m)
{
	p->emulated = m->use_shmem_emulation;
	p->o.env.knows_consumers =
		m->sets_consumer_uid && connection_service_is_privileged(p->conn);
	/* Best effort: without the relay client the service takes our time stamps as its own. If a
	 * relay of this machine is between us and the service, the relay does this instead. */
	if (sock_is_remote(p->o.socket) && !p->relay)
		(void)relay_client_new(p->o.env.loop, p->o.socket, &p->relay);
	p->retry_ms = RETRY_MIN_MS;
	p->reported_error = 0;
	arbiter_patch_in_place(p->arbiter, m->direct_smb_patching_supported);
	return register_sources(p);
}

static void on_initialized(void *ctx, const struct connection_reply *reply)
{
	struct producer *p = ctx;
	ProtobufCMessage *m;
	int r = reply->error;

	if (r == -EPIPE)
		return;
	if (r == 0)
		r = unpack_untrusted(&pb__initialize_connection_response__descriptor, reply->data,
				     reply->len, &m);
	if (r < 0) {
		producer_report(p, "the service on %s refuses us as a producer", p->o.socket);
		give_up(p);
		return;
	}
	r = on_welcome(p, (Pb__InitializeConnectionResponse *)m);
	protobuf_c_message_free_unpacked(m, NULL);
	if (r < 0)
		give_up(p);
}

static void on_command(void *ctx, const struct connection_reply *reply)
{
	if (!producer_run_command(ctx, reply))
		give_up(ctx);
}

static int introduce(struct producer *p)
{
	Pb__InitializeConnectionRequest m = PB__INITIALIZE_CONNECTION_REQUEST__INIT;
	int r;

	m.has_shared_memory_page_size_hint_bytes = m.has_shared_memory_size_hint_bytes = true;
	m.shared_memory_page_size_hint_bytes = p->o.page_size;
	m.shared_memory_size_hint_bytes = p->o.shm_size;
	m.producer_name = (char *)p->o.name;
	m.has_smb_scraping_mode = true;
	m.smb_scraping_mode = p->o.scraping ? SCRAPING(ENABLED) : SCRAPING(DISABLED);
	m.has_reads_consumer_uid = m.reads_consumer_uid = true;
	r = connection_call_msg(p->conn, "InitializeConnection", &m.base, on_initialized, p);
	/* Sent at once: the service does not queue commands for a producer that has not requested
	 * them. */
	if (r == 0)
		r = connection_call(p->conn, "GetAsyncCommand", NULL, 0, -1, on_command, p);
	return r;
}

static void on_bound(void *ctx)
{
	struct producer *p = ctx;
	const struct arbiter_options o = {.ops = &producer_arbiter_ops, .ctx = p};
	int r = arbiter_new(&o, &p->arbiter);

	evtimer_del(p->retry);
	if (r == 0) {
		p->commit = evtimer_new(p->o.env.loop, producer_on_commit_due, p);
		r = p->commit ? 0 : -ENOMEM;
	}
	if (r == 0) {
		p->o.env.arbiter = p->arbiter;
		p->instances = instance_table_new(p->o.sources, &p->o.env, &producer_ds_ops, p);
		r = p->instances ? introduce(p) : -ENOMEM;
	}
	if (r < 0) {
		producer_report(p, "the service on %s cannot be used: %s", p->o.socket,
				strerror(-r));
		give_up(p);
	}
}

static void connect_failed(struct producer *p, int error)
{
	struct err_text e;

	if (error == -ECONNREFUSED)
		error = -ENOENT;
	/* A missing service is not an error: the producer waits for it. */
	if (error == p->reported_error)
		;
	else if (error == -ENOENT && p->o.on_waiting)
		p->o.on_waiting(p->o.ctx, p->o.socket);
	else if (error == -ENOENT)
		;
	else if (error == -EKEYREJECTED && service_trust_explain(p->o.socket, &e))
		producer_report(p, "cannot connect to %s", e.text);
	else
		producer_report(p, "cannot connect to %s: %s", p->o.socket, strerror(-error));
	p->reported_error = error;
}

static void on_lost(void *ctx, int error)
{
	struct producer *p = ctx;

	if (!p->arbiter && error < 0)
		connect_failed(p, error);
	give_up(p);
}

static const struct connection_ops connection_ops = {.on_bound = on_bound, .on_lost = on_lost};

static void try_connect(struct producer *p)
{
	static const struct timeval patience = {.tv_sec = CONNECT_TIMEOUT_MS / 1000};
	int r;

	if (p->conn)
		return;
	evtimer_del(p->retry);
	if (p->o.on_capabilities)
		p->o.on_capabilities(p->o.ctx, CONNECT_CAPABILITIES);
	r = connection_new(p->o.env.loop, p->o.socket, SERVICE, &connection_ops, p, &p->conn);
	if (p->o.on_capabilities)
		p->o.on_capabilities(p->o.ctx, 0);
	if (r < 0) {
		connect_failed(p, r);
		wait_for_service(p);
		return;
	}
	socket_watch_free(TAKE_PTR(p->watch));
	evtimer_add(p->retry, &patience);
}

/* ---- lifetime ---- */

int producer_new(const struct producer_options *options, struct producer **ret)
{
	const char *socket = options->socket ? options->socket : sock_default_producer();
	struct producer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->o = *options;
	p->o.name = strdup(options->name);
	p->o.socket = strndup(socket, strcspn(socket, ","));
	p->o.shm_size = options->shm_size ? options->shm_size : PROBES_SMB_BYTES;
	p->o.page_size = options->page_size ? options->page_size : PROBES_SMB_PAGE_BYTES;
	p->retry_ms = RETRY_MIN_MS;
	p->retry = evtimer_new(options->env.loop, on_retry, p);
	if (!p->o.name || !p->o.socket || !p->retry) {
		producer_free(p);
		return -ENOMEM;
	}
	try_connect(p);
	*ret = p;
	return 0;
}

void producer_free(struct producer *p)
{
	if (!p)
		return;
	instance_table_free(TAKE_PTR(p->instances));
	if (p->arbiter) {
		/* Give the last commits time to be sent. */
		connection_drain(p->conn, FAREWELL_MS);
		arbiter_commit(p->arbiter);
		connection_drain(p->conn, FAREWELL_MS);
	}
	tear_down(p);
	socket_watch_free(p->watch);
	event_freep(&p->retry);
	free((char *)p->o.name);
	free((char *)p->o.socket);
	free(p);
}

int producer_activate_triggers(struct producer *p, const char *const *names, size_t n)
{
	return producer_send_triggers(p, names, n);
}
