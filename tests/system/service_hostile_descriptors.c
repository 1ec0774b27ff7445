/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_hostile_descriptors PID
 *
 * Peers pass descriptors to the service, the process PID, that take long to close. Where we are
 * root the attacker is uid 4242, else another process of our own user.
 *
 * The last close(2) of such a descriptor waits. So the service stands still (SIGSTOP) while a test
 * sends it the descriptor and closes its own copy: the service then has the last one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "service/ipc/limits.h"
#include "service_hostile_user.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* since Linux 6.16 */
#endif

static pid_t service_pid;
static struct peer p, c; /* large */

static void stop_service(void)
{
	int r = kill(service_pid, SIGSTOP);

	assert(r == 0);
	(void)r;
}

static void continue_service(void)
{
	int r = kill(service_pid, SIGCONT);

	assert(r == 0);
	(void)r;
}

/* ---- sockets that linger ---- */

enum { LINGER_S = 600 };

/* A TCP connection whose reader never reads: closing fd takes LINGER_S. */
struct slow_socket {
	int listener, reader, fd;
};

static bool slow_socket_open(struct slow_socket *s)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	static char block[65536];

	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	s->reader = -1;
	if (bind(s->listener, (struct sockaddr *)&a, len) < 0 || listen(s->listener, 1) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &len) < 0 ||
	    connect(s->fd, (struct sockaddr *)&a, len) < 0)
		return false;
	s->reader = accept(s->listener, NULL, NULL);
	if (s->reader < 0 || setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
		return false;
	while (send(s->fd, block, sizeof(block), MSG_DONTWAIT) > 0)
		;
	return true;
}

/* Closes our copy. If it is the only one, since the kernel sent none, it does not linger. */
static void slow_socket_leave(struct slow_socket *s, bool sent)
{
	const struct linger none = {0};

	if (!sent)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	closep(&s->fd);
	s->fd = -1;
}

/* Without its reader the kernel closes it at once. */
static void slow_socket_close(struct slow_socket *s)
{
	closep(&s->reader);
	closep(&s->listener);
	closep(&s->fd);
}

/* ---- the attacks ---- */

/* With a request of the peer's choice. */
static bool answered_while_closing(const char *address, const char *port, uint32_t method,
				   bool bind_first)
{
	struct slow_socket s;
	bool good;

	CHECK(slow_socket_open(&s));
	connect_as_attacker(&p, address);
	if (bind_first) {
		peer_bind(&p, port);
		CHECK(peer_next(&p));
	}
	stop_service();
	slow_socket_leave(&s, peer_call_with_fd(&p, method, s.fd));
	continue_service();
	good = query_is_answered();
	peer_close(&p);
	good = good && query_is_answered() && good_pair_records();
	slow_socket_close(&s);
	return good;
}

static bool socket_that_lingers_is_closed_aside(void)
{
	const char *producers = sock_default_producer(), *consumers = sock_default_consumer();

	CHECK(answered_while_closing(producers, "ProducerPort", P_SYNC, false));
	CHECK(answered_while_closing(producers, "ProducerPort", P_INITIALIZE, true));
	CHECK(answered_while_closing(consumers, "ConsumerPort", C_CLONE, true));
	return answered_while_closing(consumers, "ConsumerPort", C_QUERY_STATE, true);
}

/* The beginning of a frame, with the descriptors. */
static bool send_many(int to, const int *fds, size_t n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	uint32_t frame_len = 1000;
	struct iovec iov = {.iov_base = &frame_len, .iov_len = 2};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = CMSG_SPACE(n * sizeof(int))};

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
	return sendmsg(to, &m, MSG_NOSIGNAL) > 0;
}

/* Three in one message, for which the service hangs up, and one that it has not read then. */
static bool several_at_once_are_closed_aside(void)
{
	struct slow_socket s[4];
	int fds[ARRAY_SIZE(s)];
	bool good, first, second;

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		CHECK(slow_socket_open(&s[i]));
		fds[i] = s[i].fd;
	}
	connect_as_attacker(&p, sock_default_consumer());
	peer_bind(&p, "ConsumerPort");
	CHECK(peer_next(&p));
	stop_service();
	first = send_many(p.fd, fds, 3);
	second = send_many(p.fd, fds + 3, 1);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		slow_socket_leave(&s[i], i < 3 ? first : second);
	continue_service();
	CHECK(first && second && peer_is_hung_up(&p));
	peer_close(&p);
	good = query_is_answered() && good_pair_records();
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		slow_socket_close(&s[i]);
	return good;
}

enum { ALL = MAX_CONSUMER_CONNECTIONS / 4, REFUSED = 12 };

/* Consumers of the attacker beyond its share: the service closes their sockets, and what it has not
 * read of them, which lingers also if the service has asked for a close at once. */
