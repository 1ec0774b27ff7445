/* SPDX-License-Identifier: Apache-2.0 */
#include "client/producer/service_producer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/file_watch.h"
#include "base/system/shm.h"
#include "client/transport/arbiter.h"
#include "client/transport/service_trust.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * A producer has one connection at a time. The objects of the connection are made when the port is
 * bound, and freed with it.
 *
 *	          connect                bind, InitializeConnection     its reply
 *	waiting ------------> channel -------------------------> arbiter --------> initialized
 *	   ^   retry timer,     |  refused                          |  sources registered: connected
 *	   |   inotify          v                                   v
 *	   +--------------- give up: end instances, free the arbiter, close the channel
 *
 * The wait starts at 100 ms and doubles up to 30 s. It starts at 100 ms again when a service has
 * accepted InitializeConnection, and when a file appears at the socket's path (file_watch.h).
 */

#define RETRY_MIN_MS 100u
#define RETRY_MAX_MS 30000u
/* How long service_producer_free() waits for an empty send queue, before and after the last
 * commit. */
#define DRAIN_MS 500
enum { SCRAPING_ENABLED = 1, SCRAPING_DISABLED = 2 }; /* ProducerSMBScrapingMode */

struct service_producer {
	struct service_producer_options o; /* the target's address and the name are owned */
	char target[128]; /* the target, for messages */
	struct io_timer retry; /* armed until the port is bound: next attempt, or time limit */
	unsigned retry_ms; /* the next wait */
	int reported_error; /* the last connection error that was reported */
	struct file_watch watch; /* the socket's path; open only while there is no connection */
	struct io_fd watched; /* its descriptor */
	struct io_timer watch_pause; /* armed while the watch is not polled */
	struct service_link link;
	/* of the connection: */
	bool hosts; /* begin() of the sources' owner has succeeded */
	int own_fd; /* owned: memory for the service; -1: none */
	bool initialized; /* InitializeConnection was answered */
	bool connected; /* on_connected was called */
	uint32_t versions[SERVICE_SOURCES_MAX]; /* of descriptors that the service has; 0: none */
};

/* ---- waiting ---- */

static void try_connect(struct service_producer *p);

static void service_producer_on_retry(struct io_timer *t)
{
	struct service_producer *p = container_of(t, struct service_producer, retry);

	/* The producer is connected but not bound: the listener hangs, or is not a tracing
	 * service. */
	if (p->link.channel && p->reported_error != -ETIMEDOUT) {
		p->reported_error = -ETIMEDOUT;
		service_link_report(&p->link, "the listener on %s does not answer; waiting for it",
				    p->target);
	}
	try_connect(p);
}

static void end_dir_watch(struct service_producer *p)
{
	io_unwatch(p->o.loop, &p->watched);
	file_watch_close(&p->watch);
}

/* Waits until the socket's directory changes. If its descriptor cannot be polled, the producer only
 * retries periodically. */
static void wait_for_change(struct service_producer *p)
{
	if (io_watch(p->o.loop, &p->watched) < 0)
		file_watch_close(&p->watch);
}

/* Reads the events of the socket's directory. Tries to connect if the socket may have appeared.
 * After any event, the directory is not watched for a while. */
static void handle_dir_change(struct service_producer *p)
{
	enum file_watch_event event = file_watch_read(&p->watch);

	io_unwatch(p->o.loop, &p->watched);
	if (event == FILE_WATCH_QUIET) {
		wait_for_change(p);
		return;
	}
	io_timer_arm(p->o.loop, &p->watch_pause, p->watch.pause_ms);
	if (event == FILE_WATCH_OTHERS)
		return;
	p->retry_ms = RETRY_MIN_MS;
	try_connect(p);
}

static void on_watch_readable(struct io_fd *f, uint32_t events)
{
	handle_dir_change(container_of(f, struct service_producer, watched));
}

static void on_watch_pause_over(struct io_timer *t)
{
	struct service_producer *p = container_of(t, struct service_producer, watch_pause);

	if (p->watch.fd >= 0)
		handle_dir_change(p);
	else
		p->watch.pause_ms = 0;
}

static void begin_dir_watch(struct service_producer *p)
{
	const char *socket = p->o.target.address;

	if (p->watch.fd >= 0 || !socket || sock_family_of(socket) != SOCK_FAMILY_UNIX_PATH ||
	    file_watch_open(&p->watch, socket) < 0)
		return;
	p->watched.fd = p->watch.fd;
	if (!p->watch_pause.armed)
		wait_for_change(p);
}

