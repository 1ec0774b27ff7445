/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the mount point of control groups of version 2: fs/cgroup below sys_root, or
 * fs/cgroup/unified beside version 1. Returns a descriptor (O_PATH), -ENOENT if it is not mounted,
 * or -errno.
 */
int cgroup_mount_open(const char *sys_root);