struct refused_peers {
	struct peer *admitted[ALL], *refused[REFUSED];
	struct slow_socket sockets[REFUSED];
};

static struct peer *new_attacker(void)
{
	struct peer *new = malloc(sizeof(*new));

	assert(new);
	connect_as_attacker(new, sock_default_consumer());
	return new;
}

static bool refused_peers_begin(struct refused_peers *r)
{
	bool sent = true;

	for (int i = 0; i < ALL; i++) {
		r->admitted[i] = new_attacker();
		CHECK(peer_accepted(r->admitted[i],
				    peer_call(r->admitted[i], C_QUERY_CAPABILITIES, NULL, 0)));
	}
	for (int i = 0; i < REFUSED; i++)
		CHECK(slow_socket_open(&r->sockets[i]));
	stop_service();
	for (int i = 0; i < REFUSED; i++) {
		r->refused[i] = new_attacker();
		sent = send_many(r->refused[i]->fd, &r->sockets[i].fd, 1) && sent;
		slow_socket_leave(&r->sockets[i], sent);
	}
	continue_service();
	CHECK(sent);
	return true;
}

static void refused_peers_end(struct refused_peers *r)
{
	for (int i = 0; i < ALL; i++) {
		peer_close(r->admitted[i]);
		free(r->admitted[i]);
	}
	for (int i = 0; i < REFUSED; i++) {
		peer_close(r->refused[i]);
		free(r->refused[i]);
		slow_socket_close(&r->sockets[i]);
	}
}

static bool descriptors_of_refused_peers_are_closed_aside(void)
{
	struct refused_peers r;
	bool good = true;

	if (geteuid() != 0)
		SKIP("only root can connect as another user");
	CHECK(refused_peers_begin(&r));
	CHECK(query_is_answered());
	/* Two are being closed. The others wait. */
	for (int i = 0; i < 2; i++)
		good = peer_is_hung_up(r.refused[i]) && good;
	CHECK(good && query_is_answered());
	refused_peers_end(&r);
	return good_pair_records();
}

/* Closes of one user that do not end take two of the threads that close; others have theirs. */
static bool others_descriptors_are_closed_meanwhile(void)
{
	struct refused_peers r;
	struct pollfd reader;
	int fds[2];
	char byte;

	if (geteuid() != 0)
		SKIP("only root can connect as another user");
	CHECK(refused_peers_begin(&r));
	CHECK(pipe(fds) == 0);
	peer_connect(&c, sock_default_consumer());
	peer_bind(&c, "ConsumerPort");
	CHECK(peer_next(&c));
	CHECK(peer_call_with_fd(&c, C_QUERY_CAPABILITIES, fds[1]));
	close(fds[1]);
	CHECK(peer_next(&c));
	peer_close(&c);
	/* The end: the writing side is closed. */
	reader = (struct pollfd){.fd = fds[0], .events = POLLIN};
	CHECK(poll(&reader, 1, PEER_TIMEOUT_MS) == 1 && read(fds[0], &byte, 1) == 0);
	close(fds[0]);
	refused_peers_end(&r);
	return good_pair_records();
}

/* Only InitializeConnection takes a descriptor of a producer, so the kernel refuses all others. */
static bool descriptors_of_a_producer_are_refused_where_none_is_due(void)
{
	int on;

	connect_as_attacker(&p, sock_default_producer());
	if (getsockopt(p.fd, SOL_SOCKET, SO_PASSRIGHTS, &on, &(socklen_t){sizeof(on)}) < 0) {
		peer_close(&p);
		SKIP("the kernel has no SO_PASSRIGHTS");
	}
	CHECK(!peer_call_with_fd(&p, P_SYNC, STDIN_FILENO) && errno == EPERM);
	peer_bind(&p, "ProducerPort");
	CHECK(peer_next(&p));
	CHECK(peer_call_with_fd(&p, P_INITIALIZE, STDIN_FILENO));
	CHECK(peer_next(&p));
	CHECK(!peer_call_with_fd(&p, P_SYNC, STDIN_FILENO) && errno == EPERM);
	peer_close(&p);
	return good_pair_records();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{"the close of a socket that lingers blocks no other peer",
		 socket_that_lingers_is_closed_aside},
		{"several at once, and unread ones, too", several_at_once_are_closed_aside},
		{"the close of descriptors of refused peers blocks no other peer",
		 descriptors_of_refused_peers_are_closed_aside},
		{"descriptors of others are closed meanwhile",
		 others_descriptors_are_closed_meanwhile},
		{"descriptors of a producer are refused where none is due",
		 descriptors_of_a_producer_are_refused_where_none_is_due},
	};

	if (argc != 2)
		return 2;
	service_pid = atoi(argv[1]);
	p.fd = p.got_fd = c.fd = c.got_fd = -1;
	return tap_run(tests, ARRAY_SIZE(tests));
}
