/* SPDX-License-Identifier: Apache-2.0 */
#include "client/producer/producer.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
 * accepted InitializeConnection, and when a file appears at the socket's path (file_watch.h).
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

/* ---- waiting ---- */

static void try_connect(struct producer *p);

static void producer_on_retry(evutil_socket_t fd, short what, void *ctx)
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

static void end_watch(struct producer *p)
{
	event_freep(&p->watched);
	file_watch_close(&p->watch);
}

/* Handles what has happened in the socket's folder. */
static void read_watch(struct producer *p)
{
	enum file_watch_event event = file_watch_read(&p->watch);
	const struct timeval pause = {.tv_sec = p->watch.pause_ms / 1000,
				      .tv_usec = (long)(p->watch.pause_ms % 1000) * 1000};

	if (event == FILE_WATCH_QUIET) {
		event_add(p->watched, NULL);
		return;
	}
	evtimer_add(p->watch_pause, &pause);
	if (event == FILE_WATCH_OTHERS)
		return;
	p->retry_ms = RETRY_MIN_MS;
	try_connect(p);
}

static void on_watch_readable(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	read_watch(ctx);
}

static void on_watch_pause_over(evutil_socket_t fd, short what, void *ctx)
{
	struct producer *p = ctx;

	(void)fd, (void)what;
	if (p->watched)
		read_watch(p);
	else
		p->watch.pause_ms = 0;
}

/* If the watch fails (the folder does not exist, for example), only the retries remain. */
static void producer_begin_watch(struct producer *p)
{
	if (p->watched || sock_family_of(p->o.socket) != SOCK_FAMILY_UNIX_PATH ||
	    file_watch_open(&p->watch, p->o.socket) < 0)
		return;
	p->watched = event_new(p->o.env.loop, p->watch.fd, EV_READ, on_watch_readable, p);
	if (!p->watched)
		file_watch_close(&p->watch);
	else if (!evtimer_pending(p->watch_pause, NULL))
		event_add(p->watched, NULL);
}

static void producer_wait_for_service(struct producer *p)
{
	const struct timeval wait = {.tv_sec = p->retry_ms / 1000,
				     .tv_usec = (long)(p->retry_ms % 1000) * 1000};

	producer_begin_watch(p); /* before the next attempt, so that no change is missed */
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

static void producer_give_up(struct producer *p)
{
	bool connected = p->connected;

	p->connected = false;
	if (p->arbiter)
		arbiter_detach(p->arbiter); /* writers must not wait for this service any more */
	tear_down(p);
	producer_wait_for_service(p);
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

static void producer_on_initialized(void *ctx, const struct connection_reply *reply)
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
		producer_give_up(p);
		return;
	}
	r = on_welcome(p, (Pb__InitializeConnectionResponse *)m);
	protobuf_c_message_free_unpacked(m, NULL);
	if (r < 0)
		producer_give_up(p);
}

static void on_command(void *ctx, const struct connection_reply *reply)
{
	if (!producer_run_command(ctx, reply))
		producer_give_up(ctx);
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
	r = connection_call_msg(p->conn, "InitializeConnection", &m.base, producer_on_initialized,
				p);
	/* Sent at once: the service does not queue commands for a producer that has not requested
	 * them. */
	if (r == 0)
		r = connection_call(p->conn, "GetAsyncCommand", NULL, 0, -1, on_command, p);
	return r;
}

static void producer_on_bound(void *ctx)
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
		producer_give_up(p);
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

static void producer_on_lost(void *ctx, int error)
{
	struct producer *p = ctx;

	if (!p->arbiter && error < 0)
		connect_failed(p, error);
	producer_give_up(p);
}

static const struct connection_ops connection_ops = {.on_bound = producer_on_bound,
						     .on_lost = producer_on_lost};

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
		producer_wait_for_service(p);
		return;
	}
	end_watch(p);
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
	p->watch.fd = -1;
	p->retry = evtimer_new(options->env.loop, producer_on_retry, p);
	p->watch_pause = evtimer_new(options->env.loop, on_watch_pause_over, p);
	if (!p->o.name || !p->o.socket || !p->retry || !p->watch_pause) {
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
	end_watch(p);
	event_freep(&p->watch_pause);
	event_freep(&p->retry);
	free((char *)p->o.name);
	free((char *)p->o.socket);
	free(p);
}

int producer_activate_triggers(struct producer *p, const char *const *names, size_t n)
{
	return producer_send_triggers(p, names, n);
}
