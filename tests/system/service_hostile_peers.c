/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that say who they are not, speak for others, promise and do not keep it, and want what is
 * not theirs, frame by frame against the service on the sockets of the environment. The directory
 * of the sockets must be open to other users, who are tried where we may become one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/observable_events.pb-c.h"
#include "service_good_pair.h"

#define SOURCE "data_sources { config { name: 'bad.src' } } "
#define CONFIG "buffers { size_kb: 64 } " SOURCE
#define ALL_STARTED PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED
#define CLONE_HIT PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT
#define NOBODY 65534

static struct peer p, q, c, d; /* large */
static uint64_t stream;
static struct peer_session mine;

static bool end(void)
{
	if (mine.smb.base)
		peer_unmap(&mine);
	peer_close(&p);
	peer_close(&q);
	peer_close(&c);
	peer_close(&d);
	return good_pair_records();
}

static void begin(unsigned flags)
{
	/* of a test that failed */
	peer_close(&p);
	peer_close(&q);
	peer_close(&c);
	peer_close(&d);
	memset(&mine, 0, sizeof(mine));
	peer_connect(&p, sock_default_producer());
	peer_connect(&c, sock_default_consumer());
	stream = peer_become_producer(&p, "bad", "bad.src", flags, false);
}

/* Connects as another user: the service sees who we were then. */
static void connect_as(struct peer *peer, const char *address, uid_t uid)
{
	int r = seteuid(uid);

	assert(r == 0);
	peer_connect(peer, address);
	r = seteuid(0);
	assert(r == 0);
	(void)r;
}

/* The answer of QueryServiceState. */
static bool query(struct peer *peer, struct pb_field *ret_state)
{
	return peer_accepted(peer, peer_call(peer, C_QUERY_STATE, NULL, 0)) &&
	       peer_field(peer, PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE, ret_state);
}

/* ---- who they are ---- */

static bool identity_comes_from_the_kernel(void)
{
	/* SetPeerIdentity: pid 1, uid 4242, a machine */
	static const char spoof[] = "\x42\x0e\x08\x01\x10\x92\x21\x1a\x03hmm\x22\x02me";
	struct pb_field state, producer, f;
	struct peer_packets t;
	const char *text = "whose";
	int i;

	begin(0);
	peer_close(&p);
	peer_connect(&p, sock_default_producer());
	peer_send_frame(&p, spoof, sizeof(spoof) - 1, -1);
	CHECK(peer_is_hung_up(&p)); /* only relays say who they are, and not here */
	peer_close(&p);
	peer_connect(&p, sock_default_producer());
	stream = peer_become_producer(&p, "bad", "bad.src", 0, false);
	peer_connect(&d, sock_default_consumer());
	peer_send_frame(&d, spoof, sizeof(spoof) - 1, -1);
	CHECK(peer_is_hung_up(&d));
	peer_close(&d);
	peer_enable(&c, CONFIG);
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(query(&c, &state));
	CHECK(peer_subfield(&state, PB_TRACING_SERVICE_STATE_PRODUCERS, &producer));
	CHECK(peer_number(&producer, PB_TRACING_SERVICE_STATE_PRODUCER_UID) == getuid());
	CHECK(peer_number(&producer, PB_TRACING_SERVICE_STATE_PRODUCER_PID) == (uint64_t)getpid());
	CHECK(!peer_subfield(&producer, PB_TRACING_SERVICE_STATE_PRODUCER_MACHINE_ID, &f));
	peer_write_chunk(&mine.smb, 0, 1, 0, &text, 1, true);
	CHECK(peer_accepted(&p, peer_commit(&p, 0, 0, mine.buffer, 0)));
	CHECK(peer_read(&c, &t) && peer_count_text(&t, "whose") == 1);
	i = peer_find_packet(&t, 0, PEER_FIELD);
	CHECK(peer_packet_number(&t, (size_t)i, PB_TRACE_PACKET_TRUSTED_UID) == getuid());
	CHECK(peer_packet_number(&t, (size_t)i, PB_TRACE_PACKET_TRUSTED_PID) == (uint64_t)getpid());
	CHECK(!peer_packet_field(&t, (size_t)i, PB_TRACE_PACKET_MACHINE_ID, &f));
	peer_packets_free(&t);
	return end();
}

/* ---- promises ---- */

