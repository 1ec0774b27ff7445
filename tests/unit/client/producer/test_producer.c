/* SPDX-License-Identifier: Apache-2.0 */
/* A producer against a scripted service on a socket of its own, with real shared memory. */
#include "unit/client/fake_host.h"
#include "unit/test.h"

#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "client/producer/producer.h"
#include "common/commit_data_request.pb-c.h"
#include "ipc/producer_port.pb-c.h"
#include "unit/client/fake_service.h"
#include "unit/proto_text.h"

enum {
	INITIALIZE = 1,
	REGISTER_SOURCE,
	UNREGISTER_SOURCE,
	COMMIT,
	GET_COMMAND,
	REGISTER_WRITER,
	UNREGISTER_WRITER,
	STARTED,
	STOPPED,
	TRIGGERS,
	SYNC,
};

static const struct frame_method methods[] = {
	{INITIALIZE, "InitializeConnection"},
	{REGISTER_SOURCE, "RegisterDataSource"},
	{UNREGISTER_SOURCE, "UnregisterDataSource"},
	{COMMIT, "CommitData"},
	{GET_COMMAND, "GetAsyncCommand"},
	{REGISTER_WRITER, "RegisterTraceWriter"},
	{UNREGISTER_WRITER, "UnregisterTraceWriter"},
	{STARTED, "NotifyDataSourceStarted"},
	{STOPPED, "NotifyDataSourceStopped"},
	{TRIGGERS, "ActivateTriggers"},
	{SYNC, "Sync"},
};

struct rig {
	struct event_base *loop;
	struct event *acceptable;
	int listen_fd;
	char dir[32], path[64];
	struct host host;
	struct fake_service smb;
	struct producer *p;
	uint64_t commands; /* request id of GetAsyncCommand */
	int connected, disconnected;
	unsigned attempts; /* to connect */
	char sentence[512];
	struct strbuf story; /* of the source */
};

static struct rig *rig;

/* ---- a source that writes one packet at start and one at stop ---- */

struct one {
	struct ds_handle *h;
	struct writer *w;
};

static int one_create(struct ds_handle *h, const struct ds_env *env,
		      const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct one *o;

	strbuf_puts(&rig->story, "create ");
	if (config->legacy_config) {
		assert_string_equal(config->legacy_config, "fail");
		return -EACCES;
	}
	o = calloc(1, sizeof(*o));
	o->h = h;
	*ret_instance = o;
	return 0;
}

static void one_packet(struct one *o, uint64_t number)
{
	pb_enc_u64(writer_begin(o->w), 1, number);
	writer_end(o->w);
}

static void one_start(void *instance)
{
	struct one *o = instance;

	strbuf_puts(&rig->story, "start ");
	o->w = ds_writer_new(o->h);
	one_packet(o, 1);
	ds_started(o->h);
}

static void one_flush(void *instance, uint64_t flush_id)
{
	struct one *o = instance;

	strbuf_puts(&rig->story, "flush ");
	writer_flush(o->w);
	ds_flushed(o->h, flush_id);
}

static void one_clear(void *instance)
{
	strbuf_puts(&rig->story, "clear ");
}

static void one_stop(void *instance)
{
	struct one *o = instance;

	strbuf_puts(&rig->story, "stop ");
	one_packet(o, 2);
	ds_stopped(o->h);
}

static void one_destroy(void *instance)
{
	struct one *o = instance;

	strbuf_puts(&rig->story, "destroy ");
	writer_free(o->w);
	free(o);
}

static void one_describe(struct pb_enc *e)
{
	pb_enc_open(e, PB_DATA_SOURCE_DESCRIPTOR_FTRACE_DESCRIPTOR);
	pb_enc_close(e);
}

static const struct data_source plain = {
	.name = "test.plain",
	.create = one_create,
	.start = one_start,
	.flush = one_flush,
	.stop = one_stop,
	.destroy = one_destroy,
};
static const struct data_source rich = {
	.name = "test.rich",
	.handles_incremental_state_clear = true,
	.create = one_create,
	.start = one_start,
	.flush = one_flush,
	.clear = one_clear,
	.stop = one_stop,
	.destroy = one_destroy,
	.describe = one_describe,
};
static const struct data_source *const sources[] = {&plain, &rich, NULL};

