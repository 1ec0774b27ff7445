/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each method decodes and checks its arguments, replies, and only then reports an event to the
 * sessions. So the commands that they send follow the reply. Before InitializeConnection, all other
 * methods are rejected.
 */
#include "service/producer/producer_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "gen/fields.h"
#include "service/buffer/trace_buffer.h"
#include "service/ipc/limits.h"
#include "service/ipc/request_decode.h"
#include "service/producer/producers.h"
#include "wire/pb_enc.h"

/* ---- InitializeConnection ---- */

/* InitializeConnectionRequest.ProducerSMBScrapingMode; the default is no scraping. */
#define SMB_SCRAPING_ENABLED 1

/* Stores the fields of the request in p, and sets *brings_memory if the request has that field.
 * Returns 0, -EBADMSG, or an error of decode_string(). */
static int decode_initialize(struct producer_port *p, const uint8_t *args, size_t len,
			     bool *brings_memory)
{
	struct pb_field f;
	struct pb_dec d;
	int r = 0;

	p->page_size_hint = p->size_hint = 0;
	p->wants_scraping = p->reads_consumer_uid = false;
	pb_dec_init(&d, args, len);
	while (r == 0 && pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(
			PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_PAGE_SIZE_HINT_BYTES):
			p->page_size_hint = (uint32_t)f.u64;
			break;
		case KEY_VARINT(PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_SIZE_HINT_BYTES):
			p->size_hint = (uint32_t)f.u64;
			break;
		case KEY_BYTES(PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME):
			r = decode_string(&f, MAX_NAME_BYTES, &p->name);
			break;
		case KEY_BYTES(PB_INITIALIZE_CONNECTION_REQUEST_SDK_VERSION):
			r = decode_string(&f, MAX_NAME_BYTES, &p->sdk_version);
			break;
		case KEY_VARINT(PB_INITIALIZE_CONNECTION_REQUEST_SMB_SCRAPING_MODE):
			p->wants_scraping = f.u64 == SMB_SCRAPING_ENABLED;
			break;
		case KEY_VARINT(PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_PROVIDED_SHMEM):
			*brings_memory = f.u64 != 0;
			break;
		case KEY_VARINT(PB_INITIALIZE_CONNECTION_REQUEST_READS_CONSUMER_UID):
			p->reads_consumer_uid = f.u64 != 0;
			break;
		}
	if (r < 0)
		return r;
	return pb_dec_ok(&d) ? 0 : -EBADMSG;
}

/* Gives the producer an id and adds it to the list. Returns 0, -ENOSPC (no id is free) or
 * -ENOMEM. */
static int producer_port_add_producer(struct producer_port *p)
{
	if (!p->name)
		p->name = strdup("");
	p->id = p->name ? producers_new_id(p->producers) : 0;
	if (!p->id)
		return p->name ? -ENOSPC : -ENOMEM;
	p->initialized = true;
	TAILQ_INSERT_TAIL(&p->producers->list, p, link);
	p->producers->n++;
	return 0;
}

/* fd: the memory that the producer passed, borrowed; -1: none. Returns 0 after the reply, or -errno
 * if the request is refused. */
static int initialize_with(struct producer_port *p, const struct ipc_call *call,
			   const uint8_t *args, size_t len, int fd)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	bool brings_memory = false, uses_it;
	int r;

	if (p->initialized)
		return -EALREADY;
	if (!producers_is_admitted(p->producers, p->peer))
		return -EPERM;
	r = pb_mem_init(&m);
	if (r == 0)
		r = decode_initialize(p, args, len, &brings_memory);
	if (r == 0)
		r = producer_port_add_producer(p);
	if (r < 0)
		return r;
	uses_it = brings_memory && fd >= 0 && !p->peer->is_remote && producer_memory_adopt(p, fd);
	pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_RESPONSE_USING_SHMEM_PROVIDED_BY_PRODUCER,
		    uses_it);
	pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_RESPONSE_DIRECT_SMB_PATCHING_SUPPORTED, true);
	pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_RESPONSE_USE_SHMEM_EMULATION,
		    p->peer->is_remote);
	if (p->reads_consumer_uid)
		pb_enc_bool(&m.enc, PB_INITIALIZE_CONNECTION_RESPONSE_SETS_CONSUMER_UID, true);
	/* Before the reply, because the producer may send the next request after it. */
	ipc_conn_allow_descriptors(p->conn, false);
	ipc_reply(p->conn, call, false, m.buf, pb_mem_len(&m), -1);
	return 0;
}