static bool stop_is_not_awaited_for_ever(void)
{
	uint64_t enable, began = clock_mono_ns();

	begin(DS_NOTIFY_STOP);
	enable = peer_enable(&c, CONFIG "data_source_stop_timeout_ms: 50");
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(peer_accepted(&c, peer_call(&c, C_DISABLE, NULL, 0)));
	CHECK(peer_tracing_ended(&c, enable, NULL));
	CHECK(clock_mono_ns() - began >= 50 * NS_PER_MS);
	return end();
}

static bool flush_is_not_awaited_for_ever(void)
{
	uint64_t before;

	begin(0);
	peer_enable(&c, CONFIG "flush_timeout_ms: 50");
	CHECK(peer_await_session(&p, stream, true, &mine));
	before = peer_stat(&c, PB_TRACE_STATS_FLUSHES_FAILED);
	CHECK(peer_rejected(&c, peer_call(&c, C_FLUSH, NULL, 0)));
	CHECK(peer_rejected(&c, peer_call_number(&c, C_FLUSH, 1, 20)));
	CHECK(peer_stat(&c, PB_TRACE_STATS_FLUSHES_FAILED) == before + 2);
	return end();
}

/* One that never says that it has started delays the end by DURATION_START_WAIT_MS, no more. */
static bool start_is_not_awaited(void)
{
	uint64_t enable;

	begin(DS_NOTIFY_START);
	peer_call_number(&c, C_OBSERVE, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, ALL_STARTED);
	enable = peer_enable(&c, CONFIG "duration_ms: 50 flush_timeout_ms: 1");
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(peer_tracing_ended(&c, enable, NULL));
	return end();
}

/* ---- speaking for others ---- */

static bool notifications_count_for_ones_own_instances(void)
{
	struct peer_session theirs = {0};
	uint64_t to_other, observe, enable, first;

	begin(DS_NOTIFY_START | DS_NOTIFY_STOP);
	peer_connect(&q, sock_default_producer());
	to_other = peer_become_producer(&q, "other", "bad.src", DS_NOTIFY_START | DS_NOTIFY_STOP,
					false);
	observe = peer_call_number(&c, C_OBSERVE, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE,
				   ALL_STARTED);
	enable = peer_enable(&c, CONFIG);
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(peer_await_session(&q, to_other, true, &theirs));
	/* The service waits some seconds for a start: there were thousands of instances before. */
	first = theirs.instance < 20 ? 0 : theirs.instance - 20;
	for (uint64_t id = first; id < theirs.instance + 10; id++)
		CHECK(peer_accepted(&p, peer_call_number(&p, P_STARTED, 1, id)));
	CHECK(peer_is_quiet(&c));
	CHECK(peer_accepted(&q, peer_call_number(&q, P_STARTED, 1, theirs.instance)));
	CHECK(peer_reply(&c, observe));
	CHECK(peer_accepted(&c, peer_call(&c, C_DISABLE, NULL, 0)));
	for (uint64_t id = first; id < theirs.instance + 10; id++)
		peer_call_as(&p, 1, P_STOPPED, true,
			     (uint8_t[]){0x08, (uint8_t)(id | 0x80), (uint8_t)(id >> 7)}, 3, -1);
	CHECK(peer_is_quiet(&c));
	CHECK(peer_command(&q, to_other, CMD(STOP_DATA_SOURCE), &(struct pb_field){0}));
	CHECK(peer_accepted(&q, peer_call_number(&q, P_STOPPED, 1, theirs.instance)));
	CHECK(peer_tracing_ended(&c, enable, NULL));
	peer_unmap(&theirs);
	return end();
}

static uint64_t register_with_id(const char *name, uint64_t id, uint32_t method)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	peer_put_descriptor(&m.enc, name, 0, id);
	return peer_call_mem(&p, method, &m);
}

