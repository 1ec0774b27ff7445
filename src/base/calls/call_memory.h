/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/str.h"

/*
 * Prints the memory that arguments of system calls point to. The bytes may come from any process:
 * they are hostile, and may be cut off anywhere.
 */

/* Appends the bytes of a string without quotes. Characters that are not printable ASCII, the quote
 * and the backslash are escaped as in C ("\n", "\33", "\""), so the text is one line of valid
 * UTF-8, harmless to a terminal, and nothing of the string is lost. */
void call_string_put(const void *bytes, size_t len, struct strbuf *b);
/* Appends the address of a socket: {sa_family=AF_INET, sin_port=htons(80), ...}. Returns false, and
 * appends nothing, if it is too short to have a family. */
bool call_address_put(const void *bytes, size_t len, struct strbuf *b);
/* Appends a struct of the type that the letter names: CALL_HOW, CALL_TIME, CALL_CLONE3 or
 * CALL_FD_PAIR. Returns false, and appends nothing, if it is too short. */
bool call_struct_put(char letter, const void *bytes, size_t len, struct strbuf *b);