static int initialize_connection(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				 size_t len)
{
	struct producer_port *p = endpoint;
	int fd = ipc_conn_pop_fd(p->conn);
	int r = initialize_with(p, call, args, len, fd);

	ipc_conn_close_fd(p->conn, fd);
	return r;
}

/* ---- data sources ---- */

/* Sets *ret to the last bytes field with this id, or an empty one. Returns false if the message
 * does not parse. */
static bool find_bytes_field(const uint8_t *args, size_t len, uint32_t id, struct pb_field *ret)
{
	struct pb_field f, found = {.data = (const uint8_t *)""};
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		if (FIELD_KEY(f) == KEY_BYTES(id))
			found = f;
	if (!pb_dec_ok(&d))
		return false;
	*ret = found;
	return true;
}

/* Sets *ret to the last varint field with this id, or 0. Returns false if the message does not
 * parse. */
static bool find_varint_field(const uint8_t *args, size_t len, uint32_t id, uint64_t *ret)
{
	uint64_t found = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		if (FIELD_KEY(f) == KEY_VARINT(id))
			found = f.u64;
	if (!pb_dec_ok(&d))
		return false;
	*ret = found;
	return true;
}

static void reply_registered(struct producer_port *p, const struct ipc_call *call,
			     const char *error)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!error[0] || pb_mem_init(&m) < 0) {
		ipc_reply_empty(p->conn, call);
		return;
	}
	pb_enc_str(&m.enc, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, error);
	ipc_reply(p->conn, call, false, m.buf, pb_mem_len(&m), -1);
}

static bool producer_port_is_trusted(const struct producer_port *p)
{
	return producers_is_trusted(p->producers, p->peer);
}

static int register_data_source(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				size_t len)
{
	struct producer_port *p = endpoint;
	struct registered_source *source;
	struct err_text e = {""};
	struct pb_field descriptor;
	int r;

	if (!find_bytes_field(args, len, PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR,
			      &descriptor))
		return -EBADMSG;
	r = registry_add(&p->producers->registry, &p->offer, producer_port_is_trusted(p),
			 descriptor.data, descriptor.len, &e, &source);
	if (r < 0)
		quota_log(p->account.quota, p->account.user, LOG_LEVEL_WARN,
			  "producer %s: a data source is refused: %s", p->name,
			  e.text[0] ? e.text : strerror(-r));
	if (r == -EBADMSG)
		return r;
	if (r < 0) {
		reply_registered(p, call, e.text[0] ? e.text : strerror(-r));
		return 0;
	}
	reply_registered(p, call, "");
	p->producers->events->source_registered(p->producers->ctx, source);
	return 0;
}

static int update_data_source(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			      size_t len)
{
	struct producer_port *p = endpoint;
	struct err_text e = {""};
	struct pb_field descriptor;
	int r;

	if (!find_bytes_field(args, len, PB_UPDATE_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR,
			      &descriptor))
		return -EBADMSG;
	r = registry_update(&p->producers->registry, &p->offer, producer_port_is_trusted(p),
			    descriptor.data, descriptor.len, &e);
	if (r < 0) {
		quota_log(p->account.quota, p->account.user, LOG_LEVEL_WARN,
			  "producer %s: the update of a data source is refused: %s", p->name,
			  e.text[0] ? e.text : strerror(-r));
		return r;
	}
	ipc_reply_empty(p->conn, call);
	return 0;
}