static void wait_for_service(struct service_producer *p)
{
	begin_dir_watch(p); /* before the next attempt, so that no change is missed */
	io_timer_arm(p->o.loop, &p->retry, p->retry_ms);
	p->retry_ms = MIN(p->retry_ms * 2, RETRY_MAX_MS);
}

static void end_instances(struct service_producer *p)
{
	if (!p->hosts)
		return;
	p->hosts = false;
	p->o.sources->end(p->o.sources_ctx);
}

static void end_registration(struct service_producer *p)
{
	end_instances(p);
	service_link_end(&p->link);
	p->initialized = false;
	closep(&p->own_fd);
	memset(p->versions, 0, sizeof(p->versions));
}

/* Ends the connection and its instances, and connects again later. */
static void drop_connection(struct service_producer *p)
{
	bool connected = p->connected;

	p->connected = false;
	if (p->link.arbiter)
		arbiter_detach(p->link.arbiter); /* writers stop waiting for this service */
	end_registration(p);
	wait_for_service(p);
	if (connected && p->o.on_connected)
		p->o.on_connected(p->o.ctx, false);
}

/* ---- InitializeConnection and data sources ---- */

static void on_synced(void *ctx, const struct channel_reply *reply)
{
	struct service_producer *p = ctx;

	/* Even after a refusal, the service has read all earlier requests. */
	if (reply->error == -EPIPE || p->connected)
		return;
	p->connected = true;
	if (p->o.on_connected)
		p->o.on_connected(p->o.ctx, true);
}

/* Calls on_synced() after the service has read all requests so far. An old service has no Sync; any
 * other call with a reply does the same. */
static int sync_requests(struct service_producer *p)
{
	int r = channel_call(p->link.channel, "Sync", NULL, 0, -1, on_synced, p);

	if (r == -ENOSYS)
		r = channel_call(p->link.channel, "UnregisterDataSource", NULL, 0, -1, on_synced,
				 p);
	return r;
}

static void on_registered(void *ctx, const struct channel_reply *reply)
{
	if (reply->error == -EPROTO)
		service_link_report(ctx, "the service refused a data source");
}

/* Registers or updates the source with index i, unless the service has its descriptor. Returns 0 or
 * -errno. */
static int register_source(struct service_producer *p, unsigned i)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	_cleanup_(freep) void *bytes = NULL;
	uint32_t version;
	size_t len;
	int r;

	r = p->o.sources->describe(p->o.sources_ctx, i, &version, &bytes, &len);
	if (r == -ENOENT || (r == 0 && p->versions[i] == version))
		return 0;
	if (r == 0)
		r = pb_mem_init(&m);
	if (r < 0)
		return r;
	_Static_assert((int)PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR ==
			       (int)PB_UPDATE_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR,
		       "one message for both");
	pb_enc_bytes(&m.enc, PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR, bytes, len);
	if (m.failed)
		return -ENOMEM;
	r = channel_call(p->link.channel,
			 p->versions[i] ? "UpdateDataSource" : "RegisterDataSource", m.buf,
			 pb_mem_len(&m), -1, on_registered, &p->link);
	if (r == -ENOSYS && p->versions[i])
		r = 0; /* an old service keeps the first descriptor */
	if (r == 0)
		p->versions[i] = version;
	return r;
}

/* Registers or updates all sources, and reports errors. Returns 0 or the last error. */
static int register_sources(struct service_producer *p)
{
	int error = 0;

	for (unsigned i = 0; p->initialized && i < p->o.sources->max; i++) {
		int r = register_source(p, i);

		if (r < 0 && r != -EPIPE)
			service_link_report(&p->link, "cannot register a data source: %s",
					    strerror(-r));
		error = r < 0 ? r : error;
	}
	return error;
}

void service_producer_sources_changed(struct service_producer *p)
{
	register_sources(p);
}

void service_producer_source_removed(struct service_producer *p, unsigned index, const char *name)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!p->versions[index])
		return;
	p->versions[index] = 0;
	if (pb_mem_init(&m) < 0)
		return;
	pb_enc_str(&m.enc, PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, name);
	if (!m.failed)
		channel_send(p->link.channel, "UnregisterDataSource", m.buf, pb_mem_len(&m));
}

/* Call if the service uses the memory that the producer passed. Returns 0 or -errno. */
static int use_own_memory(struct service_producer *p)
{
	int r = p->own_fd < 0 ? -EPROTO
			      : arbiter_attach(p->link.arbiter, p->own_fd, p->o.shm_page_size);

	p->link.has_own_memory = r == 0;
	return r;
}

