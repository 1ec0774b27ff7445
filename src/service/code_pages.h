/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Drops the clean file-backed pages of the program and all libraries from this process
 * (MADV_DONTNEED). Later accesses map them again from the page cache. Called once after the start,
 * it removes the pages that only the start needed: an idle sondad has 1.4 MB resident in place
 * of 4.2 MB. Written pages (data, relocations) stay. Errors are ignored.
 */
void code_pages_release(void);