/* ---- rig ---- */

static void on_acceptable(evutil_socket_t fd, short what, void *ctx)
{
	struct rig *r = ctx;
	int peer;

	if (sock_accept(fd, &peer) == 0)
		host_take(&r->host, peer);
}

static void rig_listen(struct rig *r)
{
	assert_int_equal(sock_listen(r->path, &r->listen_fd, NULL), 0);
	r->acceptable = event_new(r->loop, r->listen_fd, EV_READ | EV_PERSIST, on_acceptable, r);
	event_add(r->acceptable, NULL);
}

static void on_connected(void *ctx)
{
	((struct rig *)ctx)->connected++;
}

static void on_disconnected(void *ctx)
{
	((struct rig *)ctx)->disconnected++;
}

static void on_error(void *ctx, const char *sentence)
{
	snprintf(((struct rig *)ctx)->sentence, sizeof(rig->sentence), "%s", sentence);
}

static void rig_init(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	rig = r;
	r->loop = r->host.loop = event_base_new();
	strcpy(r->dir, "/tmp/test_producer.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/sock", r->dir);
	fake_init(&r->smb, 4096, 16);
}

static void rig_start(struct rig *r, const struct producer_options *extra)
{
	struct producer_options o = extra ? *extra : (struct producer_options){0};

	o.name = "test.producer";
	o.socket = o.socket ? o.socket : r->path;
	o.sources = sources;
	o.env.loop = r->loop;
	o.on_connected = on_connected;
	o.on_disconnected = on_disconnected;
	o.on_error = on_error;
	o.ctx = r;
	assert_int_equal(producer_new(&o, &r->p), 0);
}

static void rig_deinit(struct rig *r)
{
	producer_free(r->p);
	host_reset(&r->host);
	if (r->acceptable)
		event_free(r->acceptable);
	close(r->listen_fd);
	unlink(r->path);
	rmdir(r->dir);
	assert_int_equal(r->smb.violations, 0);
	fake_deinit(&r->smb);
	strbuf_deinit(&r->story);
	event_base_free(r->loop);
}

static int rig_setup(void **state)
{
	static struct rig r;

	rig_init(&r);
	*state = &r;
	return 0;
}

static int rig_teardown(void **state)
{
	rig_deinit(*state);
	return 0;
}

/* ---- the service's lines ---- */

static const struct frame *expect_call(struct rig *r, uint32_t method)
{
	const struct frame *f = host_expect(&r->host, FRAME_INVOKE_METHOD);

	assert_int_equal(f->method_id, method);
	return f;
}

static void send_message(struct rig *r, uint64_t request_id, bool has_more,
			 const ProtobufCMessage *m, int fd)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	uint8_t *bytes = malloc(len + 1);

	protobuf_c_message_pack(m, bytes);
	host_reply_fd(&r->host, request_id, true, has_more, bytes, len, fd);
	free(bytes);
}

/* Binds and takes the first two calls; gives the id of the one that waits for a welcome. */
static uint64_t greet(struct rig *r)
{
	const struct frame *f = host_expect(&r->host, FRAME_BIND_SERVICE);
	uint64_t id;

	assert_int_equal(f->text_len, strlen("ProducerPort"));
	assert_memory_equal(f->text, "ProducerPort", f->text_len);
	host_send_bind_reply(&r->host, f->request_id, true, methods, ARRAY_SIZE(methods));
	id = expect_call(r, INITIALIZE)->request_id;
	r->commands = expect_call(r, GET_COMMAND)->request_id;
	return id;
}

static void welcome(struct rig *r, uint64_t id, bool in_place, bool emulation)
{
	ProtobufCMessage *m;
	char text[128];

	snprintf(
		text, sizeof(text),
		"direct_smb_patching_supported: %d use_shmem_emulation: %d sets_consumer_uid: true",
		in_place, emulation);
	m = proto_parse(&pb__initialize_connection_response__descriptor, text);
	send_message(r, id, false, m, -1);
	protobuf_c_message_free_unpacked(m, NULL);
}