static int unregister_data_source(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				  size_t len)
{
	struct producer_port *p = endpoint;
	_cleanup_(freep) char *name = NULL;
	struct pb_field f;

	if (!find_bytes_field(args, len, PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, &f))
		return -EBADMSG;
	if (decode_string(&f, MAX_NAME_BYTES, &name) < 0)
		return -EINVAL;
	ipc_reply_empty(p->conn, call);
	if (registry_remove(&p->producers->registry, &p->offer, name))
		p->producers->events->source_unregistered(p->producers->ctx, p, name);
	return 0;
}

static int report_instance_event(struct producer_port *p, const struct ipc_call *call,
				 const uint8_t *args, size_t len, uint32_t field,
				 void (*event)(void *ctx, const struct producer_port *,
					       uint64_t id))
{
	uint64_t id;

	if (!find_varint_field(args, len, field, &id))
		return -EBADMSG;
	ipc_reply_empty(p->conn, call);
	event(p->producers->ctx, p, id);
	return 0;
}

static int notify_data_source_started(void *endpoint, const struct ipc_call *call,
				      const uint8_t *args, size_t len)
{
	struct producer_port *p = endpoint;

	return report_instance_event(p, call, args, len,
				     PB_NOTIFY_DATA_SOURCE_STARTED_REQUEST_DATA_SOURCE_ID,
				     p->producers->events->instance_started);
}

static int notify_data_source_stopped(void *endpoint, const struct ipc_call *call,
				      const uint8_t *args, size_t len)
{
	struct producer_port *p = endpoint;

	return report_instance_event(p, call, args, len,
				     PB_NOTIFY_DATA_SOURCE_STOPPED_REQUEST_DATA_SOURCE_ID,
				     p->producers->events->instance_stopped);
}

/* ---- writers ---- */

static int register_trace_writer(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				 size_t len)
{
	struct producer_port *p = endpoint;
	uint64_t writer, buffer;
	int r;

	if (!find_varint_field(args, len, PB_REGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID,
			       &writer) ||
	    !find_varint_field(args, len, PB_REGISTER_TRACE_WRITER_REQUEST_TARGET_BUFFER, &buffer))
		return -EBADMSG;
	if (writer == 0 || writer > SMB_MAX_WRITER_ID || buffer > UINT16_MAX)
		return -EINVAL;
	r = producer_buffers_add_writer(p, (uint16_t)writer, (uint16_t)buffer);
	if (r < 0)
		return r;
	ipc_reply_empty(p->conn, call);
	return 0;
}

static int unregister_trace_writer(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				   size_t len)
{
	struct producer_port *p = endpoint;
	uint64_t writer;

	if (!find_varint_field(args, len, PB_UNREGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID,
			       &writer))
		return -EBADMSG;
	if (writer < p->n_writers)
		producer_buffers_end_writer(p, (uint16_t)writer);
	ipc_reply_empty(p->conn, call);
	return 0;
}

/* ---- other methods ---- */

static int get_async_command(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			     size_t len)
{
	struct producer_port *p = endpoint;

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	if (p->has_commands)
		ipc_reject(p->conn, &p->commands);
	p->commands = *call;
	p->has_commands = true;
	if (p->setup_tracing_due)
		producer_port_send_setup_tracing(p);
	return 0;
}

static int sync_requests(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			 size_t len)
{
	struct producer_port *p = endpoint;

	if (check_request_parses(args, len) < 0)
		return -EBADMSG;
	ipc_reply_empty(p->conn, call);
	return 0;
}

/* Returns 0, -EBADMSG, or -ENOBUFS, which is counted, if the request has too many names. */
static int check_trigger_names(struct producer_port *p, const uint8_t *args, size_t len)
{
	struct pb_field f;
	struct pb_dec d;
	unsigned n = 0;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		n += FIELD_KEY(f) == KEY_BYTES(PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES);
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	if (n <= MAX_TRIGGER_NAMES)
		return 0;
	p->account.quota->refused[REFUSED_TRIGGER_NAMES]++;
	return -ENOBUFS;
}

/* Returns true if the same name occurs earlier in the request. */
static bool is_repeated(const uint8_t *args, size_t len, const struct pb_field *name)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f) && f.data != name->data)
		if (FIELD_KEY(f) == FIELD_KEY(*name) && f.len == name->len &&
		    !memcmp(f.data, name->data, f.len))
			return true;
	return false;
}

