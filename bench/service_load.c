/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running service costs, ours or Perfetto's: it is found by the sockets of the environment,
 * and PID is its process. Each mode prints one line, "CPU-ns WALL-ns BYTES"; CPU is of the service
 * alone (clock_getcpuclockid), bytes are those of packets.
 *
 *	service_load PID commit MB      MB written into a ring of 64 MB, through the shared memory
 *	                                of sonda-probes (2 MB, pages of 32 KB), packets of 2 KB
 *	service_load PID small MB       the same in packets of 100 bytes, through the memory that
 *	                                programs have by default (256 KB, pages of 4 KB)
 *	service_load PID file MB        the same as commit at no more than 200 MB/s, and the service
 *	                                writes all into a file (which is deleted); from the start of
 *	                                the session to its end
 *	service_load 0 warm MB          nothing is measured: memory is touched and freed, so that
 *	                                what is measured next does not pay for a machine that gives
 *	                                memory to its guests when they touch it
 *	service_load PID read MB        ReadBuffers of a buffer of MB that is full of packets of 500
 *	                                bytes
 *	service_load PID clone MB N     CloneSession of a full buffer of MB, N times; one line each
 *	service_load PID snapshot MB RATE S
 *				one snapshot after the other, for S seconds, of a full buffer of MB
 *				into which a producer writes RATE packets a second. Prints the
 *				snapshots, the longest in ms, the packets, and those that the
 *				producer dropped for lack of shared memory
 *	service_load PID idle N S       CPU of S seconds with N producers that are connected, have a
 *	                                data source each, in a session, and write nothing
 */
#include <fcntl.h>

#include "../tests/system/service_peer_consumer.h"
#include "../tests/system/service_peer_producer.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "service_load.h"

static pid_t service;

/* ---- measuring ---- */

struct cost {
	uint64_t cpu, wall;
};

/* Of threads that have ended, too. */
static struct cost cost_now(void)
{
	clockid_t clock;

	if (clock_getcpuclockid(service, &clock))
		exit(1);
	return (struct cost){.wall = clock_mono_ns(), .cpu = clock_ns(clock)};
}

static void tell_cost(const struct cost *since, uint64_t bytes)
{
	struct cost now = cost_now();

	printf("%llu %llu %llu\n", (unsigned long long)(now.cpu - since->cpu),
	       (unsigned long long)(now.wall - since->wall), (unsigned long long)bytes);
	fflush(stdout);
}

/* Until the service has done nothing for 20 ms: what is measured next is not what came before. */
static void await_rest(void)
{
	struct cost before = cost_now(), now;

	for (;;) {
		usleep(20000);
		now = cost_now();
		if (now.cpu - before.cpu < 200000)
			return;
		before = now;
	}
}

/* ---- sessions ---- */

static struct peer consumer, other; /* large */

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "service_load: %s failed\n", what);
	exit(1);
}

static void connect_consumer(struct peer *p)
{
	peer_connect(p, sock_default_consumer());
	peer_bind(p, "ConsumerPort");
	must(peer_next(p), "the bind");
}

/* In the order of the calls, behind what the end of EnableTracing may have put in between. */
static void await_reply(struct peer *p, uint64_t id)
{
	do
		must(peer_next_in(p, 120000), "a call");
	while (p->f.request_id != id);
	must(p->f.success, "a call");
}

static void flush(void)
{
	struct pb_mem m;

	must(pb_mem_init(&m) == 0, "malloc");
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_TIMEOUT_MS, 60000);
	await_reply(&consumer, peer_call_mem(&consumer, C_FLUSH, &m));
}

#define LOAD_SOURCE                                                                                \
	"data_sources { config { name: 'sonda.bench.load' "                                        \
	"buffer_exhausted_policy: BUFFER_EXHAUSTED_STALL_THEN_DROP } } "

/* A session that the load is written into; all of it has come to the buffer. */
static struct load fill(uint64_t buffer_kb, struct load load)
{
	char config[700];

	load_start(&load);
	connect_consumer(&consumer);
	snprintf(config, sizeof(config),
		 "unique_session_name: 'bench' buffers { size_kb: %llu } " LOAD_SOURCE "%s",
		 (unsigned long long)buffer_kb,
		 load.rate ? "data_sources { config { name: 'sonda.bench.rated' } }" : "");
	peer_enable(&consumer, config);
	load_await(&load);
	flush();
	return load;
}

/* ---- modes ---- */

static void commit(struct load load)
{
	struct cost before;

	/* The session begins with the load: so both begin to be measured in front of them. */
	before = cost_now();
	load = fill(65536, load);
	tell_cost(&before, load.bytes);
	load_end(&load);
}

static void write_file(struct load load)
{
	FILE *file = tmpfile();
	struct cost before;
	uint64_t id;

	must(file != NULL, "a temporary file");
	load_start(&load);
	connect_consumer(&consumer);
	before = cost_now();
	id = peer_enable_into(&consumer,
			      "buffers { size_kb: 65536 } write_into_file: true "
			      "file_write_period_ms: 100 flush_period_ms: 5000 " LOAD_SOURCE,
			      fileno(file));
	load_await(&load);
	peer_call(&consumer, C_DISABLE, NULL, 0);
	await_reply(&consumer, id);
	tell_cost(&before, (uint64_t)lseek(fileno(file), 0, SEEK_END));
	fclose(file);
	load_end(&load);
}

