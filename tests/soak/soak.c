/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: soak PID SECONDS DIR
 *
 * Against a service that runs, on the sockets of the environment: 50 producers that write, 40 of
 * which die after a while, in the middle of a packet too, and are replaced; two consumers that
 * clone the session they write into and read the clone, and do not always read to the end; one that
 * has the service write files. Every trace is checked (soak_check.h), and the memory of the
 * service. PID: the service's. DIR: where the first traces are left for others to look at.
 *
 *	soak -- 50 x producer (soak_producer.h)
 *	     \- 2 x cloner, 1 x filer; they tell what they saw in memory that is shared
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "soak_check.h"
#include "soak_producer.h"
#include "unit/../system/service_peer_consumer.h"
#include "unit/../system/service_tap.h"

#define N_PRODUCERS 50u
#define N_SURVIVORS 10u /* ids 1 .. N_SURVIVORS */
#define N_CLONERS 2u
#define N_CONSUMERS (N_CLONERS + 1)
#define MAX_FUEL 300u /* packets; some five seconds */
#define KEPT_TRACES 3u /* of each consumer */
#define LONG_SECONDS 60 /* in a shorter run memory says little */
#define FLAT_KB 6144 /* what the service may grow from the second third of the time to the last */

#define SOURCE "data_sources { config { name: '" SOAK_SOURCE "' } } "
#define RING_CONFIG "unique_session_name: 'soak' buffers { size_kb: 8192 } " SOURCE
#define FILE_CONFIG                                                                                \
	"buffers { size_kb: 16384 } write_into_file: true file_write_period_ms: 200 "              \
	"flush_period_ms: 1000 " SOURCE

/* What a consumer tells. */
struct counts {
	volatile uint64_t traces, broken_off, packets, gaps, bad;
};

static struct counts *counts; /* of each consumer; shared */
static volatile bool *over; /* shared */
static const char *dir;
static pid_t service;

/* ---- the service's memory ---- */

struct weight {
	uint64_t kb;
	unsigned fds;
};

static struct weight weigh(void)
{
	struct weight w = {0};
	struct dirent *entry;
	char path[64], line[256];
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)service);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8))
			w.kb = strtoull(line + 8, NULL, 10);
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)service);
	d = opendir(path);
	while (d && (entry = readdir(d)))
		w.fds += entry->d_name[0] != '.';
	if (d)
		closedir(d);
	return w;
}

/* ---- consumers ---- */

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static void begin_check(struct soak_check *c, const char *what)
{
	*c = (struct soak_check){.what = what};
}

static void end_check(struct soak_check *c, struct counts *to)
{
	to->traces++;
	to->packets += c->packets;
	to->gaps += c->gaps;
	to->bad += c->bad;
	free(c->seqs);
	fflush(stdout);
}

static void keep(const struct peer_packets *t, unsigned consumer, uint64_t number)
{
	char path[300];
	FILE *f;

	if (number >= KEPT_TRACES)
		return;
	snprintf(path, sizeof(path), "%s/clone.%u.%llu", dir, consumer, (unsigned long long)number);
	f = fopen(path, "w");
	for (size_t i = 0; f && i < t->n; i++) {
		uint8_t head[11] = {0x0a}, *end = pb_put_varint(head + 1, t->list[i].len);

		fwrite(head, 1, (size_t)(end - head), f);
		fwrite(t->list[i].data, 1, t->list[i].len, f);
	}
	if (f)
		fclose(f);
}

/* Reads a few replies and goes away. */
static void break_off(struct peer *p, uint64_t *rng)
{
	uint64_t id = peer_call(p, C_READ, NULL, 0);

	for (uint32_t n = soak_rng(rng, 4); n > 0 && peer_reply(p, id) && p->f.has_more; n--)
		;
}

static bool clone_once(struct peer *p, unsigned consumer, uint64_t *rng, struct counts *to)
{
	struct soak_check c;
	struct peer_packets t;
	struct pb_field f;

	peer_connect(p, sock_default_consumer());
	if (!peer_accepted(p,
			   peer_call_text(p, C_CLONE, PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME,
					  "soak")) ||
	    !peer_field(p, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f) || !f.u64)
		return false;
	if (soak_rng(rng, 5) == 0) {
		break_off(p, rng);
		to->broken_off++;
		peer_close(p);
		return true;
	}
	if (!peer_read(p, &t))
		return false;
	begin_check(&c, "a clone");
	for (size_t i = 0; i < t.n; i++)
		soak_check_packet(&c, t.list[i].data, t.list[i].len);
	keep(&t, consumer, to->traces);
	end_check(&c, to);
	peer_packets_free(&t);
	peer_close(p);
	return true;
}

