/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_hostile_attacks PID
 *
 * Attacks on the time and the memory of the service, the process PID, on the sockets of the
 * environment: each of them would keep it from serving others, or make it keep more than is
 * charged. Where we are root the attacker is uid 4242, else another process of our own user.
 *
 * Times are not asserted: a query of another consumer is answered while an attack cannot end, or
 * the CPU time of the service is compared with that for harmless requests of the same number.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/sanitizer.h"
#include "held_locks.h"
#include "service/ipc/limits.h"
#include "service_hostile_user.h"

static pid_t service_pid;
static struct peer p, c; /* large */

/* CPU time of the service so far, in ns. */
static uint64_t cpu_ns(void)
{
	uint64_t ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", service_pid, service_pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%" SCNu64, &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

static unsigned long resident_kb(void)
{
	unsigned long pages = 0, resident = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", service_pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lu %lu", &pages, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

/* ---- files of traces ---- */

/* The receiver of a datagram socket would see the uid and pid of the service. */
static bool socket_is_no_file_for_a_trace(void)
{
	static const int types[] = {SOCK_DGRAM, SOCK_STREAM, SOCK_SEQPACKET};
	const char *config = "buffers { size_kb: 4 } write_into_file: true duration_ms: 1";
	int fds[2], on = 1;
	char byte;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		CHECK(socketpair(AF_UNIX, types[i], 0, fds) == 0);
		CHECK(setsockopt(fds[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0);
		peer_connect(&c, sock_default_consumer());
		peer_bind(&c, "ConsumerPort");
		CHECK(peer_next(&c));
		CHECK(peer_tracing_ended(&c, peer_enable_into(&c, config, fds[0]),
					 "neither a regular file nor a pipe"));
		CHECK(recv(fds[1], &byte, 1, MSG_DONTWAIT) < 0);
		close(fds[0]);
		close(fds[1]);
		peer_close(&c);
	}
	return true;
}

/* ---- locks of files ---- */

#define INTO_FILE "buffers { size_kb: 4 } write_into_file: true file_write_period_ms: 100 "

/* A file without a name. (A memfd has no lock of its offset.) */
static int open_file(void)
{
	char path[] = "/tmp/sonda-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	assert(fd >= 0);
	unlink(path);
	return fd;
}

/* The kernel gives a lock of the file to a peer for as long as the peer likes: nothing that the
 * service does with the file may wait for it in the loop. */
static bool file_whose_locks_a_peer_holds(void)
{
	static struct peer cloner; /* large */
	struct held_locks held;
	struct pb_field f;
	struct pb_mem args;
	uint64_t call;
	int fd = open_file(), to = open_file();
	bool good;

	/* All seteuid(2) come first: libc waits for the thread that holds the locks. */
	connect_as_attacker(&p, sock_default_consumer());
	if (!held_locks_take(&held, fd))
		SKIP("only root can hold the locks");
	peer_enable_into(&p, INTO_FILE, fd);
	good = query_is_answered();
	peer_close(&p);
	good = query_is_answered() && good;
	CHECK(held_locks_release(&held) && good);
	close(fd);

	fd = open_file();
	connect_as_attacker(&p, sock_default_consumer());
	connect_as_attacker(&cloner, sock_default_consumer());
	peer_enable_into(&p, INTO_FILE "unique_session_name: 'held'", fd);
	CHECK(peer_accepted(&p, peer_call(&p, C_QUERY_CAPABILITIES, NULL, 0)));
	CHECK(held_locks_take(&held, fd));
	assert(pb_mem_init(&args) == 0);
	pb_enc_str(&args.enc, PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, "held");
	call = peer_call_as(&cloner, 1, C_CLONE, false, args.buf, pb_mem_len(&args), to);
	pb_mem_deinit(&args);
	good = query_is_answered();
	CHECK(held_locks_release(&held) && good);
	CHECK(peer_accepted(&cloner, call));
	CHECK(peer_field(&cloner, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f) && f.u64 == 1);
	peer_close(&cloner);
	peer_close(&p);
	close(fd);
	close(to);
	return good_pair_records();
}

/* ---- connections ---- */

/* Four users take all the connections that they get; root and a fifth user still record. */
static bool connections_of_others_are_kept_for_root(void)
{
	enum { USERS = 4, EACH = MAX_PRODUCER_CONNECTIONS / 4 };
	static int fds[USERS * EACH];
	static struct peer other; /* large */
	size_t n = 0;
	bool good;

	if (geteuid() != 0)
		SKIP("only root can connect as another user");
	fs_raise_file_limit(ARRAY_SIZE(fds) + 256);
	for (int user = 0; user < USERS; user++) {
		CHECK(seteuid((uid_t)(ATTACKER + 1 + user)) == 0);
		for (int i = 0; i < EACH && n < ARRAY_SIZE(fds); i++, n++)
			while (sock_connect(sock_default_producer(), &fds[n]) == -EAGAIN)
				(void)query_is_answered(); /* its queue is full */
		CHECK(seteuid(0) == 0);
	}
	good = good_pair_records();
	connect_as_attacker(&other, sock_default_producer());
	good = good && peer_accepted(&other, peer_initialize(&other, "fifth", false));
	peer_close(&other);
	while (n > 0)
		close(fds[--n]);
	CHECK(good);
	return good_pair_records();
}

/* ---- many data sources ---- */

enum { MANY_CONNECTIONS = 300, BATCHES = 20, BATCH = 100 };

/* Registers as many data sources as are taken. *ret_last: the name of the last one. */
static unsigned register_many(struct peer *peer, unsigned connection)
{
	unsigned n = 0;
	char name[32];

	CHECK(peer_accepted(peer, peer_initialize(peer, "many", false)));
	for (; n < MAX_SOURCES_PER_PRODUCER; n++) {
		struct pb_field f;

		snprintf(name, sizeof(name), "s%u.%u", connection, n);
		if (!peer_accepted(peer, peer_register(peer, name, 0)) ||
		    peer_field(peer, PB_REGISTER_DATA_SOURCE_RESPONSE_ERROR, &f))
			break;
	}
	return n;
}

/* CPU time of the service for one batch of registrations, each of which is taken back; 0: no
 * answer. */
static uint64_t cost_of_batch(struct peer *peer)
{
	uint64_t before = cpu_ns();

	for (unsigned i = 0; i < BATCH; i++) {
		peer_register(peer, "pair", 0);
		peer_call_text(peer, P_UNREGISTER_SOURCE,
			       PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, "pair");
		if (!peer_next(peer) || !peer_next(peer))
			return 0;
	}
	return cpu_ns() - before;
}

/* The cheapest of many batches: on a busy machine some cost several times as much. */
static uint64_t cost_of_pairs(struct peer *peer)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < BATCHES; i++) {
		uint64_t one = cost_of_batch(peer);

		least = MIN(least, one);
	}
	return least;
}

/* What others have registered makes nothing slower, and is charged as what it takes. */
static bool many_data_sources_are_charged_and_not_walked(void)
{
	static struct peer *peers[MANY_CONNECTIONS]; /* large */
	unsigned long before_kb;
	uint64_t alone, among_many;
	unsigned n = 0, total = 0, one;

	connect_as_attacker(&p, sock_default_producer());
	CHECK(peer_accepted(&p, peer_initialize(&p, "alone", false)));
	alone = cost_of_pairs(&p);
	before_kb = resident_kb();
	do {
		peers[n] = malloc(sizeof(*peers[n]));
		assert(peers[n]);
		connect_as_attacker(peers[n], sock_default_producer());
		one = register_many(peers[n], n);
		total += one;
		n++;
	} while (n < MANY_CONNECTIONS && one > 0);
	printf("# %u data sources: %lu kB\n", total, resident_kb() - before_kb);
	CHECK(total > 10000);
	/* A quarter is for one user; half of that is for the allocator, and 16 kB for a
	 * connection. */
	if (!BUILT_WITH_SANITIZER)
		CHECK(resident_kb() - before_kb < MAX_DESCRIPTOR_BYTES_ALL / 8 * 3 / 1024 + n * 16);
	for (int i = 0; i < 2; i++) { /* room for the pairs */
		peer_close(peers[--n]);
		free(peers[n]);
	}
	CHECK(query_is_answered());
	among_many = cost_of_pairs(&p);
	printf("# %d pairs: %" PRIu64 " us alone, %" PRIu64 " us among many\n", BATCH, alone / 1000,
	       among_many / 1000);
	/* Cold caches cost several times as much beside other programs, a walk over all 50
	 * times. */
	CHECK(alone > 0 && among_many > 0 && among_many < 12 * alone);
	while (n > 0) {
		peer_close(peers[--n]);
		free(peers[n]);
	}
	peer_close(&p);
	return good_pair_records();
}

/* A data source of the system's name is listed, and no session gets it. */
static bool system_names_are_not_for_everybody(void)
{
	static const struct {
		const char *name;
		bool is_taken;
	} names[] = {{"linux.ftrace", false},
		     {"android.log", false},
		     {"track_event", true},
		     {"linuxx", true}};
	struct pb_field f;

	if (geteuid() != 0)
		SKIP("only root can connect as another user");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char config[256];
		uint64_t stream, enable;

		connect_as_attacker(&p, sock_default_producer());
		stream = peer_become_producer(&p, "fake", names[i].name, DS_NOTIFY_STOP, false);
		peer_connect(&c, sock_default_consumer());
		CHECK(peer_accepted(&c, peer_call(&c, C_QUERY_STATE, NULL, 0)));
		CHECK(memmem(c.f.payload, c.f.payload_len, names[i].name, strlen(names[i].name)));
		snprintf(config, sizeof(config),
			 "buffers { size_kb: 4 } data_sources { config { name: '%s' } } ",
			 names[i].name);
		enable = peer_enable(&c, config);
		if (names[i].is_taken) {
			CHECK(peer_command(&p, stream, CMD(SETUP_TRACING), &f));
			CHECK(peer_command(&p, stream, CMD(SETUP_DATA_SOURCE), &f));
		} else {
			/* The service waits for no producer. */
			CHECK(peer_accepted(&c, peer_call(&c, C_DISABLE, NULL, 0)));
			CHECK(peer_tracing_ended(&c, enable, NULL));
			CHECK(peer_is_quiet(&p));
		}
		peer_close(&p);
		peer_close(&c);
	}
	/* root may */
	peer_connect(&p, sock_default_producer());
	peer_connect(&c, sock_default_consumer());
	{
		uint64_t stream = peer_become_producer(&p, "root's", "linux.test", 0, false);

		peer_enable(&c, "buffers { size_kb: 4 } data_sources { config { name: "
				"'linux.test' } }");
		CHECK(peer_command(&p, stream, CMD(SETUP_TRACING), &f));
	}
	peer_close(&p);
	peer_close(&c);
	return true;
}