static bool data_sources_are_registered_once(void)
{
	struct pb_field error, state, f;
	unsigned n = 0;
	struct pb_dec dec;

	begin(0);
	CHECK(peer_accepted(&p, register_with_id("bad.a", 7, P_REGISTER_SOURCE)));
	CHECK(!peer_field(&p, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, &error));
	CHECK(peer_accepted(&p, register_with_id("bad.b", 7, P_REGISTER_SOURCE)));
	CHECK(peer_field(&p, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, &error));
	CHECK(peer_accepted(&p, register_with_id("", 8, P_REGISTER_SOURCE)));
	CHECK(peer_field(&p, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, &error));
	CHECK(peer_rejected(&p, register_with_id("bad.b", 7, P_UPDATE_SOURCE)));
	CHECK(peer_rejected(&p, register_with_id("bad.a", 9, P_UPDATE_SOURCE)));
	CHECK(peer_rejected(&p, register_with_id("bad.src", 0, P_UPDATE_SOURCE)));
	CHECK(peer_accepted(&p, register_with_id("bad.a", 7, P_UPDATE_SOURCE)));
	CHECK(query(&c, &state));
	pb_dec_init(&dec, state.data, state.len);
	while (pb_dec_next(&dec, &f))
		n += f.id == PB_TRACING_SERVICE_STATE_DATA_SOURCES;
	CHECK(n == 2); /* bad.src and bad.a */
	return end();
}

/* ---- triggers ---- */

/* The next clone that is asked for is for this name. */
static bool hit_comes(uint64_t observe, const char *name)
{
	struct pb_field events, hit, f;

	return peer_reply(&c, observe) &&
	       peer_field(&c, PB_OBSERVE_EVENTS_RESPONSE_EVENTS, &events) &&
	       peer_subfield(&events, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT, &hit) &&
	       peer_subfield(&hit, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_NAME, &f) &&
	       f.len == strlen(name) && !memcmp(f.data, name, f.len);
}

static bool triggers_that_are_not_meant_do_nothing(void)
{
	static const char *const vain[] = {"undeclared", "", "hostile.regex", "hostile.never"};
	uint64_t observe;

	begin(0);
	peer_connect(&q, sock_default_producer());
	CHECK(peer_accepted(&q, peer_initialize(&q, "badly.named", false)));
	peer_enable(&c, CONFIG
		    "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 "
		    "triggers { name: 'hostile.regex' producer_name_regex: 'bad|worse' } "
		    "triggers { name: 'hostile.limited' max_per_24_h: 2 } "
		    "triggers { name: 'hostile.never' skip_probability: 1 } }");
	CHECK(peer_await_session(&p, stream, true, &mine));
	observe = peer_call_number(&c, C_OBSERVE, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE,
				   CLONE_HIT);
	for (size_t i = 0; i < sizeof(vain) / sizeof(vain[0]); i++)
		CHECK(peer_accepted(&q, peer_trigger(&q, vain[i])));
	CHECK(peer_is_quiet(&c));
	CHECK(peer_accepted(&p, peer_trigger(&p, "hostile.regex")));
	CHECK(hit_comes(observe, "hostile.regex"));
	for (int i = 0; i < 2; i++) {
		CHECK(peer_accepted(&q, peer_trigger(&q, "hostile.limited")));
		CHECK(hit_comes(observe, "hostile.limited"));
	}
	CHECK(peer_accepted(&q, peer_trigger(&q, "hostile.limited")));
	CHECK(peer_is_quiet(&c));
	return end();
}

/* ---- configs ---- */

static bool expressions_that_would_hang_or_crash_are_refused(void)
{
	static const char *const bad[] = {"(",
					  "[",
					  "*",
					  "a{2,1}",
					  "(a{100}){100}",
					  "\\1",
					  "((((((((((((((((((((a))))))))))))))))))))",
					  "a{99999}"};
	char config[512];

	begin(0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *slash = bad[i][0] == '\\' ? "\\" : "";

		snprintf(config, sizeof(config),
			 "buffers { size_kb: 64 } data_sources { config { name: 'bad.src' } "
			 "producer_name_regex_filter: '%s%s' }",
			 slash, bad[i]);
		CHECK(peer_tracing_ended(&c, peer_enable(&c, config), "regex"));
		snprintf(config, sizeof(config),
			 CONFIG
			 "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1000 "
			 "triggers { name: 'x' producer_name_regex: '%s%s' } }",
			 slash, bad[i]);
		CHECK(peer_tracing_ended(&c, peer_enable(&c, config), "regex"));
	}
	return end();
}

