/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Words of a command line that stand for several events, wherever the kernel has them: those that
 * people know from Perfetto's, with what they mean on a Linux machine. All of them are events that
 * kernels for servers and desktops have, since one that is not there is told as missing.
 */

/* The requests, ending with NULL; NULL: it is a word like any other. len: of the word. */
const char *const *event_set_find(const char *word, size_t len);