/* ---- messages ---- */

/* Each connection causes several messages of 1 kB. How many bytes there are, the caller of this
 * program looks at. */
static bool reconnecting_peers_do_not_fill_the_log(void)
{
	char name[MAX_NAME_BYTES + 1];

	memset(name, 'x', MAX_NAME_BYTES);
	name[MAX_NAME_BYTES] = '\0';
	for (int i = 0; i < 2000; i++) {
		connect_as_attacker(&p, sock_default_producer());
		peer_initialize(&p, name, false);
		for (int k = 0; k < 5; k++)
			peer_register(&p, "", 0); /* refused: no name */
		if (i % 100 == 0)
			CHECK(query_is_answered());
		peer_close(&p);
	}
	return query_is_answered();
}

/* ---- work ---- */

#define HEAVY "(a?a?a?a?a?a?a?a?a?a?){13}b"

/* Requests of 256 equal triggers, for a session in which they have this expression. */
static uint64_t cost_of_triggers(const char *regex)
{
	char config[512], name[MAX_NAME_BYTES + 1];
	uint64_t before, cost;
	struct pb_mem m;

	memset(name, 'a', MAX_NAME_BYTES);
	name[MAX_NAME_BYTES] = '\0';
	snprintf(config, sizeof(config),
		 "buffers { size_kb: 64 } trigger_config { trigger_mode: STOP_TRACING "
		 "trigger_timeout_ms: 600000 triggers { name: 't' stop_delay_ms: 600000 "
		 "producer_name_regex: '%s' } }",
		 regex);
	peer_connect(&c, sock_default_consumer());
	peer_enable(&c, config);
	connect_as_attacker(&p, sock_default_producer());
	if (!peer_accepted(&p, peer_initialize(&p, name, false)) ||
	    !peer_accepted(&c, peer_call(&c, C_STATS, NULL, 0)))
		return 0;
	before = cpu_ns();
	for (int i = 0; i < 20; i++) {
		assert(pb_mem_init(&m) == 0);
		for (unsigned k = 0; k < MAX_TRIGGER_NAMES; k++)
			pb_enc_str(&m.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, "t");
		if (!peer_accepted(&p, peer_call_mem(&p, P_TRIGGERS, &m)))
			return 0;
	}
	/* All of them were handled. */
	if (!peer_accepted(&p, peer_call(&p, P_SYNC, NULL, 0)))
		return 0;
	cost = cpu_ns() - before;
	peer_close(&p);
	peer_close(&c);
	return cost;
}

