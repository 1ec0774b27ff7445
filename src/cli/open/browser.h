/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts the browser of the user who typed the command: under sudo that is the calling user, whose
 * settings and rights it has.
 */

enum browser_result {
	BROWSER_STARTED,
	BROWSER_NO_DISPLAY,
	BROWSER_IS_REMOTE, /* an ssh session: the browser is on the other machine */
	BROWSER_IS_ROOT, /* root without sudo: a browser does not run as root */
	BROWSER_NO_PROGRAM, /* xdg-open is not installed, or cannot be started */
};

/* Does not wait for the browser. */
enum browser_result browser_open(const char *url);

#define BROWSER_USERS_MAX 4

/*
 * Writes the users whose browser may connect: this process's, root, and for root those who became
 * it.
 */
size_t browser_users(uid_t ret[static BROWSER_USERS_MAX]);
