/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "stacks/files/file_messages.h"

struct event_base;

/*
 * Reads mappings and ELF files of other processes, in two processes of its own
 * (base/system/helper_pair.h), because the files are hostile and their file systems may never
 * answer: sonda-open opens them, with the rights of ptrace(2) (file_opener.h), and sonda-elf parses
 * them (elf_reader.h).
 *
 * The answers come in the order of the requests, through the loop. Each is checked for its lengths
 * before a user gets it. A process has one file reader, and one thread uses it.
 */

/* Forks the two processes, which end with this one. To be called while there is one thread and
 * before the sandbox. Returns 0 or -errno. */
int file_reader_start(void);

struct file_reader_user {
	/* Set by the caller. The answer is valid during the call. Its kind is
	 * FILE_REQUEST_CLOSE_ALL if the reader has ended: then no further answers come. */
	void (*answered)(void *ctx, const struct file_answer *a);
	void *ctx;
	/* Set by the reader. */
	uint32_t number; /* 0: not joined */
	TAILQ_ENTRY(file_reader_user) link;
};

/* Adds a user. Returns 0; -ENOTSUP if the processes do not run; or -ENOMEM. loop is borrowed while
 * a user is joined. */
int file_reader_join(struct file_reader_user *u, struct event_base *loop);
/* Ends the use of the reader: answers that are still to come are dropped. No-op if u has not
 * joined. */
void file_reader_leave(struct file_reader_user *u);

/* Each sends a request and returns true; or false if the reader is busy or has ended: the caller
 * retries later or continues without an answer. The answer has the id; answers to request_maps and
 * request_data_maps have the pid. */
bool file_reader_request_maps(const struct file_reader_user *u, int32_t pid, int32_t tid);
/* Requests the mappings that contain the addresses, at most FILE_NAMES_MAX. */
bool file_reader_request_data_maps(const struct file_reader_user *u, int32_t pid, int32_t tid,
				   const uint64_t *addresses, uint32_t n);
bool file_reader_request_elf(const struct file_reader_user *u, uint64_t id, int32_t pid,
			     const struct file_mapping *m, const char *path);
/* Requests the separate debug file of a stripped file (elf_facts), from which later names come, if
 * there is one. Call it before its first names are requested. No answer comes. path is that of the
 * file. */
bool file_reader_request_debug_file(const struct file_reader_user *u, int32_t pid, uint32_t file,
				    const struct elf_facts *elf, const char *path);
/* Each of the next two functions requests the names of code that a process compiled while it ran:
 * the answer has the number with which request_names() finds them, by address in the process, and
 * what has changed since the last request. request_jitdump() reads a jitdump that the process maps
 * (path, m), request_perf_map() its perf map. */
struct file_reader_process {
	int32_t pid, pid_inside; /* the latter in its own namespace */
	uint32_t uid;
	uint64_t started; /* CLOCK_REALTIME, ns */
	bool has_ended; /* or executed another program; the last request, without m and path */
};
bool file_reader_request_perf_map(const struct file_reader_user *u, uint64_t id,
				  const struct file_reader_process *p);
bool file_reader_request_jitdump(const struct file_reader_user *u, uint64_t id,
				 const struct file_reader_process *p, const struct file_mapping *m,
				 const char *path);
/* Requests the names of n addresses, at most FILE_NAMES_MAX. file: the number in an earlier
 * answer. */
bool file_reader_request_names(const struct file_reader_user *u, uint64_t id, uint32_t file,
			       const uint64_t *addresses, uint32_t n);
/* Requests the unwind rows of the file that has the number `file` in an answer to request_elf. The
 * first answer has the rules (`rules`), further ones the rows (`rows`), which are sorted and refer
 * to these rules. A mapping "[vdso]" is FILE_VDSO, then m and path are NULL. */
bool file_reader_request_rows(const struct file_reader_user *u, uint64_t id, uint32_t file,
			      int32_t pid, const struct file_mapping *m, const char *path);
/* Returns false if one of the processes has ended: there will be no further answers. */
bool file_reader_is_alive(void);
