/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/span.h"
#include "procfs/sys/sys_packet.h"

/*
 * A file of /proc or /sys that is read repeatedly. It is opened once and read with pread() from
 * offset 0, which makes the kernel generate it again. A file that does not exist, or whose device
 * has gone (-ENODEV), is opened again every ten seconds.
 */

/* /proc/stat with 8192 CPUs of 150 bytes and as many interrupts of 20 bytes has 1.4 MB. */
#define SYS_FILE_SIZE_MAX (32u << 20)
#define SYS_FILE_RETRY_NS (10 * 1000000000ull)

struct sys_file {
	char *path; /* owned */
	int fd; /* owned; -1: not open */
	/* One read returns the whole file: files of /sys, and those of /proc that the kernel
	 * generates in one piece. Other files come in pieces of about a page, and an empty read
	 * ends them. */
	bool whole;
	uint64_t retry; /* CLOCK_MONOTONIC; the file is not opened before this time */
	/* Set by the owner: a larger file is -EFBIG. 0: SYS_FILE_SIZE_MAX. */
	size_t max;
	/* Set by the owner or 0: a file that is not regular, not on this device, or not readable by
	 * all users is -EPERM. */
	dev_t public_on;
};

/* Sets the path: root and the formatted string. Does not open the file. Returns 0 or -ENOMEM. */
int sys_file_init(struct sys_file *f, bool whole, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void sys_file_deinit(struct sys_file *f, struct sys_packet *p);

/* Reads the whole file into p->text, valid until the next read. Returns 0, -errno (-ENODATA: it is
 * empty), or -EAGAIN if it failed less than ten seconds ago. */
int sys_file_read(struct sys_file *f, struct sys_packet *p, struct span *ret_text);

/* Reads the file and calls parse, which writes the values of the text; the text is untrusted. parse
 * returns 0, or -EBADMSG if a part of the text was invalid and skipped. Logs and counts errors of
 * both. */
void sys_file_poll(struct sys_file *f, struct sys_packet *p, struct sys_errors *t,
		   int (*parse)(void *state, struct sys_packet *p, struct span text), void *state);

/* Reads a small file once, without its last newline. Returns 0 or -errno. */
int sys_file_read_once(struct strbuf *b, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
