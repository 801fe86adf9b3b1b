/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that stays while interfaces come and go. Each line that it is given is answered by one:
 *
 *   list        devices NAME...            all that there are
 *   open NAME   open NAME                  from then on its async events are printed, one a line
 *   state NAME  state NAME NUMBER          of the port of a device that is open
 *   use NAME    used NAME                  a message from a QP to itself, by the newest GID
 */
#include "verbs_churn.h"

#include <pthread.h>

#define OPEN_MAX_CNT 8

static struct {
	char name[64];
	struct ibv_context *context;
} all[OPEN_MAX_CNT];

static struct ibv_context *find(const char *name)
{
	for (int i = 0; i < OPEN_MAX_CNT; i++)
		if (all[i].context && strcmp(all[i].name, name) == 0)
			return all[i].context;
	fprintf(stderr, "%s is not open\n", name);
	exit(1);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(ibv_get_device_name(*(struct ibv_device *const *)a),
		      ibv_get_device_name(*(struct ibv_device *const *)b));
}

static void tell_devices(void)
{
	char text[1024] = "devices";
	int cnt;
	struct ibv_device **list = ibv_get_device_list(&cnt);

	NEED(list);
	qsort(list, (size_t)cnt, sizeof(struct ibv_device *), by_name);
	for (int i = 0; i < cnt; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), " %s",
			 ibv_get_device_name(list[i]));
	puts(text);
	ibv_free_device_list(list);
}

static void *watch(void *arg)
{
	struct ibv_context *context = arg;
	struct ibv_async_event ev;

	while (ibv_get_async_event(context, &ev) == 0) {
		printf("event %s %d\n", ibv_get_device_name(context->device), (int)ev.event_type);
		ibv_ack_async_event(&ev);
	}
	return NULL;
}

static void start(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	pthread_t thread;
	int place = 0;

	NEED(list);
	while (all[place].context)
		NEED(++place < OPEN_MAX_CNT);
	for (int i = 0; list[i] && !all[place].context; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			all[place].context = ibv_open_device(list[i]);
	NEED(all[place].context);
	snprintf(all[place].name, sizeof all[place].name, "%s", name);
	ibv_free_device_list(list);
	NEED(pthread_create(&thread, NULL, watch, all[place].context) == 0);
	NEED(pthread_detach(thread) == 0);
	printf("open %s\n", name);
}

static void tell_state(const char *name)
{
	struct ibv_port_attr port;

	NEED(ibv_query_port(find(name), 1, &port) == 0);
	printf("state %s %d\n", name, (int)port.state);
}

static void use(const char *name)
{
	struct ibv_context *context = find(name);
	struct ibv_gid_entry entry[16];
	ssize_t cnt = ibv_query_gid_table(context, entry, 16, 0);
	struct base b;
	struct ibv_qp *qp;

	NEED(cnt > 0);
	address.grh.sgid_index = (uint8_t)entry[cnt - 1].gid_index;
	address.grh.dgid = entry[cnt - 1].gid;
	base_open(&b, context);
	qp = qp_new(&b, IBV_QPT_RC, NULL);
	qp_to_rts(qp, qp->qp_num);
	post_recv(qp, NULL, &b);
	post_send(qp, &b, IBV_WR_SEND);
	await(b.cq, 2);
	NEED(ibv_destroy_qp(qp) == 0);
	base_close(&b);
	printf("used %s\n", name);
}

int main(void)
{
	char line[128], word[16], name[64];

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	while (fgets(line, sizeof line, stdin)) {
		int cnt = sscanf(line, "%15s %63s", word, name);

		if (cnt == 1 && strcmp(word, "list") == 0)
			tell_devices();
		else if (cnt == 2 && strcmp(word, "open") == 0)
			start(name);
		else if (cnt == 2 && strcmp(word, "state") == 0)
			tell_state(name);
		else if (cnt == 2 && strcmp(word, "use") == 0)
			use(name);
		else
			fprintf(stderr, "no such command: %s", line);
	}
	return 0;
}
