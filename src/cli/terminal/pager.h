/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Shows a text on the terminal of stdout through the user's pager: $SONDA_PAGER, else $PAGER, else
 * less. Unless LESS is set, less gets the options FRX, with which it ends at once if the text fits
 * on the screen. The text is printed directly if the value is empty or "cat", or if the pager
 * cannot be run. While the pager runs, this process ignores SIGINT, SIGQUIT and SIGPIPE, so that
 * Ctrl-C reaches only the pager. */
void pager_show(const char *text, size_t len);
