/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_hostile PID
 *
 * Peers of the service that break its rules, on the sockets of the environment. After each of them
 * the service, which is the process PID, still works for others, and has not grown without bounds.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "ipc/consumer_port.pb-c.h"
#include "service/ipc/limits.h"
#include "service_good_pair.h"
#include "unit/../unit/rng.h"

#define CONFIG "buffers { size_kb: 256 } data_sources { config { name: 'hostile.src' } }"
#define MAX_RESIDENT_KB (1u << 20) /* with sanitizers; what must not happen is far above */

static struct peer p, c; /* large */
static int service_pid;

static unsigned long resident_kb(void)
{
	unsigned long pages = 0, resident = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", service_pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lu %lu", &pages, &resident) != 2)
		resident = ~0ul / 1024;
	if (f)
		fclose(f);
	return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static bool service_works(void)
{
	CHECK(kill(service_pid, 0) == 0 || errno == EPERM); /* it may be another user's */
	CHECK(good_pair_records());
	CHECK(resident_kb() < MAX_RESIDENT_KB);
	return true;
}

static bool frames_that_are_too_long(void)
{
	static const uint32_t lengths[] = {131069, 131072, 1 << 20, 0x7fffffff, 0xffffffff};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		peer_connect(&p, i % 2 ? sock_default_consumer() : sock_default_producer());
		peer_send_raw(&p, &lengths[i], 4, -1);
		CHECK(peer_is_hung_up(&p));
		peer_close(&p);
	}
	return service_works();
}

/* Random bytes in frames of random sizes: passed over, or answered with an error. */
static bool frames_of_noise(void)
{
	uint64_t r = 1;
	uint8_t frame[300];

	for (int round = 0; round < 20; round++) {
		peer_connect(&p, round % 2 ? sock_default_consumer() : sock_default_producer());
		for (int i = 0; i < 200; i++) {
			size_t len = rng_below(&r, sizeof(frame));

			rng_bytes(&r, frame, len);
			if (!peer_send_frame(&p, frame, len, -1))
				break;
			while (peer_next_in(&p, 0))
				;
		}
		peer_close(&p);
	}
	return service_works();
}

/* What makes no sense costs nothing but its own answer: the connection goes on. */
static bool connection_survives_garbage(void)
{
	static const struct {
		const char *bytes;
		size_t len;
	} garbage[] = {{"", 0}, {"\xff", 1}, {"\x1a\x7f", 2}, {"\x0a\x02\x08", 3}, {"\x07", 1}};
	static const char *const ports[] = {"ProducerPort", "ConsumerPort"};

	for (int k = 0; k < 2; k++) {
		peer_connect(&p, k ? sock_default_consumer() : sock_default_producer());
		for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
			peer_send_frame(&p, garbage[i].bytes, garbage[i].len, -1);
			peer_bind(&p, "NoSuchPort");
			CHECK(peer_next(&p) && p.f.kind == FRAME_BIND_SERVICE_REPLY);
			CHECK(!p.f.success && p.f.service_id == 0);
			peer_bind(&p, ports[k]);
			CHECK(peer_next(&p) && p.f.kind == FRAME_BIND_SERVICE_REPLY && p.f.success);
		}
		peer_close(&p);
	}
	return service_works();
}

static bool unknown_calls_fail(void)
{
	static const uint32_t calls[][2] = {{0, 1}, {2, 1},  {UINT32_MAX, 1},
					    {1, 0}, {1, 16}, {1, UINT32_MAX}};
	static const uint8_t broken[] = {0x0a, 0x7f, 0};
	const uint32_t takes[][2] = {{P_REGISTER_SOURCE, P_SYNC}, {C_ENABLE, C_QUERY_CAPABILITIES}};

	for (int k = 0; k < 2; k++) {
		peer_connect(&p, k ? sock_default_consumer() : sock_default_producer());
		if (!k)
			CHECK(peer_accepted(&p, peer_initialize(&p, "x", false)));
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			for (int quiet = 0; quiet < 2; quiet++)
				CHECK(peer_rejected(&p, peer_call_as(&p, calls[i][0], calls[i][1],
								     quiet, NULL, 0, -1)));
		/* also what a method does not look at */
		for (size_t i = 0; i < 2; i++)
			CHECK(peer_rejected(&p, peer_call_as(&p, 1, takes[k][i], i, broken,
							     sizeof(broken), -1)));
		CHECK(peer_is_quiet(&p));
		peer_close(&p);
	}
	return service_works();
}

