/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;

/* Tells when a socket may have appeared at a path: whoever waits for a service need not wait for
 * its back-off. */
struct socket_watch;

/*
 * Calls fn, from the loop, each time that a file of this path is made, moved there or changes its
 * mode. 0, or -errno of inotify(7) (-ENOENT: the folder is not there either).
 */
int socket_watch_new(struct event_base *loop, const char *path, void (*fn)(void *ctx), void *ctx,
		     struct socket_watch **ret);
/* NULL is fine. fn may call it. */
void socket_watch_free(struct socket_watch *w);
