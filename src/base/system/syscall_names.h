/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names and numbers of system calls, as in raw_syscalls/sys_enter and sys_exit, of the architecture
 * of this machine and of the 32-bit one that its kernel also runs.
 */
#define SYSCALL_NAME_MAX 64

/*
 * "read", "sys_read"; "compat_sys_read" for the number of 32-bit programs. Names of the kernel's
 * own functions ("sys_newstat") are known too. Returns 0; or -ENOENT with the nearest name in
 * nearest, in the form of `name`, or "" if none is near.
 */
int syscall_name_resolve(const char *name, uint32_t *ret_nr, char nearest[static SYSCALL_NAME_MAX]);

/* The number of a call by its bare name, of this machine's table or of its 32-bit one; negative:
 * there is none. */
int syscall_number(const char *name, bool compat);
/* The bare name of a number of the 32-bit table, with zeros to the end of the room for it, cut
 * where it is longer; all zeros where it has none. */
void syscall_compat_name(uint32_t nr, char *ret, size_t len);
/* Of this machine's table, likewise, but with a NUL. */
void syscall_name(uint32_t nr, char ret[static SYSCALL_NAME_MAX]);