/* Every method with arguments that are noise, or almost right. */
static bool methods_with_noise(void)
{
	static const uint8_t tags[] = {0x08, 0x0a, 0x10, 0x12, 0x18, 0x1a, 0x20, 0x22, 0x28, 0x30};
	uint64_t r = 2;
	uint8_t args[200];

	for (int round = 0; round < 40; round++) {
		bool producer = round % 2;

		peer_connect(&p, producer ? sock_default_producer() : sock_default_consumer());
		if (producer)
			peer_initialize(&p, "noise", rng_below(&r, 2));
		for (int i = 0; i < 200; i++) {
			size_t len = rng_below(&r, sizeof(args));

			for (size_t b = 0; b < len; b++)
				args[b] = rng_below(&r, 3) ? (uint8_t)rng_below(&r, 20)
							   : (uint8_t)rng_next(&r);
			if (len > 0)
				args[0] = tags[rng_below(&r, sizeof(tags))];
			peer_call_as(&p, 1, rng_below(&r, 17), rng_below(&r, 4) == 0, args, len,
				     -1);
			while (peer_next_in(&p, 0))
				;
			if (p.eof)
				break;
		}
		peer_close(&p);
	}
	return service_works();
}

/* Asks and asks, and never reads an answer. */
static bool producer_that_never_reads(void)
{
	uint64_t end = clock_mono_ns() + 60 * NS_PER_S;
	struct pb_mem m;

	CHECK(pb_mem_init(&m) == 0);
	frame_put_bind(&m.enc, 1, "ProducerPort");
	peer_connect(&p, sock_default_producer());
	while (peer_send_frame(&p, m.buf, pb_mem_len(&m), -1))
		CHECK(clock_mono_ns() < end);
	pb_mem_deinit(&m);
	peer_close(&p);
	return service_works();
}

/* Does the service take more within the time? */
static bool may_send(struct peer *to)
{
	struct pollfd poller = {.fd = to->fd, .events = POLLOUT};

	return poll(&poller, 1, 300) == 1;
}

/* What it has asked for waits in the buffers, and further requests in its own socket. */
static bool consumers_that_never_read(void)
{
	enum { MUTE = 3, REQUESTS = 100000 };
	static struct peer mute[MUTE];
	unsigned long before = resident_kb();

	for (int k = 0; k < MUTE; k++) {
		int n = 0;

		peer_connect(&mute[k], sock_default_consumer());
		peer_enable(&mute[k], "buffers { size_kb: 1024 }");
		for (; n < REQUESTS && may_send(&mute[k]); n++)
			peer_call(&mute[k], n % 2 ? C_QUERY_STATE : C_READ, NULL, 0);
		CHECK(n < REQUESTS);
	}
	CHECK(resident_kb() < before + MUTE * 4096);
	CHECK(service_works());
	/* One that reads after all gets its answers, and is served as before. */
	while (peer_next_in(&mute[0], 500))
		;
	CHECK(peer_accepted(&mute[0], peer_call(&mute[0], C_STATS, NULL, 0)));
	for (int k = 0; k < MUTE; k++)
		peer_close(&mute[k]);
	return true;
}

static bool many_connections_at_once(void)
{
	static int fds[500];
	int n = 0;

	for (; n < 500; n++)
		if (sock_connect(n % 5 ? sock_default_producer() : sock_default_consumer(),
				 &fds[n]) < 0)
			break;
	while (n > 0)
		close(fds[--n]);
	return service_works();
}

/* How often the service has refused something of a kind since it began. */
static uint64_t refused(Pb__TraceStats__Limit__Kind kind)
{
	Pb__GetTraceStatsResponse *r;
	uint64_t n = 0;

	peer_connect(&c, sock_default_consumer());
	peer_enable(&c, "buffers { size_kb: 4 }");
	if (!peer_accepted(&c, peer_call(&c, C_STATS, NULL, 0))) {
		peer_close(&c);
		return 0;
	}
	r = pb__get_trace_stats_response__unpack(NULL, c.f.payload_len, c.f.payload);
	for (size_t i = 0; r && r->trace_stats && i < r->trace_stats->n_limits; i++)
		if (r->trace_stats->limits[i]->kind == kind)
			n = r->trace_stats->limits[i]->refused;
	if (r)
		pb__get_trace_stats_response__free_unpacked(r, NULL);
	peer_close(&c);
	return n;
}

