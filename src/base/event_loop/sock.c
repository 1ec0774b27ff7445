/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Older versions of this header do not include sys/socket.h, which they need. */
#include <linux/vm_sockets.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define VSOCK_PREFIX "vsock://"
#define MAX_HOST 256
#define LOCK_TRIES 50
#define LOCK_PAUSE_US 20000

struct address {
	union {
		struct sockaddr sa;
		struct sockaddr_un un;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_vm vm;
		struct sockaddr_storage storage;
	};
	socklen_t len;
};

enum sock_family sock_family_of(const char *address)
{
	const char *colon = strrchr(address, ':');
	uint64_t port;

	if (address[0] == '@')
		return SOCK_FAMILY_UNIX_ABSTRACT;
	if (str_starts(address, VSOCK_PREFIX))
		return SOCK_FAMILY_VSOCK;
	/* A host name has no '/', but the path of a file may end in ":1". */
	if (colon && !strchr(address, '/') && str_to_u64(colon + 1, &port) == 0)
		return SOCK_FAMILY_TCP;
	return SOCK_FAMILY_UNIX_PATH;
}

/* Converts the text of a unix address. An abstract name has a NUL in place of its '@', and none at
 * the end. A path ends in a NUL. Returns 0, -EINVAL or -ENAMETOOLONG. */
static int parse_unix_address(const char *text, bool abstract, struct address *ret)
{
	size_t len = strlen(text);

	if (len < (abstract ? 2 : 1))
		return -EINVAL;
	if (len + !abstract > sizeof(ret->un.sun_path))
		return -ENAMETOOLONG;
	memset(ret, 0, sizeof(*ret));
	ret->un.sun_family = AF_UNIX;
	memcpy(ret->un.sun_path, text, len);
	if (abstract)
		ret->un.sun_path[0] = '\0';
	ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + !abstract);
	return 0;
}

static int parse_vsock_address(const char *text, struct address *ret)
{
	const char *cid = text + strlen(VSOCK_PREFIX), *colon = strchr(cid, ':');
	char number[16];
	uint32_t c, p;

	if (!colon || (size_t)(colon - cid) >= sizeof(number))
		return -EINVAL;
	memcpy(number, cid, (size_t)(colon - cid));
	number[colon - cid] = '\0';
	if (strcmp(number, "-1") == 0)
		c = VMADDR_CID_ANY;
	else if (str_to_u32(number, &c) < 0)
		return -EINVAL;
	if (str_to_u32(colon + 1, &p) < 0)
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	ret->vm.svm_family = AF_VSOCK;
	ret->vm.svm_cid = c;
	ret->vm.svm_port = p;
	ret->len = sizeof(ret->vm);
	return 0;
}

static int errno_of_lookup(int gai)
{
	switch (gai) {
	case EAI_SYSTEM:
		return -errno;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -ETIMEDOUT;
	default:
		return -EADDRNOTAVAIL;
	}
}

/* Splits HOST:PORT. *ret_port points into text. Returns 0, -EINVAL if the port is invalid, or
 * -ENAMETOOLONG. */
