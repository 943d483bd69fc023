/* SPDX-License-Identifier: MIT */
/** DOC: see fabric/cli/probe.h. */
#include "fabric/cli/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Read all that the child writes. Return: whether it closed its output in time. */
static bool probe_read(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	time_t end = time(NULL) + PROBE_S;
	size_t got = 0;
	ssize_t n = 1;

	while (n > 0 && got < size - 1 && time(NULL) < end) {
		if (poll(&p, 1, 1000) <= 0)
			continue;
		n = read(fd, text + got, size - 1 - got);
		got += n > 0 ? (size_t)n : 0;
	}
	text[got] = '\0';
	while (got && text[got - 1] == '\n')
		text[--got] = '\0';
	return n <= 0;
}

bool probe_run(struct probe *p)
{
	int fds[2];
	bool ended;
	pid_t pid;

	p->text[0] = '\0';
	p->status = -1;
	if (pipe2(fds, O_CLOEXEC))
		return true;
	pid = fork();
	if (!pid) {
		p->run(p->arg, fds[1]);
		_exit(127);
	}
	close(fds[1]);
	ended = pid < 0 || probe_read(fds[0], p->text, p->size);
	close(fds[0]);
	if (pid > 0) {
		if (!ended)
			kill(pid, SIGKILL);
		waitpid(pid, &p->status, 0);
	}
	return ended;
}
