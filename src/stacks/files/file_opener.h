/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The first process of the file reader: opens files of processes and passes the descriptors on. It
 * has the rights of ptrace(2) to read, and parses nothing.
 *
 * Reads requests from fd (struct file_request) and sends each to *next, with a descriptor if it has
 * one to open: the mappings of a process, or a mapped file. A request that failed is sent without a
 * descriptor and with errno in `n`.
 */
struct file_opener_ctx {
	int next; /* borrowed: socket to the second process */
};

void file_opener_run(int fd, void *ctx);
