/* SPDX-License-Identifier: MIT */
/* The counters of a device's ports in sysfs. See port_counters.h. */
#include "libtap/users/port_counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNTERS 96u /* of all ports of a device */
#define PORTS	 4u
#define DEVICES	 16u

/** struct port_counter - a counter. @value: when it was read last */
struct port_counter {
	char name[48];
	u32 port;
	u64 value;
};

/** struct port_counters - those of a device. @path: its folder in sysfs */
struct port_counters {
	char path[256];
	u32 n;
	struct port_counter counter[COUNTERS];
};

/* Devices that the process has opened; those of the parent remain in a forked one. */
static struct port_counters *devices[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Vendors name their counters differently. Those of plain traffic say nothing here. */
static bool counter_is_of_trouble(const char *name)
{
	static const char *const words[] = { "err",  "retr", "rnr",	"nak",	"seq",
					     "drop", "dup",  "timeout", "disc", "out_of" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

static bool counter_read(const char *device, u32 port, const char *name, u64 *value)
{
	char path[512], text[32];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof(path), "%s/ports/%u/hw_counters/%s", device, port, name) >=
	    (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	*value = strtoull(text, NULL, 10);
	return true;
}

static void counters_list_port(struct port_counters *c, u32 port)
{
	struct port_counter *counter;
	const struct dirent *entry;
	char path[512];
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/ports/%u/hw_counters", c->path, port) >=
	    (int)sizeof(path))
		return;
	dir = opendir(path);
	while (dir && c->n < COUNTERS && (entry = readdir(dir))) {
		counter = &c->counter[c->n];
		if (strlen(entry->d_name) >= sizeof(counter->name) ||
		    !counter_is_of_trouble(entry->d_name) ||
		    !counter_read(c->path, port, entry->d_name, &counter->value))
			continue;
		memcpy(counter->name, entry->d_name, strlen(entry->d_name) + 1);
		counter->port = port;
		c->n++;
	}
	if (dir)
		closedir(dir);
}

void port_counters_start(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* Under the lock. */
static struct port_counters *counters_find(const struct ibv_device *device)
{
	u32 i;

	for (i = 0; i < DEVICES && devices[i]; i++)
		if (!strncmp(devices[i]->path, device->ibdev_path, sizeof(devices[i]->path)))
			return devices[i];
	return NULL;
}

/* Under the lock. */
static void counters_add(const struct ibv_device *device)
{
	struct port_counters *c = calloc(1, sizeof(*c));
	u32 i, port;

	for (i = 0; i < DEVICES && devices[i]; i++)
		;
	if (!c || i == DEVICES) {
		free(c);
		return;
	}
	snprintf(c->path, sizeof(c->path), "%s", device->ibdev_path);
	for (port = 1; port <= PORTS; port++)
		counters_list_port(c, port);
	devices[i] = c;
}

void port_counters_open(const struct ibv_device *device)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	if (!counters_find(device))
		counters_add(device);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* Return: by how much the counter has grown. */
static u64 counter_growth(const struct port_counters *c, struct port_counter *counter)
{
	u64 value, growth = 0;

	if (!counter_read(c->path, counter->port, counter->name, &value))
		return 0;
	if (value > counter->value)
		growth = value - counter->value;
	counter->value = value;
	return growth;
}

/* Under the lock. */
static void counters_text(struct port_counters *c, char *text, size_t size)
{
	struct port_counter *counter;
	size_t len = 0;
	u64 growth;
	u32 i;

	for (i = 0; i < c->n; i++) {
		counter = &c->counter[i];
		growth = counter_growth(c, counter);
		if (!growth || len >= size)
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s", len ? ", " : "");
		if (counter->port > 1 && len < size)
			len += (size_t)snprintf(text + len, size - len, "port %u ", counter->port);
		if (len < size)
			len += (size_t)snprintf(text + len, size - len, "%s +%llu", counter->name,
						(unsigned long long)growth);
	}
}

void port_counters_text(const struct ibv_device *device, char *text, size_t size)
{
	struct port_counters *c;
	int saved = errno;

	*text = '\0';
	pthread_mutex_lock(&lock);
	c = counters_find(device);
	if (c)
		counters_text(c, text, size);
	pthread_mutex_unlock(&lock);
	errno = saved;
}
