/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: proxy SEED LISTEN CONNECT [LISTEN CONNECT]...
 *
 * Stands between clients and a service, and is hostile to both: it passes their messages on, some
 * of them changed, doubled, exchanged, cut or left out, other descriptors in place of theirs, and
 * scribbles in the memory that they share. Each connection is a process of its own; of the seed,
 * and of how many connections there were before, follows all that it does.
 *
 *	client ===== LISTEN [proxy] CONNECT ===== service
 *	   \________________ memory ________________/
 *	                       ^ scribbles
 *
 * Most messages pass unchanged, so that sessions come to where they record.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"

#define MAX_ADDRESSES 8
#define MAX_CHILDREN 64
#define BUFFER (1u << 20)
#define WORD 4u /* the length before a message */
#define MAX_MESSAGE (160u << 10) /* more than either side takes */
#define SEND_TIMEOUT_MS 2000

/* One direction. */
struct way {
	int from, to;
	uint8_t in[BUFFER];
	size_t len;
	int fd; /* to be passed on with the next message, or -1 */
	uint8_t old[MAX_MESSAGE]; /* a message of before, to be sent again */
	size_t old_len;
};

static struct way ways[2];
static uint8_t *shared; /* the memory of both; NULL: none has come by */
static size_t shared_size;
static uint64_t state;
static unsigned evil; /* of 1000 messages so many are not passed on as they are */

/* xorshift64* */
static uint32_t any(uint32_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return below ? (uint32_t)((state * 0x2545f4914f6cdd1dull >> 32) % below) : 0;
}

/* ---- bytes ---- */

static uint64_t striking(void)
{
	static const uint64_t values[] = {
		0,	    1,		 0x7f,	    0x80,	0xff,	    0x100,
		0x7fff,	    0x8000,	 0xffff,    0x10000,	0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX,
	};

	return values[any(ARRAY_SIZE(values))];
}

static void change(uint8_t *p, size_t len)
{
	for (uint32_t n = 1 + any(4); n > 0 && len > 0; n--) {
		size_t at = any((uint32_t)len);
		uint64_t v = striking();

		switch (any(4)) {
		case 0:
			p[at] ^= (uint8_t)(1u << any(8));
			break;
		case 1:
			p[at] = (uint8_t)any(256);
			break;
		case 2:
			memcpy(p + at, &v, MIN(sizeof(v), len - at));
			break;
		case 3:
			memset(p + at, (int)any(256), MIN(1 + any(16), len - at));
			break;
		}
	}
}

/* The words in front of pages and the headers of chunks most of all. */
static void scribble(void)
{
	for (uint32_t n = any(8); n > 0 && shared_size > 64; n--) {
		size_t page = any((uint32_t)(shared_size / 4096)) * 4096ul;
		size_t at = any(2) ? page + any(32) : any((uint32_t)shared_size - 16);

		change(shared + at, 16);
	}
}

/* ---- sending ---- */

static void end(void)
{
	_exit(0);
}

static void send_all(int to, const uint8_t *data, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};

	while (len > 0) {
		struct iovec iov = {(void *)data, len};
		struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
		struct pollfd p = {.fd = to, .events = POLLOUT};
		ssize_t n;

		if (fd >= 0) {
			m.msg_control = &control;
			m.msg_controllen = sizeof(control);
			control.align.cmsg_level = SOL_SOCKET;
			control.align.cmsg_type = SCM_RIGHTS;
			control.align.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
		}
		n = sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN && poll(&p, 1, SEND_TIMEOUT_MS) == 1)
			continue;
		if (n < 0)
			end();
		fd = -1;
		data += n;
		len -= (size_t)n;
	}
}

static void send_message(struct way *w, const uint8_t *data, size_t len, int fd)
{
	static uint8_t out[WORD + MAX_MESSAGE];
	uint32_t word = (uint32_t)len;

	memcpy(out, &word, WORD);
	memcpy(out + WORD, data, len);
	send_all(w->to, out, WORD + len, fd);
}

/* Something that is no such memory, or memory that is not as it should be. */
static int other_fd(void)
{
	int fd, p[2];

	switch (any(5)) {
	case 0:
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	case 1:
		if (pipe2(p, O_CLOEXEC) < 0)
			return -1;
		close(p[1]);
		return p[0];
	case 2:
		return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	}
	fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && ftruncate(fd, (off_t)any(3) * 4096) == 0 && any(2))
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