/* More consumers of one user than there may be: the last one is hung up on. */
static bool refusals_are_counted(void)
{
	static int fds[MAX_CONSUMER_CONNECTIONS / 4 + 1];
	struct pollfd last = {.events = POLLIN};
	size_t n = 0;

	for (; n < ARRAY_SIZE(fds); n++)
		CHECK(sock_connect(sock_default_consumer(), &fds[n]) == 0);
	last.fd = fds[n - 1];
	CHECK(poll(&last, 1, PEER_TIMEOUT_MS) == 1 && last.revents & POLLHUP);
	while (n > 0)
		close(fds[--n]);
	/* They count until the service has seen that they are gone. */
	for (int i = 0; i < 100 && n == 0; i++)
		n = refused(PB__TRACE_STATS__LIMIT__KIND__LIMIT_CONSUMERS);
	CHECK(n > 0);
	CHECK(refused(PB__TRACE_STATS__LIMIT__KIND__LIMIT_SESSIONS) == 0);
	return good_pair_records();
}

static bool half_frames_and_hang_ups(void)
{
	uint64_t r = 3;

	for (int i = 0; i < 200; i++) {
		uint32_t len = 1000;

		peer_connect(&p, i % 2 ? sock_default_consumer() : sock_default_producer());
		peer_send_raw(&p, &len, 1 + rng_below(&r, 4), -1);
		peer_close(&p);
	}
	return service_works();
}

/* Descriptors that the service did not ask for. */
static bool unwanted_descriptors(void)
{
	peer_connect(&p, sock_default_producer());
	for (int i = 0; i < 100; i++) {
		if (peer_call_with_fd(&p, P_SYNC, STDIN_FILENO))
			CHECK(peer_next(&p));
	}
	peer_close(&p);
	return service_works();
}

/* ---- the shared memory ---- */

static void scribble(const struct smb *m, uint64_t seed)
{
	uint64_t r = seed;
	uint32_t *words = (uint32_t *)(void *)m->base;
	uint32_t n = m->page_size * m->n_pages / 4;

	for (;;) {
		uint32_t at = rng_below(&r, n);

		words[at] = (uint32_t)rng_next(&r);
		/* page headers with plausible states more often than not */
		words[rng_below(&r, m->n_pages) * (m->page_size / 4)] =
			rng_below(&r, 8) << 28 | ((uint32_t)rng_next(&r) & 0x0fffffff);
	}
}

