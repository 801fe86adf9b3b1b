/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads shared objects. See plugin.h. */
#include "plugin/plugin.h"

#include "core/control/algorithm/algorithm.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Says before the loader does that the file is no object: what that says of other files is hard to
 * read, and it would wait at a FIFO. */
static int object_check(const char *path, char *why, size_t why_size)
{
	char magic[SELFMAG] = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		int err = -errno;

		snprintf(why, why_size, "cannot be read: %s", strerror(errno));
		return err;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || read(fd, magic, SELFMAG) != SELFMAG ||
	    memcmp(magic, ELFMAG, SELFMAG) != 0) {
		close(fd);
		snprintf(why, why_size, "is no ELF file, as a shared object is");
		return -ENOEXEC;
	}
	close(fd);
	return 0;
}

int vb_plugin_load(const char *path, const struct verbena_cc_algorithm **out, char *why,
		   size_t why_size)
{
	const struct verbena_cc_algorithm *a;
	const char *wrong;
	char full[4096];
	void *object;
	int err = object_check(path, why, why_size);

	if (err)
		return err;
	/* Without a slash the loader would look elsewhere. */
	snprintf(full, sizeof full, "%s%s", strchr(path, '/') ? "" : "./", path);
	object = dlopen(full, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		wrong = dlerror();
		snprintf(why, why_size, "cannot be loaded: %s", wrong ? wrong : "no reason given");
		return -ENOEXEC;
	}
	a = dlsym(object, VERBENA_CC_SYMBOL);
	wrong = a ? vb_cc_algorithm_check(a) : "exports no algorithm \"" VERBENA_CC_SYMBOL "\"";
	if (a && wrong && a->version != VERBENA_CC_VERSION)
		snprintf(why, why_size, "%s: version %u, and this is version %u", wrong, a->version,
			 VERBENA_CC_VERSION);
	else if (wrong)
		snprintf(why, why_size, "%s", wrong);
	if (wrong) {
		dlclose(object);
		return -EINVAL;
	}
	*out = a;
	return 0;
}

/* The word at the beginning of a choice. */
enum word { WORD_NONE, WORD_NAME, WORD_ALGORITHM, WORD_OBJECT };

/* Its kind, and its value without what names the kind. */
static enum word choice_begin(const char *text, const char **value, size_t *len)
{
	*len = strcspn(text, ",");
	*value = text;
	if (strncmp(text, "algorithm=", 10) == 0 || strncmp(text, "object=", 7) == 0) {
		*value = strchr(text, '=') + 1;
		*len -= (size_t)(*value - text);
		return text[0] == 'a' ? WORD_ALGORITHM : WORD_OBJECT;
	}
	return vb_cc_algorithm_find(text, *len) ? WORD_NAME : WORD_NONE;
}

bool vb_plugin_is_choice(const char *text)
{
	const char *value;
	size_t len;

	return choice_begin(text, &value, &len) != WORD_NONE;
}

static int find_algorithm(enum word kind, const char *value, size_t len,
			  const struct verbena_cc_algorithm **out, char *why, size_t why_size)
{
	char path[4096], reason[512];
	int err = 0;

	if (kind != WORD_OBJECT) {
		*out = vb_cc_algorithm_find(value, len);
		if (!*out)
			snprintf(why, why_size, "there is no algorithm '%.*s'", (int)len, value);
		return *out ? 0 : -EINVAL;
	}
	if (len >= sizeof path) {
		snprintf(why, why_size, "the path of the object is too long");
		return -ENAMETOOLONG;
	}
	memcpy(path, value, len);
	path[len] = 0;
	err = vb_plugin_load(path, out, reason, sizeof reason);
	if (err)
		snprintf(why, why_size, "'%s' %s", path, reason);
	return err;
}

int vb_plugin_read_choice(const char *text, uint64_t line_rate, struct vb_cc_choice *out, char *why,
			  size_t why_size)
{
	const struct verbena_cc_algorithm *a = NULL;
	struct vb_cc_choice_fault fault;
	const char *value;
	size_t len;
	enum word kind = choice_begin(text, &value, &len);
	int err = find_algorithm(kind, value, len, &a, why, why_size);

	if (err)
		return err;
	vb_cc_choice_begin(out, a, line_rate);
	value += len;
	err = vb_cc_choice_read(out, value, &fault);
	if (err)
		snprintf(why, why_size, "'%.*s' %s", (int)fault.len, value + fault.at, fault.what);
	return err;
}
