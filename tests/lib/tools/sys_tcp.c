/* SPDX-License-Identifier: MIT */
/*
 * A plain TCP program, which knows nothing of RDMA: tests run it over librspreload.
 *	sys_tcp PORT COUNT	serve COUNT HTTP requests: GET /N returns N bytes of a pattern
 *
 * With accept(2): the preloaded library of rdma-core 44 does not know accept4(2).
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void send_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

		if (n <= 0)
			die("send");
		buf += n;
		len -= (size_t)n;
	}
}

static void serve(int fd)
{
	char req[4096], head[256], chunk[10000];
	size_t got = 0, len;

	while (got < sizeof(req) - 1) {
		ssize_t n = recv(fd, req + got, sizeof(req) - 1 - got, 0);

		if (n <= 0)
			die("recv");
		got += (size_t)n;
		req[got] = 0;
		if (strstr(req, "\r\n\r\n"))
			break;
	}
	if (sscanf(req, "GET /%zu", &len) != 1)
		die("no GET");
	snprintf(head, sizeof(head),
		 "HTTP/1.0 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", len);
	send_all(fd, head, strlen(head));
	for (size_t at = 0; at < len;) {
		size_t n = len - at < sizeof(chunk) ? len - at : sizeof(chunk);

		for (size_t i = 0; i < n; i++)
			chunk[i] = (char)((at + i) % 251);
		send_all(fd, chunk, n);
		at += n;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, req, sizeof(req), 0) > 0)
		;
	close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int one = 1, fd, count;

	if (argc != 3)
		return 2;
	any.sin_port = htons((in_port_t)atoi(argv[1]));
	count = atoi(argv[2]);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 8))
		die("listen");
	for (int i = 0; i < count; i++) {
		int conn = accept(fd, NULL, NULL);

		if (conn < 0)
			die("accept");
		serve(conn);
	}
	close(fd);
	return 0;
}