/* One process of the producer rewrites the memory while another commits it. */
static bool memory_that_changes_while_it_is_read(void)
{
	struct peer_session s = {0};
	struct peer_packets t;
	uint64_t r = 4;
	uint64_t stream, end;
	struct pb_mem m;
	pid_t child;

	peer_connect(&p, sock_default_producer());
	peer_connect(&c, sock_default_consumer());
	stream = peer_become_producer(&p, "hostile", "hostile.src", 0, true);
	peer_enable(&c, CONFIG " flush_period_ms: 5 flush_timeout_ms: 5");
	CHECK(peer_await_session(&p, stream, true, &s));
	for (uint32_t w = 1; w < 20; w++)
		peer_register_writer(&p, w, s.buffer);
	child = fork();
	if (child == 0)
		scribble(&s.smb, 5);
	end = clock_mono_ns() + NS_PER_S;
	while (clock_mono_ns() < end) {
		CHECK(pb_mem_init(&m) == 0);
		for (int i = 0; i < 50; i++)
			peer_put_move(&m.enc, rng_below(&r, s.smb.n_pages + 1), rng_below(&r, 15),
				      s.buffer);
		peer_call_mem(&p, P_COMMIT, &m);
		while (peer_next_in(&p, 0))
			;
		CHECK(!p.eof);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(peer_read(&c, &t));
	peer_packets_free(&t);
	peer_unmap(&s);
	peer_close(&p);
	peer_close(&c);
	return service_works();
}

/* Another producer's buffers, writers, flushes and instances. */
static bool what_is_not_ones_own(void)
{
	static struct peer good;
	struct peer_session s = {0}, mine = {0};
	struct peer_packets t;
	const char *text = "spoofed";
	uint64_t stream, theirs, flush;
	struct pb_field f;

	peer_connect(&good, sock_default_producer());
	peer_connect(&p, sock_default_producer());
	peer_connect(&c, sock_default_consumer());
	theirs = peer_become_producer(&good, "good", "good.src", DS_NOTIFY_START, false);
	stream = peer_become_producer(&p, "hostile", "hostile.src", 0, false);
	peer_enable(&c, "buffers { size_kb: 64 } buffers { size_kb: 64 } "
			"data_sources { config { name: 'good.src' } }"
			"data_sources { config { name: 'hostile.src' target_buffer: 1 } }");
	CHECK(peer_await_session(&good, theirs, true, &s));
	CHECK(peer_await_session(&p, stream, true, &mine));
	for (uint32_t i = 0; i < 10; i++) {
		peer_write_chunk(&mine.smb, i, 1, i, &text, 1, true);
		CHECK(peer_accepted(&p, peer_commit(&p, i, 0, s.buffer, 0)));
	}
	CHECK(peer_accepted(&p, peer_call_number(&p, P_STARTED, 1, s.instance)));
	flush = peer_call(&c, C_FLUSH, NULL, 0);
	CHECK(peer_command(&good, theirs, CMD(FLUSH), &f));
	CHECK(peer_command(&p, stream, CMD(FLUSH), &f));
	CHECK(peer_accepted(&p, peer_ack_flush(&p, UINT64_MAX)));
	CHECK(peer_is_quiet(&c));
	CHECK(peer_accepted(&good, peer_ack_flush(&good, peer_number(&f, CMD(FLUSH_REQUEST_ID)))));
	CHECK(peer_accepted(&c, flush));
	CHECK(peer_read(&c, &t) && peer_count_text(&t, "spoofed") == 0);
	peer_packets_free(&t);
	peer_unmap(&s);
	peer_unmap(&mine);
	peer_close(&good);
	peer_close(&p);
	peer_close(&c);
	return service_works();
}

/* Configs with a byte or some changed here and there. */
static bool broken_configs(void)
{
	Pb__TraceConfig *config = peer_parse_config(
		CONFIG " producers { producer_name: 'good' shm_size_kb: 64 page_size_kb: 4 } "
		       "builtin_data_sources { snapshot_interval_ms: 1000 } "
		       "flush_period_ms: 100 duration_ms: 1000 unique_session_name: 'u' "
		       "data_sources { config { name: 'x' } producer_name_regex_filter: 'a*' }");
	size_t len = pb__trace_config__get_packed_size(config);
	uint8_t *args = malloc(len + 3);
	uint64_t r = 6;

	CHECK(args && len < 16384);
	for (int i = 0; i < 2000; i++) {
		if (i % 50 == 0) {
			peer_close(&p);
			peer_connect(&p, sock_default_consumer());
		}
		args[0] = 0x0a;
		args[1] = (uint8_t)(len | 0x80);
		args[2] = (uint8_t)(len >> 7);
		pb__trace_config__pack(config, args + 3);
		for (uint32_t n = rng_below(&r, 4); n > 0; n--)
			args[3 + rng_below(&r, (uint32_t)len)] = (uint8_t)rng_next(&r);
		peer_call(&p, C_ENABLE, args, len + 3);
		peer_call(&p, C_FREE, NULL, 0);
		while (peer_next_in(&p, 0))
			;
		CHECK(!p.eof);
	}
	peer_close(&p);
	free(args);
	pb__trace_config__free_unpacked(config, NULL);
	return service_works();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{"a good pair records", service_works},
		{"frames that are too long", frames_that_are_too_long},
		{"frames of noise", frames_of_noise},
		{"a connection survives garbage", connection_survives_garbage},
		{"unknown services, methods and arguments fail", unknown_calls_fail},
		{"methods with noise", methods_with_noise},
		{"a producer that never reads", producer_that_never_reads},
		{"consumers that never read", consumers_that_never_read},
		{"many connections at once", many_connections_at_once},
		{"what was refused is counted in the stats", refusals_are_counted},
		{"half frames and hang-ups", half_frames_and_hang_ups},
		{"descriptors that the service did not ask for", unwanted_descriptors},
		{"memory that changes while it is read", memory_that_changes_while_it_is_read},
		{"what is not one's own", what_is_not_ones_own},
		{"broken configs", broken_configs},
	};

	if (argc != 2)
		return 2;
	service_pid = atoi(argv[1]);
	p.fd = p.got_fd = -1;
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