static void on_initialized(void *ctx, const struct channel_reply *reply)
{
	struct service_producer *p = ctx;
	bool in_place = false, own_memory = false, knows_consumers = false;
	struct pb_field f;
	struct pb_dec d;
	int r = 0;

	if (reply->error == -EPIPE)
		return;
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER)
			own_memory = f.u64;
		else if (f.id == PB_INITIALIZE_CONNECTION_RESPONSE_DIRECT_SMB_PATCHING_SUPPORTED)
			in_place = f.u64;
		else if (f.id == PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION)
			p->link.emulated = f.u64;
		else if (f.id == PB_INITIALIZE_CONNECTION_RESPONSE_SETS_CONSUMER_UID)
			knows_consumers = f.u64;
	}
	if (reply->error || !pb_dec_ok(&d)) {
		service_link_report(&p->link,
				    "the service on %s refused this program as a producer",
				    p->target);
		drop_connection(p);
		return;
	}
	if (p->o.on_accepted)
		p->o.on_accepted(p->o.ctx,
				 knows_consumers && channel_speaks_for_root(p->link.channel),
				 channel_peer_pid(p->link.channel));
	arbiter_patch_in_place(p->link.arbiter, in_place);
	p->initialized = true;
	p->retry_ms = RETRY_MIN_MS;
	p->reported_error = 0;
	if (own_memory)
		r = use_own_memory(p);
	closep(&p->own_fd);
	if (r == 0)
		r = register_sources(p);
	if (r == 0)
		r = sync_requests(p);
	if (r == -ENOSYS)
		on_synced(p, reply);
	else if (r < 0)
		drop_connection(p); /* connects again later */
}

/* If own_memory is set and the socket can pass it, creates the memory for the service, with a
 * sealed size, as services require. Returns 0 or -errno. */
static int make_own_memory(struct service_producer *p)
{
	void *addr;
	int r;

	if (!p->o.own_memory || !channel_passes_fds(p->link.channel))
		return 0;
	r = shm_create(p->o.shm_size, &p->own_fd, &addr);
	if (r == 0)
		shm_unmap(addr, p->o.shm_size); /* use_own_memory() maps it again */
	return r;
}

static void on_command(void *ctx, const struct channel_reply *reply)
{
	struct service_producer *p = ctx;

	if (reply->error == -EPIPE)
		return; /* on_lost follows */
	if (!reply->has_more) {
		service_link_report(&p->link, "the service closed the command stream");
		drop_connection(p);
	} else if (service_link_execute(&p->link, reply->data, reply->len) < 0) {
		drop_connection(p);
	}
}

static int send_initialize(struct service_producer *p)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r == 0)
		r = make_own_memory(p);
	if (r < 0)
		return r;
	if (p->own_fd >= 0)
		pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_PROVIDED_SHMEM, true);
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_PAGE_SIZE_HINT_BYTES,
		   p->o.shm_page_size);
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_SIZE_HINT_BYTES,
		   p->o.shm_size);
	pb_enc_str(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, p->o.name);
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SMB_SCRAPING_MODE,
		   p->o.no_scraping ? SCRAPING_DISABLED : SCRAPING_ENABLED);
	if (p->o.on_accepted)
		pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_READS_CONSUMER_UID, true);
	if (m.failed)
		return -ENOMEM;
	r = channel_call(p->link.channel, "InitializeConnection", m.buf, pb_mem_len(&m), p->own_fd,
			 on_initialized, p);
	/* Without this call, the service drops the commands to a producer. */
	if (r == 0)
		r = channel_call(p->link.channel, "GetAsyncCommand", NULL, 0, -1, on_command, p);
	return r;
}

/* Returns the first required method that the service does not have, or NULL. */
static const char *find_missing_method(const struct service_producer *p)
{
	static const char *const needed[] = {"InitializeConnection", "GetAsyncCommand",
					     "RegisterDataSource", "CommitData"};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!channel_has_method(p->link.channel, needed[i]))
			return needed[i];
	return NULL;
}

static void on_bound(void *ctx)
{
	struct service_producer *p = ctx;
	const char *missing = find_missing_method(p);
	int r;

	io_timer_disarm(p->o.loop, &p->retry);
	if (missing) {
		service_link_report(&p->link,
				    "the service on %s cannot be used: it does not support %s",
				    p->target, missing);
		drop_connection(p);
		return;
	}
	r = service_link_begin(&p->link);
	if (r == 0)
		r = p->o.sources->begin(p->o.sources_ctx, &p->link);
	p->hosts = r == 0;
	if (r == 0)
		r = send_initialize(p);
	if (r < 0) {
		service_link_report(&p->link, "the service on %s cannot be used: %s", p->target,
				    strerror(-r));
		drop_connection(p);
	}
}