static void run_cloner(unsigned consumer)
{
	static struct peer p;
	uint64_t rng = consumer + 1;

	while (!*over) {
		if (!clone_once(&p, consumer, &rng, &counts[consumer])) {
			printf("# a clone was refused, or not read to its end\n");
			fflush(stdout);
			counts[consumer].bad++;
			peer_close(&p);
		}
		sleep_ms(soak_rng(&rng, 1000));
	}
}

static void check_file(int fd, struct counts *to)
{
	struct strbuf b = {0};
	struct soak_check c;
	struct pb_field f;
	struct pb_dec d;

	begin_check(&c, "a file");
	lseek(fd, 0, SEEK_SET);
	if (fs_read_fd(fd, 1 << 30, &b) < 0)
		c.bad++;
	pb_dec_init(&d, b.s, b.len);
	while (pb_dec_next(&d, &f))
		soak_check_packet(&c, f.data, f.len);
	if (!pb_dec_ok(&d)) {
		printf("# a file does not parse\n");
		c.bad++;
	}
	for (uint32_t id = 1; id <= N_SURVIVORS; id++)
		soak_check_survivor(&c, id);
	end_check(&c, to);
	strbuf_deinit(&b);
}

static bool file_once(struct peer *p, unsigned ms, struct counts *to)
{
	char path[300];
	uint64_t id, disable;
	bool good;
	int fd;

	snprintf(path, sizeof(path), "%s/file.%llu", dir, (unsigned long long)to->traces);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	peer_connect(p, sock_default_consumer());
	id = peer_enable_into(p, FILE_CONFIG, fd);
	for (; ms > 0 && !*over; ms -= MIN(ms, 50))
		sleep_ms(MIN(ms, 50));
	disable = peer_call(p, C_DISABLE, NULL, 0);
	good = peer_accepted(p, disable) && peer_tracing_ended(p, id, NULL);
	peer_close(p);
	if (good)
		check_file(fd, to);
	close(fd);
	if (to->traces > KEPT_TRACES)
		unlink(path);
	return good;
}

static void run_filer(unsigned consumer)
{
	static struct peer p;
	uint64_t rng = 99;

	while (!*over)
		if (!file_once(&p, 1000 + soak_rng(&rng, 8000), &counts[consumer])) {
			printf("# a session that writes a file did not end well\n");
			fflush(stdout);
			counts[consumer].bad++;
		}
}

/* ---- processes ---- */

static pid_t fork_child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static pid_t producers[N_PRODUCERS], consumers[N_CONSUMERS];
static uint32_t last_id;
static uint64_t parent_rng = 7;

static pid_t start_producer(bool survivor, int ready_fd)
{
	struct soak_life life = {
		.id = ++last_id,
		.rng = last_id,
		.fuel = survivor ? 0 : 1 + soak_rng(&parent_rng, MAX_FUEL),
		.scraping = soak_rng(&parent_rng, 2),
		.small_memory = soak_rng(&parent_rng, 2),
		.ready_fd = ready_fd,
	};
	pid_t pid = fork_child();

	if (pid == 0)
		soak_produce(&life);
	return pid;
}

/* The survivors are registered before the first session begins. */
static bool start_survivors(void)
{
	int ends[2];
	char c;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	for (unsigned i = 0; i < N_SURVIVORS; i++)
		producers[i] = start_producer(true, ends[1]);
	close(ends[1]);
	for (unsigned i = 0; i < N_SURVIVORS; i++)
		if (read(ends[0], &c, 1) != 1)
			return false;
	close(ends[0]);
	return true;
}

static void start_consumers(void)
{
	for (unsigned i = 0; i < N_CONSUMERS; i++) {
		consumers[i] = fork_child();
		if (consumers[i] != 0)
			continue;
		if (i < N_CLONERS)
			run_cloner(i);
		else
			run_filer(i);
		_exit(0);
	}
}

/* Those that died are replaced, and now and then one is killed wherever it is. */
static bool tend_producers(void)
{
	for (unsigned i = 0; i < N_PRODUCERS; i++) {
		if (producers[i] && waitpid(producers[i], NULL, WNOHANG) == producers[i])
			producers[i] = 0;
		if (!producers[i] && i < N_SURVIVORS)
			return false;
		if (!producers[i])
			producers[i] = start_producer(false, -1);
	}
	if (soak_rng(&parent_rng, 4) == 0)
		kill(producers[N_SURVIVORS + soak_rng(&parent_rng, N_PRODUCERS - N_SURVIVORS)],
		     SIGKILL);
	return true;
}

