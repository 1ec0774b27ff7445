/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/core/err.h"

/*
 * The keys of an account at an object store, in the files and variables of AWS' tools:
 *
 *	1. the file that the user names
 *	2. $CREDENTIALS_DIRECTORY/s3 (LoadCredential=s3:FILE of a unit)
 *	3. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *	4. $AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials
 *
 * The metadata service of a cloud's virtual machine is not asked.
 */

#define S3_KEY_SIZE 257
#define S3_TOKEN_SIZE 8193

struct s3_credentials {
	char access_key[S3_KEY_SIZE], secret_key[S3_KEY_SIZE];
	char token[S3_TOKEN_SIZE]; /* of a temporary key; "": none */
	char path[PATH_MAX]; /* of the file; "": from the environment */
	char profile[128];
	struct timespec changed; /* of the file, when it was read */
};

/* Finds and reads the keys. file, profile: NULL: none given. Removes the variables, so that
 * children do not have them. Refuses a file that other users can read, except one of
 * $CREDENTIALS_DIRECTORY. Returns 0, or -errno and sets e. */
int s3_credentials_load(const char *file, const char *profile, struct s3_credentials *ret,
			struct err_text *e);
/* Reads the file again if it has changed. Returns 1 if it did, 0 if not; or -errno and sets e, and
 * keeps the old keys. */
int s3_credentials_refresh(struct s3_credentials *c, struct err_text *e);
void s3_credentials_clear_keys(struct s3_credentials *c);
/* Removes the secret variables, also from /proc/PID/environ. */
void s3_credentials_unset_environment(void);

/* Reads a value of the profile from ~/.aws/config ($AWS_CONFIG_FILE). Returns false if it has
 * none. */
bool s3_config_read(const char *profile, const char *name, char *ret, size_t size);

/* Finds "name = value" in a section of an INI file, "[section]". Returns false if there is none, or
 * if it does not fit. */
bool s3_ini_find(const char *text, const char *section, const char *name, char *ret, size_t size);
