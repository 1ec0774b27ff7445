/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names and numbers of system calls, as in raw_syscalls/sys_enter and sys_exit. Unless a machine is
 * named, they are those of this machine's architecture, and of the 32-bit architecture that its
 * kernel also runs. */
#define SYSCALL_NAME_MAX 64

/* Finds the number of a system call by name: "read" or "sys_read"; "compat_sys_read" for the number
 * in 32-bit programs. Names of kernel functions ("sys_newstat") are accepted too. Returns 0; or
 * -ENOENT with the nearest name in `nearest`, in the form of `name`, or "" if none is near. */
int syscall_name_resolve(const char *name, uint32_t *ret_nr, char nearest[static SYSCALL_NAME_MAX]);

/* Returns the number of a call by its bare name, from the table of this machine or from its 32-bit
 * table (compat). Returns a negative value if the table has no such name. */
int syscall_number(const char *name, bool compat);
/* Writes the bare name of a number of the 32-bit table to ret, cut to len bytes and padded with
 * zeros, so there is no NUL after a name of len bytes. Writes only zeros for an unknown number. */
void syscall_compat_name(uint32_t nr, char *ret, size_t len);
/* Writes the bare name of a number, always with a NUL; "" if the number or the machine is unknown.
 * machine: as uname(2) reports it, such as "aarch64"; NULL: this machine. Returns 0, or -ENOMEM
 * with "". */
int syscall_name(const char *machine, uint32_t nr, char ret[static SYSCALL_NAME_MAX]);
