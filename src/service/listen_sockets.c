/* SPDX-License-Identifier: Apache-2.0 */
#include "service/listen_sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/event_loop/sock_file.h"
#include "base/text/str.h"
#include "service/service.h"

/* ---- permissions ---- */

#define FORM "expected PGROUP:PMODE:CGROUP:CMODE, as in perfetto:0666:perfetto:0660"

int socket_permissions_parse(const char *text, struct sock_permissions ret[static 2],
			     struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(text);
	struct sock_permissions found[2];
	char *parts[4], *rest = copy;
	int r = 0;

	if (!copy)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < 4; i++) {
		parts[i] = strsep(&rest, ":");
		if (!parts[i] || !parts[i][0])
			return err_set(e, -EINVAL, "\"%.100s\": " FORM, text);
	}
	if (rest)
		return err_set(e, -EINVAL, "\"%.100s\": " FORM, text);
	for (size_t i = 0; i < 2 && r == 0; i++)
		r = sock_permissions_parse(parts[2 * i], parts[2 * i + 1], &found[i], e);
	if (r == 0)
		memcpy(ret, found, sizeof(found));
	return r;
}

/* ---- inherited sockets ---- */

/*
 * Sockets that were opened by the process that started this one:
 *
 *	systemd	LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES: descriptors from 3 on. The consumers' is
 *		the one with FileDescriptorName=consumer, else the one with the consumers' default
 *		address, else the last one; the others are the producers'
 *	Android	ANDROID_SOCKET_traced_producer and ANDROID_SOCKET_traced_consumer: the number of
 *		the descriptor; both or none
 */
#define INHERITED_MAX 16

struct inherited {
	int fds[INHERITED_MAX]; /* owned by the caller: listening, close-on-exec, non-blocking */
	size_t n; /* 0: none were passed; else at least 2, of which the last is the consumers' */
};

#define CONSUMER_NAME "consumer"

/* Returns true if the socket is bound to the address of consumers. */
static bool has_consumer_address(int fd)
{
	const char *address = sock_default_consumer();
	struct sockaddr_un a;
	socklen_t len = sizeof(a);
	char text[sizeof(a.sun_path) + 1] = "";

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0 ||
	    len <= offsetof(struct sockaddr_un, sun_path))
		return false;
	memcpy(text, a.sun_path, len - offsetof(struct sockaddr_un, sun_path));
	if (!text[0])
		text[0] = '@';
	return strcmp(text, address) == 0;
}

/* ---- systemd ---- */

static bool pop_name_and_check_consumer(char **names)
{
	const char *name = *names ? strsep(names, ":") : NULL;

	return name && strcmp(name, CONSUMER_NAME) == 0;
}

/* Returns the index of the consumer socket: the last one if no name or address marks one. */
static size_t find_consumer(const struct inherited *s, char *names)
{
	for (size_t i = 0; i < s->n; i++)
		if (pop_name_and_check_consumer(&names))
			return i;
	for (size_t i = 0; i < s->n; i++)
		if (has_consumer_address(s->fds[i]))
			return i;
	return s->n - 1;
}

static void move_socket_to_end(struct inherited *s, size_t i)
{
	int fd = s->fds[i];

	s->fds[i] = s->fds[s->n - 1];
	s->fds[s->n - 1] = fd;
}

/* Adds the sockets that systemd has passed, if any, to s; the consumer socket is the last one.
 * Returns 0, or -errno and sets e. */
static int inherit_from_systemd(struct inherited *s, struct err_text *e)
{
	const char *names = getenv("LISTEN_FDNAMES");
	_cleanup_(freep) char *copy = names ? strdup(names) : NULL;
	size_t n;
	int r = sock_find_passed(INHERITED_MAX, &n, e);

	if (r < 0 || n == 0)
		return r;
	if (n < 2)
		return err_set(e, -EINVAL,
			       "LISTEN_FDS=%zu: at least 2 sockets must be passed, one of them for "
			       "consumers",
			       n);
	for (; s->n < n && r == 0; s->n++) {
		s->fds[s->n] = SOCK_FIRST_PASSED + (int)s->n;
		r = sock_prepare_passed(s->fds[s->n], e);
	}
	if (r == 0)
		move_socket_to_end(s, find_consumer(s, copy));
	return r;
}

