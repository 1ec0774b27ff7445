/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The capabilities of this process (capabilities(7)).
 *
 * caps_keep_only() gives up every capability but the listed ones (CAP_* of <linux/capability.h>),
 * for good: permitted and effective keep those of the list that the process has, inheritable and
 * ambient keep none, the bounding set shrinks to the list where the process may shrink it
 * (CAP_SETPCAP), and no_new_privs is set, so that no program that it executes can win them back.
 * An empty list gives up all. To be called while there is one thread. Returns 0 or -errno.
 */
int caps_keep_only(const unsigned *keep, size_t n);

/* Makes the effective set that part of the mask (bits 1 << CAP_*) that is permitted, of this thread;
 * what is permitted stays so. Returns 0 or -errno. */
int caps_set_effective(uint64_t mask);

/*
 * Makes this process that user's and group's, with no other groups, for good. Its permitted
 * capabilities stay, all of them effective, and so does its signal for the death of the parent
 * (PR_SET_PDEATHSIG). To be called while there is one thread. Returns 0; or -errno, where groups may have gone
 * and the user is as it was (-EPERM: no CAP_SETUID or CAP_SETGID; -EINVAL: the user namespace does not
 * have that user).
 */
int caps_change_user(uid_t uid, gid_t gid);
