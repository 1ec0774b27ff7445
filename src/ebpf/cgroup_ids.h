/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"

/*
 * The id that the kernel has for a control group of version 2: the inode of its folder, in each of the
 * places where they are mounted (fs/cgroup, or fs/cgroup/unified beside those of version 1).
 *
 * path is of the config, below the mount: "/" is the root. It may not lead out of it. 0, or -errno and
 * a sentence.
 */
int cgroup_id(const char *sys_root, const char *path, uint64_t *ret_id, struct err_text *e);
