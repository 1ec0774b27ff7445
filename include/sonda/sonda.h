/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_SONDA_H
#define SONDA_SONDA_H

#include <stddef.h>
#include <stdint.h>

#include <sonda/backend.h>
#include <sonda/data_source.h>
#include <sonda/packet.h>
#include <sonda/session.h>
#include <sonda/track_event.h>
#include <sonda/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * libsonda: track events and custom data sources for any program.
 *
 * Functions return 0 or a negative errno. Loading the library starts nothing; sonda_init() starts
 * one thread, which owns the connections and runs all callbacks.
 *
 * The first member of a struct of options is its size. Later versions append members, so a program
 * runs with a library that is older or newer than the headers it was compiled with. A member that
 * the program does not know is 0. A member that the library does not know must be 0, otherwise the
 * call returns -EINVAL.
 */

enum sonda_backends {
	SONDA_BACKEND_SYSTEM = 1 << 0, /* sondad, or Perfetto's traced */
	SONDA_BACKEND_NONE = 1 << 1, /* for sessions only: the process is not a producer */
};

struct sonda_init_options {
	size_t size; /* sizeof(struct sonda_init_options) */
	unsigned backends; /* enum sonda_backends; 0: SONDA_BACKEND_SYSTEM */
	/* Address of the service's producer socket. NULL: $PERFETTO_PRODUCER_SOCK_NAME, which
	 * set-user-id programs ignore, else the default. */
	const char *producer_socket;
	const char *producer_name; /* NULL: the first argument in /proc/self/cmdline */
	uint32_t shm_size; /* bytes, a hint to the service; 0: 1 MiB */
	uint32_t shm_page_size; /* 0: 4096 */
	/* Called on the library's thread with a sentence about a problem. NULL: not reported. */
	void (*on_trouble)(void *ctx, const char *sentence);
	void *ctx;
	/* Startup tracing: from sonda_init() on, track events of these categories ("net*,disk" or
	 * "*") are kept in 1 MiB of memory, even without a service. The first session that records
	 * all of the categories gets them. They are dropped and counted if the memory is full, or
	 * no session starts within startup_ms (0: 10,000). NULL: none. */
	const char *startup_categories;
	unsigned startup_ms;
};

/* Returns the number of dropped packets of track events. A packet is dropped if the shared memory
 * has no room, if no session takes over the startup events, or if its event is inside another
 * event. */
uint64_t sonda_track_events_dropped(void);

/* Starts the library's thread, which connects to the services, and reconnects when they restart.
 * options may be NULL. A second call has no effect, except in a child after fork(), where nothing
 * is traced without it. Returns 0, -EINVAL or -errno of the thread. */
int sonda_init(const struct sonda_init_options *options);

/* Waits until the system service has accepted this process's data sources, at most timeout_ms
 * (negative: does not wait). Returns 0, -ETIMEDOUT or -ENOTCONN (sonda_init() was not called). */
int sonda_wait_connected(int timeout_ms);

/* Sends the data of all threads, disconnects and ends the library's thread. Data sources stay
 * registered, and sonda_init() may be called again. exit() calls it. */
void sonda_shutdown(void);

/* Activates triggers of sessions. Without a connection, they are sent if the library connects
 * within ttl_ms. Returns 0, -ENOMEM or -ENOTCONN (sonda_init() was not called). */
int sonda_activate_triggers(const char *const *names, size_t n, unsigned ttl_ms);

#ifdef __cplusplus
}
#endif

#endif