static bool equal_triggers_with_a_heavy_expression_are_no_work(void)
{
	uint64_t light = cost_of_triggers("b*"), heavy = cost_of_triggers(HEAVY);

	printf("# 20 requests of triggers: %" PRIu64 " us with a light expression, %" PRIu64
	       " us with a heavy one\n",
	       light / 1000, heavy / 1000);
	/* Once it may take its time: a twentieth of what it is to match each request. */
	CHECK(light > 0 && heavy > 0 && heavy < 20 * light + 40 * NS_PER_MS);
	return good_pair_records();
}

/* ---- answers under attack ---- */

enum { FLOODS = 100, ROUNDS = 50, ANSWER_CPU_MS = 100 };

static void put_frame(struct pb_mem *all, uint32_t method, struct pb_mem *args)
{
	uint8_t head[FRAME_MAX_HEAD];
	size_t n = frame_put_invoke(head, 1, 1, method, true, pb_mem_len(args));
	uint32_t len = (uint32_t)(n + pb_mem_len(args));

	pb_enc_raw(&all->enc, &len, sizeof(len));
	pb_enc_raw(&all->enc, head, n);
	pb_enc_raw(&all->enc, args->buf, pb_mem_len(args));
	pb_mem_deinit(args);
}

/* Requests whose answer no client needs: data sources that come and go, and triggers. */
static void put_requests(struct pb_mem *all)
{
	struct pb_mem args;

	assert(pb_mem_init(all) == 0);
	for (int i = 0; i < 500; i++) {
		assert(pb_mem_init(&args) == 0);
		peer_put_descriptor(&args.enc, "flood", 0, 0);
		put_frame(all, P_REGISTER_SOURCE, &args);
		assert(pb_mem_init(&args) == 0);
		pb_enc_str(&args.enc, PB_UNREGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_NAME, "flood");
		put_frame(all, P_UNREGISTER_SOURCE, &args);
		assert(pb_mem_init(&args) == 0);
		for (char c1 = 'a'; c1 <= 'z'; c1++)
			pb_enc_str(&args.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES,
				   (char[]){c1, '\0'});
		put_frame(all, P_TRIGGERS, &args);
	}
}

