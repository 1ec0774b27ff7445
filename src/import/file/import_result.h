/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What an import found: the child process fills it and sends it to the verb. Texts come from the
 * file, and contain only printable ASCII. */
#define IMPORT_NOTES 16

struct import_result {
	int32_t error; /* 0, or -errno; then `problem` is a part of a sentence */
	char problem[200];
	char format[32]; /* "trace.dat version 7" */
	char recorder[64]; /* program that recorded the file; "": unknown */
	char clock[32]; /* of the times: "boot"; "": unknown */
	uint64_t n_events; /* kernel events in the trace */
	uint64_t n_samples; /* samples of call stacks in the trace */
	uint64_t n_lost; /* losses that the file reports */
	uint64_t n_unread; /* records of the file that are not in the trace */
	uint32_t n_cpus;
	uint32_t n_notes; /* may exceed IMPORT_NOTES: the further ones are not kept */
	char notes[IMPORT_NOTES][200]; /* sentences about what is missing or different */
};

/* Copies text, cut to the size of ret, with '?' for what is not printable ASCII. */
void import_copy_text(char *ret, size_t size, const char *text);

/* Adds a note. The same note is added once. */
void import_add_note(struct import_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the error, if there is none yet. Returns code. */
int import_set_error(struct import_result *r, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