/* ---- Android ---- */

/* Like inherit_from_systemd(), for the sockets of the variables of Android. */
static int inherit_from_android(struct inherited *s, struct err_text *e)
{
	static const char *const variables[] = {"ANDROID_SOCKET_traced_producer",
						"ANDROID_SOCKET_traced_consumer"};
	uint32_t fd;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (!getenv(variables[i]) && getenv(variables[1 - i]))
			return err_set(e, -EINVAL, "%s is set, but %s is not", variables[1 - i],
				       variables[i]);
	for (size_t i = 0; i < ARRAY_SIZE(variables) && getenv(variables[i]) && r == 0; i++) {
		const char *text = getenv(variables[i]);

		if (str_to_u32(text, &fd) < 0 || fd > INT32_MAX)
			return err_set(e, -EINVAL, "%s=%.20s is not a descriptor", variables[i],
				       text);
		s->fds[s->n++] = (int)fd;
		r = sock_prepare_passed((int)fd, e);
	}
	return r;
}

/* Finds the passed sockets, and removes the variables of systemd from the environment. Returns 0,
 * or -errno and sets e if a variable is malformed or a passed descriptor cannot be used. */
static int inherited_find(struct inherited *ret, struct err_text *e)
{
	struct inherited found = {.n = 0};
	int r = inherit_from_systemd(&found, e);

	if (r == 0 && found.n == 0)
		r = inherit_from_android(&found, e);
	if (r < 0)
		return r;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	*ret = found;
	return 0;
}

/* ---- own sockets ---- */

static void store_socket_file_id(struct sockets *s, size_t i)
{
	struct stat st;

	if (sock_family_of(s->list[i].address) != SOCK_FAMILY_UNIX_PATH ||
	    lstat(s->list[i].address, &st) < 0)
		return;
	s->list[i].file = (struct output_file){.dev = st.st_dev, .ino = st.st_ino};
}

/* Adds a listening socket to s. Returns 0, or -errno and sets e; if only the permissions of its
 * file could not be set, the socket is in s nevertheless. */
static int listen_on(struct sockets *s, const char *address, const struct sock_permissions *p,
		     bool own_user_only, struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(address);
	int fd = -1, r;

	if (!copy)
		return err_set(e, -ENOMEM, "out of memory");
	if (s->n == MAX_SOCKETS)
		return err_set(e, -E2BIG, "%s: too many sockets; the limit is %d", address,
			       MAX_SOCKETS);
	r = own_user_only && !p ? sock_listen_for_own_user(address, &fd, e)
				: sock_listen_with(address, p, &fd, e);
	if (fd < 0)
		return r;
	s->list[s->n].address = TAKE_PTR(copy);
	s->list[s->n].fd = fd;
	store_socket_file_id(s, s->n++);
	return r;
}

/* ---- all sockets ---- */

/* Listens for producers. TCP and vsock do not authenticate the peer, so the options must list the
 * addresses that may connect. Returns 0, or -errno and sets e. */
static int listen_for_producers(struct sockets *s, const char *address,
				const struct socket_options *o, struct err_text *e)
{
	if (sock_is_remote(address) && o->allow.n == 0)
		return err_set(e, -EPERM,
			       "%s: TCP and vsock do not authenticate peers; list the producers' "
			       "addresses with --allow-remote",
			       address);
	return listen_on(s, address,
			 o->has_permissions ? &o->permissions[SOCKET_OF_PRODUCERS] : NULL, false,
			 e);
}

static int listen_for_consumers(struct sockets *s, const struct socket_options *o,
				struct err_text *e)
{
	const char *address = sock_default_consumer();

