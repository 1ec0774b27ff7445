/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/symbolize/dwarf_library.h"
#include "cli/symbolize/symbol_modules.h"

/* Functions and lines of a file's addresses, from debug information (DWARF). A separate process
 * reads each file: it may open files to read them, and nothing else. It cannot write, run programs
 * or use the network, so a hostile file can only give wrong names. */
#define DWARF_LINES_MAX 64 /* functions of an address; further outer ones are left out */
#define DWARF_TEXT_MAX 1024 /* bytes of a name of a function or file; longer ones are left out */
#define DWARF_LINES_MEMORY (16ull << 30) /* bytes of address space */
#define DWARF_LINES_WAIT_MS 120000 /* for the next address; then the file is given up */

struct dwarf_lines_job {
	const struct dwarf_library *library; /* borrowed, as are the others */
	const struct symbol_module *module;
	const char *extra_file; /* a debug file that was found elsewhere; NULL: none */
	const char *debug_dirs; /* where debug files are, separated by colons */
};

struct dwarf_lines_result {
	bool is_found; /* the file or its debug file was found, by its build id */
	bool has_debug_info;
	size_t n; /* addresses that have a function */
};

/* Reads the addresses of the module in the separate process, and calls add for each that has a
 * function, with an AddressSymbols message. Returns 0; or -errno if the process could not be
 * started, ended early, or took too long for an address: addresses are missing then, and *ret is
 * zero. */
int dwarf_lines_find(const struct dwarf_lines_job *job,
		     void (*add)(void *ctx, const uint8_t *message, size_t len), void *ctx,
		     struct dwarf_lines_result *ret);