static bool existing_files_are_never_written(void)
{
	char dir[] = "/tmp/service-hostile-XXXXXX", path[4][64], config[512], byte;
	const char *names[] = {"file", "link", "dangling", "directory"};
	int fd;

	begin(0);
	CHECK(mkdtemp(dir));
	for (int i = 0; i < 4; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%s", dir, names[i]);
	fd = open(path[0], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, "k", 1) == 1);
	CHECK(symlink(path[0], path[1]) == 0 && symlink("nowhere", path[2]) == 0);
	CHECK(mkdir(path[3], 0700) == 0);
	for (int i = 0; i < 4; i++) {
		snprintf(config, sizeof(config), CONFIG "write_into_file: true output_path: '%s'",
			 path[i]);
		CHECK(peer_tracing_ended(&c, peer_enable(&c, config), "output_path"));
	}
	CHECK(pread(fd, &byte, 1, 0) == 1 && byte == 'k' && lseek(fd, 0, SEEK_END) == 1);
	CHECK(access(path[2], F_OK) < 0);
	close(fd);
	CHECK(!unlink(path[0]) && !unlink(path[1]) && !unlink(path[2]) && !rmdir(path[3]) &&
	      !rmdir(dir));
	return end();
}

static unsigned long service_resident_kb(pid_t pid)
{
	unsigned long pages = 0, resident = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lu %lu", &pages, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static pid_t service_pid;

/* 12 GiB of buffers, of which what is written is used. */
static bool huge_buffers_cost_what_is_in_them(void)
{
	unsigned long before = service_resident_kb(service_pid);
	const char *text = "little";

	begin(0);
	peer_enable(&c, "buffers { size_kb: 4194303 } buffers { size_kb: 4194303 } "
			"buffers { size_kb: 4194303 }" SOURCE);
	CHECK(peer_await_session(&p, stream, true, &mine));
	for (uint32_t i = 0; i < 100; i++) {
		peer_write_chunk(&mine.smb, 0, 1, i, &text, 1, true);
		CHECK(peer_accepted(&p, peer_commit(&p, 0, 0, mine.buffer, 0)));
	}
	CHECK(before > 0 && service_resident_kb(service_pid) < before + 16384);
	return end();
}

/* ---- other users ---- */

#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			SKIP("only root can connect as another user");                             \
	} while (0)

static bool error_says(struct peer *peer, const char *text)
{
	struct pb_field f;

	return peer_field(peer, PB_CLONE_SESSION_RESPONSE_ERROR, &f) &&
	       memmem(f.data, f.len, text, strlen(text));
}

/* The id of the last session that is listed for this consumer, 0: none is. */
static uint64_t listed_session(struct peer *peer)
{
	struct pb_field state, s;

	return query(peer, &state) &&
			       peer_subfield(&state, PB_TRACING_SERVICE_STATE_TRACING_SESSIONS, &s)
		       ? peer_number(&s, PB_TRACING_SERVICE_STATE_TRACING_SESSION_ID)
		       : 0;
}

static bool sessions_of_others_are_not_taken_cloned_or_listed(void)
{
	uint64_t session, id;
	struct pb_field state, f;

	NEEDS_ROOT();
	begin(0);
	connect_as(&d, sock_default_consumer(), NOBODY);
	peer_enable(&c, CONFIG "unique_session_name: 'private'");
	CHECK(peer_await_session(&p, stream, true, &mine));
	session = listed_session(&c);
	CHECK(session && query(&d, &state));
	CHECK(!peer_subfield(&state, PB_TRACING_SERVICE_STATE_TRACING_SESSIONS, &f));
	CHECK(peer_number(&state, PB_TRACING_SERVICE_STATE_NUM_SESSIONS) == 1);
	id = peer_call_number(&d, C_CLONE, PB_CLONE_SESSION_REQUEST_SESSION_ID, session);
	CHECK(peer_accepted(&d, id) && error_says(&d, "Not allowed"));
	id = peer_call_text(&d, C_CLONE, PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, "private");
	CHECK(peer_accepted(&d, id) && error_says(&d, "Not allowed"));
	CHECK(peer_rejected(&d, peer_attach(&d, "")));
	CHECK(peer_rejected(&c, peer_detach(&c, "")));
	CHECK(peer_accepted(&c, peer_detach(&c, "hostile.key")));
	CHECK(peer_rejected(&d, peer_attach(&d, "hostile.key")));
	CHECK(peer_accepted(&c, peer_attach(&c, "hostile.key")));
	return end();
}