static void report_refusal(struct service_producer *p, int error)
{
	struct err_text e;

	if (error == -ECONNREFUSED)
		error = -ENOENT;
	if (error == p->reported_error)
		return;
	p->reported_error = error;
	/* A missing service is not an error: the producer waits for it. */
	if (error == -ENOENT && p->o.on_waiting)
		p->o.on_waiting(p->o.ctx, p->target);
	else if (error == -EKEYREJECTED && service_trust_explain(p->target, &e))
		service_link_report(&p->link, "cannot connect to %s", e.text);
	else if (error != -ENOENT)
		service_link_report(&p->link, "cannot connect to %s: %s", p->target,
				    strerror(-error));
}

static void on_lost(void *ctx, int error)
{
	struct service_producer *p = ctx;

	if (!p->link.arbiter && error < 0)
		report_refusal(p, error);
	drop_connection(p);
}

static const struct channel_ops channel_ops = {.on_bound = on_bound, .on_lost = on_lost};

static void try_connect(struct service_producer *p)
{
	int r;

	if (p->link.channel)
		return;
	io_timer_disarm(p->o.loop, &p->retry);
	if (p->o.on_connecting)
		p->o.on_connecting(p->o.ctx, true);
	r = channel_open(p->o.loop, &p->o.target, CHANNEL_PRODUCER, &channel_ops, p,
			 &p->link.channel);
	if (p->o.on_connecting)
		p->o.on_connecting(p->o.ctx, false);
	if (r < 0) {
		report_refusal(p, r);
		wait_for_service(p);
		return;
	}
	end_dir_watch(p);
	io_timer_arm(p->o.loop, &p->retry, CONNECT_TIMEOUT_MS);
}

/* ---- lifetime ---- */

/* Copies the address to connect to. PERFETTO_PRODUCER_SOCK_NAME may be a list, for services; a
 * producer uses its first address. */
static char *copy_first_address(const struct channel_target *t)
{
	const char *list = t->address	   ? t->address
			   : t->of_program ? sock_default_producer()
					   : sock_default_producer_secure();

	return strndup(list, strcspn(list, ","));
}

int service_producer_new(const struct service_producer_options *o, struct service_producer **ret)
{
	struct service_producer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->own_fd = -1;
	p->o.target.address = o->target.connect ? NULL : copy_first_address(&o->target);
	snprintf(p->target, sizeof(p->target), "%s",
		 p->o.target.address ? p->o.target.address : "the program's own transport");
	p->o.name = strdup(o->name);
	p->retry_ms = RETRY_MIN_MS;
	p->retry.fn = service_producer_on_retry;
	p->watch.fd = -1;
	p->watched = (struct io_fd){.fd = -1, .events = EPOLLIN, .fn = on_watch_readable};
	p->watch_pause.fn = on_watch_pause_over;
	p->link = (struct service_link){.loop = o->loop,
					.sources = o->sources,
					.sources_ctx = o->sources_ctx,
					.on_trouble = o->on_trouble,
					.ctx = o->ctx,
					.one_thread = o->one_thread};
	service_link_init(&p->link);
	if ((!p->o.target.address && !o->target.connect) || !p->o.name) {
		service_producer_free(p);
		return -ENOMEM;
	}
	try_connect(p);
	*ret = p;
	return 0;
}

void service_producer_free(struct service_producer *p)
{
	if (!p)
		return;
	end_instances(p);
	if (p->link.arbiter) {
		/* Give the last commits time to be sent. */
		channel_drain(p->link.channel, DRAIN_MS);
		arbiter_commit(p->link.arbiter);
		channel_drain(p->link.channel, DRAIN_MS);
	}
	end_registration(p);
	end_dir_watch(p);
	io_timer_disarm(p->o.loop, &p->watch_pause);
	io_timer_disarm(p->o.loop, &p->retry);
	free((char *)p->o.target.address);
	free((char *)p->o.name);
	free(p);
}

void service_producer_after_fork_in_child(struct service_producer *p)
{
	if (p->link.arbiter)
		arbiter_after_fork_in_child(p->link.arbiter);
	if (p->link.channel)
		channel_after_fork_in_child(p->link.channel);
	file_watch_close(&p->watch);
	closep(&p->own_fd);
}

const char *service_producer_target(const struct service_producer *p)
{
	return p->target;
}

int service_producer_activate_triggers(struct service_producer *p, const void *args, size_t len)
{
	return p->connected ? channel_send(p->link.channel, "ActivateTriggers", args, len)
			    : -ENOTCONN;
}
