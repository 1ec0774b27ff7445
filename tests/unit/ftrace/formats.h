/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>

/* Format files made up by a test. */
#define FORMAT_COMMON                                                                              \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* One line of fields below. */
#define FIELD(declaration, offset, size, is_signed)                                                \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"

/* Fields of events that several tests have. */
#define SWITCH_FIELDS                                                                              \
	FIELD("long prev_state", 8, 8, 1)                                                          \
	FIELD("char next_comm[16]", 16, 16, 0)                                                     \
	FIELD("pid_t next_pid", 32, 4, 1) FIELD("int next_prio", 36, 4, 1)
#define WAKING_FIELDS                                                                              \
	FIELD("char comm[16]", 8, 16, 0)                                                           \
	FIELD("pid_t pid", 24, 4, 1) FIELD("int prio", 28, 4, 1) FIELD("int target_cpu", 32, 4, 1)
#define PRINT_FIELDS FIELD("unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0)
#define BPRINT_FIELDS                                                                              \
	FIELD("unsigned long ip", 8, 8, 0)                                                         \
	FIELD("const char * fmt", 16, 8, 0) FIELD("u32 buf[]", 24, 0, 0)

/* The text, in memory that the next call overwrites. */
static inline char *format_text(const char *name, unsigned id, const char *common,
				const char *fields)
{
	static char text[16384];
	int n = snprintf(text, sizeof(text),
			 "name: %s\nID: %u\nformat:\n%s%s\nprint fmt: \"%%s\", REC->comm\n", name,
			 id, common, fields);

	assert(n > 0 && (size_t)n < sizeof(text));
	return text;
}

/* The same, parsed; the event lives as long as *ret_tep. */
static inline const struct tep_event *format_event(const char *group, const char *name,
						   const char *fields, struct tep_handle **ret_tep)
{
	char *text = format_text(name, 100, FORMAT_COMMON, fields);

	*ret_tep = tep_alloc();
	tep_set_loglevel(TEP_LOG_NONE);
	assert(tep_parse_event(*ret_tep, text, strlen(text), group) == 0);
	return tep_get_first_event(*ret_tep);
}
