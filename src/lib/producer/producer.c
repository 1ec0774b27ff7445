/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/producer/producer.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/shm.h"
#include "client/transport/service_trust.h"
#include "gen/fields.h"
#include "lib/producer/producer_internal.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

/*
 * A producer has one connection at a time. The objects of the connection are made when the port is
 * bound, and freed with it.
 *
 *	          connect                bind, InitializeConnection     its reply
 *	waiting ------------> channel -------------------------> arbiter --------> initialized
 *	   ^   retry timer,     |  refused                          |  sources registered: connected
 *	   |   inotify          v                                   v
 *	   +--------------- give up: end instances, free the arbiter, close the channel
 */

#define RETRY_MIN_MS 100u
#define RETRY_MAX_MS 30000u
#define DRAIN_MS 500
#define SCRAPING_ENABLED 1

static void __attribute__((format(printf, 2, 3)))
producer_trouble(struct service_producer *p, const char *fmt, ...)
{
	char sentence[512];
	va_list args;

	if (!p->o.on_trouble)
		return;
	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	p->o.on_trouble(p->o.ctx, sentence);
}

static void on_source_trouble(struct source_host *h, const char *sentence)
{
	producer_trouble(container_of(h, struct service_producer, host), "%s", sentence);
}

/* ---- waiting ---- */

static void try_connect(struct service_producer *p);

static void producer_on_retry(struct loop_timer *t)
{
	try_connect(container_of(t, struct service_producer, retry));
}

static void end_watch(struct service_producer *p)
{
	loop_remove_fd(&p->watched);
	file_watch_close(&p->watch);
}

/* Handles what has happened in the socket's folder. */
static void read_watch(struct service_producer *p)
{
	enum file_watch_event event = file_watch_read(&p->watch);

	loop_remove_fd(&p->watched);
	if (event == FILE_WATCH_QUIET) {
		loop_add_fd(&p->watched);
		return;
	}
	loop_arm(&p->watch_pause, p->watch.pause_ms);
	if (event == FILE_WATCH_OTHERS)
		return;
	p->retry_ms = RETRY_MIN_MS;
	try_connect(p);
}

static void on_watch_readable(struct loop_fd *f, short revents)
{
	(void)revents;
	read_watch(container_of(f, struct service_producer, watched));
}

static void on_watch_pause_over(struct loop_timer *t)
{
	struct service_producer *p = container_of(t, struct service_producer, watch_pause);

	if (p->watch.fd >= 0)
		read_watch(p);
	else
		p->watch.pause_ms = 0;
}

static void producer_begin_watch(struct service_producer *p)
{
	const char *socket = p->o.target.address;

	if (p->watch.fd >= 0 || !socket || sock_family_of(socket) != SOCK_FAMILY_UNIX_PATH ||
	    file_watch_open(&p->watch, socket) < 0)
		return;
	p->watched.fd = p->watch.fd;
	if (!p->watch_pause.armed)
		loop_add_fd(&p->watched);
}

static void producer_wait_for_service(struct service_producer *p)
{
	producer_begin_watch(p);
	loop_arm(&p->retry, p->retry_ms);
	p->retry_ms = MIN(p->retry_ms * 2, RETRY_MAX_MS);
}

static void tear_down(struct service_producer *p)
{
	if (p->arbiter)
		sources_lost(&p->host);
	loop_disarm(&p->commit);
	loop_unpost(&p->want_commit);
	loop_unpost(&p->must_commit);
	arbiter_free(TAKE_PTR(p->arbiter));
	channel_close(TAKE_PTR(p->channel));
	p->host.arbiter = NULL;
	p->host.sends_setup = false;
	p->initialized = p->emulated = p->has_own_memory = false;
	closep(&p->own_fd);
	memset(p->versions, 0, sizeof(p->versions));
}

/* Ends the connection and its instances, and connects again later. */
static void producer_give_up(struct service_producer *p)
{
	bool connected = p->connected;

	p->connected = false;
	if (p->arbiter)
		arbiter_detach(p->arbiter); /* writers stop waiting for this service */
	tear_down(p);
	producer_wait_for_service(p);
	if (connected)
		p->o.on_connected(p->o.ctx, false);
}

/* ---- InitializeConnection and data sources ---- */

