/* SPDX-License-Identifier: Apache-2.0 */
#include "service/sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "service/inherited.h"
#include "service/service.h"

/* ---- one socket ---- */

#define OWN_USER_ONLY 0177 /* umask: 0600 is left */

/* A socket file that only the own user and root may connect to. */
static int listen_for_own_user(const char *address, int *ret_fd, struct err_text *e)
{
	mode_t before = umask(OWN_USER_ONLY);
	int r = sock_listen(address, ret_fd, e);

	umask(before);
	return r;
}

/* The file of a socket gets its permissions before anybody can connect. */
static int listen_with(const char *address, const struct socket_permissions *p, int *ret_fd,
		       struct err_text *e)
{
	int r;

	if (!p || sock_is_remote(address))
		return sock_listen(address, ret_fd, e);
	if (sock_family_of(address) == SOCK_FAMILY_UNIX_ABSTRACT)
		return err_set(e, -EINVAL,
			       "--set-socket-permissions: the abstract socket %s has none",
			       address);
	r = listen_for_own_user(address, ret_fd, e);
	return r < 0 ? r : socket_permissions_set(address, p, e);
}

static void remember_file(struct sockets *s, size_t i)
{
	struct stat st;

	if (sock_family_of(s->list[i].address) != SOCK_FAMILY_UNIX_PATH ||
	    lstat(s->list[i].address, &st) < 0)
		return;
	s->list[i].file = (struct output_file){.dev = st.st_dev, .ino = st.st_ino};
}

static int listen_on(struct sockets *s, const char *address, const struct socket_permissions *p,
		     bool own_user_only, struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(address);
	int fd = -1, r;

	if (!copy)
		return err_set(e, -ENOMEM, "out of memory");
	if (s->n == MAX_SOCKETS)
		return err_set(e, -E2BIG, "%s: more than %d sockets", address, MAX_SOCKETS);
	r = own_user_only && !p ? listen_for_own_user(address, &fd, e)
				: listen_with(address, p, &fd, e);
	if (fd < 0)
		return r;
	s->list[s->n].address = TAKE_PTR(copy);
	s->list[s->n].fd = fd;
	remember_file(s, s->n++);
	return r;
}

/* ---- all of them ---- */

/* On TCP and vsock nobody proves who is at the other end. */
static int listen_for_producers(struct sockets *s, const char *address,
				const struct socket_options *o, struct err_text *e)
{
	if (sock_is_remote(address) && o->allow.n == 0)
		return err_set(e, -EPERM,
			       "%s: not without --allow-remote ADDRESS: the addresses that "
			       "producers may connect from, as nobody there proves who it is",
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
			       "%s: consumers are served on unix sockets only: whoever reaches "
			       "this one could read every trace",
			       address);
	return listen_on(s, address,
			 o->has_permissions ? &o->permissions[SOCKET_OF_CONSUMERS] : NULL, true, e);
}

/* Where no unit made the folder of the default addresses, root does. A failure is listen's to report. */
static void make_run_folder(const char *address)
{
	mode_t before;

	if (geteuid() != 0 || !str_starts(address, SOCK_RUN_FOLDER))
		return;
	before = umask(022);
	(void)mkdir(SOCK_RUN_FOLDER, 0755);
	umask(before);
}

static int listen_on_all(struct sockets *s, const struct socket_options *o, struct err_text *e)
{
	_cleanup_(freep) char *producers = strdup(sock_default_producer());
	char *rest = NULL;
	int r = 0;

	if (!producers)
		return err_set(e, -ENOMEM, "out of memory");
	make_run_folder(sock_default_consumer());
	for (char *a = strtok_r(producers, ",", &rest); a && r == 0; a = strtok_r(NULL, ",", &rest))
		r = listen_for_producers(s, a, o, e);
	s->n_producers = s->n;
	return r < 0 ? r : listen_for_consumers(s, o, e);
}

static int take_inherited(struct sockets *s, const struct inherited *passed,
			  const struct socket_options *o, struct err_text *e)
{
	_Static_assert(INHERITED_MAX <= MAX_SOCKETS, "list");
	for (; s->n < passed->n; s->n++)
		s->list[s->n].fd = passed->fds[s->n];
	s->n_producers = s->n - 1;
	if (o->has_permissions)
		return err_set(e, -EINVAL,
			       "--set-socket-permissions: the sockets were passed to this "
			       "process, and whoever made them sets their permissions");
	return 0;
}

static int mark_relays(struct sockets *s, const struct socket_options *o, struct err_text *e)
{
	for (size_t i = 0; i < s->n_producers; i++)
		s->list[i].is_relay = o->relay;
	for (size_t i = 0; i < o->n_relay_on; i++) {
		size_t k = 0;

		while (k < s->n_producers &&
		       (!s->list[k].address || strcmp(s->list[k].address, o->relay_on[i]) != 0))
			k++;
		if (k == s->n_producers)
			return err_set(e, -EINVAL,
				       "--enable-relay-endpoint-on %s: not a producer socket",
				       o->relay_on[i]);
		s->list[k].is_relay = true;
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
		r = passed.n > 0 ? take_inherited(s, &passed, o, e) : listen_on_all(s, o, e);
	return r < 0 ? r : mark_relays(s, o, e);
}

int sockets_give(struct sockets *s, const struct socket_options *o, struct service *service)
{
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		int fd = TAKE_FD(s->list[i].fd);

		r = i < s->n_producers
			    ? service_listen_producers(service, fd, &o->allow, s->list[i].is_relay)
			    : service_listen_consumers(service, fd);
	}
	return r;
}

void sockets_give_files(struct sockets *s, struct file_helper_options *o)
{
	_Static_assert(MAX_SOCKETS <= FILE_HELPER_REMOVES, "list");
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].file.ino) {
			o->remove[o->n_remove].path = s->list[i].address;
			o->remove[o->n_remove++].file = s->list[i].file;
		}
}

/* Not if somebody else is there now. */
static void remove_file(const struct sockets *s, size_t i)
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
			remove_file(s, i);
		free(s->list[i].address);
	}
	s->n = 0;
}
