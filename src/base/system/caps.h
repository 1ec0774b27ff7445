/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The capabilities of this process (capabilities(7)).
 *
 * caps_keep_only() drops all capabilities except the listed ones (CAP_* of <linux/capability.h>)
 * permanently. The permitted and effective sets keep the listed ones that the process has, and the
 * inheritable and ambient sets keep none. The bounding set shrinks to the list if the process may
 * shrink it (CAP_SETPCAP). no_new_privs is set, so that a program that the process executes cannot
 * regain capabilities. An empty list drops all. Call it while the process has one thread. Returns 0
 * or -errno.
 */
int caps_keep_only(const unsigned *keep, size_t n);

/* Sets the effective capabilities of this thread to those of the mask (bits 1 << CAP_*) that are
 * permitted. The permitted set does not change. Returns 0 or -errno. */
int caps_set_effective(uint64_t mask);

/* Changes user and group of this process permanently, without supplementary groups. Its permitted
 * capabilities stay, all of them effective, and so does its parent-death signal (PR_SET_PDEATHSIG).
 * Call it while the process has one thread. Returns 0 or -errno (-EPERM: no CAP_SETUID or
 * CAP_SETGID; -EINVAL: the user namespace does not have that user). If the user cannot be changed,
 * the groups may be lost nevertheless. */
int caps_change_user(uid_t uid, gid_t gid);
