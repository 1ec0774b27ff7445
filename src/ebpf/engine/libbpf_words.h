/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>

/*
 * One line of many that libbpf logs about a failure: of the verifier's log the last line that is no
 * statistics, and else the first line of all, for what follows it are consequences.
 */
struct libbpf_words {
	char error[200];
	char verifier[200];
};

void libbpf_words_add(struct libbpf_words *w, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* "" when there is none. Plain text, no newline. */
const char *libbpf_words_best(const struct libbpf_words *w);
