/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts the browser of the user who typed the command: under sudo that is the user who called
 * sudo. The browser has the settings and rights of this user.
 */

enum browser_result {
	BROWSER_STARTED,
	BROWSER_NO_DISPLAY,
	BROWSER_IS_REMOTE, /* an ssh session: the browser is on the other machine */
	BROWSER_IS_ROOT, /* root without sudo: a browser does not run as root; or an unknown user */
	BROWSER_NO_PROGRAM, /* xdg-open is not installed, or no process can be created */
};

/* Opens a page in the browser. It does not wait for the browser, so it makes this process ignore
 * SIGCHLD. */
enum browser_result browser_open(const char *url);

#define BROWSER_USERS_MAX 4

/*
 * Writes the users whose browser may connect: the user of this process and root; if this process
 * runs as root, also the users who called sudo and who logged in. Returns how many there are.
 */
size_t browser_users(uid_t ret[static BROWSER_USERS_MAX]);