/* Bytes of packets in a reply, of which only the slices' heads are looked at. */
static uint64_t slice_bytes(const struct frame *f)
{
	uint64_t sum = 0;
	struct pb_field slice, data;
	struct pb_dec d, in;

	pb_dec_init(&d, f->payload, f->payload_len);
	while (pb_dec_next(&d, &slice)) {
		pb_dec_init(&in, slice.data, slice.len);
		if (pb_dec_next(&in, &data))
			sum += data.len;
	}
	return sum;
}

static void read_buffers(uint64_t mb)
{
	struct load load = fill(mb << 10, (struct load){.bytes = mb * 1060000, .packet = 500});
	struct cost before;
	uint64_t id, bytes = 0;

	peer_call(&consumer, C_DISABLE, NULL, 0);
	load_end(&load);
	await_rest();
	before = cost_now();
	id = peer_call(&consumer, C_READ, NULL, 0);
	do {
		await_reply(&consumer, id);
		bytes += slice_bytes(&consumer.f);
	} while (consumer.f.has_more);
	tell_cost(&before, bytes);
}

static void clone_once(uint64_t bytes)
{
	struct cost before;
	struct pb_field f;

	connect_consumer(&other);
	before = cost_now();
	await_reply(&other, peer_call_text(&other, C_CLONE,
					   PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, "bench"));
	must(peer_field(&other, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f) && f.u64, "the clone");
	tell_cost(&before, bytes);
	peer_close(&other);
	await_rest();
}

static void clone_buffers(uint64_t mb, uint64_t n)
{
	struct load load = fill(mb << 10, (struct load){.bytes = mb * 1060000, .packet = 500});

	await_rest();
	while (n--)
		clone_once(mb << 20);
	load_end(&load);
}

static void snapshots(uint64_t mb, uint64_t rate, uint64_t seconds)
{
	struct load load = fill(mb << 10, (struct load){.bytes = mb * 1060000,
							.packet = 500,
							.rate = rate,
							.rated_s = seconds + 1});
	uint64_t end = clock_mono_ns() + seconds * NS_PER_S, longest = 0, n = 0, begin;
	struct rated_result r;

	for (; (begin = clock_mono_ns()) < end; n++) {
		connect_consumer(&other);
		await_reply(&other,
			    peer_call_text(&other, C_CLONE,
					   PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, "bench"));
		longest = MAX(longest, clock_mono_ns() - begin);
		peer_close(&other);
	}
	must(read(load.fd, &r, sizeof(r)) == sizeof(r), "the load");
	printf("%llu snapshots, %llu ms, %llu packets, %llu dropped\n", (unsigned long long)n,
	       (unsigned long long)(longest / NS_PER_MS), (unsigned long long)r.written,
	       (unsigned long long)r.dropped);
	load_end(&load);
}

static void warm(uint64_t mb)
{
	uint8_t *p =
		mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	madvise(p, mb << 20, MADV_HUGEPAGE);
	memset(p, 1, mb << 20);
}

static void be_idle(uint64_t n, uint64_t seconds)
{
	struct peer *p = calloc(n + 1, sizeof(*p));
	struct cost before;

	must(p != NULL, "malloc");
	for (uint64_t i = 0; i < n; i++) {
		peer_connect(&p[i], sock_default_producer());
		peer_bind(&p[i], "ProducerPort");
		must(peer_next(&p[i]), "the bind");
		peer_become_producer(&p[i], "sonda.bench.idle", "sonda.bench.idle", 0, false);
	}
	connect_consumer(&consumer);
	peer_enable(
		&consumer,
		"buffers { size_kb: 1024 } data_sources { config { name: 'sonda.bench.idle' } }");
	await_rest();
	before = cost_now();
	usleep((useconds_t)seconds * 1000000);
	tell_cost(&before, n);
	free(p);
}

int main(int argc, char **argv)
{
	uint64_t a = 0, b = 0, c = 0, pid = 0;

	if (argc < 4 || str_to_u64(argv[1], &pid) < 0 || str_to_u64(argv[3], &a) < 0 ||
	    (argc > 4 && str_to_u64(argv[4], &b) < 0) || (argc > 5 && str_to_u64(argv[5], &c) < 0))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	service = (pid_t)pid;
	if (!strcmp(argv[2], "commit"))
		commit((struct load){.bytes = a * 1000000, .packet = 2000});
	else if (!strcmp(argv[2], "small"))
		commit((struct load){.bytes = a * 1000000,
				     .packet = 100,
				     .shm_size = 256 << 10,
				     .page_size = 4096});
	else if (!strcmp(argv[2], "file"))
		write_file((struct load){.bytes = a * 1000000, .packet = 2000, .pause_us = 5000});
	else if (!strcmp(argv[2], "read"))
		read_buffers(a);
	else if (!strcmp(argv[2], "clone"))
		clone_buffers(a, b);
	else if (!strcmp(argv[2], "snapshot"))
		snapshots(a, b, c);
	else if (!strcmp(argv[2], "warm"))
		warm(a);
	else if (!strcmp(argv[2], "idle"))
		be_idle(a, b);
	else
		return 2;
	return 0;
}
