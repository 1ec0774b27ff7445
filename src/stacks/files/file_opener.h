/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first process of the file reader (an opener of base/system/helper_pair.h): opens files of
 * processes and passes the descriptors on. It has the rights of ptrace(2) to read, and parses
 * nothing.
 *
 * Reads requests from fd (struct file_request) and sends each to `other`, the second process, with
 * a descriptor if it has one to open: the mappings of a process, or a mapped file. A request that
 * failed is sent without a descriptor and with errno in `n`. ctx is not used.
 */
void file_opener_run(int fd, int other, void *ctx);
