/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives back the pages of code and constants that this process has in its memory, of the program and
 * of all libraries. What is used again comes back from the page cache, a few pages a fault: so after
 * a call at the end of the start what only the start needed is gone. Pages that were ever written to
 * (data, relocations) stay. A daemon that waits for days calls it once. Nothing can fail.
 */
void code_pages_release(void);
