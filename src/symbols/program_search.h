/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_symbols.h"

/* The process of the program reader: parses the open file `program`, which its owner's debug file
 * may complete, and answers the requests on fd. */
#define PROGRAM_NAME_MAX 1024 /* bytes of a name or pattern, with a NUL */
#define PROGRAM_READER_MEMORY (1ull << 30) /* bytes of address space of the process */
#define PROGRAM_SUGGESTIONS_MAX 4

enum program_item_kind {
	PROGRAM_FUNCTION,
	PROGRAM_USDT, /* a static probe */
	PROGRAM_SUGGESTION, /* no function has the name; this one's is similar: names only */
};

enum program_request_kind {
	PROGRAM_REQUEST_FACTS, /* answered by one program_facts_answer */
	PROGRAM_REQUEST_DEBUG_FILE, /* with its descriptor; answered in the same way */
	PROGRAM_REQUEST_FUNCTION, /* these are answered by program_answer, up to one that is_end */
	PROGRAM_REQUEST_FUNCTIONS,
	PROGRAM_REQUEST_USDT,
};

struct program_request {
	uint32_t kind;
	char name[PROGRAM_NAME_MAX];
};

struct program_facts_answer {
	int32_t result; /* 0 or -errno */
	struct elf_facts elf;
};

struct program_answer {
	uint32_t is_end;
	int32_t result; /* at the end: 0 or -errno */
	uint32_t kind, has_no_code, is_chosen_at_load;
	uint64_t address, offset, semaphore;
	uint32_t text_len; /* bytes of text, each of three strings with its NUL */
	char text[3 * (ELF_NAME_MAX + 1)];
};
#define PROGRAM_ANSWER_HEAD offsetof(struct program_answer, text)

struct program_search_ctx {
	int program; /* borrowed: the open file */
};

void program_search_run(int fd, void *ctx);
