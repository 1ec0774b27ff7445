/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Shows a text on the terminal of stdout through the user's pager: $SONDA_PAGER, else $PAGER, else
 * less. An empty value and "cat" are no pager. less gets the options FRX unless LESS is set: it
 * ends at once if the text fits on the screen. The text is printed directly if the pager cannot be
 * run. Ctrl-C is the pager's until it ends.
 */
void pager_show(const char *text, size_t len);
