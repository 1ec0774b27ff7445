/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "include/sonda/version.h"

#define VERSION_TEXT(major, minor, patch) #major "." #minor "." #patch
#define VERSION_EXPAND(major, minor, patch) VERSION_TEXT(major, minor, patch)

/* The version of all programs and libraries of this tree, which the public header defines: "0.1.0" */
#define SONDA_VERSION VERSION_EXPAND(SONDA_VERSION_MAJOR, SONDA_VERSION_MINOR, SONDA_VERSION_PATCH)