static void send_evil(struct way *w, const uint8_t *data, size_t len)
{
	static uint8_t copy[MAX_MESSAGE];
	int fd = -1;

	memcpy(copy, data, len);
	switch (any(10)) {
	case 0: /* left out */
		return;
	case 1: /* twice */
		send_message(w, data, len, w->fd);
		break;
	case 2: /* an older one before it */
		send_message(w, w->old, w->old_len, -1);
		break;
	case 3: /* cut */
		len = any((uint32_t)len + 1);
		break;
	case 4: /* longer */
		memset(copy + len, (int)any(256), MIN(64, sizeof(copy) - len));
		len += MIN(64, sizeof(copy) - len);
		break;
	case 5: /* a part of an older one in it */
		memcpy(copy + any((uint32_t)len + 1) / 2, w->old, MIN(w->old_len, len / 2));
		break;
	case 6: /* another descriptor */
		fd = other_fd();
		break;
	case 7: /* a length that is a lie */
		if (any(8) == 0) {
			uint64_t v = striking();

			send_all(w->to, (uint8_t *)&v, WORD, -1);
		}
		break;
	default:
		change(copy, len);
	}
	send_message(w, copy, len, fd >= 0 ? fd : w->fd);
	closep(&fd);
}

/* ---- receiving ---- */

static void look_at(int fd)
{
	struct stat st;
	void *p;

	if (shared || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 4096)
		return;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return;
	shared = p;
	shared_size = (size_t)st.st_size;
}

static void receive(struct way *w)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = {w->in + w->len, sizeof(w->in) - w->len};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(w->from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n == 0 || (n < 0 && errno != EAGAIN))
		end();
	if (n < 0)
		return;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		closep(&w->fd);
		memcpy(&w->fd, CMSG_DATA(c), sizeof(w->fd));
		look_at(w->fd);
	}
	w->len += (size_t)n;
}

static void pass_on(struct way *w)
{
	size_t at = 0;

	while (w->len - at >= WORD) {
		uint8_t *data = w->in + at + WORD;
		uint32_t len;

		memcpy(&len, w->in + at, WORD);
		if (len > MAX_MESSAGE - 64)
			end(); /* of a side that is not well: the logs tell */
		if (w->len - at - WORD < len)
			break;
		if (any(1000) < evil)
			send_evil(w, data, len);
		else
			send_message(w, data, len, w->fd);
		closep(&w->fd);
		w->fd = -1;
		if (any(4) == 0) {
			memcpy(w->old, data, len);
			w->old_len = len;
		}
		at += WORD + len;
	}
	memmove(w->in, w->in + at, w->len - at);
	w->len -= at;
}

/* In a process of its own. */
static void relay(int client, const char *address)
{
	/* From hardly any to each second one. */
	static const unsigned degrees[] = {2, 10, 50, 200, 500};
	int service;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sock_connect(address, &service) < 0)
		end();
	evil = degrees[any(ARRAY_SIZE(degrees))];
	ways[0] = (struct way){.from = client, .to = service, .fd = -1};
	ways[1] = (struct way){.from = service, .to = client, .fd = -1};
	for (;;) {
		struct pollfd p[] = {{.fd = client, .events = POLLIN},
				     {.fd = service, .events = POLLIN}};

		poll(p, 2, shared ? 2 : 1000);
		for (int i = 0; i < 2; i++) {
			if (!p[i].revents)
				continue;
			receive(&ways[i]);
			pass_on(&ways[i]);
		}
		if (shared && any(1000) < evil)
			scribble();
		/* A few leave without a word. */
		if (any(20000) == 0)
			end();
	}
}

int main(int argc, char **argv)
{
	struct pollfd listening[MAX_ADDRESSES];
	unsigned long n_children = 0, n_alive = 0;
	uint64_t seed;
	int n = 0;

	if (argc < 4 || argc % 2 != 0 || argc / 2 - 1 > MAX_ADDRESSES) {
		fprintf(stderr, "usage: %s SEED LISTEN CONNECT [LISTEN CONNECT]...\n", argv[0]);
		return 2;
	}
	seed = strtoull(argv[1], NULL, 0);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 2; i < argc; i += 2, n++) {
		listening[n].events = POLLIN;
		if (sock_listen(argv[i], &listening[n].fd, NULL) < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			return 1;
		}
	}
	for (;;) {
		poll(listening, (nfds_t)n, 100);
		while (n_alive > 0 && waitpid(-1, NULL, WNOHANG) > 0)
			n_alive--;
		for (int i = 0; i < n && n_alive < MAX_CHILDREN; i++) {
			int client;

			if (!(listening[i].revents & POLLIN) ||
			    sock_accept(listening[i].fd, &client) < 0)
				continue;
			state = (seed + ++n_children) * 0x9e3779b97f4a7c15ull | 1;
			n_alive++;
			if (fork() == 0)
				relay(client, argv[3 + 2 * i]);
			close(client);
		}
	}
}