static int activate_triggers(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			     size_t len)
{
	struct producer_port *p = endpoint;
	_cleanup_(freep) char *name = NULL;
	uint64_t budget = MAX_TRIGGER_STEPS;
	struct pb_field f;
	struct pb_dec d;
	int r;

	r = check_trigger_names(p, args, len);
	if (r < 0)
		return r;
	ipc_reply_empty(p->conn, call);
	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		if (FIELD_KEY(f) == KEY_BYTES(PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES) &&
		    !is_repeated(args, len, &f) && decode_string(&f, MAX_NAME_BYTES, &name) == 0)
			p->producers->events->trigger(p->producers->ctx, p, name, &budget);
	if (budget == 0)
		p->account.quota->refused[REFUSED_TRIGGER_NAMES]++;
	return 0;
}

/* ---- the port ---- */

static int producer_port_open(void *ctx, struct ipc_conn *conn, void **ret_endpoint)
{
	struct producer_port *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->producers = ctx;
	p->conn = conn;
	p->peer = ipc_conn_peer(conn);
	p->smb_fd = -1;
	p->offer.producer = p;
	p->offer.account = &p->account;
	TAILQ_INIT(&p->offer.sources);
	TAILQ_INIT(&p->instances);
	TAILQ_INIT(&p->flush_waits);
	quota_open(&p->account, p->producers->quota, ipc_peer_user(p->peer));
	*ret_endpoint = p;
	return 0;
}

/* Removes a producer, after its memory was scraped for data that it has not committed. */
static void producer_port_remove_producer(struct producer_port *p)
{
	struct producers *ps = p->producers;

	producer_commit_scrape(p, NULL, NULL);
	for (size_t i = 0; i < p->n_writers; i++)
		producer_buffers_end_writer(p, (uint16_t)i);
	TAILQ_REMOVE(&ps->list, p, link);
	ps->n--;
	producers_free_id(ps, p->id);
	registry_remove_all(&ps->registry, &p->offer);
	ps->events->gone(ps->ctx, p);
}

static void producer_port_close(void *endpoint)
{
	struct producer_port *p = endpoint;

	if (p->initialized)
		producer_port_remove_producer(p);
	producer_memory_deinit(p);
	quota_close(&p->account);
	producer_buffers_deinit(p);
	free(p->name);
	free(p->sdk_version);
	free(p);
}

/* Checks that the peer is a producer: before InitializeConnection it is none yet. Returns 0 or
 * -EPERM. */
static int check_is_producer(void *endpoint, const struct ipc_method *method)
{
	const struct producer_port *p = endpoint;

	return p->initialized || method->call == initialize_connection ? 0 : -EPERM;
}

static const struct ipc_method methods[] = {
	{"InitializeConnection", initialize_connection},
	{"RegisterDataSource", register_data_source},
	{"UnregisterDataSource", unregister_data_source},
	{"CommitData", producer_commit_data},
	{"GetAsyncCommand", get_async_command},
	{"RegisterTraceWriter", register_trace_writer},
	{"UnregisterTraceWriter", unregister_trace_writer},
	{"NotifyDataSourceStarted", notify_data_source_started},
	{"NotifyDataSourceStopped", notify_data_source_stopped},
	{"ActivateTriggers", activate_triggers},
	{"Sync", sync_requests},
	{"UpdateDataSource", update_data_source},
};

const struct ipc_service producer_port_service = {
	.name = "ProducerPort",
	.methods = methods,
	.n_methods = ARRAY_SIZE(methods),
	.open = producer_port_open,
	.close = producer_port_close,
	.check = check_is_producer,
	.send_limit = PRODUCER_SEND_LIMIT,
	.descriptors_when_bound = true,
	.connections = QUOTA_PRODUCERS,
	.max_remote_conns = MAX_REMOTE_PRODUCER_CONNECTIONS,
	.max_conns_per_address = MAX_PRODUCER_CONNECTIONS_PER_ADDRESS,
};
