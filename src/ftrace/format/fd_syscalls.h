/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The system calls whose result is a new file descriptor, by their numbers on the machine that this
 * was built for. Those that give two at once (pipe, socketpair) give them in memory, and those that
 * give one among other things (fcntl, ioctl, recvmsg) do not tell it from others.
 */
bool fd_syscalls_has(uint64_t nr);

/* A filter of the kernel for raw_syscalls/sys_exit that passes them when they succeed: text that
 * lives as long as the process. */
const char *fd_syscalls_filter(void);
