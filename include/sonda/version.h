/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_VERSION_H
#define SONDA_VERSION_H

/* The version of these headers. sonda_version() returns that of the loaded library. */
#define SONDA_VERSION_MAJOR 0
#define SONDA_VERSION_MINOR 1
#define SONDA_VERSION_PATCH 0

#endif
