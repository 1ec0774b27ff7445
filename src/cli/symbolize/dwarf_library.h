/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "base/core/err.h"

/* The functions of libdw (elfutils) that sonda symbolize calls. The library is loaded by this verb
 * only: if sonda were linked with it and its libraries, every start would take longer. */
#define DWARF_FUNCTIONS(X)                                                                         \
	X(dwarf_attr)                                                                              \
	X(dwarf_attr_integrate)                                                                    \
	X(dwarf_diename)                                                                           \
	X(dwarf_filesrc)                                                                           \
	X(dwarf_formstring)                                                                        \
	X(dwarf_formudata)                                                                         \
	X(dwarf_getscopes)                                                                         \
	X(dwarf_getscopes_die)                                                                     \
	X(dwarf_getsrc_die)                                                                        \
	X(dwarf_getsrcfiles)                                                                       \
	X(dwarf_haspc)                                                                             \
	X(dwarf_lineno)                                                                            \
	X(dwarf_linesrc)                                                                           \
	X(dwarf_tag)                                                                               \
	X(dwelf_elf_gnu_build_id)                                                                  \
	X(dwfl_begin)                                                                              \
	X(dwfl_end)                                                                                \
	X(dwfl_module_addrdie)                                                                     \
	X(dwfl_module_addrinfo)                                                                    \
	X(dwfl_module_getdwarf)                                                                    \
	X(dwfl_module_getelf)                                                                      \
	X(dwfl_module_nextcu)                                                                      \
	X(dwfl_offline_section_address)                                                            \
	X(dwfl_report_begin)                                                                       \
	X(dwfl_report_end)                                                                         \
	X(dwfl_report_offline)

struct dwarf_library {
	void *handle; /* owned */
#define DWARF_MEMBER(name) __typeof__(&name) name;
	DWARF_FUNCTIONS(DWARF_MEMBER)
#undef DWARF_MEMBER
};

/* Returns 0, or -ENOENT and sets e. If DEBUGINFOD_URLS is set, the library loads libdebuginfod, so
 * the caller unsets the variable first. */
int dwarf_library_open(struct dwarf_library *ret, struct err_text *e);
void dwarf_library_close(struct dwarf_library *l);