/* As much as the connection takes now. */
static void flood(const struct peer *peer, const struct pb_mem *requests, size_t *at)
{
	size_t len = pb_mem_len(requests);
	ssize_t n;

	while ((n = send(peer->fd, requests->buf + *at, len - *at, MSG_DONTWAIT | MSG_NOSIGNAL)) >
	       0)
		*at = (*at + (size_t)n) % len;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What the service works before another consumer has its answer is bounded, however much it has to
 * do. That is CPU time, and the median, as on a busy machine we may run late ourselves. */
static bool query_is_answered_during_a_flood(void)
{
	static struct peer *peers[FLOODS]; /* large */
	size_t at[FLOODS] = {0};
	struct pb_mem requests;
	uint64_t before, begin, cost[ROUNDS];

	put_requests(&requests);
	for (int i = 0; i < FLOODS; i++) {
		peers[i] = malloc(sizeof(*peers[i]));
		assert(peers[i]);
		connect_as_attacker(peers[i], sock_default_producer());
		CHECK(peer_accepted(peers[i], peer_initialize(peers[i], "flood", false)));
	}
	peer_connect(&c, sock_default_consumer());
	CHECK(peer_accepted(&c, peer_call(&c, C_QUERY_CAPABILITIES, NULL, 0)));
	begin = cpu_ns();
	for (int round = 0; round < ROUNDS; round++) {
		before = cpu_ns();
		do { /* until it is at work on them */
			for (int i = 0; i < FLOODS; i++)
				flood(peers[i], &requests, &at[i]);
		} while (cpu_ns() - before < 5 * NS_PER_MS);
		before = cpu_ns();
		CHECK(peer_accepted(&c, peer_call(&c, C_QUERY_CAPABILITIES, NULL, 0)));
		cost[round] = cpu_ns() - before;
	}
	qsort(cost, ROUNDS, sizeof(cost[0]), compare);
	printf("# CPU time before an answer: median %" PRIu64 " us, most %" PRIu64
	       " us, of %" PRIu64 " us in all\n",
	       cost[ROUNDS / 2] / 1000, cost[ROUNDS - 1] / 1000, (cpu_ns() - begin) / 1000);
	for (int i = 0; i < FLOODS; i++) {
		peer_close(peers[i]);
		free(peers[i]);
	}
	pb_mem_deinit(&requests);
	peer_close(&c);
	CHECK(cost[ROUNDS / 2] < ANSWER_CPU_MS * NS_PER_MS);
	return good_pair_records();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{"a socket is no file for a trace", socket_is_no_file_for_a_trace},
		{"a file whose locks a peer holds", file_whose_locks_a_peer_holds},
		{"connections of others are kept for root",
		 connections_of_others_are_kept_for_root},
		{"many data sources are charged, and not walked",
		 many_data_sources_are_charged_and_not_walked},
		{"names of the system are not for everybody", system_names_are_not_for_everybody},
		{"reconnecting peers cause a bounded number of messages",
		 reconnecting_peers_do_not_fill_the_log},
		{"equal triggers with a heavy expression are no work",
		 equal_triggers_with_a_heavy_expression_are_no_work},
		{"a query is answered during a flood of requests",
		 query_is_answered_during_a_flood},
	};

	if (argc != 2)
		return 2;
	service_pid = atoi(argv[1]);
	p.fd = p.got_fd = c.fd = c.got_fd = -1;
	return tap_run(tests, ARRAY_SIZE(tests));
}
