/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libiberty passes the demangled name to a callback in pieces, and the callback cannot stop it. So
 * a name that takes too much room or time is abandoned by a long jump: from the callback, or from
 * the signal handler of the clock. The handler jumps only out of the demangler of C++, which holds
 * no lock and allocates nothing. That of Rust allocates for some names; what it does between two
 * pieces takes time in proportion to the length of the name.
 */
#include "base/text/demangle.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>

#include <libiberty/demangle.h>

struct demangled {
	char *text; /* borrowed: size bytes */
	size_t len, size;
};

static sigjmp_buf give_up;
static volatile sig_atomic_t ticks_left; /* for the current name; 0: there is none */

static void on_tick(int signal)
{
	if (ticks_left > 0 && --ticks_left == 0)
		siglongjmp(give_up, 1);
}

int demangle_start_clock(void)
{
	/* The jump leaves the handler without restoring the signal mask, so it must mask no
	 * signal. */
	const struct sigaction action = {.sa_handler = on_tick,
					 .sa_flags = SA_NODEFER | SA_RESTART};
	const struct itimerval period = {{0, DEMANGLE_TICK_US}, {0, DEMANGLE_TICK_US}};

	if (sigaction(SIGVTALRM, &action, NULL) < 0 || setitimer(ITIMER_VIRTUAL, &period, NULL) < 0)
		return -errno;
	return 0;
}

static void demangle_add_piece(const char *piece, size_t len, void *ctx)
{
	struct demangled *d = ctx;

	if (len >= d->size - d->len) {
		ticks_left = 0;
		siglongjmp(give_up, 1);
	}
	if (len) /* if len is 0, piece may be NULL */
		memcpy(d->text + d->len, piece, len);
	d->len += len;
}

/* Returns the length, or 0. */
static size_t demangle_into(const char *name, bool is_cplusplus, int options, char *ret,
			    size_t size)
{
	struct demangled d = {.text = ret, .size = size};
	int ok;

	if (sigsetjmp(give_up, 0))
		return 0;
	if (is_cplusplus) {
		ticks_left = 2;
		ok = cplus_demangle_v3_callback(name, options, demangle_add_piece, &d);
		ticks_left = 0;
	} else {
		ok = rust_demangle_callback(name, options, demangle_add_piece, &d);
	}
	if (!ok)
		return 0;
	ret[d.len] = '\0';
	return d.len;
}

static bool demangle_is_candidate(const char *name, size_t size)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') &&
	       strnlen(name, DEMANGLE_NAME_MAX + 1) <= DEMANGLE_NAME_MAX && size > 0;
}

size_t demangle_name(const char *name, char *ret, size_t size)
{
	size_t len;

	if (!demangle_is_candidate(name, size))
		return 0;
	/* Old names of Rust are names of C++ that end in a hash. */
	len = demangle_into(name, false, DMGL_NO_OPTS, ret, size);
	if (len == 0 && name[1] == 'Z')
		len = demangle_into(name, true, DMGL_PARAMS | DMGL_ANSI, ret, size);
	if (len == 0 && name[1] == 'Z')
		len = demangle_into(name, true, DMGL_NO_OPTS, ret, size);
	return len;
}

size_t demangle_short_name(const char *name, char *ret, size_t size)
{
	size_t len;

	if (!demangle_is_candidate(name, size))
		return 0;
	len = demangle_into(name, false, DMGL_NO_OPTS, ret, size);
	if (len == 0 && name[1] == 'Z')
		len = demangle_into(name, true, DMGL_NO_OPTS, ret, size);
	return len;
}
