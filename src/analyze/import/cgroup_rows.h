/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * The tables cgroup and thread_cgroup, from packets of linux.cgroup_members. Rows of threads are
 * kept until the end: only then are all threads and their times known.
 */

/* Returns the row of a control group, and adds it if it is new; NULL_U32 if out of memory. */
uint32_t rows_cgroup_get(struct import *im, const struct machine *m, uint64_t inode);
/* Adds and describes the groups of a CgroupTree. */
void import_cgroup_tree(struct import *im, struct machine *m, const struct pb_field *tree);
/* Keeps the members of a CgroupMembers. */
void import_cgroup_members(struct import *im, struct machine *m, int64_t ts,
			   const struct pb_field *members);
/* At the end: adds the rows of thread_cgroup, and the threads that only members name. */
void import_cgroup_members_finish(struct import *im);
void cgroup_rows_deinit(struct import *im);