	if (sock_is_remote(address))
		return err_set(e, -EAFNOSUPPORT,
			       "%s: the consumer socket must be a unix socket: anyone who can "
			       "reach this address could read every trace",
			       address);
	return listen_on(s, address,
			 o->has_permissions ? &o->permissions[SOCKET_OF_CONSUMERS] : NULL, true, e);
}

static int listen_on_all(struct sockets *s, const struct socket_options *o, struct err_text *e)
{
	_cleanup_(freep) char *producers = strdup(sock_default_producer());
	char *rest = NULL;
	int r = 0;

	if (!producers)
		return err_set(e, -ENOMEM, "out of memory");
	sock_make_run_dir(sock_default_consumer());
	for (char *a = strtok_r(producers, ",", &rest); a && r == 0; a = strtok_r(NULL, ",", &rest))
		r = listen_for_producers(s, a, o, e);
	s->n_producers = s->n;
	return r < 0 ? r : listen_for_consumers(s, o, e);
}

static int adopt_inherited_sockets(struct sockets *s, const struct inherited *passed,
				   const struct socket_options *o, struct err_text *e)
{
	_Static_assert(INHERITED_MAX <= MAX_SOCKETS, "list");
	for (; s->n < passed->n; s->n++)
		s->list[s->n].fd = passed->fds[s->n];
	s->n_producers = s->n - 1;
	if (o->has_permissions)
		return err_set(e, -EINVAL,
			       "--set-socket-permissions: the sockets were passed to this process; "
			       "set their permissions where they are created");
	return 0;
}

static int mark_relay_sockets(struct sockets *s, const struct socket_options *o, struct err_text *e)
{
	for (size_t i = 0; i < s->n_producers; i++)
		s->list[i].kind = o->relay ? PRODUCERS_AND_RELAYS : PRODUCERS_ONLY;
	for (size_t i = 0; i < o->n_relay_on; i++) {
		size_t k = 0;

		while (k < s->n_producers &&
		       (!s->list[k].address || strcmp(s->list[k].address, o->relay_on[i]) != 0))
			k++;
		if (k == s->n_producers)
			return err_set(e, -EINVAL,
				       "--enable-relay-endpoint-on %s: not a producer socket",
				       o->relay_on[i]);
		s->list[k].kind = PRODUCERS_AND_UNIX_RELAYS;
	}
	return 0;
}

int sockets_open(struct sockets *s, const struct socket_options *o, struct err_text *e)
{
	struct inherited passed;
	int r;

	*s = (struct sockets){.n = 0};
	r = inherited_find(&passed, e);
	if (r == 0)
		r = passed.n > 0 ? adopt_inherited_sockets(s, &passed, o, e)
				 : listen_on_all(s, o, e);
	return r < 0 ? r : mark_relay_sockets(s, o, e);
}

int sockets_pass_to_service(struct sockets *s, const struct socket_options *o,
			    struct service *service)
{
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		int fd = TAKE_FD(s->list[i].fd);

		r = i < s->n_producers
			    ? service_listen_producers(service, fd, &o->allow, s->list[i].kind)
			    : service_listen_consumers(service, fd);
	}
	return r;
}

void sockets_pass_files_to_helper(struct sockets *s, struct file_helper_options *o)
{
	_Static_assert(MAX_SOCKETS <= FILE_HELPER_REMOVES, "list");
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].file.ino) {
			o->remove[o->n_remove].path = s->list[i].address;
			o->remove[o->n_remove++].file = s->list[i].file;
		}
}

/* Removes the file unless another socket has replaced it. */
static void listen_sockets_remove_file(const struct sockets *s, size_t i)
{
	const struct output_file *file = &s->list[i].file;
	struct stat st;

	if (file->ino && lstat(s->list[i].address, &st) == 0 && st.st_ino == file->ino &&
	    st.st_dev == file->dev)
		unlink(s->list[i].address);
}

void sockets_close(struct sockets *s)
{
	for (size_t i = 0; i < s->n; i++) {
		closep(&s->list[i].fd);
		if (!s->files_are_given)
			listen_sockets_remove_file(s, i);
		free(s->list[i].address);
	}
	s->n = 0;
}