static int tcp_split(const char *text, char ret_host[static MAX_HOST], const char **ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = (size_t)(colon - text);
	uint64_t port;

	/* getaddrinfo() would take the port modulo 2^16. */
	if (str_to_u64(colon + 1, &port) < 0 || port > UINT16_MAX)
		return -EINVAL;
	if (len >= 2 && text[0] == '[' && colon[-1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= MAX_HOST)
		return -ENAMETOOLONG;
	memcpy(ret_host, text, len);
	ret_host[len] = '\0';
	*ret_port = colon + 1;
	return 0;
}

/* HOST:PORT is the IPv4 address of the host if it has one, as for Perfetto: localhost often has an
 * IPv6 address as well, on which no service listens. [HOST]:PORT may be any address. Returns 0 or
 * -errno. */
static int resolve_tcp_address(const char *text, bool listen, struct address *ret)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	char host[MAX_HOST];
	const char *port;
	int r = tcp_split(text, host, &port);

	if (r < 0)
		return r;
	if (listen)
		hints.ai_flags |= AI_PASSIVE;
	hints.ai_family = text[0] == '[' ? AF_UNSPEC : AF_INET;
	r = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (r != 0 && r != EAI_AGAIN && hints.ai_family == AF_INET) {
		hints.ai_family = AF_UNSPEC;
		r = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	}
	if (r != 0)
		return errno_of_lookup(r);
	memset(ret, 0, sizeof(*ret));
	memcpy(&ret->storage, found->ai_addr, found->ai_addrlen);
	ret->len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int parse_address(const char *text, bool listen, struct address *ret)
{
	switch (sock_family_of(text)) {
	case SOCK_FAMILY_UNIX_ABSTRACT:
		return parse_unix_address(text, true, ret);
	case SOCK_FAMILY_VSOCK:
		return parse_vsock_address(text, ret);
	case SOCK_FAMILY_TCP:
		return resolve_tcp_address(text, listen, ret);
	case SOCK_FAMILY_UNIX_PATH:
		break;
	}
	return parse_unix_address(text, false, ret);
}

int sock_check(const char *address)
{
	char host[MAX_HOST];
	struct address a;
	const char *port;

	return sock_family_of(address) == SOCK_FAMILY_TCP ? tcp_split(address, host, &port)
							  : parse_address(address, false, &a);
}

static bool is_tcp(int family)
{
	return family == AF_INET || family == AF_INET6;
}

int sock_resolve(const char *address, char ret_text[static SOCK_RESOLVED_TEXT])
{
	char host[INET6_ADDRSTRLEN], scope[16] = "";
	struct address a;
	int r = parse_address(address, false, &a), n;

	if (r < 0)
		return r;
	if (!is_tcp(a.sa.sa_family)) {
		n = snprintf(ret_text, SOCK_RESOLVED_TEXT, "%s", address);
		return n < SOCK_RESOLVED_TEXT ? 0 : -ENAMETOOLONG;
	}
	if (a.sa.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
		snprintf(ret_text, SOCK_RESOLVED_TEXT, "%s:%u", host, ntohs(a.in.sin_port));
		return 0;
	}
	inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host));
	if (a.in6.sin6_scope_id)
		snprintf(scope, sizeof(scope), "%%%u", a.in6.sin6_scope_id);
	snprintf(ret_text, SOCK_RESOLVED_TEXT, "[%s%s]:%u", host, scope, ntohs(a.in6.sin6_port));
	return 0;
}

static int new_socket(const struct address *a)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static void set_sock_option(int fd, int level, int option)
{
	int one = 1;

	/* Best effort: the connection works without the option. */
	(void)setsockopt(fd, level, option, &one, sizeof(one));
}

/* Makes the kernel send messages at once, and close the connection within a minute after the peer's
 * machine has vanished. Otherwise a caller would wait forever for answers. */
static void tune_tcp(int fd)
{
	int idle_s = 30, interval_s = 10, probes = 3;
	unsigned unacked_ms = 60000;

	set_sock_option(fd, IPPROTO_TCP, TCP_NODELAY);
	set_sock_option(fd, SOL_SOCKET, SO_KEEPALIVE);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
}

/* Repeats connect() so that it blocks: the kernel queues the callers that wait for room in the
 * backlog. Returns 0 or -errno; -EAGAIN if there is no room within wait_ms. */
