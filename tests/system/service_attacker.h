/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/system/sanitizer.h"
#include "service_good_pair.h"

/*
 * A process that attacks the service for ever: it makes connections, and then sends on each of them
 * the same requests over and over, as fast as they are taken. Where we are root it is uid 4242.
 */

#define ATTACKER 4242
#define MAX_ATTACKERS 4096

static struct {
	struct peer *peer; /* owned */
	bool consumer;
	const struct pb_mem *requests; /* borrowed; NULL: it only listens */
	size_t at; /* how far into them */
} attackers[MAX_ATTACKERS];
static size_t n_attackers;
static int ready_fd = -1; /* one byte goes here when the attack has begun */

static inline struct peer *join(const char *address)
{
	struct peer *p = malloc(sizeof(*p));

	assert(p && n_attackers < MAX_ATTACKERS);
	peer_connect(p, address);
	attackers[n_attackers].consumer = !strcmp(address, sock_default_consumer());
	attackers[n_attackers++].peer = p;
	return p;
}

/* The connection that joined last says this from now on. */
static inline void repeats(const struct pb_mem *requests)
{
	attackers[n_attackers - 1].requests = requests;
}

/* Adds a request that wants no reply; frees args. */
static inline void put_request(struct pb_mem *all, uint32_t method, struct pb_mem *args)
{
	uint8_t head[FRAME_MAX_HEAD];
	size_t n = frame_put_invoke(head, 1, 1, method, true, pb_mem_len(args));
	uint32_t len = (uint32_t)(n + pb_mem_len(args));

	if (!all->buf)
		assert(pb_mem_init(all) == 0);
	pb_enc_raw(&all->enc, &len, sizeof(len));
	pb_enc_raw(&all->enc, head, n);
	pb_enc_raw(&all->enc, args->buf, pb_mem_len(args));
	pb_mem_deinit(args);
	assert(len <= 131068 && !all->failed);
}

static inline struct pb_mem nothing(void)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	return m;
}

static inline struct pb_mem number(uint32_t field, uint64_t value)
{
	struct pb_mem m = nothing();

	pb_enc_u64(&m.enc, field, value);
	return m;
}

static inline struct pb_mem text(uint32_t field, const char *value)
{
	struct pb_mem m = nothing();

	pb_enc_str(&m.enc, field, value);
	return m;
}

static inline struct pb_mem config_request(uint32_t field, const char *config_text)
{
	Pb__TraceConfig *c = peer_parse_config(config_text);
	size_t len = pb__trace_config__get_packed_size(c);
	uint8_t *packed = malloc(len + 1);
	struct pb_mem m = nothing();

	assert(packed);
	pb__trace_config__pack(c, packed);
	pb_enc_bytes(&m.enc, field, packed, len);
	pb__trace_config__free_unpacked(c, NULL);
	free(packed);
	return m;
}

static inline struct pb_mem enable_request(const char *config_text)
{
	return config_request(PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, config_text);
}

/* As much as the connection takes and gives now. False: nothing either way. */
static inline bool push(size_t i)
{
	const struct pb_mem *m = attackers[i].requests;
	struct peer *p = attackers[i].peer;
	static uint8_t waste[1 << 16];
	bool any = false;
	ssize_t n;

	while ((n = recv(p->fd, waste, sizeof(waste), MSG_DONTWAIT)) > 0)
		any = true;
	if (n == 0)
		return false;
	for (int k = 0; m && k < 8; k++) {
		n = send(p->fd, m->buf + attackers[i].at, pb_mem_len(m) - attackers[i].at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n <= 0)
			break;
		any = true;
		attackers[i].at = (attackers[i].at + (size_t)n) % pb_mem_len(m);
	}
	return any;
}

/* One round over all of them. */
static inline void push_all(void)
{
	bool any = false;

	for (size_t i = 0; i < n_attackers; i++)
		any |= push(i);
	if (!any)
		usleep(200);
}

static inline void has_begun(void)
{
	ssize_t n = write(ready_fd, "", 1);

	(void)n;
}

/* The reply to a request, which may come between others; of an answer in parts, the first part.
 * False: none came, or a session that the connection has asked for before was refused. */
static inline bool is_done(struct peer *p, uint64_t id, uint64_t enable_id)
{
	struct pb_field error;

	while (peer_next(p)) {
		if (p->f.kind != FRAME_INVOKE_METHOD_REPLY)
			return false;
		if (p->f.request_id == enable_id &&
		    (!p->f.success || peer_field(p, PB_ENABLE_TRACING_RESPONSE_ERROR, &error)))
			return false;
		if (p->f.request_id == id)
			return true;
	}
	return false;
}

