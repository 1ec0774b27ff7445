/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_VERSION_H
#define SONDA_VERSION_H

/*
 * The version of sonda: that of these headers when a program is compiled, and that of the library
 * when the program runs. A program works with a library that is older or newer than its headers.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. */
#define SONDA_VERSION_MAJOR 0
#define SONDA_VERSION_MINOR 1
#define SONDA_VERSION_PATCH 0

/* Returns the version of the loaded library, like "0.1.0". */
const char *sonda_version(void);

#ifdef __cplusplus
}
#endif

#endif