static void on_synced(void *ctx, const struct channel_reply *reply)
{
	struct service_producer *p = ctx;

	(void)reply; /* also after a refusal, the service has read all earlier requests */
	if (p->connected)
		return;
	p->connected = true;
	p->o.on_connected(p->o.ctx, true);
}

/* Calls on_synced() after the service has read all requests so far. An old service has no Sync; any
 * other call with a reply does the same. */
static int sync_requests(struct service_producer *p)
{
	int r = channel_call(p->channel, "Sync", NULL, 0, -1, on_synced, p);

	if (r == -ENOSYS)
		r = channel_call(p->channel, "UnregisterDataSource", NULL, 0, -1, on_synced, p);
	return r;
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

	r = sources_describe(i, &version, &bytes, &len);
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
	r = channel_send(p->channel, p->versions[i] ? "UpdateDataSource" : "RegisterDataSource",
			 m.buf, pb_mem_len(&m));
	if (r == -ENOSYS && p->versions[i])
		r = 0; /* an old service keeps the first descriptor */
	if (r == 0)
		p->versions[i] = version;
	return r;
}

/* Returns 0, or the last error. */
static int register_sources(struct service_producer *p)
{
	int error = 0;

	for (unsigned i = 0; p->initialized && i < SOURCES_MAX; i++) {
		int r = register_source(p, i);

		if (r < 0 && r != -EPIPE)
			producer_trouble(p, "cannot register a data source: %s", strerror(-r));
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
		channel_send(p->channel, "UnregisterDataSource", m.buf, pb_mem_len(&m));
}

/* Call if the service uses the memory that the producer passed. Returns 0 or -errno. */
static int use_own_memory(struct service_producer *p)
{
	int r = p->own_fd < 0 ? -EPROTO : arbiter_attach(p->arbiter, p->own_fd, p->o.shm_page_size);

	p->has_own_memory = r == 0;
	return r;
}

static void producer_on_initialized(void *ctx, const struct channel_reply *reply)
{
	struct service_producer *p = ctx;
	bool in_place = false, own_memory = false;
	struct pb_field f;
	struct pb_dec d;
	int r = 0;

	pb_dec_init(&d, reply->data, reply->len);
	while (reply->success && pb_dec_next(&d, &f)) {
		if (f.id == PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER)
			own_memory = f.u64;
		if (f.id == PB_INITIALIZE_CONNECTION_RESPONSE_DIRECT_SMB_PATCHING_SUPPORTED)
			in_place = f.u64;
		else if (f.id == PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION)
			p->emulated = f.u64;
	}
	if (!reply->success) {
		producer_trouble(p, "the service on %s refuses this producer", p->place);
		producer_give_up(p);
		return;
	}
	arbiter_patch_in_place(p->arbiter, in_place);
	p->initialized = true;
	p->retry_ms = RETRY_MIN_MS;
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
		producer_give_up(p); /* connects again later */
}

/* Creates the memory to pass to the service, with a sealed size, as services require. Returns 0 or
 * -errno. */
static int make_own_memory(struct service_producer *p)
{
	void *addr;
	int r;

	if (!p->o.own_memory || !channel_passes_fds(p->channel))
		return 0;
	r = shm_create(p->o.shm_size, &p->own_fd, &addr);
	if (r == 0)
		shm_unmap(addr, p->o.shm_size); /* use_own_memory() maps it again */
	return r;
}

static void on_command(void *ctx, const struct channel_reply *reply)
{
	struct service_producer *p = ctx;
	int r;

	if (!reply->has_more) {
		producer_trouble(p, "the service has ended its stream of commands");
		producer_give_up(p);
		return;
	}
	r = service_execute(p, reply->data, reply->len);
	if (r < 0) {
		producer_trouble(p, "the service's shared memory cannot be used: %s", strerror(-r));
		producer_give_up(p);
	}
}

static int initialize(struct service_producer *p)
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
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SMB_SCRAPING_MODE, SCRAPING_ENABLED);
	if (m.failed)
		return -ENOMEM;
	r = channel_call(p->channel, "InitializeConnection", m.buf, pb_mem_len(&m), p->own_fd,
			 producer_on_initialized, p);
	/* Without this call, the service drops the commands to a producer. */
	if (r == 0)
		r = channel_call(p->channel, "GetAsyncCommand", NULL, 0, -1, on_command, p);
	return r;
}