/* Sends the first request of each method, with a reply. A request that the service refuses is no
 * attack. (A flush fails if other producers acknowledge none.) */
static inline bool requests_are_accepted(struct peer *p, const struct pb_mem *requests,
					 bool consumer)
{
	uint32_t len, sent = 0;
	uint64_t id, enable_id = 0;
	struct frame f;

	for (size_t at = 0; at < pb_mem_len(requests); at += sizeof(len) + len) {
		struct pb_field f_success;
		bool good;

		memcpy(&len, requests->buf + at, sizeof(len));
		assert(frame_decode(requests->buf + at + sizeof(len), len, &f) == 0);
		if (sent & 1u << f.method_id)
			continue;
		sent |= 1u << f.method_id;
		id = peer_call_as(p, 1, f.method_id, false, f.payload, f.payload_len, -1);
		if (consumer && f.method_id == C_ENABLE) {
			enable_id = id;
			continue;
		}
		good = is_done(p, id, enable_id) &&
		       (p->f.success || (consumer && f.method_id == C_FLUSH));
		if (good && consumer && f.method_id == C_CLONE)
			good = peer_field(p, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f_success) &&
			       f_success.u64;
		if (!good) {
			fprintf(stderr, "method %u of the attack is refused\n", f.method_id);
			return false;
		}
	}
	return true;
}

enum { REFUSED = 3 }; /* status of an attack whose requests the service refuses */

static inline void go_on(void)
{
	const struct pb_mem *tried = NULL;

	for (size_t i = 0; i < n_attackers; i++) {
		const struct pb_mem *requests = attackers[i].requests;

		if (requests && requests != tried &&
		    !requests_are_accepted(attackers[i].peer, requests, attackers[i].consumer))
			_exit(REFUSED);
		tried = requests ? requests : tried;
	}
	has_begun();
	for (;;)
		push_all();
}

/* Runs the attack, which never returns, in a process of its own, and waits until it has begun.
 * Returns -1 if it has not; the process has ended then, with *ret_status. */
static inline pid_t attack_try(void (*attack)(void), int *ret_status)
{
	int fds[2];
	pid_t pid;
	char byte;
	bool good;

	fflush(stdout);
	if (pipe(fds) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		ready_fd = fds[1];
		if (geteuid() == 0 && (setgid(ATTACKER) < 0 || setuid(ATTACKER) < 0))
			_exit(2);
		attack();
		_exit(4);
	}
	close(fds[1]);
	good = pid > 0 && read(fds[0], &byte, 1) == 1;
	close(fds[0]);
	if (good || pid < 0)
		return pid;
	waitpid(pid, ret_status, 0);
	return -1;
}

/* The connections of a socket that the service has not closed, or not accepted yet. */
static inline unsigned connections_to(const char *address)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512], path[256];
	unsigned flags, n = 0;

	assert(f);
	while (fgets(line, sizeof(line), f))
		n += sscanf(line, "%*s %*s %*s %x %*s %*s %*s %255s", &flags, path) == 2 &&
		     !flags && !strcmp(path, address);
	fclose(f);
	return n;
}

static inline unsigned connections_to_both(void)
{
	return connections_to(sock_default_producer()) + connections_to(sock_default_consumer());
}

static unsigned others; /* connections before the attack, such as that of sonda-probes */

/* Kills the attacker, and waits until the service has handled the requests that its connections
 * still have. Returns false if the service does not end them. */
static inline bool attack_end(pid_t pid)
{
	uint64_t end =
		clock_mono_ns() + (BUILT_WITH_SANITIZER ? 10 : 1) * PEER_TIMEOUT_MS * NS_PER_MS;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (connections_to_both() > others) {
		if (clock_mono_ns() >= end)
			return false;
		usleep(10000);
	}
	return true;
}

/* The same, again while the service refuses the requests: it has sessions of the attack before,
 * which it ends a while after their connections. The caller has no connection of its own. */
static inline pid_t attack_start(void (*attack)(void))
{
	uint64_t end = clock_mono_ns() + PEER_TIMEOUT_MS * NS_PER_MS;
	int status = 0;
	pid_t pid;

	others = connections_to_both();
	while ((pid = attack_try(attack, &status)) < 0 && WIFEXITED(status) &&
	       WEXITSTATUS(status) == REFUSED && clock_mono_ns() < end)
		usleep(100000);
	if (pid < 0)
		printf("# the attack ended with status %d, signal %d\n", WEXITSTATUS(status),
		       WTERMSIG(status));
	return pid;
}