static void end_producers(void)
{
	for (unsigned i = 0; i < N_PRODUCERS; i++)
		if (producers[i]) {
			kill(producers[i], SIGKILL);
			waitpid(producers[i], NULL, 0);
		}
}

static bool end_consumers(void)
{
	bool good = true;
	int status;

	*over = true;
	for (unsigned i = 0; i < N_CONSUMERS; i++) {
		waitpid(consumers[i], &status, 0);
		good &= status == 0;
	}
	return good;
}

/* ---- the soak ---- */

static struct peer ring;
/* The service keeps the pipe in which its file writers say that they end, from the first file
 * on. */
#define FDS_KEPT 2

static struct weight at_first, at_last;
static uint64_t top_kb[3]; /* of each third of the time */
static bool survivors_live = true, consumers_end_well;
static uint64_t seconds;

static void watch(void)
{
	uint64_t start = clock_mono_ns(), length = seconds * NS_PER_S, now;

	while ((now = clock_mono_ns() - start) < length && survivors_live &&
	       kill(service, 0) == 0) {
		struct weight w = weigh();
		size_t third = (size_t)(now * 3 / length);

		top_kb[third] = MAX(top_kb[third], w.kb);
		survivors_live = tend_producers();
		sleep_ms(50);
	}
}

static void soak(void)
{
	uint64_t end;

	at_first = weigh();
	survivors_live = start_survivors();
	peer_connect(&ring, sock_default_consumer());
	peer_enable(&ring, RING_CONFIG);
	/* Calls are taken in order: when this one is answered there is a session to clone. */
	survivors_live &= peer_accepted(&ring, peer_call(&ring, C_QUERY_CAPABILITIES, NULL, 0));
	start_consumers();
	watch();
	consumers_end_well = end_consumers();
	peer_close(&ring);
	end_producers();
	/* What the service lets go of takes it a moment. */
	end = clock_mono_ns() + 10 * NS_PER_S;
	do
		at_last = weigh();
	while ((at_last.fds > at_first.fds + FDS_KEPT || at_last.kb >= at_first.kb + FLAT_KB) &&
	       clock_mono_ns() < end);
}

static bool everybody_lived(void)
{
	CHECK(survivors_live);
	CHECK(kill(service, 0) == 0);
	CHECK(consumers_end_well);
	return true;
}

static bool traces_are_whole(void)
{
	struct counts sum = {0};

	for (unsigned i = 0; i < N_CONSUMERS; i++) {
		sum.traces += counts[i].traces;
		sum.broken_off += counts[i].broken_off;
		sum.packets += counts[i].packets;
		sum.gaps += counts[i].gaps;
		sum.bad += counts[i].bad;
		CHECK(counts[i].traces > 0);
		CHECK(counts[i].packets > 0);
	}
	printf("# %u producers; %llu traces of %llu packets, %llu marked gaps; %llu more were not "
	       "read to their end\n",
	       last_id, (unsigned long long)sum.traces, (unsigned long long)sum.packets,
	       (unsigned long long)sum.gaps, (unsigned long long)sum.broken_off);
	CHECK(sum.bad == 0);
	return true;
}

static bool memory_is_flat(void)
{
	printf("# kB of the service: %llu at first, at most %llu, %llu and %llu in each third, "
	       "%llu "
	       "at last; descriptors: %u and %u\n",
	       (unsigned long long)at_first.kb, (unsigned long long)top_kb[0],
	       (unsigned long long)top_kb[1], (unsigned long long)top_kb[2],
	       (unsigned long long)at_last.kb, at_first.fds, at_last.fds);
	CHECK(at_last.fds <= at_first.fds + FDS_KEPT);
	if (seconds < LONG_SECONDS)
		return true;
	CHECK(top_kb[2] < top_kb[1] + FLAT_KB);
	CHECK(at_last.kb < at_first.kb + FLAT_KB);
	return true;
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{"the service, the surviving producers and the consumers lived", everybody_lived},
		{"each trace is whole, or says what is missing", traces_are_whole},
		{"the service's memory is flat, and what was taken is given back", memory_is_flat},
	};
	uint64_t pid;

	if (argc != 4 || str_to_u64(argv[1], &pid) < 0 || str_to_u64(argv[2], &seconds) < 0)
		return 2;
	service = (pid_t)pid;
	dir = argv[3];
	signal(SIGPIPE, SIG_IGN);
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 2;
	over = (volatile bool *)(counts + N_CONSUMERS);
	soak();
	return tap_run(tests, ARRAY_SIZE(tests));
}