/* Returns the first required method that the service does not have, or NULL. */
static const char *missing_method(const struct service_producer *p)
{
	static const char *const needed[] = {"InitializeConnection", "GetAsyncCommand",
					     "RegisterDataSource", "CommitData"};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!channel_has(p->channel, needed[i]))
			return needed[i];
	return NULL;
}

static void producer_on_bound(void *ctx)
{
	struct service_producer *p = ctx;
	const struct arbiter_options o = {.ops = &service_arbiter_ops, .ctx = p};
	const char *missing = missing_method(p);
	int r;

	if (missing) {
		producer_trouble(p, "the service on %s cannot be used: it has no %s", p->place,
				 missing);
		producer_give_up(p);
		return;
	}
	r = arbiter_new(&o, &p->arbiter);
	p->host.arbiter = p->arbiter;
	if (r == 0)
		r = initialize(p);
	if (r < 0) {
		producer_trouble(p, "the service on %s cannot be used: %s", p->place, strerror(-r));
		producer_give_up(p);
	}
}

static void producer_on_lost(void *ctx, int error)
{
	struct service_producer *p = ctx;

	if (error < 0 && !p->arbiter && error != -ECONNREFUSED)
		producer_trouble(p, "cannot connect to %s: %s", p->place, strerror(-error));
	producer_give_up(p);
}

static const struct channel_ops channel_ops = {.on_bound = producer_on_bound,
					       .on_lost = producer_on_lost};

static void report_refusal(struct service_producer *p, int error)
{
	struct err_text e;

	if (error == -ENOENT || error == -ECONNREFUSED)
		return; /* a service that does not run is not reported */
	if (error == -EKEYREJECTED && service_trust_explain(p->place, &e))
		producer_trouble(p, "cannot connect to %s", e.text);
	else
		producer_trouble(p, "cannot connect to %s: %s", p->place, strerror(-error));
}

static void try_connect(struct service_producer *p)
{
	int r;

	if (p->channel)
		return;
	loop_disarm(&p->retry);
	r = channel_open(&p->o.target, SONDA_PORT_PRODUCER, &channel_ops, p, &p->channel);
	if (r < 0) {
		report_refusal(p, r);
		producer_wait_for_service(p);
		return;
	}
	end_watch(p);
}

/* ---- lifetime ---- */

/* PERFETTO_PRODUCER_SOCK_NAME may be a list, for services. A producer uses its first address. */
static char *first_address(const struct channel_target *t)
{
	const char *list = t->address ? t->address : sock_default_producer_secure();

	return strndup(list, strcspn(list, ","));
}

int service_producer_new(const struct service_producer_options *o, struct service_producer **ret)
{
	struct service_producer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->own_fd = -1;
	p->o.target.address = o->target.connect ? NULL : first_address(&o->target);
	snprintf(p->place, sizeof(p->place), "%s",
		 p->o.target.address ? p->o.target.address : "the program's own transport");
	p->o.name = strdup(o->name);
	p->retry_ms = RETRY_MIN_MS;
	p->retry.fn = producer_on_retry;
	p->watch.fd = -1;
	p->watched = (struct loop_fd){.fd = -1, .events = POLLIN, .fn = on_watch_readable};
	p->watch_pause.fn = on_watch_pause_over;
	service_host_init(p, on_source_trouble);
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
	if (p->arbiter) {
		sources_lost(&p->host);
		arbiter_commit(p->arbiter);
		channel_drain(p->channel, DRAIN_MS);
	}
	tear_down(p);
	end_watch(p);
	loop_disarm(&p->watch_pause);
	loop_disarm(&p->retry);
	free((char *)p->o.target.address);
	free((char *)p->o.name);
	free(p);
}

void service_producer_forget(struct service_producer *p)
{
	if (p->arbiter)
		arbiter_forget(p->arbiter);
	if (p->channel)
		channel_forget(p->channel);
	file_watch_close(&p->watch);
	closep(&p->own_fd);
}

int service_producer_activate_triggers(struct service_producer *p, const void *args, size_t len)
{
	return p->connected ? channel_send(p->channel, "ActivateTriggers", args, len) : -ENOTCONN;
}
