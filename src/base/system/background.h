/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Continues in a child process, a session of its own, in "/" and with /dev/null as its standard
 * descriptors; the parent prints the child's process id and ends. Call it when the sockets are
 * open, so that clients can connect when the parent has ended. Returns 0 in the child, or
 * -errno. */
int background_continue(void);