static void connect_fully(struct rig *r)
{
	int before = r->connected;

	welcome(r, greet(r), true, false);
	expect_call(r, REGISTER_SOURCE);
	expect_call(r, REGISTER_SOURCE);
	host_reply(&r->host, expect_call(r, SYNC)->request_id, true, false, "", 0);
	spin_until(r->loop, r->connected == before + 1);
}

static void send_command(struct rig *r, int fd, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void send_command(struct rig *r, int fd, const char *fmt, ...)
{
	ProtobufCMessage *m;
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	m = proto_parse(&pb__get_async_command_response__descriptor, text);
	send_message(r, r->commands, true, m, fd);
	protobuf_c_message_free_unpacked(m, NULL);
}

static void send_memory(struct rig *r, uint32_t page_kb, int fd)
{
	send_command(r, fd, "setup_tracing { shared_buffer_page_size_kb: %u }", page_kb);
}

/* more: of the config, or "". */
static void send_setup(struct rig *r, const char *name, unsigned id, const char *more)
{
	send_command(r, -1,
		     "setup_data_source { new_instance_id: %u "
		     "config { name: '%s' target_buffer: 4 %s } }",
		     id, name, more);
}

static void send_start(struct rig *r, unsigned id)
{
	send_command(r, -1, "start_data_source { new_instance_id: %u }", id);
}

static void send_stop(struct rig *r, unsigned id)
{
	send_command(r, -1, "stop_data_source { instance_id: %u }", id);
}

static void send_flush(struct rig *r, unsigned id, unsigned flush_id)
{
	send_command(r, -1, "flush { data_source_ids: %u request_id: %u }", id, flush_id);
}

/* Takes the next call, which has these arguments; gives its request id. */
static uint64_t expect_arguments(struct rig *r, uint32_t method,
				 const ProtobufCMessageDescriptor *type, const char *expected)
{
	const struct frame *f = expect_call(r, method);

	assert_packed_proto(type, f->payload, f->payload_len, expected);
	return f->request_id;
}

static void expect_commit(struct rig *r)
{
	const struct frame *f = expect_call(r, COMMIT);

	assert_true(f->drop_reply);
	fake_process(&r->smb, f->payload, f->payload_len);
}

/* The next call is NotifyDataSourceStarted or -Stopped of this instance. */
static void expect_notice(struct rig *r, uint32_t method, unsigned id)
{
	char text[64];

	snprintf(text, sizeof(text), "data_source_id: %u", id);
	expect_arguments(r, method,
			 method == STARTED ? &pb__notify_data_source_started_request__descriptor
					   : &pb__notify_data_source_stopped_request__descriptor,
			 text);
}

static void assert_story(struct rig *r, const char *expected)
{
	assert_string_equal(r->story.s ? r->story.s : "", expected);
	strbuf_clear(&r->story);
}

static int started_setup(void **state)
{
	rig_setup(state);
	rig_listen(*state);
	rig_start(*state, NULL);
	return 0;
}

static int connected_setup(void **state)
{
	struct rig *r;

	started_setup(state);
	r = *state;
	connect_fully(r);
	send_memory(r, 4, r->smb.fd);
	return 0;
}

/* Tests of a producer that does not run yet, that looks for its service, and that has found it. */
#define RIG_TEST(name) TEST_STATE(name, rig_setup, rig_teardown, struct rig *r)
#define STARTED_TEST(name) TEST_STATE(name, started_setup, rig_teardown, struct rig *r)
#define CONNECTED_TEST(name) TEST_STATE(name, connected_setup, rig_teardown, struct rig *r)

/* ---- introduction ---- */

STARTED_TEST(the_introduction_follows_the_protocol)
{
	uint64_t id, sync;

	assert_int_equal(host_expect(&r->host, FRAME_BIND_SERVICE)->request_id, 1);
	host_send_bind_reply(&r->host, 1, true, methods, ARRAY_SIZE(methods));
	id = expect_arguments(
		r, INITIALIZE, &pb__initialize_connection_request__descriptor,
		"producer_name: 'test.producer' smb_scraping_mode: SMB_SCRAPING_DISABLED "
		"shared_memory_page_size_hint_bytes: 32768 "
		"shared_memory_size_hint_bytes: 2097152 reads_consumer_uid: true");
	assert_false(expect_call(r, GET_COMMAND)->drop_reply);
	spin_idle(r->loop);
	assert_int_equal(r->host.n, r->host.next); /* and waits for the welcome */

	welcome(r, id, true, false);
	expect_arguments(r, REGISTER_SOURCE, &pb__register_data_source_request__descriptor,
			 "data_source_descriptor { name: 'test.plain' will_notify_on_start: true "
			 "will_notify_on_stop: true }");
	expect_arguments(r, REGISTER_SOURCE, &pb__register_data_source_request__descriptor,
			 "data_source_descriptor { name: 'test.rich' will_notify_on_start: true "
			 "will_notify_on_stop: true handles_incremental_state_clear: true "
			 "ftrace_descriptor { } }");
	sync = expect_call(r, SYNC)->request_id;
	spin_idle(r->loop);
	assert_int_equal(r->connected, 0);
	host_reply(&r->host, sync, true, false, "", 0);
	spin_until(r->loop, r->connected == 1);
	assert_string_equal(r->sentence, "");
	producer_free(TAKE_PTR(r->p));
	assert_int_equal(r->disconnected, 0);
}

RIG_TEST(options_are_passed_on)
{
	const struct producer_options o = {
		.shm_size = 1 << 20, .page_size = 8192, .scraping = true};

	rig_listen(r);
	rig_start(r, &o);
	host_expect(&r->host, FRAME_BIND_SERVICE);
	host_send_bind_reply(&r->host, 1, true, methods, ARRAY_SIZE(methods));
	expect_arguments(r, INITIALIZE, &pb__initialize_connection_request__descriptor,
			 "producer_name: 'test.producer' smb_scraping_mode: SMB_SCRAPING_ENABLED "
			 "shared_memory_page_size_hint_bytes: 8192 "
			 "shared_memory_size_hint_bytes: 1048576 reads_consumer_uid: true");
}

TEST(a_service_without_a_working_sync_will_do)
{
	static struct rig r;

	for (int lacks = 0; lacks < 2; lacks++) {
		rig_init(&r);
		rig_listen(&r);
		rig_start(&r, NULL);
		host_expect(&r.host, FRAME_BIND_SERVICE);
		host_send_bind_reply(&r.host, 1, true, methods, ARRAY_SIZE(methods) - lacks);
		welcome(&r, expect_call(&r, INITIALIZE)->request_id, true, false);
		expect_call(&r, GET_COMMAND);
		expect_call(&r, REGISTER_SOURCE);
		expect_call(&r, REGISTER_SOURCE);
		/* Any answered call does the same. */
		host_reply(&r.host, expect_call(&r, lacks ? UNREGISTER_SOURCE : SYNC)->request_id,
			   false, false, "", 0);
		spin_until(r.loop, r.connected == 1);
		rig_deinit(&r);
	}
}

RIG_TEST(of_a_list_of_sockets_it_takes_the_first)
{
	char list[200];
	const struct producer_options o = {.socket = list};

	rig_listen(r);
	snprintf(list, sizeof(list), "%s,/nonexistent/other", r->path);
	rig_start(r, &o);
	connect_fully(r);
}

/* ---- a session ---- */

CONNECTED_TEST(a_session_from_setup_to_stop)
{
	size_t before;

	send_setup(r, "test.rich", 50, "");
	spin_until(r->loop, r->story.len);
	assert_story(r, "create ");
	send_start(r, 50);
	expect_arguments(r, REGISTER_WRITER, &pb__register_trace_writer_request__descriptor,
			 "trace_writer_id: 1 target_buffer: 4");
	fake_on_added(&r->smb, 1, 4);
	expect_notice(r, STARTED, 50);
	assert_story(r, "start ");

	send_flush(r, 50, 9);
	expect_commit(r); /* data and answer in one */
	assert_int_equal(r->smb.flush_id, 9);
	assert_int_equal(r->smb.n_chunks, 1);
	send_flush(r, 50, 10);
	expect_commit(r);
	assert_int_equal(r->smb.flush_id, 10);
	assert_int_equal(r->smb.n_chunks, 1);
	send_command(r, -1, "clear_incremental_state { data_source_ids: 50 }");
	spin_until(r->loop, r->story.len >= strlen("flush flush clear "));
	assert_story(r, "flush flush clear ");

	send_stop(r, 50);
	expect_commit(r);
	expect_arguments(r, UNREGISTER_WRITER, &pb__unregister_trace_writer_request__descriptor,
			 "trace_writer_id: 1");
	expect_notice(r, STOPPED, 50);
	assert_story(r, "stop destroy ");
	assert_int_equal(r->smb.n_chunks, 2);
	assert_memory_equal(r->smb.chunks[0].payload, "\x05\xb8\x05\x01\x08\x01\x00", 7);
	assert_memory_equal(r->smb.chunks[1].payload, "\x02\x08\x02\x00", 4);

	before = r->host.n;
	spin_idle(r->loop);
	assert_int_equal(r->host.n, before);
}

/* The trace gets a packet that names the source and the reason. */
static void expect_refusal(struct rig *r, uint16_t writer, const char *name, const char *reason)
{
	const struct fake_chunk *c;

	expect_call(r, REGISTER_WRITER);
	fake_on_added(&r->smb, writer, 4);
	expect_commit(r);
	c = &r->smb.chunks[r->smb.n_chunks - 1];
	assert_non_null(memmem(c->payload, c->size, name, strlen(name)));
	assert_non_null(memmem(c->payload, c->size, reason, strlen(reason)));
	expect_call(r, UNREGISTER_WRITER);
	fake_on_removed(&r->smb, writer);
}

CONNECTED_TEST(everything_is_answered)
{
	send_setup(r, "test.plain", 50, "legacy_config: 'fail'");
	send_start(r, 50);
	expect_refusal(r, 1, "test.plain", strerror(EACCES));
	expect_notice(r, STARTED, 50);
	assert_non_null(strstr(r->sentence, "test.plain"));
	assert_non_null(strstr(r->sentence, strerror(EACCES)));
	send_setup(r, "other.source", 51, "");
	send_start(r, 51);
	expect_refusal(r, 2, "other.source", strerror(ENOENT));
	expect_notice(r, STARTED, 51);
	assert_non_null(strstr(r->sentence, "other.source"));
	send_command(r, -1,
		     "start_data_source { new_instance_id: 52 "
		     "config { name: 'never.set.up' target_buffer: 4 } }");
	expect_refusal(r, 3, "never.set.up", strerror(ENOENT));
	expect_notice(r, STARTED, 52);
	send_flush(r, 50, 3);
	expect_commit(r);
	assert_int_equal(r->smb.flush_id, 3);
	send_flush(r, 999, 4);
	expect_commit(r);
	assert_int_equal(r->smb.flush_id, 4);
	for (uint64_t id = 50; id < 54; id++) {
		send_stop(r, id);
		expect_notice(r, STOPPED, id);
	}
	assert_int_equal(r->connected, 1);
	assert_int_equal(r->disconnected, 0);
}

STARTED_TEST(senseless_commands_change_nothing)
{
	static uint8_t deep[60000];

	connect_fully(r);
	send_command(r, -1, "%s", "");
	host_reply(&r->host, r->commands, true, true, "\xff\xff\xff", 3);
	host_reply(&r->host, r->commands, true, true, "\x92\x03\x01x", 4); /* a later version's */
	memset(deep, 0x12, sizeof(deep));
	host_reply(&r->host, r->commands, true, true, deep, sizeof(deep));
	send_memory(r, 4, r->smb.fd);
	send_memory(r, 4, r->smb.fd); /* a second one is not taken */
	send_setup(r, "test.plain", 50, "");
	send_start(r, 50);
	fake_on_added(&r->smb, 1, 4);
	expect_call(r, REGISTER_WRITER);
	expect_notice(r, STARTED, 50);
	assert_int_equal(r->disconnected, 0);
}

STARTED_TEST(triggers_of_the_program)
{
	const char *const names[] = {"one", "two"};
	const struct frame *f;
	Pb__ActivateTriggersRequest *m;

	assert_int_equal(producer_activate_triggers(r->p, names, 2), -ENOTCONN);
	connect_fully(r);
	assert_int_equal(producer_activate_triggers(r->p, names, 2), 0);
	f = expect_call(r, TRIGGERS);
	m = pb__activate_triggers_request__unpack(NULL, f->payload_len, f->payload);
	assert_int_equal(m->n_trigger_names, 2);
	assert_string_equal(m->trigger_names[1], "two");
	pb__activate_triggers_request__free_unpacked(m, NULL);
}

CONNECTED_TEST(the_end_sends_what_was_written)
{
	send_setup(r, "test.plain", 50, "");
	send_start(r, 50);
	fake_on_added(&r->smb, 1, 4);
	expect_call(r, REGISTER_WRITER);
	expect_call(r, STARTED);
	producer_free(TAKE_PTR(r->p));
	assert_story(r, "create start stop destroy ");
	spin_until(r->loop, r->host.closed == 1);
	expect_commit(r);
	assert_int_equal(r->smb.n_chunks, 1);
	assert_int_equal(r->disconnected, 0);
}

/* ---- losses ---- */

STARTED_TEST(a_lost_service_ends_all_and_the_next_one_starts_anew)
{
	for (int round = 1; round <= 3; round++) {
		connect_fully(r);
		send_memory(r, 4, r->smb.fd);
		send_setup(r, "test.plain", 50, "");
		send_start(r, 50);
		expect_arguments(r, REGISTER_WRITER, &pb__register_trace_writer_request__descriptor,
				 "trace_writer_id: 1 target_buffer: 4");
		expect_call(r, STARTED);
		host_reset(&r->host);
		spin_until(r->loop, r->disconnected == round);
		assert_story(r, "create start stop destroy ");
		/* the memory of the lost service stays as it was: make it a new one's */
		memset(r->smb.smb.base, 0, r->smb.size);
	}
	connect_fully(r);
}

STARTED_TEST(unusable_memory_is_reported_and_ends_the_connection)
{
	static const uint32_t page_kb[] = {3, 0, 64, UINT32_MAX, 128};

	for (size_t i = 0; i <= ARRAY_SIZE(page_kb); i++) {
		connect_fully(r);
		if (i < ARRAY_SIZE(page_kb))
			send_memory(r, page_kb[i], r->smb.fd);
		else
			send_memory(r, 4, -1); /* without the memory */
		spin_until(r->loop, r->host.closed == (int)i + 1);
		assert_non_null(strstr(r->sentence, "shared memory"));
		host_reset(&r->host);
	}
	assert_int_equal(r->disconnected, ARRAY_SIZE(page_kb) + 1);
}

STARTED_TEST(services_that_refuse_are_reported_and_tried_again)
{
	uint64_t id;

	id = greet(r); /* refuses */
	host_reply(&r->host, id, false, false, "", 0);
	spin_until(r->loop, r->host.closed == 1);
	assert_non_null(strstr(r->sentence, "refused"));
	host_reset(&r->host);

	id = greet(r); /* answers with no message */
	host_reply(&r->host, id, true, false, "\xff", 1);
	spin_until(r->loop, r->host.closed == 2);
	host_reset(&r->host);

	welcome(r, greet(r), true, false); /* shares memory that is none */
	send_memory(r, 4, -1);
	spin_until(r->loop, r->host.closed == 3);
	assert_non_null(strstr(r->sentence, "cannot use the service's shared memory"));
	host_reset(&r->host);

	welcome(r, greet(r), true, false); /* ends the commands */
	host_reply(&r->host, r->commands, true, false, "", 0);
	spin_until(r->loop, r->host.closed == 4);
	host_reset(&r->host);

	host_expect(&r->host, FRAME_BIND_SERVICE); /* is something else */
	host_send_bind_reply(&r->host, 1, false, NULL, 0);
	spin_until(r->loop, r->host.closed == 5);
	host_reset(&r->host);

	host_expect(&r->host, FRAME_BIND_SERVICE); /* has no methods */
	host_send_bind_reply(&r->host, 1, true, NULL, 0);
	spin_until(r->loop, r->host.closed == 6);
	host_reset(&r->host);

	assert_int_equal(r->connected, 0);
	assert_int_equal(r->disconnected, 0);
	connect_fully(r);
}

STARTED_TEST(a_service_that_shares_no_memory_gets_the_chunks)
{
	Pb__CommitDataRequest *m;
	const struct frame *f;

	welcome(r, greet(r), true, true);
	expect_call(r, REGISTER_SOURCE);
	expect_call(r, REGISTER_SOURCE);
	host_reply(&r->host, expect_call(r, SYNC)->request_id, true, false, "", 0);
	spin_until(r->loop, r->connected == 1);
	send_memory(r, 4, -1);
	send_setup(r, "test.plain", 50, "");
	send_start(r, 50);
	expect_call(r, REGISTER_WRITER);
	expect_call(r, STARTED);
	send_flush(r, 50, 9);
	f = expect_call(r, COMMIT);
	m = pb__commit_data_request__unpack(NULL, f->payload_len, f->payload);
	assert_non_null(m);
	assert_int_equal(m->flush_request_id, 9);
	assert_int_equal(m->n_chunks_to_move, 1);
	assert_non_null(memmem(m->chunks_to_move[0]->data.data, m->chunks_to_move[0]->data.len,
			       "\x05\xb8\x05\x01\x08\x01", 6));
	pb__commit_data_request__free_unpacked(m, NULL);
	assert_string_equal(r->sentence, "");
}

static void count_attempts(void *ctx, uint64_t capabilities)
{
	struct rig *r = ctx;

	r->attempts += capabilities != 0;
}

static const struct producer_options counting = {.on_capabilities = count_attempts};

RIG_TEST(waits_double_and_a_new_socket_ends_them)
{
	uint64_t start = clock_mono_ns();

	rig_start(r, &counting);
	spin_until(r->loop, r->attempts == 5); /* after 0, 100, 300, 700 and 1500 ms */
	assert_true(clock_mono_ns() - start >= 1500 * NS_PER_MS);
	assert_string_equal(r->sentence, ""); /* to wait is no trouble */
	start = clock_mono_ns();
	rig_listen(r);
	connect_fully(r);
	assert_true(clock_mono_ns() - start < 1500 * NS_PER_MS);
	host_reset(&r->host); /* after an accepted connection the waits are short again */
	connect_fully(r);
}

/* Of 2,000 changes, each of which looks like a new socket. */
RIG_TEST(a_dir_that_changes_all_the_time_causes_few_attempts)
{
	rig_start(r, &counting);
	for (int i = 0; i < 1000; i++) {
		close(open(r->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		event_base_loop(r->loop, EVLOOP_NONBLOCK);
		unlink(r->path);
		event_base_loop(r->loop, EVLOOP_NONBLOCK);
	}
	assert_in_range(r->attempts, 2, 50);
	rig_listen(r);
	connect_fully(r);
}

RIG_TEST(a_dir_that_is_missing_is_waited_for_too)
{
	char address[100];
	const struct producer_options o = {.socket = address};

	snprintf(address, sizeof(address), "%s/later/sock", r->dir);
	rig_start(r, &o);
	snprintf(r->path, sizeof(r->path), "%s/later", r->dir);
	mkdir(r->path, 0700);
	strcat(r->path, "/sock");
	rig_listen(r);
	connect_fully(r);
	unlink(r->path);
	*strrchr(r->path, '/') = '\0';
	rmdir(r->path);
}
