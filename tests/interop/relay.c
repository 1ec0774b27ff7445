/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay: a machine's own producer socket on one side, the producer socket of another machine's
 * service on the other. It says who each producer is, and then hands on its bytes as they are.
 *
 *	relay LISTEN UPSTREAM HINT NAME [CLOCK_OFFSET_NS]
 *
 * On a connection of its own it reports the machine to the service and, in two rounds, its clocks,
 * which are ahead of the kernel's by the offset. Writes "1" to TRACED_NOTIFY_FD when it has reported
 * all of this and listens. Runs until SIGTERM.
 */
#include <signal.h>
#include <time.h>

#include "base/core/err.h"
#include "common/builtin_clock.pb-c.h"
#include "unit/../system/service_peer_remote.h"

#define MAX_PAIRS 64
#define PING 1
#define UPDATE 2

static const char *upstream, *hint, *name;
static struct pair {
	int here, there;
} pairs[MAX_PAIRS];
static size_t n_pairs;
static volatile sig_atomic_t ended;

static void on_term(int signal_number)
{
	(void)signal_number;
	ended = 1;
}

/* ---- the relay's own connection ---- */

static uint64_t send_clocks(struct peer *p, uint32_t service, uint32_t phase, int64_t offset)
{
	static const struct {
		uint32_t id;
		clockid_t clock;
	} clocks[] = {
		{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME, CLOCK_BOOTTIME},
		{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
		{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME, CLOCK_REALTIME},
	};
	struct pb_mem m;
	uint64_t id;

	assert(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_PHASE, phase);
	for (size_t i = 0; i < 3; i++) {
		pb_enc_open(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCKS);
		pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCK_CLOCK_ID, clocks[i].id);
		pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCK_TIMESTAMP,
			   clock_ns(clocks[i].clock) + (uint64_t)offset);
		pb_enc_close(&m.enc);
	}
	id = peer_call_as(p, service, R_SYNC, false, m.buf, pb_mem_len(&m), -1);
	pb_mem_deinit(&m);
	return id;
}

static bool init_relay(struct peer *p, uint32_t service)
{
	struct pb_mem m;
	uint64_t id;

	assert(pb_mem_init(&m) == 0);
	pb_enc_open(&m.enc, PB_INIT_RELAY_REQUEST_SYSTEM_INFO);
	pb_enc_open(&m.enc, PB_SYSTEM_INFO_UTSNAME);
	pb_enc_str(&m.enc, PB_UTSNAME_SYSNAME, "Linux");
	pb_enc_str(&m.enc, PB_UTSNAME_RELEASE, "6.0.1-relayed");
	pb_enc_close(&m.enc);
	pb_enc_u64(&m.enc, PB_SYSTEM_INFO_NUM_CPUS, 3);
	pb_enc_close(&m.enc);
	id = peer_call_as(p, service, R_INIT, false, m.buf, pb_mem_len(&m), -1);
	pb_mem_deinit(&m);
	return peer_accepted(p, id);
}

static bool tell_all(struct peer *p, int64_t offset)
{
	uint32_t service;

	peer_connect(p, upstream);
	peer_identify(p, -1, (int32_t)getpid(), hint, name);
	peer_bind(p, "RelayPort");
	if (!peer_next(p) || p->f.kind != FRAME_BIND_SERVICE_REPLY || !p->f.success)
		return false;
	service = p->f.service_id;
	return init_relay(p, service) && peer_accepted(p, send_clocks(p, service, PING, offset)) &&
	       peer_accepted(p, send_clocks(p, service, UPDATE, offset));
}

/* ---- producers ---- */

static void drop_pair(size_t i)
{
	close(pairs[i].here);
	close(pairs[i].there);
	pairs[i] = pairs[--n_pairs];
}

static void accept_producer(int listening)
{
	static struct peer introduction;
	uid_t uid;
	pid_t pid;
	int fd;

	if (n_pairs == MAX_PAIRS || sock_accept(listening, &fd) < 0)
		return;
	if (sock_peer(fd, &uid, &pid) < 0) {
		close(fd);
		return;
	}
	peer_connect(&introduction, upstream);
	peer_identify(&introduction, (int32_t)uid, (int32_t)pid, hint, name);
	pairs[n_pairs++] = (struct pair){.here = fd, .there = introduction.fd};
}

/* What one side has said goes to the other. False: one of them is gone. */
static bool hand_on(int from, int to)
{
	static char buf[65536];
	ssize_t n = recv(from, buf, sizeof(buf), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN;
	for (ssize_t done = 0, r; done < n; done += r) {
		r = send(to, buf + done, (size_t)(n - done), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (r < 0 && errno != EAGAIN)
			return false;
		if (r < 0) {
			r = 0;
			poll(&(struct pollfd){.fd = to, .events = POLLOUT}, 1, 100);
		}
	}
	return n > 0;
}

static void run(int listening)
{
	struct pollfd fds[1 + 2 * MAX_PAIRS];

	while (!ended) {
		size_t n = n_pairs;

		fds[0] = (struct pollfd){.fd = listening, .events = POLLIN};
		for (size_t i = 0; i < n; i++) {
			fds[1 + 2 * i] = (struct pollfd){.fd = pairs[i].here, .events = POLLIN};
			fds[2 + 2 * i] = (struct pollfd){.fd = pairs[i].there, .events = POLLIN};
		}
		if (poll(fds, 1 + 2 * n, -1) < 0)
			continue;
		for (size_t i = n; i-- > 0;)
			if ((fds[1 + 2 * i].revents && !hand_on(pairs[i].here, pairs[i].there)) ||
			    (fds[2 + 2 * i].revents && !hand_on(pairs[i].there, pairs[i].here)))
				drop_pair(i);
		if (fds[0].revents)
			accept_producer(listening);
	}
}

int main(int argc, char **argv)
{
	static struct peer own;
	const char *notify = getenv("TRACED_NOTIFY_FD");
	struct err_text e;
	int listening;

	if (argc < 5) {
		fprintf(stderr, "usage: relay LISTEN UPSTREAM HINT NAME [CLOCK_OFFSET_NS]\n");
		return 2;
	}
	upstream = argv[2];
	hint = argv[3];
	name = argv[4];
	/* No SA_RESTART: poll() ends. */
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_term}, NULL);
	if (!tell_all(&own, argc > 5 ? strtoll(argv[5], NULL, 10) : 0)) {
		fprintf(stderr, "relay: %s does not take what a relay tells\n", upstream);
		return 1;
	}
	if (sock_listen(argv[1], &listening, &e) < 0) {
		fprintf(stderr, "relay: %s\n", e.text);
		return 1;
	}
	if (notify && write(atoi(notify), "1", 1) == 1)
		close(atoi(notify));
	run(listening);
	unlink(argv[1]);
	return 0;
}