static int wait_for_backlog(int fd, const struct address *a, unsigned wait_ms)
{
	const struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
	int flags = fcntl(fd, F_GETFL), r;

	if (flags < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return -errno;
	r = connect(fd, &a->sa, a->len) < 0 ? -errno : 0;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : r;
}

static int connect_to_address(const struct address *a, unsigned wait_ms, int *ret_fd)
{
	_cleanup_(closep) int fd = new_socket(a);
	int r;

	if (fd < 0)
		return fd;
	if (is_tcp(a->sa.sa_family))
		tune_tcp(fd);
	r = connect(fd, &a->sa, a->len) < 0 && errno != EINPROGRESS ? -errno : 0;
	if (r == -EAGAIN && wait_ms > 0)
		r = wait_for_backlog(fd, a, wait_ms);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int sock_connect(const char *address, int *ret_fd)
{
	return sock_connect_within(address, 0, ret_fd);
}

int sock_connect_within(const char *address, unsigned wait_ms, int *ret_fd)
{
	struct address a;
	int r = parse_address(address, false, &a);

	return r < 0 ? r : connect_to_address(&a, wait_ms, ret_fd);
}

/* Removes the socket file of a server that has ended. Returns 0, or -EADDRINUSE if the server still
 * runs or the file is not a socket, or another -errno. */
static int remove_stale_socket(const struct address *a, struct err_text *e)
{
	const char *path = a->un.sun_path;
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, -EADDRINUSE,
			       "cannot listen on %s: the path exists and is not a socket", path);
	if (connect_to_address(a, 0, &fd) != -ECONNREFUSED)
		return err_set(e, -EADDRINUSE,
			       "cannot listen on %s: another server is already listening there",
			       path);
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

/* Locks the directory of a socket. Between bind and listen the socket of a server looks stale, and
 * two servers that start at the same time would remove each other's; so each locks the directory
 * first. A lock that is held for longer than a second is ignored. Returns the descriptor or -1. */
static int lock_dir_of_socket(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *dir =
		slash ? strndup(path, MAX((size_t)(slash - path), 1u)) : strdup(".");
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	for (int i = 0; fd >= 0 && i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0; i++)
		usleep(LOCK_PAUSE_US);
	return fd;
}

static int bind_and_listen(const struct address *a, int *ret_fd)
{
	_cleanup_(closep) int fd = new_socket(a);

	if (fd < 0)
		return fd;
	if (is_tcp(a->sa.sa_family) || a->sa.sa_family == AF_VSOCK)
		set_sock_option(fd, SOL_SOCKET, SO_REUSEADDR);
	if (bind(fd, &a->sa, a->len) < 0 || listen(fd, SOCK_BACKLOG) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int set_listen_error(int r, const char *address, struct err_text *e)
{
	switch (r) {
	case -EADDRINUSE:
		return err_set(e, r,
			       "cannot listen on %s: another server is already listening there",
			       address);
	case -ENAMETOOLONG:
		return err_set(e, r,
			       "cannot listen on %s: the address is too long (a socket's "
			       "path has at most %zu bytes)",
			       address, sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	case -ENOENT:
		return err_set(e, r, "cannot listen on %s: its directory does not exist", address);
	default:
		return err_set(e, r, "cannot listen on %s: %s", address, strerror(-r));
	}
}

int sock_listen(const char *address, int *ret_fd, struct err_text *e)
{
	struct err_text why = {""};
	struct address a;
	int r = parse_address(address, true, &a);
	bool is_path = r == 0 && sock_family_of(address) == SOCK_FAMILY_UNIX_PATH;
	/* held until the return */
	_cleanup_(closep) __attribute__((unused)) int lock =
		is_path ? lock_dir_of_socket(a.un.sun_path) : -1;

	if (is_path)
		r = remove_stale_socket(&a, &why);
	if (r == 0)
		r = bind_and_listen(&a, ret_fd);
	if (r < 0 && why.text[0])
		return err_set(e, r, "%s", why.text);
	return r < 0 ? set_listen_error(r, address, e) : 0;
}

int sock_accept(int listen_fd, int *ret_fd)
{
	struct address a = {.len = sizeof(a.storage)};
	int fd;

	do
		fd = accept4(listen_fd, &a.sa, &a.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		return -errno;
	if (is_tcp(a.sa.sa_family))
		tune_tcp(fd);
	*ret_fd = fd;
	return 0;
}

int sock_peer(int fd, uid_t *ret_uid, pid_t *ret_pid)
{
	struct ucred cred;
	socklen_t len = sizeof(int);
	int domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return -errno;
	if (domain != AF_UNIX)
		return -EOPNOTSUPP;
	len = sizeof(cred);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	*ret_uid = cred.uid;
	*ret_pid = cred.pid;
	return 0;
}

static const char *default_address(char *(*get)(const char *variable), bool producer)
{
	const char *set =
		get(producer ? "PERFETTO_PRODUCER_SOCK_NAME" : "PERFETTO_CONSUMER_SOCK_NAME");

	if (set && *set)
		return set;
	if (access(SOCK_ANDROID_DIR, X_OK) == 0)
		return producer ? SOCK_ANDROID_DIR "traced_producer"
				: SOCK_ANDROID_DIR "traced_consumer";
	/* In /tmp any user may listen before the service does; in /run only root permits it. */
	if (geteuid() == 0 || access(SOCK_RUN_DIR, X_OK) == 0)
		return producer ? SOCK_RUN_DIR "traced-producer.sock"
				: SOCK_RUN_DIR "traced-consumer.sock";
	return producer ? "/tmp/perfetto-producer" : "/tmp/perfetto-consumer";
}

const char *sock_default_producer(void)
{
	return default_address(getenv, true);
}

const char *sock_default_consumer(void)
{
	return default_address(getenv, false);
}

const char *sock_default_producer_secure(void)
{
	return default_address(secure_getenv, true);
}

const char *sock_default_consumer_secure(void)
{
	return default_address(secure_getenv, false);
}