/* Root may clone sessions of other users, but cannot attach to them. */
static bool root_attaches_to_its_own_sessions_only(void)
{
	NEEDS_ROOT();
	begin(0);
	connect_as(&d, sock_default_consumer(), NOBODY);
	peer_enable(&d, CONFIG);
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(peer_accepted(&d, peer_detach(&d, "hostile.key")));
	CHECK(peer_rejected(&c, peer_attach(&c, "hostile.key")));
	CHECK(peer_accepted(&d, peer_attach(&d, "hostile.key")));
	return end();
}

static bool exclusive_sessions_are_for_root(void)
{
	uint64_t enable;

	NEEDS_ROOT();
	begin(0);
	connect_as(&d, sock_default_consumer(), NOBODY);
	enable = peer_enable(&c, CONFIG);
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(peer_tracing_ended(&d, peer_enable(&d, CONFIG "exclusive_prio: 9"), "root"));
	CHECK(peer_accepted(&c, peer_call(&c, C_DISABLE, NULL, 0)));
	CHECK(peer_tracing_ended(&c, enable, NULL));
	return end();
}

/* Locked down: other users' producers get nothing to do, and further ones are turned away. A config
 * that is refused does not lock down. */
static bool lockdown_keeps_other_users_out(void)
{
	struct pb_field f;
	uint64_t to_other;

	NEEDS_ROOT();
	begin(0);
	connect_as(&q, sock_default_producer(), NOBODY);
	CHECK(peer_tracing_ended(&c, peer_enable(&c, "lockdown_mode: LOCKDOWN_SET buffers {}"),
				 "size_kb"));
	connect_as(&d, sock_default_producer(), NOBODY);
	CHECK(peer_accepted(&d, peer_initialize(&d, "early", false)));
	peer_close(&d);
	to_other = peer_become_producer(&q, "other", "bad.src", 0, false);
	peer_enable(&c, CONFIG "lockdown_mode: LOCKDOWN_SET");
	CHECK(peer_await_session(&p, stream, true, &mine));
	CHECK(peer_is_quiet(&q));
	connect_as(&d, sock_default_producer(), NOBODY);
	CHECK(peer_rejected(&d, peer_initialize(&d, "late", false)));
	CHECK(peer_accepted(&c, peer_call(&c, C_FREE, NULL, 0)) && peer_next(&c));
	peer_enable(&c, CONFIG "lockdown_mode: LOCKDOWN_CLEAR");
	CHECK(peer_command(&q, to_other, CMD(SETUP_TRACING), &f));
	CHECK(peer_accepted(&d, peer_initialize(&d, "late", false)));
	return end();
}

/* All that one user may have; the others have theirs. */
static bool user_that_takes_all_takes_its_own_share(void)
{
	static int fds[400];
	int n = 0;

	NEEDS_ROOT();
	begin(0);
	if (seteuid(NOBODY) < 0)
		return false;
	for (; n < 400; n++)
		if (sock_connect(sock_default_consumer(), &fds[n]) < 0)
			break;
	CHECK(seteuid(0) == 0);
	CHECK(n > 100);
	CHECK(good_pair_records());
	while (n > 0)
		close(fds[--n]);
	return end();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{"identity comes from the kernel", identity_comes_from_the_kernel},
		{"a stop is not awaited for ever", stop_is_not_awaited_for_ever},
		{"a flush is not awaited for ever", flush_is_not_awaited_for_ever},
		{"a start is not awaited", start_is_not_awaited},
		{"notifications count for one's own instances",
		 notifications_count_for_ones_own_instances},
		{"data sources are registered once", data_sources_are_registered_once},
		{"triggers that are not meant do nothing", triggers_that_are_not_meant_do_nothing},
		{"expressions that would hang or crash are refused",
		 expressions_that_would_hang_or_crash_are_refused},
		{"existing files are never written", existing_files_are_never_written},
		{"huge buffers cost what is in them", huge_buffers_cost_what_is_in_them},
		{"sessions of others are not taken, cloned or listed",
		 sessions_of_others_are_not_taken_cloned_or_listed},
		{"root attaches to its own sessions only", root_attaches_to_its_own_sessions_only},
		{"exclusive sessions are for root", exclusive_sessions_are_for_root},
		{"lockdown keeps other users out", lockdown_keeps_other_users_out},
		{"a user that takes all takes its own share",
		 user_that_takes_all_takes_its_own_share},
	};

	if (argc != 2)
		return 2;
	service_pid = atoi(argv[1]);
	p.fd = p.got_fd = q.fd = q.got_fd = c.fd = c.got_fd = d.fd = d.got_fd = -1;
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
